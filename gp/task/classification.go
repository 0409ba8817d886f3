package task

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// MaxClasses is the largest number of classes. A column with more different values does not
// hold classes.
const MaxClasses = 1000

// Classification describes C classes, whose logits are the network's outputs.
type Classification struct {
	Name    string    `json:"target"`
	Classes []float64 `json:"classes"` // the values that the target has, ascending, by output
	// Names are the texts of the target, whose places 0, 1, … Classes then are; nil for numbers.
	Names []string `json:"labels,omitempty"`
}

// manyClasses is a number of classes from which on their values are looked at, and
// fewRows how many rows a class then has on average at least.
const (
	manyClasses = 20
	fewRows     = 2
)

// Classes returns the classification of a set's one target by its different values. A target
// that looks like a quantity is refused: more than 20 values that are not all whole numbers,
// or of which each is found in fewer than two rows on average.
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
	if n := len(c.Classes); n < 2 || n > MaxClasses {
		return nil, fmt.Errorf("the target %q has %d different values, expected 2 to %d classes", c.Name, n, MaxClasses)
	}
	broken := func(v float64) bool { return v != math.Trunc(v) }
	if n := len(c.Classes); n > manyClasses && (slices.ContainsFunc(c.Classes, broken) || s.N() < fewRows*n) {
		return nil, settings.Errorf("the target %q has %d different values in %d rows, such as %s and %s, which look like numbers: "+
			"leave out classes, or number the classes 0, 1, … in more rows", c.Name, n, s.N(), className(c.Classes, c.Names, 0), className(c.Classes, c.Names, 1))
	}
	return c, nil
}

// Kind implements Outputs.
func (*Classification) Kind() string { return "classification" }

// Size implements Outputs.
func (c *Classification) Size() int { return len(c.Classes) }

// Targets implements Outputs.
func (c *Classification) Targets() []string { return []string{c.Name} }

// Check implements Outputs.
func (c *Classification) Check() error {
	if n := len(c.Classes); n < 2 || n > MaxClasses {
		return fmt.Errorf("%d classes, expected 2 to %d", n, MaxClasses)
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

// Likelihood implements Outputs.
func (*Classification) Likelihood() likelihood.Likelihood { return likelihood.Softmax{} }

// Loss implements Outputs.
func (*Classification) Loss() train.Loss { return train.CrossEntropy }

// HeldLoss implements Outputs.
func (*Classification) HeldLoss(y, f []float64) float64 {
	return -likelihood.Softmax{}.LogDensity(y, f)
}

// Labels returns the number of the class of each row of y [N,1].
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
			return nil, fmt.Errorf("row %d (counting from 0): the target %q is %g, which is none of the %d classes", i, c.Name, v, c.Size())
		}
		out[i] = k
	}
	return out, nil
}

// Encode implements Outputs: one-hot rows.
func (c *Classification) Encode(y *tensor.Dense, dt tensor.Dtype) (*tensor.Dense, error) {
	labels, err := c.Labels(y)
	if err != nil {
		return nil, err
	}
	rows := make([]float64, len(labels)*c.Size())
	for i, k := range labels {
		rows[i*c.Size()+k] = 1
	}
	return graph.Convert(tensor.New(tensor.WithShape(len(labels), c.Size()), tensor.WithBacking(rows)), dt), nil
}

// Decode implements Outputs: the class of each row's largest element.
func (c *Classification) Decode(y *tensor.Dense) *tensor.Dense {
	var out []float64
	for row := range slices.Chunk(graph.Floats(y), c.Size()) {
		out = append(out, c.Classes[slices.Index(row, slices.Max(row))])
	}
	return tensor.New(tensor.WithShape(len(out), 1), tensor.WithBacking(out))
}

// Fill implements Outputs.
func (c *Classification) Fill(ctx context.Context, g gp.Gaussian, _ float64, o PredictOptions, p *Prediction) error {
	for i, f := range g.Mean {
		if !kernel.Finite(f) {
			return fmt.Errorf("row %d (counting from 0): logit %g, expected a finite one", o.First+i/c.Size(), f)
		}
	}
	g, err := settled(g, c.Size(), 1, o.First)
	if err != nil {
		return err
	}
	targets := p.Targets
	if len(targets) != 1 || targets[0] != c.Name {
		targets = c.Targets()
	}
	usual := Probit
	if len(g.Probs) > 0 {
		usual = Own
	}
	*p = Prediction{Targets: targets, Classes: c.Classes, Labels: c.Names, Link: cmp.Or(o.Link, usual), Probs: resized(p.Probs, len(g.Mean))}
	return c.fillProbs(ctx, g, o, p)
}

// fillProbs sets the probabilities by the link of p.
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

// Scorer implements Outputs: ACC, NLL, ECE and Brier.
func (c *Classification) Scorer() Scorer { return &classScorer{of: c} }

type classScorer struct {
	of *Classification
	metric.Classification
}

// Add implements Scorer.
func (s *classScorer) Add(p *Prediction, y *tensor.Dense) error {
	labels, err := s.of.Labels(y)
	if err != nil {
		return err
	}
	return s.Classification.Add(p.Probs, labels)
}

// Scores implements Scorer.
func (s *classScorer) Scores() (Scores, error) {
	r, err := s.Result()
	return Scores{N: r.N, List: []Score{{"ACC", r.ACC}, {"NLL", r.NLL}, {"ECE", r.ECE}, {"Brier", r.Brier}}}, err
}

// Score implements Outputs.
func (c *Classification) Score(p *Prediction, y *tensor.Dense) (Scores, error) {
	return scored(c, p, y)
}

// ClassName returns the text of a class that is a number.
func ClassName(class float64) string { return strconv.FormatFloat(class, 'g', -1, 64) }

// ClassName returns the text of class k: its name, or the number.
func (c *Classification) ClassName(k int) string { return className(c.Classes, c.Names, k) }

// className returns the text of class k.
func className(classes []float64, labels []string, k int) string {
	if labels != nil {
		return labels[k]
	}
	return ClassName(classes[k])
}
