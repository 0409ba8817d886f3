package sampled

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/along"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// posterior is a fitted Sampled LLA. Its mean is the network g. Its covariance of the latent
// function, without noise, is the second moment of J ζ over S samples ζ of the weights. The samples
// are the directions of the posterior.
type posterior struct{ along.Posterior }

// newPosterior returns the posterior with the samples zeta [S,P].
func newPosterior(net layers.Network, input tensor.Shape, zeta *tensor.Dense, limit int64) *posterior {
	return &posterior{along.Posterior{
		Name: "sampled", Net: net, Input: input, V: zeta, Scale: 1 / float64(zeta.Shape()[0]), Limit: limit,
	}}
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
)

// String implements gp.Stored.
func (p *posterior) String() string { return label(p.Rank()) }

// Functions returns the S functions g + J ζ of the posterior at inputs x [N,…], [S,N,C]. Values
// with the same first index belong to one function.
func (p *posterior) Functions(ctx context.Context, x *tensor.Dense) (*tensor.Dense, error) {
	mean, moved, err := p.All(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("sampled: functions: %w", err)
	}
	s, n := p.Rank(), len(mean)
	if need := 16 * int64(n) * int64(s); need > p.Limit {
		return nil, &graph.MemoryError{What: "sampled: the values of functions", Need: need, Limit: p.Limit}
	}
	out := make([]float64, s*n)
	kernel.Transpose(out, n, moved, s, n, s)
	for at := 0; at < len(out); at += n {
		kernel.Add(out[at:at+n], out[at:at+n], mean)
	}
	return dense.Of(out, s, x.Shape()[0], n/x.Shape()[0]), nil
}
