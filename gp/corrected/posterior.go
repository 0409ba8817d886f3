package corrected

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// posterior has the covariance of one posterior and the mean of another one.
type posterior struct {
	of   gp.Stored // has the covariance
	mean gp.Stored // SFR with its own mean
}

var (
	_ gp.Stored         = (*posterior)(nil)
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.OwnMean        = (*posterior)(nil)
	_ gp.Writer         = (*posterior)(nil)
)

// join returns the posterior with the covariance of one posterior and the mean of another one. Examples can be added to it if
// they can be added to the first.
func join(of, mean gp.Stored) gp.Stored {
	p := &posterior{of, mean}
	if _, ok := of.(gp.Updater); ok {
		return updater{p}
	}
	return p
}

// updater is a posterior to which examples can be added.
type updater struct{ *posterior } // of a gp.Updater

// Update implements gp.Updater: both posteriors take the rows. With Gaussian noise a covariance does not depend on targets.
func (u updater) Update(ctx context.Context, more gp.Problem, r gp.Run) (gp.Stored, error) {
	mean, err := u.mean.(gp.Updater).Update(ctx, more, r.Part(0, 500))
	if err != nil {
		return nil, err
	}
	of, err := u.of.(gp.Updater).Update(ctx, more, r.Part(500, 1000))
	if err != nil {
		return nil, err
	}
	return join(of, mean), nil
}

// String implements gp.Stored.
func (p *posterior) String() string { return p.of.String() + ", corrected mean" }

// OwnMean implements gp.OwnMean.
func (p *posterior) OwnMean() string {
	return "Predictions have a corrected mean, which is not the network's output."
}

// Compile implements gp.Posterior.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	mean, err := p.mean.Compile(r)
	if err != nil {
		return nil, fmt.Errorf("corrected mean: %w", err)
	}
	of, err := r.Part(mean.Bytes(), p.of)
	return &compiled{Compiled: of, mean: mean}, err
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	gp.Compiled             // has the covariance
	mean        gp.Compiled // has the mean
	g           gp.Gaussian // of mean
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return c.Compiled.Bytes() + c.mean.Bytes() }

// Predict implements gp.Compiled.
func (c *compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	if err := c.mean.Predict(ctx, x, &c.g); err != nil {
		return fmt.Errorf("corrected mean: %w", err)
	}
	if err := c.Compiled.Predict(ctx, x, g); err != nil {
		return err
	}
	copy(g.Mean, c.g.Mean)
	return nil
}

// Joint implements gp.JointPosterior, if the posterior that has the covariance does.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	joint, ok := p.of.(gp.JointPosterior)
	if !ok {
		return nil, nil, fmt.Errorf("%v has no covariance between inputs", p.of)
	}
	if _, cov, err = joint.Joint(ctx, x); err != nil {
		return nil, nil, err
	}
	m, _, err := gp.Marginals(ctx, p.mean, x)
	return dense.Of(m, len(m)), cov, err
}

// Write implements gp.Writer, if the posterior that has the covariance does.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	g, err := gp.Write(p.of, w)
	if err != nil {
		return g, err
	}
	defer w.Scope(prefix)()
	m, err := p.mean.(gp.Writer).Write(w)
	g.Mean = m.Mean
	return g, err
}

// header is what a file says of a posterior beside its arrays.
type header struct {
	Of   json.RawMessage `json:"of"`   // header of the posterior that has the covariance
	Mean json.RawMessage `json:"mean"` // header of SFR
}

// prefix is before the names of the arrays of the mean.
const prefix = "mean/"

// State implements gp.Stored.
func (p *posterior) State() (s gp.State, err error) {
	var h header
	if h.Of, err = s.Add(p.of, ""); err == nil {
		h.Mean, err = s.Add(p.mean, prefix)
	}
	s.Header = h
	return s, err
}

// Restoring returns a method whose Restore restores the method's posteriors with and without a corrected mean.
func Restoring(how gp.Method) gp.Method {
	of := how.Restore
	how.Restore = func(ctx context.Context, net layers.Network, l likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
		h, ok := headerOf(s)
		if !ok {
			return of(ctx, net, l, s)
		}
		covariance, err := of(ctx, net, l, gp.SavedPart(s, h.Of, ""))
		if err != nil {
			return nil, err
		}
		mean, err := sfr.Method.Restore(ctx, net, l, gp.SavedPart(s, h.Mean, prefix))
		if err != nil {
			return nil, fmt.Errorf("corrected mean: %w", err)
		}
		if gp.MeanOf(mean) == "" {
			return nil, fmt.Errorf("corrected mean: %v, expected SFR with its own mean", mean)
		}
		return join(covariance, mean), nil
	}
	return how
}

// headerOf returns the header of a posterior with a corrected mean, and whether a file has one.
func headerOf(s gp.Saved) (h header, ok bool) {
	keys := map[string]json.RawMessage{}
	if s.Header(&keys) != nil {
		return h, false
	}
	h = header{Of: keys["of"], Mean: keys["mean"]}
	return h, h.Of != nil && h.Mean != nil && len(keys) == 2
}
