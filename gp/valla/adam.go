package valla

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// adamCheckpoint is the number of steps between two checkpoints.
const adamCheckpoint = 1000

// steps describes the fit by Adam, as published. Both optimizers share its [steps.Fit].
func (f *fitting) steps() *steps.Graph {
	g := &steps.Graph{
		What:      fmt.Sprintf("valla: a step with %d inducing points", f.layer.Inducing()),
		BatchSize: f.s.BatchSize, Trained: f.trained(), Beside: int64(layers.Count(f.p.Net)) * int64(f.p.Dtype().Size()),
		Write: func(b *graph.Builder, x, y *graph.Node) steps.Step {
			l := f.layer.Loss(b, x, y, f.p.Net.Forward(b, x), Objective{Likelihood: f.lik, Alpha: f.s.Alpha, N: f.p.All()})
			if b.Err() != nil {
				return steps.Step{}
			}
			return steps.Step{Loss: l.Loss}
		},
		Fit: steps.Fit{
			Problem: f.p, Run: f.r, Settings: &f.s, Likelihood: f.lik, Loop: f.loop,
			Identity: []string{
				"parameters of the likelihood " + fate(f.s.FixNoise), fmt.Sprintf("alpha %g", *f.s.Alpha),
				fmt.Sprintf("inducing inputs %s, %s", train.Checksum(f.layer.Z.Value), fate(f.s.FixInducing)),
				fmt.Sprintf("inducing points of the outputs %v", f.layer.Class),
				fmt.Sprintf("prior std %v, %s", f.layer.PriorStd(), fate(f.s.FixPrior)),
			},
		},
	}
	if f.likeliest > 0 {
		g.Fit.Identity = append(g.Fit.Identity, fmt.Sprintf("variances of %d classes", f.likeliest))
	}
	if v := f.p.Validation; v != nil {
		g.Held = f.post.following(v.X, likelihood.IsClass(f.lik))
	}
	return g
}

// Objective returns a step of Adam on mini-batches of batch rows of a problem, at the parameters of
// the posterior and of the problem's likelihood, which the step changes. It serves measurements.
func (p *posterior) Objective(_ context.Context, of gp.Problem, r gp.Run, batch int) (*train.Graph, error) {
	f := &fitting{p: of, r: r, layer: p.layer, lik: of.Likelihood, post: p}
	f.s.Alpha, f.s.BatchSize = new(1.0), min(batch, of.Train.N())
	return f.steps().Objective()
}

// fate says in an identity whether something is fitted.
func fate(fixed bool) string {
	if fixed {
		return "fixed"
	}
	return "free"
}

// trained lists what Adam changes.
func (f *fitting) trained() []*graph.Param {
	var params []*graph.Param
	if !f.s.FixInducing {
		params = append(params, f.layer.Z)
	}
	params = append(params, f.layer.L)
	if !f.s.FixPrior {
		params = append(params, f.layer.LogPriorStd)
	}
	if !f.s.FixNoise {
		params = append(params, f.lik.Params()...)
	}
	return params
}
