package fmgp

import (
	"context"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

const (
	// inducingStream, pairStream and splitStream are the random streams of a seed.
	inducingStream = 2
	pairStream     = 3
	splitStream    = 8
)

// inducing returns the first inducing inputs [M,…] and their outputs.
func (f *fitting) inducing() (z *tensor.Dense, class []int, err error) {
	rng := rand.New(rand.NewPCG(f.r.Seed, inducingStream))
	if f.s.Init != initRandomRows {
		return gp.KMeans(f.p, f.s.Inducing, true, kMeansInits[f.s.Init], rng)
	}
	rows := rng.Perm(f.p.Train.N())[:min(f.s.Inducing, f.p.Train.N())]
	some := f.p.Train.Rows(rows)
	if likelihood.IsClass(f.p.Likelihood) {
		return some.X, some.Labels(), nil
	}
	return some.X, dense.Cycle(len(rows), f.p.Outputs()), nil
}

// located returns inducing locations [M, D+E]: the inputs z [M,…] with the network's features
// there, so that both are of one point.
func (f *fitting) located(ctx context.Context, z *tensor.Dense) (*tensor.Dense, error) {
	at, err := f.post.network.points(ctx, z, f.r.Memory, untold)
	if err != nil {
		return nil, err
	}
	return graph.Convert(at.wide(0, at.n()), f.p.Dtype()), nil
}
