package sampled

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// PredictBatch is how many inputs are predicted at a time. Where that needs more memory than
// the limit, a whole fraction of it is predicted at a time.
const PredictBatch = 100

// Posterior is a fitted Sampled LLA. Its mean is the network g; its covariance, that of the
// latent function without noise, is the second moment of J ζ over S samples ζ of the weights.
// It may be used by several goroutines; the network runs for one of them at a time.
type Posterior struct {
	net   layers.Network
	input tensor.Shape  // of one example
	zeta  *tensor.Dense // [S,P]
	limit int64         // bytes

	mu  sync.Mutex
	run *jacobian.Directional // nil before the first prediction
}

var (
	_ gp.JointPosterior = (*Posterior)(nil)
	_ gp.Stored         = (*Posterior)(nil)
)

// Samples returns S.
func (p *Posterior) Samples() int { return p.zeta.Shape()[0] }

// String implements gp.Stored.
func (p *Posterior) String() string { return label(p.Samples()) }

// each computes the network's outputs [n,C] and J ζ [n,C,S] for inputs x [N,…].
func (p *Posterior) each(ctx context.Context, x *tensor.Dense, visit func(mean, along []float64)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		run, err := jacobian.NewDirectional(p.net, p.input, p.zeta, PredictBatch, p.limit-int64(p.zeta.Size())*int64(p.zeta.Dtype().Size()))
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

// StandardErrors returns the standard errors [N,C,C] of the covariances of a prediction, those
// of means of S products of normal variables: √((Q_ii Q_jj + Q_ij²)/S).
func (p *Posterior) StandardErrors(g gp.Gaussian) []float64 {
	c, out := g.Outputs(), make([]float64, len(g.Cov))
	for at := 0; at < len(out); at += c * c {
		q := g.Cov[at : at+c*c]
		for i := range c {
			for j := range c {
				out[at+i*c+j] = math.Sqrt((q[i*c+i]*q[j*c+j] + q[i*c+j]*q[i*c+j]) / float64(p.Samples()))
			}
		}
	}
	return out
}

// Functions returns the S functions g + J ζ of the posterior at inputs x [N,…], [S,N,C]. Values
// with the same first index belong to one function.
func (p *Posterior) Functions(ctx context.Context, x *tensor.Dense) (*tensor.Dense, error) {
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
func (p *Posterior) all(ctx context.Context, x *tensor.Dense) (mean, along []float64, err error) {
	err = p.each(ctx, x, func(m, a []float64) { mean, along = append(mean, m...), append(along, a...) })
	return mean, along, err
}

// Joint implements gp.JointPosterior: for x [N,…] the mean [N·C] and the covariance
// [N·C, N·C]. It returns a *graph.MemoryError where the covariance exceeds the limit.
func (p *Posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
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
