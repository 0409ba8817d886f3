package valla

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

var _ gp.Summed = (*posterior)(nil)

// nameT is the name of the sums in files.
const nameT = "valla.t"

// partial is the sum T = Σ_n Λ_n v_n v_nᵀ over examples at fixed Z, with Λ the curvature of the
// likelihood at the network's outputs, of unit noise. It belongs to all σ₀ and all noises at
// once: T/s² is the T of a noise of the scale s, with Gaussian noise the T of Prop. 2.
type partial struct {
	n      *natural       // the network, the layer and the likelihood
	post   *posterior     // of the fit
	*frame                // of Z
	t      []float64      // [M,M]
	each   *graph.Batched // network, the diagonals of κ̂, and k̂
}

// Sums implements gp.Summed. Z stays, and A becomes the best one for it: with Gaussian noise the
// A of Prop. 2, with any other likelihood the A of the curvature at the network's outputs. α plays no part.
func (p *posterior) Sums(l likelihood.Likelihood, r gp.Run) (gp.Sums, error) {
	from := p.layer
	layer, err := layerOf(from.Kernel, from.Z.Value, from.Class,
		graph.NewParam(nameL, from.L.Floats(), from.L.Value.Dtype(), from.L.Value.Shape()...).Value,
		graph.NewParam(nameLogPriorStd, []float64{from.LogPriorStd.At(0)}, from.L.Value.Dtype(), 1).Value)
	if err != nil {
		return nil, err
	}
	dt := from.Z.Value.Dtype()
	n := &natural{fitting: &fitting{p: gp.Problem{Net: p.net}, s: Settings{FixInducing: true}, layer: layer, lik: l.Copy(dt), likeliest: p.likeliest}, width: l.Width(), dt: dt, memory: r.Memory}
	n.ladder = newLadder(layer.Inducing(), 1, 0, graph.Flat(l.Params()))
	s := &partial{n: n, post: p, t: make([]float64, layer.Inducing()*layer.Inducing())}
	if s.frame, err = n.presentFrame(); err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	s.each, _, err = n.evaluation(0, predictBatch)
	if err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	n.outputs = s.each.Width(0)
	return s, nil
}

// Add implements gp.Sums.
func (s *partial) Add(ctx context.Context, e gp.Examples) error {
	if got := e.Y.Shape()[1]; got != s.n.outputs*s.n.width {
		return fmt.Errorf("valla: %d targets, the network has %d outputs", got, s.n.outputs)
	}
	t, err := curvature(ctx, s.each, likelihood.WithNoise(s.n.lik, 1), s.frame, e, 1)
	if err == nil {
		kernel.Add(s.t, s.t, t)
	}
	return err
}

// Each implements gp.Sums.
func (s *partial) Each(visit func(name string, v *[]float64, shape ...int) error) error {
	return visit(nameT, &s.t, s.m, s.m)
}

// Finish implements gp.Sums.
func (s *partial) Finish(ctx context.Context, n int, held *gp.Examples) (*gp.Fitted, error) {
	p, err := s.spectrum(s.t)
	if err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	layer := s.n.layer
	best := s.trial(p, layer.PriorStd(), likelihood.NoiseVariance(s.n.lik))
	record := gp.Record{Rows: n, Facts: jitterFacts(s.jitter)}
	if held != nil {
		record.ValidationRows = held.N()
		found, nll, err := s.search(ctx, p, held)
		if err != nil {
			return nil, fmt.Errorf("valla: validation rows: %w", err)
		}
		best = found
		record.Facts = append(record.Facts, gp.Fact{Name: "validation NLL", Value: nll})
	}
	root, err := best.root(best.scale)
	if err != nil {
		return nil, err
	}
	layer.setL(root)
	layer.LogPriorStd.Set(0, math.Log(best.scale)/2)
	q := newPosterior(s.post.net, layer)
	q.additive, q.start, q.likeliest = likelihood.IsGaussian(s.n.lik), s.post.start, s.post.likeliest
	q.limitMemory(s.post.limit)
	l := s.n.lik.Copy(tensor.Float64)
	graph.Unflat(l.Params(), best.params)
	record.PriorStds = []float64{layer.PriorStd()}
	return gp.Learned(q, l, record), nil
}

// trial returns T with a σ₀ and a squared noise scale, which counts for likelihoods with noise alone.
func (s *partial) trial(p *spectrum, std, noise float64) trial {
	l := likelihood.WithNoise(s.n.lik, noise)
	t := trial{spectrum: p, scale: std * std, params: graph.Flat(l.Params())}
	if likelihood.Noisy(l) {
		gamma := slices.Clone(p.gamma)
		kernel.Scale(gamma, 1/noise, gamma)
		t.spectrum = &spectrum{frame: p.frame, gamma: gamma, u: p.u}
	}
	return t
}

// search returns the best σ₀ and noise for examples held out: first of all that a scan looks at,
// then between the neighbours of the best one.
func (s *partial) search(ctx context.Context, p *spectrum, held *gp.Examples) (trial, float64, error) {
	s.n.p.Validation, s.n.p.Tempered = held, true
	check, err := s.n.newValidation(ctx)
	if err != nil {
		return trial{}, 0, err
	}
	of := gp.Problem{Likelihood: s.n.lik, Validation: held}
	var best trial
	var nll float64
	lo, hi := 1/farthest, farthest
	for _, n := range []int{27, 9} {
		var all []trial
		for _, c := range gp.Candidates(of, gp.LogSpaced(lo, hi, n), 0) {
			all = append(all, s.trial(p, c.Prior, c.Noise*c.Noise))
		}
		values, robust, err := check.values(ctx, s.n, all)
		if err != nil {
			return trial{}, 0, err
		}
		choice := check.choice(robust, all)
		at := kernel.Least(choice)
		best, nll = all[at], values[at]
		lo, hi = math.Sqrt(best.scale)/2, math.Sqrt(best.scale)*2
	}
	if math.IsInf(nll, 1) {
		return best, nll, fmt.Errorf("no finite negative log-likelihood with any standard deviation")
	}
	return best, nll, nil
}
