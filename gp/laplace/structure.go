package laplace

import "context"

// structure is a representation of the Gauss-Newton matrix H = Σ_n J_nᵀ Λ_n J_n [P,P]. With
// Gaussian noise Λ is the identity here, and the noise variance is part of s.
type structure interface {
	elements() int // numbers kept of one example in a batch
	bytes() int64  // memory for itself and for finding the hyper-parameters
	allocate()     // before the first add
	// resume goes on from the sums of old, a finished structure of the same kind, instead of
	// from zero; it follows allocate.
	resume(old structure)
	add(batch) error              // takes a batch in
	sums(visitor) error           // the arrays that add adds to: to read, or to overwrite
	finish(context.Context) error // after the last add
	factor(context.Context, scales) (factor, error)

	describe(*header)     // writes the structure's kind, rank or space
	fields(visitor) error // the arrays that it is made of, after finish or to be filled
}

// factor is the solved system H̃ + sI, H̃ = THT.
type factor interface {
	// logDet is log det(I + H̃/s), the posterior's precision over the prior's.
	logDet() float64
	// effective is γ = tr H̃ (H̃ + sI)⁻¹, the number of weights that the data
	// determine (MacKay 1992, "Bayesian interpolation", eq. 4.9).
	// If ctx ends the result is of no use, here and below.
	effective(ctx context.Context) float64
	// shares divides γ among the blocks: the sums over their parts of the diagonal.
	shares(ctx context.Context) []float64
	// predictor prepares for predictions.
	predictor() predictor
}

// predictor gives posterior covariances in units of σ₀².
type predictor interface {
	// marginals writes the covariance of each example's outputs to the front of
	// cov, [count,C,C].
	marginals(b batch, cov []float64) error
	// width is the number of columns of root's F, at least P.
	width() int
	// root writes F to the front of f, [count·C, width], such that F Fᵀ is the
	// covariance of all outputs of all examples, also of examples of other batches.
	root(b batch, f []float64) error
}

// byVariance is a predictor that computes the variances of outputs without their covariances, which takes less time with
// many outputs.
type byVariance interface {
	// variances writes the variances of the outputs of a batch to v [count·C]. It returns false where it cannot.
	variances(b batch, v []float64) bool
}

// newFull returns the representation of all of H. The data have rows = N·C Jacobian rows.
func newFull(of *scanner, s spaceKind, rows int) structure {
	if s == spaceWeights || s != spaceFunctions && of.params <= rows {
		return &weightSpace{gram: gram{n: of.params}, scanner: of, chunk: max(minChunk, of.batch*of.outputs)}
	}
	return &functionSpace{gram: gram{n: rows}, scanner: of}
}
