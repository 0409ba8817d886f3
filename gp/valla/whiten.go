package valla

import (
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// values are the network's outputs and the kernel at b examples, for the present Z. K is the
// number of outputs of an example that a step looks at: C, or see picks.
type values struct {
	mean []float64 // the network's outputs, [b,C]
	y    []float64 // targets, [b,W·C]
	diag []float64 // κ̂, [b,K]
	k    []float64 // k̂ [b·K,M], and R⁻¹ k̂ once a frame has whitened it
	gram []float64 // K̂_z, [M,M]

	beside []float64 // variances that are added to the layer's, [b,C]
}

// marginals are what the likelihood says of examples under the posterior of one rung.
type marginals struct {
	w, lambda []float64 // coordinates [b·K,M] and weighted λ [b,K]
	sum       float64   // Σ w ℓ
	left      float64   // share of the prior variance that is left; 0 without a prior variance
	gradients []float64 // of −Σ w ℓ in the likelihood's parameters
}

// marginals evaluates the likelihood at examples e, whitened, with weights [b], for rung i.
func (n *natural) marginals(i int, p *spectrum, e values, weights []float64) (marginals, error) {
	m := marginals{w: p.rotate(e.k)}
	q := p.variance(n.ladder.scale(i), e.diag, m.w)
	if prior := n.ladder.scale(i) * kernel.Sum(e.diag); prior > 0 {
		m.left = kernel.Sum(q) / prior
	}
	if n.picks != nil {
		q = n.picks.spread(q)
	}
	kernel.Add(q, q, e.beside)
	term := n.terms[i]
	if err := term.Run(n.ladder.params(i), e.y, e.mean, q, weights); err != nil {
		return m, err
	}
	m.lambda, m.sum, m.gradients = term.Lambda(len(weights)), term.Sum(), term.Gradients()
	if n.picks != nil {
		m.lambda = n.picks.weighted(m.lambda)
	}
	return m, nil
}

// leastJitter is what K_z gets in any case: in float32 its rounding alone makes it
// indefinite.
func leastJitter(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 1e-6
	}
	return 0
}
