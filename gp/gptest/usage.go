package gptest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// batches: the prediction of an input has the same bits whatever the other inputs are, and however
// many there are.
func (p *probe) batches() error {
	for i := range p.n {
		if err := p.sameRows([]int{i}); err != nil {
			return err
		}
	}
	for _, n := range []int{2, 7, 8, 9, 65, 200} {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = (i*i + 1) % p.n // in no order
		}
		if err := p.sameRows(rows); err != nil {
			return err
		}
	}
	return nil
}

// sameRows predicts the chosen rows of X and compares with their first prediction.
func (p *probe) sameRows(rows []int) error {
	how := fmt.Sprintf("among %d", len(rows))
	g, err := p.engine.PredictAll(p.ctx, data.TakeRows(p.X, rows))
	if err != nil {
		return fmt.Errorf("inputs %s: %w", how, err)
	}
	var want gp.Gaussian
	for _, r := range rows {
		want.Append(p.got.Rows(r, 1))
	}
	return errors.Join(
		differ("mean of inputs "+how, g.Mean, want.Mean, 0),
		differ("covariance of inputs "+how, g.Cov, want.Cov, 0),
		differ("epistemic shares of inputs "+how, g.Epistemic, want.Epistemic, 0),
		differ("probabilities of inputs "+how, g.Probs, want.Probs, 0))
}

// repeatable: the same inputs give the same bits, the inputs stay as they are, and
// results are not overwritten by later ones.
func (p *probe) repeatable() error {
	x, mu, cov := graph.Floats(p.X), slices.Clone(p.mu), slices.Clone(p.cov)
	if _, err := p.predict(data.TakeRows(p.X, []int{1, 0})); err != nil {
		return err
	}
	again, err := p.predict(p.X)
	if err != nil {
		return err
	}
	return errors.Join(
		differ("inputs after a prediction", graph.Floats(p.X), x, 0),
		differ("mean held while predicting again", p.mu, mu, 0),
		differ("covariance held while predicting again", p.cov, cov, 0),
		differ("mean predicted again", again.Mean, mu, 0),
		differ("covariance predicted again", again.Cov, cov, 0),
		differ("probabilities predicted again", again.Probs, p.probs, 0))
}

// wrongInputs: errors that say what was found and what expected, after which the
// posterior works as before.
func (p *probe) wrongInputs() error {
	wide := p.X.Shape().Clone()
	last := len(wide) - 1
	width := wide[last]
	wide[last] = 97 // in no shape by chance
	none := p.X.Shape().Clone()
	none[0] = 0
	return errors.Join(
		p.refuses("inputs of another shape", tensor.New(tensor.Of(p.X.Dtype()), tensor.WithShape(wide...)), "97", fmt.Sprint(width)),
		p.refuses("whole numbers", tensor.New(tensor.Of(tensor.Int64), tensor.WithShape(p.X.Shape()...)), "int64", "float(32|64)"),
		p.refuses("no inputs", tensor.New(tensor.Of(p.X.Dtype()), tensor.WithShape(none...))),
		p.otherFloat(),
		p.repeatable())
}

// otherFloat: inputs of the other floating-point type are refused, or predicted as
// well as float32 can.
func (p *probe) otherFloat() error {
	other := tensor.Float32
	if p.X.Dtype() == tensor.Float32 {
		other = tensor.Float64
	}
	g, err := p.predict(graph.Convert(p.X, other))
	if err != nil {
		return mentions("inputs of another type", err, []string{"float32", "float64"})
	}
	const rounding = 1e-4
	return errors.Join(
		differ("mean of inputs of another type", g.Mean, p.mu, rounding*largest(p.mu)),
		differ("covariance of inputs of another type", g.Cov, p.cov, rounding*p.scale()))
}

// refuses checks that the inputs give an error that has the words in it.
func (p *probe) refuses(what string, x *tensor.Dense, words ...string) error {
	_, err := p.predict(x)
	var joint error
	if j, ok := p.Posterior.(gp.JointPosterior); ok {
		joint = mentions(what+", jointly", p.jointError(j, x), words)
	}
	return errors.Join(mentions(what, err, words), joint)
}

func (p *probe) jointError(j gp.JointPosterior, x *tensor.Dense) (err error) {
	defer recovered(&err)
	_, _, err = j.Joint(p.ctx, x)
	return err
}

func mentions(what string, err error, words []string) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s: no error", what)
	case errors.Is(err, errPanic):
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, w := range words {
		if !regexp.MustCompile(`\b` + w + `\b`).MatchString(err.Error()) {
			return fmt.Errorf("%s: error %q does not name %s", what, err, w)
		}
	}
	return nil
}

// endedContext: a context that has ended, or ends between two batches, ends the
// prediction with its error.
func (p *probe) endedContext() error {
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	_, err := p.predictIn(ended, p.X)
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("context ended before: error %v, expected the context's", err)
	}
	if j, ok := p.Posterior.(gp.JointPosterior); ok {
		if _, _, err := j.Joint(ended, p.X); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("context ended before, jointly: error %v, expected the context's", err)
		}
	}
	c := &countdown{left: 1}
	c.Context, c.cancel = context.WithCancel(p.ctx)
	defer c.cancel()
	if _, err := p.engine.PredictAll(c, data.TakeRows(p.X, make([]int, 300))); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("context ended after the first of several batches: error %v, expected the context's", err)
	}
	return nil
}

// countdown is a context that ends when it has been asked left times.
type countdown struct {
	context.Context
	cancel context.CancelFunc // ends the context
	left   int                // how many times the context may be asked
}

func (c *countdown) ask() {
	if c.left--; c.left < 0 {
		c.cancel()
	}
}

func (c *countdown) Err() error            { c.ask(); return c.Context.Err() }
func (c *countdown) Done() <-chan struct{} { c.ask(); return c.Context.Done() }
