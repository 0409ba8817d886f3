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
	return b.ReLU(b.Reshape(b.Affine(explained(b, gram, b.Exp(b.Scale(own, rate)), k), -1, 1), n, 1))
}

// writeNearest writes the places of the k points of z [M,d] that are nearest to each row of u [B,d]: [B,k].
func writeNearest(b *graph.Builder, z, u *graph.Node, k int) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	norms := b.Reshape(b.SumAxis(b.Square(z), -1), 1, z.Shape()[0])
	return b.Largest(b.Sub(b.Scale(b.MatMul(u, z, false, true), 2), norms), k)
}

// explained writes ρᵀA⁻¹ρ for positive definite matrices A [B,k,k] and ρ [B,k,1] by elimination, since ONNX has no Cholesky factor.
func explained(b *graph.Builder, a, rho *graph.Node, k int) (sum *graph.Node) {
	for ; b.Err() == nil; k-- {
		n := a.Shape()[0]
		pivot, first := b.Slice(b.Slice(a, 1, 0, 1), 2, 0, 1), b.Slice(b.Reshape(rho, n, 1, k), 2, 0, 1)
		if term := b.Div(b.Square(first), pivot); sum == nil {
			sum = term
		} else {
			sum = b.Add(sum, term)
		}
		if k == 1 {
			return sum
		}
		row := b.Slice(b.Slice(a, 1, 0, 1), 2, 1, k)
		scaled, rest := b.Div(row, pivot), b.Slice(b.Slice(a, 1, 1, k), 2, 1, k)
		rho = b.Sub(b.Slice(b.Reshape(rho, n, 1, k), 2, 1, k), b.Mul(scaled, first))
		a = b.Sub(rest, b.Mul(b.Reshape(row, n, k-1, 1), scaled))
	}
	return nil
}
