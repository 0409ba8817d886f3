package ella

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

// predictBatch is how many inputs have their features computed at a time. Where that needs
// more memory than the limit, a whole fraction of it is computed at a time.
const predictBatch = 100

// posterior is a fitted ELLA. Its mean is the network; its covariance φ (G + I/σ₀²)⁻¹ φᵀ is
// that of the latent function, without noise, in float64. It may be used by several
// goroutines; the network runs for one of them at a time.
type posterior struct {
	net    layers.Network // the network g
	input  tensor.Shape   // of one example
	v      *tensor.Dense  // the directions [K,P]
	g      []float64      // G [K,K]
	prior  float64        // σ₀
	share  float64        // of the training rows, by which 1/σ₀² is multiplied
	points int            // M
	at     points         // none where the posterior was restored
	limit  int64          // bytes

	precision precision // G + share·I/σ₀² in the coordinates of G
	root      []float64 // R [K,K] with R Rᵀ = (G + share·I/σ₀²)⁻¹

	mu       sync.Mutex            // guards features
	features *jacobian.Directional // nil before the first prediction of a restored posterior
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
	_ gp.Updater        = (*posterior)(nil)
)

// finish computes what predictions need of G and σ₀.
func (p *posterior) finish() error {
	var err error
	if p.precision, err = newPrecision(p.Rank(), p.g); err != nil {
		return fmt.Errorf("ella: eigenvalues of G: %w", err)
	}
	p.root = p.precision.root(p.prior, p.share)
	return nil
}

// Rank returns K, the number of directions.
func (p *posterior) Rank() int { return p.v.Shape()[0] }

// Points returns the inputs [M,…] among whose Jacobians the directions were found, and the
// one output that each of them carries [M]; nil where the posterior was restored. They are
// not to be changed.
func (p *posterior) Points() (z *tensor.Dense, output []int) { return p.at.z, p.at.output }

// String implements gp.Stored.
func (p *posterior) String() string { return label(p.points) }

// each computes the network and W = φ R, so that the covariance is W Wᵀ, for inputs
// x [N,…]: visit gets the outputs [n,C] and W [n,C,K] of inputs from number first on.
func (p *posterior) each(ctx context.Context, x *tensor.Dense, visit func(first, c int, mean, w []float64)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.features == nil {
		f, err := jacobian.NewDirectional(p.net, p.input, p.v, predictBatch, p.limit-dense.Bytes(p.v))
		if err != nil {
			return err
		}
		p.features = f
	}
	k := p.Rank()
	return p.features.Each(ctx, x, func(first int, mean, phi []float64) error {
		w := make([]float64, len(phi))
		kernel.Gemm(false, false, len(mean), k, k, 1, phi, k, p.root, k, 0, w, k)
		visit(first, p.features.Outputs(), mean, w)
		return nil
	})
}

// Joint implements gp.JointPosterior: for x [N,…] the mean [N·C] and the covariance
// [N·C, N·C]. It returns a *graph.MemoryError where the covariance exceeds the limit.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	var m, w []float64
	err = p.each(ctx, x, func(_, _ int, mean, root []float64) {
		m, w = append(m, mean...), append(w, root...)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("ella: joint prediction: %w", err)
	}
	n, k := len(m), p.Rank()
	if need := 8 * int64(n) * int64(n+k); need > p.limit {
		return nil, nil, &graph.MemoryError{What: "ella: the joint covariance", Need: need, Limit: p.limit}
	}
	out := make([]float64, n*n)
	kernel.Syrk(false, n, k, 1, w, k, 0, out, n)
	return dense.Of(m, n), dense.Of(out, n, n), nil
}
