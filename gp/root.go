package gp

import "github.com/go-valla/valla/graph"

// Root is the root G of P = (A⁻¹ + K_z)⁻¹ = GᵀG, for the variational matrix A = LLᵀ of M inducing
// points and the kernel K_z among them. A is never inverted. The latent covariance of a variational
// posterior is K_x − K_xz P K_zx (paper, Prop. 1).
type Root struct {
	H  *graph.Node // I + Lᵀ K_z L, [M,M]
	G  *graph.Node // R⁻¹ Lᵀ with H = RRᵀ, [M,M]
	KL *graph.Node // divergence from the prior, ½ log|H| − ½ tr(K_z P), a scalar
}

// NewRoot writes the root for L [M,M], lower triangular, and K_z [M,M], symmetric, into the graph.
// After an error of b its nodes are nil.
func NewRoot(b *graph.Builder, low, kz *graph.Node) Root {
	if b.Err() != nil {
		return Root{}
	}
	c, m := conditioned(b, low, kz), low.Shape()[0]
	both := c.differentiable(b, low, kz)
	return Root{H: c.h, G: b.Slice(both, 0, 0, m), KL: b.Sum(b.Slice(both, 0, m, m+1))}
}

// conditions holds what L and K_z make, all [M,M].
type conditions struct {
	h *graph.Node // I + Lᵀ K_z L
	r *graph.Node // Cholesky factor of H, lower
	g *graph.Node // R⁻¹ Lᵀ
	t *graph.Node // G K_z
}

// conditioned writes them. Written again for the same L and K_z they are the same nodes.
func conditioned(b *graph.Builder, low, kz *graph.Node) conditions {
	kl := b.MatMul(kz, low, false, false)
	c := conditions{h: b.Add(b.Eye(low.Shape()[0]), b.MatMul(low, kl, true, false))}
	c.r = b.Cholesky(c.h)
	c.g = b.SolveLower(c.r, b.Transpose(low), false)
	c.t = b.SolveLower(c.r, b.Transpose(kl), false)
	return c
}

// divergences is a row [1,M] whose sum is the KL, ½ log|H| − ½ tr(K_z GᵀG). Its element i is
// log R_ii − ½ (T Gᵀ)_ii.
func (c conditions) divergences(b *graph.Builder) *graph.Node {
	m := c.r.Shape()[0]
	trace := b.SumTo(b.Mul(c.t, c.g), m, 1)
	return b.Sub(b.Reshape(b.Log(b.Diag(c.r)), 1, m), b.Scale(b.Reshape(trace, 1, m), 0.5))
}

// differentiable is [M+1,M], G above the row of divergences, with a derivative of its own.
func (c conditions) differentiable(b *graph.Builder, low, kz *graph.Node) *graph.Node {
	return b.WithPullback("the root of (A⁻¹ + K_z)⁻¹", b.Concat(0, c.g, c.divergences(b)), conditionedPullback, low, kz)
}

// conditionedPullback is the derivative of G above the row of divergences δ by L and a
// symmetric K_z. It follows from the derivatives of the factor and of triangular solves (Murray 2016,
// arXiv:1602.07527, eq. 10; Giles 2008, section 2.3), from which R and its inverse cancel but
// for one solve. It takes four products and a solve, and step by step it would be eight and three:
//
//	E = Φ(Y) + Φ(Y)ᵀ,   Y = (Ḡ − diag(δ̄) T) Gᵀ
//	L̄ = (Ḡ − E T)ᵀ R⁻¹,   K̄_z = −½ Gᵀ E G
//
// where Φ keeps the lower triangle and halves the diagonal.
func conditionedPullback(b *graph.Builder, wrt []*graph.Node, _, ct *graph.Node) []*graph.Node {
	m := wrt[0].Shape()[0]
	c := conditioned(b, wrt[0], wrt[1])
	gBar, dBar := b.Slice(ct, 0, 0, m), b.Reshape(b.Slice(ct, 0, m, m+1), m, 1)
	y := b.MatMul(b.Sub(gBar, b.Mul(dBar, c.t)), c.g, false, true)
	phi := b.Mul(y, b.LowerMask(m, 0.5))
	e := b.Add(phi, b.Transpose(phi))
	low := b.SolveLower(c.r, b.Sub(gBar, b.MatMul(e, c.t, false, false)), true)
	kz := b.Scale(b.MatMul(c.g, b.MatMul(e, c.g, false, false), true, false), -0.5)
	return []*graph.Node{b.Transpose(low), kz}
}
