package valla

import (
	"cmp"
	"context"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

// abstaining chooses the rule for the rows that need a look. The rest of the calibration stays.
func (m *Model) abstaining(ctx context.Context, rows jury, o CalibrateOptions) (*Calibration, []gp.Fact, error) {
	o.Confidence, o.Level = cmp.Or(o.Confidence, intervalLevel), cmp.Or(o.Level, intervalLevel)
	if !(o.Risk > 0 && o.Risk < 1) || !(o.Confidence > 0 && o.Confidence < 1) || !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 0) {
		return nil, nil, settings.Errorf("risk %g with confidence %g and tolerance %g, expected a risk and a confidence between 0 and 1, and a tolerance of 0 or more", o.Risk, o.Confidence, o.Tolerance)
	}
	if err := showsRisk(m.Likelihood().Kind(), o.Tolerance); err != nil {
		return nil, nil, err
	}
	o.OnRows, o.Abstain = rows.pass(), nil
	p, err := m.predict(ctx, rows.x, o.PredictOptions, nil)
	if err != nil {
		return nil, nil, err
	}
	wrong, err := mistakes(p, graph.Floats(rows.y), o)
	if err != nil {
		return nil, nil, err
	}
	a, err := chooseAbstain(p, wrong, o)
	if err != nil {
		return nil, nil, err
	}
	out := Calibration{}
	if m.Calibration != nil {
		out = *m.Calibration
	}
	out.Abstain, p.Abstain = a, a
	facts, err := abstainFacts(p, wrong)
	return &out, facts, err
}

// abstainFacts returns shares of rows that a rule accepts, and of wrong ones.
func abstainFacts(p *Prediction, wrong []bool) ([]gp.Fact, error) {
	asked, err := p.Abstains()
	if err != nil {
		return nil, err
	}
	all, accepted, bad := 0, 0, 0
	for i, v := range asked {
		if !v {
			accepted++
		}
		if wrong[i] {
			all++
			if !v {
				bad++
			}
		}
	}
	n := float64(len(wrong))
	return []gp.Fact{{Name: "rows that need no look, %", Value: 100 * float64(accepted) / n}, {Name: "wrong among these, %", Value: 100 * float64(bad) / float64(max(1, accepted))},
		{Name: "wrong among all rows, %", Value: 100 * float64(all) / n}}, nil
}

// chooseAbstain returns the rule that accepts most of the rows. Each kind of doubt has its share of the probability of a
// failure.
func chooseAbstain(p *Prediction, wrong []bool, o CalibrateOptions) (*calibrate.Abstain, error) {
	kinds := []string{o.By}
	if o.By == "" {
		kinds = []string{calibrate.ByWidth}
		if p.Classes != nil {
			kinds[0] = calibrate.ByProbability
		}
		if p.Unfamiliar != nil {
			kinds = append(kinds, calibrate.ByUnfamiliar)
		}
	}
	var best *calibrate.Abstain
	for _, by := range kinds {
		doubts, err := p.Doubts(by, o.Level)
		if err != nil {
			return nil, err
		}
		most, accepted, ok := calibrate.ControlRisk(doubts, wrong, o.Risk, 1-(1-o.Confidence)/float64(len(kinds)))
		if !ok || best != nil && best.Accepted >= accepted {
			continue
		}
		best = &calibrate.Abstain{By: by, Most: most, Link: string(p.Link), Risk: o.Risk, Confidence: o.Confidence, Tolerance: o.Tolerance, Rows: len(wrong), Accepted: accepted}
		if by == calibrate.ByWidth {
			best.Level = o.Level
		}
	}
	if best == nil {
		need := math.Ceil(math.Log((1-o.Confidence)/4/float64(len(kinds))) / math.Log1p(-o.Risk))
		return nil, settings.Errorf("risk: no share of the %d rows can be shown to have at most %g %% wrong predictions: expected a larger risk, or more rows (%.0f at least without a wrong one)", len(wrong), 100*o.Risk, need)
	}
	return best, nil
}

// showsRisk returns an error if targets of a kind can be wrong by no interval. A tolerance is right or wrong for any number.
func showsRisk(kind likelihood.Kind, tolerance float64) error {
	if tolerance == 0 && (kind == likelihood.Binary || kind == likelihood.Ordered) {
		return settings.Errorf("%s targets: an interval of labels is hardly ever wrong, so that it shows no risk; expected numbers, or a model of classes (valla train --classes)", kind)
	}
	return nil
}

// mistakes returns which rows are wrong: another class than the most probable one, or a number too far from its mean or
// outside its interval.
func mistakes(p *Prediction, y []float64, o CalibrateOptions) ([]bool, error) {
	wrong := make([]bool, p.N())
	if p.Classes != nil {
		if o.Tolerance > 0 {
			return nil, settings.Errorf("tolerance: classes are right or wrong, expected none")
		}
		for i, best := range p.Best() {
			wrong[i] = p.Classes[best] != y[i]
		}
		return wrong, nil
	}
	if len(y) != len(p.Mean) {
		return nil, settings.Errorf("rows that need a look need targets of one number")
	}
	t := len(p.Targets)
	lower, upper, err := p.Interval(o.Level)
	if err != nil && o.Tolerance == 0 {
		return nil, err
	}
	for i, v := range y {
		if o.Tolerance > 0 {
			wrong[i/t] = wrong[i/t] || !(math.Abs(v-p.Mean[i]) <= o.Tolerance)
		} else {
			wrong[i/t] = wrong[i/t] || v < lower[i] || v > upper[i]
		}
	}
	return wrong, nil
}
