// Package parts registers a method, a layer and a form of network with packages of another module. A program
// that imports this package has all three.
package parts

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/layers"
)

// Thrifty are the settings of a method that is LLA of the last layer with a fixed prior.
type Thrifty struct {
	Trust float64 `set:"trust" default:"2" above:"0" help:"standard deviation of the last layer's weights before the fit"`
}

func init() {
	method.Register(gp.Method{
		Name: "thrifty", Title: "Thrifty LLA", Summary: "LLA of the last layer, with a prior that is given.",
		New: func() gp.Settings { return new(Thrifty) }, Restore: restore,
	})
}

// Label implements gp.Settings.
func (*Thrifty) Label() string { return "Thrifty" }

// Fit implements gp.Settings.
func (s *Thrifty) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	c := *s
	all, err := gp.Complete(&c)
	if err != nil {
		return nil, err
	}
	lla := laplace.Settings{Structure: "diag", Weights: []string{"last-layer"}, Hyper: "fixed", PriorStd: c.Trust}
	f, err := lla.Fit(ctx, p, r)
	if err != nil {
		return nil, err
	}
	f.Posterior, f.Record.Settings = posterior{f.Posterior}, all
	return f, nil
}

// posterior is a posterior of LLA under another name.
type posterior struct{ gp.Stored }

func (posterior) String() string { return "Thrifty" }

func restore(ctx context.Context, net layers.Network, l likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	q, err := laplace.Method.Restore(ctx, net, l, s)
	return posterior{q}, err
}
