package model

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train/metric"
)

// maxClasses is where a column holds numbers rather than classes.
const maxClasses = 1000

// Link says how class probabilities are made of a latent Gaussian.
type Link string

const (
	Probit     Link = "probit" // gp.ProbitProbs
	MonteCarlo Link = "mc"     // gp.MonteCarloProbs, gp.Samples of seed 0 for each row
)

// classesOf returns the different values of a target, ascending.
func classesOf(set *data.Set) ([]float64, error) {
	classes := slices.Compact(slices.Sorted(slices.Values(set.Y.Float64s())))
	if len(classes) < 2 || len(classes) > maxClasses {
		return nil, fmt.Errorf("the target %q has %d different values, expected 2 to %d classes", set.Target, len(classes), maxClasses)
	}
	return classes, nil
}

// checkClasses is check for a model with classes.
func (m *Model) checkClasses() error {
	for i, c := range m.Classes {
		if !finite(c) || i > 0 && c <= m.Classes[i-1] {
			return fmt.Errorf("classes %v, expected at least two finite numbers, ascending", m.Classes)
		}
	}
	switch {
	case len(m.Classes) < 2 || len(m.Classes) > maxClasses:
		return fmt.Errorf("%d classes, expected 2 to %d", len(m.Classes), maxClasses)
	case m.MAPNoise != 0 || m.Noise != 0:
		return fmt.Errorf("noise variances %g and %g of classes, expected 0", m.MAPNoise, m.Noise)
	case m.Targets != nil:
		return fmt.Errorf("targets: a scaling of classes, expected none")
	}
	return nil
}

// labels returns the number of each row's class.
func (m *Model) labels(set *data.Set) ([]int, error) {
	out := make([]int, set.N())
	for i, y := range set.Y.Float64s() {
		c, ok := slices.BinarySearch(m.Classes, y)
		if !ok {
			return nil, fmt.Errorf("row %d (counting from 0): the target %q is %g, which is none of the %d classes",
				i, m.Target, y, len(m.Classes))
		}
		out[i] = c
	}
	return out, nil
}

// oneHot returns the targets of a set as rows [N,C].
func (m *Model) oneHot(set *data.Set) (*tensor.Dense, error) {
	labels, err := m.labels(set)
	if err != nil {
		return nil, err
	}
	c := len(m.Classes)
	y := make([]float64, len(labels)*c)
	for i, k := range labels {
		y[i*c+k] = 1
	}
	return graph.Convert(tensor.New(tensor.WithShape(len(labels), c), tensor.WithBacking(y)), m.Dtype()), nil
}

// ClassName returns how a class is written.
func ClassName(class float64) string { return strconv.FormatFloat(class, 'g', -1, 64) }

// Probs are the probabilities of C classes at each of N inputs.
type Probs struct {
	Classes []float64 // C
	P       []float64 // [N,C]
}

// Best returns the number of the most probable class of each row, the first of equals.
func (p *Probs) Best() []int {
	var out []int
	for row := range slices.Chunk(p.P, len(p.Classes)) {
		best := 0
		for k, v := range row {
			if v > row[best] {
				best = k
			}
		}
		out = append(out, best)
	}
	return out
}

// PredictProbs returns the class probabilities at x [N,D], as Predict does for numbers.
func (m *Model) PredictProbs(ctx context.Context, x *tensor.Dense, link Link) (*Probs, error) {
	if m.Classes == nil {
		return nil, fmt.Errorf("predict: the target %q has no classes", m.Target)
	}
	g, err := m.latent(ctx, x)
	if err != nil {
		return nil, err
	}
	for i, f := range g.Mean.Float64s() {
		if !finite(f) {
			return nil, fmt.Errorf("predict: row %d (counting from 0): logit %g, expected a finite one", i/len(m.Classes), f)
		}
	}
	switch link {
	case Probit:
		return &Probs{m.Classes, gp.ProbitProbs(g).Float64s()}, nil
	case MonteCarlo:
		p, err := gp.MonteCarloProbs(g, gp.Samples, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("predict: %w", err)
		}
		return &Probs{m.Classes, p.Float64s()}, nil
	}
	return nil, fmt.Errorf("%w: link %q, expected %q or %q", ErrOption, link, Probit, MonteCarlo)
}

// EvaluateClasses returns the scores of the class probabilities for a set.
func (m *Model) EvaluateClasses(ctx context.Context, set *data.Set, link Link) (metric.ClassificationScores, error) {
	fail := func(err error) (metric.ClassificationScores, error) {
		return metric.ClassificationScores{}, fmt.Errorf("evaluate: %w", err)
	}
	if err := m.checkSet(set); err != nil {
		return fail(err)
	}
	labels, err := m.labels(set)
	if err != nil {
		return fail(err)
	}
	p, err := m.PredictProbs(ctx, set.X, link)
	if err != nil {
		return fail(err)
	}
	var c metric.Classification
	if err := c.Add(p.P, labels); err != nil {
		return fail(err)
	}
	return c.Result()
}
