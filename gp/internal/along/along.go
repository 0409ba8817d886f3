// Package along has the predictions of posteriors that are Gaussian in a few directions of the
// network's weights. Their mean is the network g(x) [C], and their covariance is s φ(x) R (φ(x') R)ᵀ,
// where the features φ(x) = J(x) vᵀ [C,K] are derivatives of the network along K directions v.
package along

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Batch is the number of inputs at which features are computed at a time. Where that needs more
// memory than the limit, a whole fraction of Batch is computed at a time.
const Batch = 100

// Posterior predicts along directions. Several goroutines may call its methods; the network runs
// for one goroutine at a time.
type Posterior struct {
	Name  string         // of the method, which begins errors
	Net   layers.Network // the network g
	Input tensor.Shape   // of one example
	V     *tensor.Dense  // the directions v [K,P]
	Root  []float64      // R [K,K]; nil: the identity
	Scale float64        // s
	Limit int64          // bytes

	mu       sync.Mutex            // guards Features
	Features *jacobian.Directional // compiled φ; nil before the first joint prediction
}

// Rank returns K, the number of directions.
func (p *Posterior) Rank() int { return p.V.Shape()[0] }

// Prepare compiles the features, unless they are compiled already.
func (p *Posterior) Prepare() (err error) {
	if p.Features == nil {
		p.Features, err = jacobian.NewDirectional(p.Net, p.Input, p.V, Batch, p.Limit-dense.Bytes(p.V))
	}
	return err
}

// All returns the network's outputs [N·C] and W = φ R [N·C,K] at inputs x [N,…].
func (p *Posterior) All(ctx context.Context, x *tensor.Dense) (mean, w []float64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Prepare(); err != nil {
		return nil, nil, err
	}
	err = p.Features.Each(ctx, x, func(_ int, m, phi []float64) error {
		if p.Root != nil {
			phi = p.rooted(make([]float64, len(phi)), phi)
		}
		mean, w = append(mean, m...), append(w, phi...)
		return nil
	})
	return mean, w, err
}

// rooted writes φ R [rows,K] to the front of w and returns it, for φ [rows,K].
func (p *Posterior) rooted(w, phi []float64) []float64 {
	k := p.Rank()
	w = w[:len(phi)]
	kernel.Gemm(false, false, len(phi)/k, k, k, 1, phi, k, p.Root, k, 0, w, k)
	return w
}

// Joint implements gp.JointPosterior: for x [N,…] the mean [N·C] and the covariance
// [N·C, N·C]. It returns a *graph.MemoryError where the covariance exceeds the limit.
func (p *Posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	m, w, err := p.All(ctx, x)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: joint prediction: %w", p.Name, err)
	}
	n, k := len(m), p.Rank()
	if need := 8 * int64(n) * int64(n+k); need > p.Limit {
		return nil, nil, &graph.MemoryError{What: p.Name + ": the joint covariance", Need: need, Limit: p.Limit}
	}
	out := make([]float64, n*n)
	kernel.Syrk(false, n, k, p.Scale, w, k, 0, out, n)
	return dense.Of(m, n), dense.Of(out, n, n), nil
}
