package valla

import (
	"context"
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// values are those of the network and the kernel at b examples, for the present Z.
type values struct {
	mean []float64 // the network's outputs, [b,C]
	y    []float64 // targets, [b,C]
	diag []float64 // κ̂, [b,C]
	k    []float64 // k̂, [b·C,M]
	gram []float64 // K̂_z, [M,M]

	beside []float64 // variances that are added to the layer's, [b,C]
}

// examples are outputs, targets, κ̂ and variances beside the layer's, [b,C], and whitened rows
// v = R⁻¹ k̂ [b·C,M].
type examples struct{ mean, y, diag, beside, v []float64 }

// whiten returns examples in a frame's coordinates. It overwrites v.k.
func (n *natural) whiten(f *frame, v values) examples {
	f.whiten(v.k)
	return examples{mean: v.mean, y: v.y, diag: v.diag, beside: v.beside, v: v.k}
}

// marginals are what the likelihood says of examples under the posterior of one rung.
type marginals struct {
	w, lambda []float64 // coordinates [b·C,M] and weighted λ [b,C]
	sum       float64   // Σ w ℓ
	gradients []float64 // of −Σ w ℓ in the likelihood's parameters
}

// marginals evaluates the likelihood at examples with weights [b], for rung i.
func (n *natural) marginals(i int, p *spectrum, e examples, weights []float64) (marginals, error) {
	m := marginals{w: p.rotate(e.v)}
	q := p.variance(n.ladder.scale(i), e.diag, m.w)
	kernel.Add(q, q, e.beside)
	local := n.locals[i]
	if err := local.run(n.ladder.params(i), e.y, e.mean, q, weights); err != nil {
		return m, err
	}
	m.lambda, m.sum, m.gradients = local.lambda(len(weights)), local.sum(), local.gradients()
	return m, nil
}

// diagonals picks the diagonals [n·C] of matrices [n,C,C].
func diagonals(v []float64, c int) []float64 {
	out := make([]float64, len(v)/c)
	for i := range out {
		out[i] = v[i*c+i%c]
	}
	return out
}

// leastJitter is what K_z gets in any case: in float32 its rounding alone makes it
// indefinite.
func leastJitter(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 1e-6
	}
	return 0
}

// scores are Σ_c |λ_c| of all examples without latent variance, by which mini-batches are
// drawn; zeros where all examples are in each of them.
func (n *natural) scores(ctx context.Context, x, y *tensor.Dense) ([]float64, error) {
	all, c := x.Shape()[0], n.outputs
	scores := make([]float64, all)
	if n.f.BatchSize >= all {
		return scores, nil
	}
	b := graph.NewBuilder(n.dt)
	xn := b.Input("x", append([]int{PredictBatch}, x.Shape()[1:]...)...)
	mean := n.f.Net.Forward(b, xn)
	if b.Err() != nil {
		return nil, b.Err()
	}
	each, err := graph.NewBatched(b, xn, mean)
	if err != nil {
		return nil, err
	}
	lik, err := newLocal(n.f.Likelihood, n.alpha, PredictBatch, c, n.dt)
	if err != nil {
		return nil, err
	}
	targets, params := graph.Floats(y), flat(n.f.Likelihood.Params())
	variance, ones := make([]float64, PredictBatch*c), make([]float64, PredictBatch)
	for i := range ones {
		ones[i] = 1
	}
	err = each.Each(ctx, x, func(first, rows int, out []*tensor.Dense) error {
		if err := lik.run(params, targets[first*c:(first+rows)*c], appendRows(nil, out[0], rows), variance, ones); err != nil {
			return err
		}
		for i, v := range lik.lambda(rows) {
			scores[first+i/c] += math.Abs(v)
		}
		return nil
	})
	return scores, err
}
