package gapa

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer. The search and the kernel of the neighbours are computed in float64.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	u, out := p.site.run(w.Net, w.X)
	square := p.covariance()(w.Net, w.X)[0]
	u, g := w.Carry(u), gp.Written{Mean: w.Carry(out)}
	z := w.Carry(w.Rounded(p.memory.z))
	square = w.Carry(square)
	if err := w.Err(); err != nil {
		return g, fmt.Errorf("gapa: %w", err)
	}
	b, n := w.Out, u.Shape()[0]
	g.Cov = b.Mul(square, b.Reshape(b.Scale(p.memory.writeRemaining(b, z, u), p.factor), n, 1, 1))
	return g, w.Err()
}

// writeRemaining writes r [B,1] at u [B,d], for the rows z [M,d] that are kept.
func (m *memory) writeRemaining(b *graph.Builder, z, u *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	n, k, at := u.Shape()[0], min(m.neighbours, m.m), u // the point whose neighbours are taken
	if m.centres != nil {
		c := b.Slice(z, 0, 0, m.centres.m)
		at = b.Reshape(b.Embed(c, writeNearest(b, c, u, 1)), n, m.d)
	}
	found := b.Embed(z, writeNearest(b, z, at, k)) // [B,k,d]
	away := b.Sub(found, b.Reshape(at, n, 1, m.d))
	dots := b.Gram(away)
	norms := b.Diag(dots)
	distances := b.ReLU(b.Sub(b.Add(b.Reshape(norms, n, k, 1), b.Reshape(norms, n, 1, k)), b.Scale(dots, 2)))
	own := b.SumAxis(b.Square(b.Sub(found, b.Reshape(u, n, 1, m.d))), -1)
	rate := -1 / (2 * m.length * m.length)
	noise := b.Scale(b.Eye(k), m.noise)
	gram := b.Add(b.Exp(b.Scale(distances, rate)), noise)
	rho := b.Reshape(b.Exp(b.Scale(own, rate)), n, 1, k)
	return b.ReLU(b.Reshape(writeSchur(b, gram, rho), n, 1))
}

// writeNearest writes the places of the k points of z [M,d] that are nearest to each row of u [B,d]: [B,k].
func writeNearest(b *graph.Builder, z, u *graph.Node, k int) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	norms := b.Reshape(b.SumAxis(b.Square(z), -1), 1, z.Shape()[0])
	return b.Largest(b.Sub(b.Scale(b.MatMul(u, z, false, true), 2), norms), k)
}

// writeSchur writes 1 − ρA⁻¹ρᵀ for positive definite matrices A [B,k,k] and rows ρ [B,1,k]: it eliminates the rows of A from the matrix
// of A, ρ and 1 one after the other, since ONNX has no Cholesky factor.
func writeSchur(b *graph.Builder, a, rho *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	n, size := a.Shape()[0], a.Shape()[1]+1
	last := b.Concat(2, rho, b.Fill(1, n, 1, 1))
	a = b.Concat(1, b.Concat(2, a, b.Reshape(rho, n, size-1, 1)), last)
	for ; size > 1; size-- {
		first, rest := b.Slice(a, 1, 0, 1), b.Slice(a, 1, 1, size)
		row := b.Slice(first, 2, 1, size)
		scaled := b.Div(row, b.Slice(first, 2, 0, 1))
		a = b.Sub(b.Slice(rest, 2, 1, size), b.Mul(b.Reshape(row, n, size-1, 1), scaled))
	}
	return a
}
