package task

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// maxClasses is the largest number of classes. A column with more different values has no classes.
const maxClasses = 1000

// Classification describes C classes. The network's outputs are the logits of the classes.
type Classification struct {
	Name    string    `json:"target"`           // name of the target
	Classes []float64 `json:"classes"`          // values of the target [C], ascending, in the order of the outputs
	Names   []string  `json:"labels,omitempty"` // texts of the target [C], which Classes then numbers 0, 1, …; nil for numbers
}

// If there are more classes than manyClasses, their values must be whole numbers, and a class must have
// fewRows rows on average at least.
const (
	manyClasses = 20
	fewRows     = 2
)

// Classes returns the classification of a set's only target by its different values. A target that looks like
// a quantity is an error: if there are more than 20 values, all values must be whole numbers, and a value must
// stand in two rows on average at least.
func Classes(s *data.Set) (*Classification, error) {
	if len(s.Targets) != 1 {
		return nil, fmt.Errorf("%d targets of classes, expected one", len(s.Targets))
	}
	c := &Classification{Name: s.Targets[0], Names: s.Labels}
	if c.Names == nil {
		c.Classes = slices.Compact(slices.Sorted(slices.Values(graph.Floats(s.Y))))
	}
	for i := range c.Names {
		c.Classes = append(c.Classes, float64(i))
	}
	if n := len(c.Classes); n < 2 || n > maxClasses {
		return nil, fmt.Errorf("the target %q has %d different values, expected 2 to %d classes", c.Name, n, maxClasses)
	}
	broken := func(v float64) bool { return v != math.Trunc(v) }
	if n := len(c.Classes); n > manyClasses && (slices.ContainsFunc(c.Classes, broken) || s.N() < fewRows*n) {
		return nil, settings.Errorf("the target %q has %d different values in %d rows, such as %s and %s, which look like numbers: "+
			"leave out classes, or number the classes 0, 1, … in more rows", c.Name, n, s.N(), className(c.Classes, c.Names, 0), className(c.Classes, c.Names, 1))
	}
	return c, nil
}

// Complete adds the classes that rows lack, where the classes are most of the numbers 0 … n−1. Other classes stay as they are, and so do
// classes of which more than a tenth are missing: these may be classes of another network.
func (c *Classification) Complete(n int) {
	k := len(c.Classes)
	broken := func(v float64) bool { return v != math.Trunc(v) }
	if c.Names != nil || k >= n || 10*k < 9*n || n > maxClasses || c.Classes[0] < 0 || c.Classes[k-1] > float64(n-1) || slices.ContainsFunc(c.Classes, broken) {
		return
	}
	c.Classes = nil
	for i := range n {
		c.Classes = append(c.Classes, float64(i))
	}
}

func (*Classification) kind() string { return "classification" }

func (c *Classification) size() int { return len(c.Classes) }

func (c *Classification) targets() []string { return []string{c.Name} }

func (c *Classification) labels() []string { return c.targets() }

func (c *Classification) check() error {
	if n := len(c.Classes); n < 2 || n > maxClasses {
		return fmt.Errorf("%d classes, expected 2 to %d", n, maxClasses)
	}
	for i, v := range c.Classes {
		if !kernel.Finite(v) || i > 0 && v <= c.Classes[i-1] {
			return fmt.Errorf("class %d (counting from 0) of %q is %g, expected finite numbers, ascending", i, c.Name, v)
		}
		if c.Names != nil && v != float64(i) {
			return fmt.Errorf("class %d (counting from 0) of %q is %g, expected the place of a label", i, c.Name, v)
		}
	}
	if c.Names != nil && len(c.Names) != len(c.Classes) {
		return fmt.Errorf("%d labels of %d classes of %q, expected as many", len(c.Names), len(c.Classes), c.Name)
	}
	return nil
}

func (*Classification) likelihood() likelihood.Likelihood { return likelihood.Softmax{} }

func (*Classification) loss() train.Loss { return train.CrossEntropy }

func (*Classification) heldLoss(y, f []float64) float64 {
	return -likelihood.Softmax{}.LogDensity(y, f)
}

func (c *Classification) takes(y *tensor.Dense) error {
	_, err := c.Labels(y)
	return err
}

// Labels returns the index of the class of each row of y [N,1].
func (c *Classification) Labels(y *tensor.Dense) ([]int, error) {
	if err := rowMajor("targets", y); err != nil {
		return nil, err
	}
	if y.Dims() != 2 || y.Shape()[1] != 1 {
		return nil, fmt.Errorf("targets of shape %v, expected [N,1]", y.Shape())
	}
	out := make([]int, y.Shape()[0])
	for i, v := range graph.Floats(y) {
		k, ok := slices.BinarySearch(c.Classes, v)
		if !ok {
			return nil, &TargetError{Row: i, Column: c.Name, Err: fmt.Errorf("%s is none of the %d classes", tablefile.Number(v), c.size())}
		}
		out[i] = k
	}
	return out, nil
}

// encode returns one-hot rows.
func (c *Classification) encode(y *tensor.Dense, dt tensor.Dtype) (*tensor.Dense, error) {
	labels, err := c.Labels(y)
	if err != nil {
		return nil, err
	}
	rows := tensor.New(tensor.Of(dt), tensor.WithShape(len(labels), c.size()))
	if dt == tensor.Float32 {
		mark(rows.Float32s(), labels, c.size())
	} else {
		mark(rows.Float64s(), labels, c.size())
	}
	return rows, nil
}

// mark sets the element of each row's label to 1.
func mark[T float](rows []T, labels []int, width int) {
	for i, k := range labels {
		rows[i*width+k] = 1
	}
}

// decode returns the class of each row's largest element.
func (c *Classification) decode(y *tensor.Dense) *tensor.Dense {
	var out []float64
	for row := range slices.Chunk(graph.Floats(y), c.size()) {
		out = append(out, c.Classes[slices.Index(row, slices.Max(row))])
	}
	return tensor.New(tensor.WithShape(len(out), 1), tensor.WithBacking(out))
}

func (c *Classification) fill(ctx context.Context, g gp.Gaussian, _ Observation, o PredictOptions, p *Prediction) error {
	for i, f := range g.Mean {
		if !kernel.Finite(f) {
			return fmt.Errorf("row %d (counting from 0): logit %g, expected a finite one", o.First+i/c.size(), f)
		}
	}
	g, err := settled(g, 1, o.First)
	if err != nil {
		return err
	}
	targets := p.Targets
	if len(targets) != 1 || targets[0] != c.Name {
		targets = c.targets()
	}
	usual := Probit
	if len(g.Probs) > 0 {
		usual = Own
	}
	*p = Prediction{Targets: targets, Classes: c.Classes, Labels: c.Names, Link: cmp.Or(o.Link, usual), Probs: dense.Resized(p.Probs, len(g.Mean))}
	return c.fillProbs(ctx, g, o, p)
}

// fillProbs computes the probabilities of p by the link of p.
func (c *Classification) fillProbs(ctx context.Context, g gp.Gaussian, o PredictOptions, p *Prediction) error {
	switch p.Link {
	case Own:
		if len(g.Probs) == 0 {
			return settings.Errorf("link %q of a posterior without probabilities of its own, expected %q or %q", Own, Probit, MonteCarlo)
		}
		copy(p.Probs, g.Probs)
	case Probit:
		gp.Probit(p.Probs, g)
	case Bridge:
		return gp.Bridge(p.Probs, g, o.First)
	case MonteCarlo:
		if o.Samples < 0 {
			return settings.Errorf("%d samples, expected a positive number", o.Samples)
		}
		return gp.MonteCarloProbs(ctx, p.Probs, g, cmp.Or(o.Samples, gp.Samples), o.Seed, o.First)
	default:
		return settings.Errorf("link %q, expected %q, %q, %q or %q", o.Link, Probit, MonteCarlo, Bridge, Own)
	}
	return nil
}

// ClassName returns the text of class k: its name, or its value.
func (c *Classification) ClassName(k int) string { return className(c.Classes, c.Names, k) }

// className returns the text of class k.
func className(classes []float64, labels []string, k int) string {
	if labels != nil {
		return labels[k]
	}
	return tablefile.Number(classes[k])
}
