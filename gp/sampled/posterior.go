package sampled

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// predictBatch is how many inputs are predicted at a time. Where that needs more memory than
// the limit, a whole fraction of it is predicted at a time.
const predictBatch = 100

// posterior is a fitted Sampled LLA. Its mean is the network g; its covariance, that of the
// latent function without noise, is the second moment of J ζ over S samples ζ of the weights.
// It may be used by several goroutines; the network runs for one of them at a time.
type posterior struct {
	net   layers.Network // the network g
	input tensor.Shape   // of one example
	zeta  *tensor.Dense  // [S,P]
	limit int64          // bytes

	mu  sync.Mutex            // guards run
	run *jacobian.Directional // nil before the first prediction
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
)

// Samples returns S.
func (p *posterior) Samples() int { return p.zeta.Shape()[0] }

// String implements gp.Stored.
func (p *posterior) String() string { return label(p.Samples()) }

// each computes the network's outputs [n,C] and J ζ [n,C,S] for inputs x [N,…].
func (p *posterior) each(ctx context.Context, x *tensor.Dense, visit func(mean, along []float64)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		run, err := jacobian.NewDirectional(p.net, p.input, p.zeta, predictBatch, p.limit-int64(p.zeta.Size())*int64(p.zeta.Dtype().Size()))
		if err != nil {
			return err
		}
		p.run = run
	}
	return p.run.Each(ctx, x, func(_ int, mean, along []float64) error {
		visit(mean, along)
		return nil
	})
}

// Functions returns the S functions g + J ζ of the posterior at inputs x [N,…], [S,N,C]. Values
// with the same first index belong to one function.
func (p *posterior) Functions(ctx context.Context, x *tensor.Dense) (*tensor.Dense, error) {
	mean, along, err := p.all(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("sampled: functions: %w", err)
	}
	s, n := p.Samples(), len(mean)
	if need := 16 * int64(n) * int64(s); need > p.limit {
		return nil, &graph.MemoryError{What: "sampled: the values of functions", Need: need, Limit: p.limit}
	}
	out := make([]float64, s*n)
	kernel.Transpose(out, n, along, s, n, s)
	for at := 0; at < len(out); at += n {
		kernel.Add(out[at:at+n], out[at:at+n], mean)
	}
	return dense.Of(out, s, x.Shape()[0], n/x.Shape()[0]), nil
}

// all returns the network's outputs [N·C] and J ζ [N·C,S].
func (p *posterior) all(ctx context.Context, x *tensor.Dense) (mean, along []float64, err error) {
	err = p.each(ctx, x, func(m, a []float64) { mean, along = append(mean, m...), append(along, a...) })
	return mean, along, err
}

// Joint implements gp.JointPosterior: for x [N,…] the mean [N·C] and the covariance
// [N·C, N·C]. It returns a *graph.MemoryError where the covariance exceeds the limit.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	m, along, err := p.all(ctx, x)
	if err != nil {
		return nil, nil, fmt.Errorf("sampled: joint prediction: %w", err)
	}
	n, s := len(m), p.Samples()
	if need := 8 * int64(n) * int64(n+s); need > p.limit {
		return nil, nil, &graph.MemoryError{What: "sampled: the joint covariance", Need: need, Limit: p.limit}
	}
	out := make([]float64, n*n)
	kernel.Syrk(false, n, s, 1/float64(s), along, s, 0, out, n)
	return dense.Of(m, n), dense.Of(out, n, n), nil
}
