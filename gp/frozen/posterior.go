package frozen

import (
	"context"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
)

// through is a posterior of the rest of a network as one of the whole network.
type through struct {
	of  gp.Posterior // takes features
	cut *Cut         // makes them
}

// Through returns a posterior that takes inputs of the whole network, of one that takes features.
func (c *Cut) Through(p gp.Posterior) gp.Posterior { return through{p, c} }

// Compile implements gp.Posterior.
func (t through) Compile(r gp.Request) (gp.Compiled, error) {
	if !slices.Equal(r.Shape, t.cut.input) {
		return nil, fmt.Errorf("inputs of shape %v, expected %v", r.Shape, t.cut.input)
	}
	b := graph.NewBuilder(t.cut.dt)
	x := b.Input("x", r.Input()...)
	front, err := r.Batch(0, b, x, t.cut.Front.Forward(b, x))
	if err != nil {
		return nil, err
	}
	r.Shape = t.cut.Shape
	c, err := r.Part(int64(front.Bytes()), t.of)
	return &compiled{Compiled: c, front: front, cut: t.cut, hash: newHasher(t.cut.dt)}, err
}

// compiled is the gp.Compiled of a through.
type compiled struct {
	gp.Compiled              // takes features
	front       *graph.Batch // computes them
	cut         *Cut         // see through
	hash        *hasher      // of inputs

	features, inputs []float64 // of a call
	missing          []int     // rows that the memory does not have
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return c.Compiled.Bytes() + int64(c.front.Bytes()) }

// Refresh implements gp.Refresher.
func (c *compiled) Refresh() error {
	if r, ok := c.Compiled.(gp.Refresher); ok {
		return r.Refresh()
	}
	return nil
}

// Predict implements gp.Compiled.
func (c *compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	d, width := c.front.Width(), c.cut.Width()
	n := len(x) / d
	if len(c.features) < n*width {
		c.features = make([]float64, n*width)
	}
	v := c.features[:n*width]
	c.missing, c.inputs = c.missing[:0], c.inputs[:0]
	remembers := c.cut.Memory.remembers()
	if remembers && gp.IsTrial(ctx) { // the layers before the cut may never be needed
		clear(v)
		return c.Compiled.Predict(ctx, v, g)
	}
	for i := range n {
		row, found := x[i*d:(i+1)*d], false
		if remembers {
			var err error
			if found, err = c.cut.Memory.copyTo(c.hash.numbers(row), v[i*width:(i+1)*width]); err != nil {
				return err
			}
		}
		if !found {
			c.missing, c.inputs = append(c.missing, i), append(c.inputs, row...)
		}
	}
	if err := c.compute(v); err != nil {
		return err
	}
	return c.Compiled.Predict(ctx, v, g)
}

// compute writes the features of the missing rows to v.
func (c *compiled) compute(v []float64) error {
	if len(c.missing) == 0 {
		return nil
	}
	out, err := c.front.Run(c.inputs)
	if err != nil {
		return err
	}
	width, d := c.cut.Width(), c.front.Width()
	for i, row := range c.missing {
		dense.Copy(v[row*width:(row+1)*width], out[0], i*width)
	}
	if !c.cut.Memory.remembers() {
		return nil
	}
	keys := make([]key, len(c.missing))
	for i := range keys {
		keys[i] = c.hash.numbers(c.inputs[i*d : (i+1)*d])
	}
	return c.cut.Memory.add(keys, out[0])
}

// Posterior is a fitted posterior of the rest of a network as one of the whole network.
type Posterior struct {
	through           // takes inputs
	Of      gp.Stored // takes features
	Label   string    // the name of the posterior
}

var (
	_ gp.Stored         = (*Posterior)(nil)
	_ gp.JointPosterior = (*Posterior)(nil)
	_ gp.Writer         = (*Posterior)(nil)
	_ gp.OwnMean        = (*Posterior)(nil)
)

// Fitted returns the posterior of the whole network with a label, of one that was fitted to its rest.
func (c *Cut) Fitted(p gp.Stored, label string) gp.Stored {
	q := &Posterior{through{p, c}, p, label}
	if _, ok := p.(gp.Updater); ok {
		return updater{q}
	}
	return q
}

// Stored returns the posterior behind a cut, and the cut; the cut of another posterior is nil.
func Stored(p gp.Stored) (gp.Stored, *Cut) {
	switch q := p.(type) {
	case *Posterior:
		return q.Of, q.cut
	case updater:
		return q.Of, q.cut
	}
	return p, nil
}

// String implements gp.Stored.
func (p *Posterior) String() string { return p.Label }

// State implements gp.Stored: the state of the posterior that takes features. The cut is not in it.
func (p *Posterior) State() (gp.State, error) { return p.Of.State() }

// OwnMean implements gp.OwnMean.
func (p *Posterior) OwnMean() string { return gp.MeanOf(p.Of) }

// Joint implements gp.JointPosterior, if the posterior behind the cut does.
func (p *Posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	joint, ok := p.Of.(gp.JointPosterior)
	if !ok {
		return nil, nil, fmt.Errorf("%v has no covariance between inputs", p.Of)
	}
	if x, err = p.cut.Features(ctx, x, gp.Run{}); err != nil {
		return nil, nil, err
	}
	return joint.Joint(ctx, x)
}

// Write implements gp.Writer, if the posterior behind the cut does.
func (p *Posterior) Write(w *gp.Writing) (gp.Written, error) {
	x := w.X
	defer func() { w.X = x }()
	if w.X = p.cut.Front.Forward(w.Net, x); w.Err() != nil {
		return gp.Written{}, w.Err()
	}
	return gp.Write(p.Of, w)
}

// updater is a Posterior to which examples can be added.
type updater struct{ *Posterior } // of a gp.Updater

// Update implements gp.Updater.
func (u updater) Update(ctx context.Context, more gp.Problem, r gp.Run) (gp.Stored, error) {
	q, err := u.cut.Problem(ctx, more, r)
	if err != nil {
		return nil, err
	}
	updated, err := u.Of.(gp.Updater).Update(ctx, q, r)
	if err != nil {
		return nil, err
	}
	return u.cut.Fitted(updated, u.Label), nil
}

// Sums implements gp.Summed, if the posterior behind the cut does.
func (p *Posterior) Sums(l likelihood.Likelihood, r gp.Run) (gp.Sums, error) {
	of, ok := p.Of.(gp.Summed)
	if !ok {
		return nil, fmt.Errorf("%v is no function of sums", p.Of)
	}
	s, err := of.Sums(l, r)
	if err != nil {
		return nil, err
	}
	return sums{s, &passes{Cut: p.cut, r: gp.Run{Memory: r.Memory}}, p.Label}, nil
}

// sums are sums over features.
type sums struct {
	gp.Sums         // take features
	of      *passes // compute them
	label   string  // of the posterior
}

// Add implements gp.Sums.
func (s sums) Add(ctx context.Context, e gp.Examples) (err error) {
	if e.X, err = s.of.features(ctx, e.X); err != nil {
		return err
	}
	return s.Sums.Add(ctx, e)
}

// Finish implements gp.Sums.
func (s sums) Finish(ctx context.Context, n int, held *gp.Examples) (*gp.Fitted, error) {
	if held != nil {
		features := *held
		var err error
		if features.X, err = s.of.features(ctx, held.X); err != nil {
			return nil, err
		}
		held = &features
	}
	f, err := s.Sums.Finish(ctx, n, held)
	if err != nil {
		return nil, err
	}
	f.Posterior = s.of.Fitted(f.Posterior, s.label)
	return f, nil
}
