package valla

import (
	"context"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// others are variances [N,C] that another posterior adds to VaLLA's at the training and at
// the held-out rows of a problem, in its element type. nil means none.
type others struct {
	train, held *tensor.Dense // [N,C] at the training rows and at the held-out rows
}

// fitting is the state of one fit.
type fitting struct {
	p      gp.Problem   // its network has the uncertain weights alone as parameters
	r      gp.Run       // seed, memory, checkpoint and progress
	s      Settings     // with all defaults filled in
	loop   train.Config // how the settings want the steps made
	others others       // variances of another posterior

	weightNotes []string // on the choice of weights
	share       float64  // of products of rows, see rowShare
	still       bool     // the inducing inputs are rows and stay, because the kernel has no slope in them

	layer     *Layer                // what the fit changes
	lik       likelihood.Likelihood // its parameters are changed by the fit
	post      *posterior            // of layer
	likeliest int                   // of how many classes of a row predictions have covariances, see gp.LikeliestClasses; 0: all
}

// Fit implements gp.Settings.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	return s.FitBeside(ctx, p, r, nil, nil)
}

// FitBeside is Fit for a posterior whose variance is one part of a sum, by natural gradients
// only: train and held [N,C] are the variances that the other part adds at the training rows and at
// the held-out rows of p, in its element type. The objective is the objective of the sum.
func (s *Settings) FitBeside(ctx context.Context, p gp.Problem, r gp.Run, train, held *tensor.Dense) (*gp.Fitted, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	f := &fitting{p: p, r: r, others: others{train, held}}
	var err error
	if f.s, f.p, f.weightNotes, err = s.resolve(ctx, p, r); err != nil {
		return nil, err
	}
	if f.s.Optimizer != optimizerNatural && train != nil {
		return nil, settings.Errorf("optimizer %s beside another posterior, expected %s", f.s.Optimizer, optimizerNatural)
	}
	if _, err := f.plan(); err != nil {
		return nil, err
	}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	if f.s.Optimizer == optimizerNatural {
		return f.naturalSteps(ctx)
	}
	return f.steps().Steps(ctx, f.fitted)
}

// chosen returns the network with those parameters alone that names choose.
func chosen(net layers.Network, names []string) (layers.Network, error) {
	params, err := layers.Choose(net, names...)
	if err != nil || len(params) == len(net.Params()) {
		return net, err
	}
	return layers.Part{Network: net, Chosen: params}, nil
}

// start makes the layer, the likelihood and the posterior as they are before the first
// step.
func (f *fitting) start(ctx context.Context) error {
	f.lik = steps.Start(f.p, f.s.NoiseStd)
	var err error
	if f.still, err = still(f.p); err != nil {
		return err
	}
	f.s.FixInducing = f.s.FixInducing || f.still
	z, class, err := f.inducing()
	if err != nil {
		return err
	}
	if f.layer, err = NewLayer(jacobian.NTK{Net: f.p.Net}, z, class); err != nil {
		return err
	}
	f.layer.LogPriorStd.Set(0, math.Log(f.s.PriorStd))
	if f.s.OptimalA {
		if _, err := f.layer.OptimalA(ctx, f.p.Train.X, likelihood.NoiseVariance(f.lik)); err != nil {
			return err
		}
	}
	f.post = newPosterior(f.p.Net, f.layer)
	f.post.start = z.Clone().(*tensor.Dense)
	f.likeliest = gp.FewClasses(f.s.Likeliest, f.p.Outputs())
	f.post.likeliest = f.likeliest
	f.post.additive = likelihood.IsGaussian(f.lik) && *f.s.Alpha == 0
	if f.r.Memory > 0 {
		f.post.limitMemory(f.r.Memory / 4) // it lives beside the step of the fit
	}
	f.loop = f.s.loop()
	return nil
}

// still reports whether the kernel is piecewise constant in the inputs: a network of tokens rounds
// its inputs to rows of a table.
func still(p gp.Problem) (bool, error) {
	const m = 2
	b := graph.NewBuilder(p.Dtype())
	z := b.Input("z", append([]int{m}, p.Train.X.Shape()[1:]...)...)
	gram := jacobian.NTK{Net: p.Net}.Gram(b, z, make([]int, m))
	slope := graph.VJP(b, []*graph.Node{gram}, []*graph.Node{b.Fill(1, m, m)}, []*graph.Node{z})[0]
	return b.Err() == nil && len(graph.Children(slope)) == 0, b.Err()
}

// fitted returns the result of the fit after the last step.
func (f *fitting) fitted(ctx context.Context, record gp.Record) (*gp.Fitted, error) {
	f.post.Refresh()
	if err := f.split(ctx); err != nil {
		return nil, err
	}
	record.PriorStds, record.Notes = []float64{f.layer.PriorStd()}, append(f.notes(), record.Notes...)
	return gp.Learned(f.post, f.lik, record), nil
}

// jitterFacts says how much was added to the diagonal of K_z so that it has a Cholesky factor, if
// anything was.
func jitterFacts(jitter float64) []gp.Fact {
	if jitter == 0 {
		return nil
	}
	return []gp.Fact{{Name: "jitter", Value: jitter}}
}
