package task

import (
	"slices"

	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/internal/settings"
)

// Doubts returns the doubts about the rows [N], by one of the kinds of [calibrate.Abstain]. The level is the probability of
// the intervals of [calibrate.ByWidth].
func (p *Prediction) Doubts(by string, level float64) ([]float64, error) {
	switch {
	case by == calibrate.ByUnfamiliar && p.Unfamiliar != nil:
		return slices.Clone(p.Unfamiliar), nil
	case by == calibrate.ByProbability && p.Classes != nil:
		out := make([]float64, p.N())
		for i, best := range p.Best() {
			out[i] = 1 - p.Probs[i*len(p.Classes)+best]
		}
		return out, nil
	case by == calibrate.ByWidth && p.Classes == nil:
		return p.widths(level)
	case by == calibrate.ByUnfamiliar:
		return nil, settings.Errorf("the rule %s needs a posterior, and a model file with the variances of the training rows", by)
	}
	return nil, settings.Errorf("the rule %s is none for these targets: width is for numbers, and probability for classes", by)
}

// widths returns the mean width of the intervals of each row.
func (p *Prediction) widths(level float64) ([]float64, error) {
	lower, upper, err := p.Interval(level)
	if err != nil {
		return nil, err
	}
	out, t := make([]float64, p.N()), len(p.Targets)
	for i := range lower {
		out[i/t] += (upper[i] - lower[i]) / float64(t)
	}
	return out, nil
}

// Abstains returns which rows need a look [N] by the rule Abstain; nil without a rule.
func (p *Prediction) Abstains() ([]bool, error) {
	if p.Abstain == nil {
		return nil, nil
	}
	doubts, err := p.Doubts(p.Abstain.By, p.Abstain.Level)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(doubts))
	for i, d := range doubts {
		out[i] = !(d <= p.Abstain.Most)
	}
	return out, nil
}
