package valla

import (
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// system is what predictions need of the inducing points. It is in float64 whatever the
// network holds: Q is a small difference of large numbers, in which float32 loses all of
// its digits where the prior variance s = σ₀² is large. With κ̂, k̂ and K̂_z the kernel
// without s,
//
//	Q = s (κ̂ − wwᵀ),   w = k̂ Λ,   Λ Λᵀ = s L (I + Lᵀ s K̂_z L)⁻¹ Lᵀ = s (A⁻¹ + sK̂_z)⁻¹.
type system struct {
	m    int       // number of inducing points
	s    float64   // prior variance σ₀²
	root []float64 // Λ [M,M], lower

	sparse  bool      // says that rows of k̂ are mostly zeros
	squares []float64 // [M] of the rows of Λ, if sparse
}

// newSystem returns the system of the lower triangular matrix L [M,M] and the kernel K̂_z [M,M].
func newSystem(s float64, l, gram []float64) (*system, error) {
	m := int(math.Sqrt(float64(len(l))))
	half, h := make([]float64, m*m), make([]float64, m*m)
	kernel.Gemm(false, false, m, m, m, s, gram, m, l, m, 0, half, m)
	kernel.Gemm(true, false, m, m, m, 1, l, m, half, m, 0, h, m)
	for i := range m {
		h[i*m+i]++
	}
	if pivot := kernel.Cholesky(m, h, m); pivot >= 0 {
		return nil, &graph.NotPositiveDefiniteError{Order: m, Pivot: pivot}
	}
	g := append([]float64(nil), l...) // L R⁻ᵀ with H = RRᵀ
	kernel.Trsm(true, true, m, m, h, m, g, m)
	kernel.Scale(g, math.Sqrt(s), g)
	a := &system{m: m, s: s, root: lowerRoot(m, g), sparse: isSparse(m, gram)}
	for j := 0; a.sparse && j < m; j++ {
		row := a.root[j*m : j*m+j+1]
		a.squares = append(a.squares, kernel.Dot(row, row))
	}
	return a, nil
}

// rootBlock is how many columns of Λ are multiplied at a time. Above them Λ is 0.
const rootBlock = 16

// rows writes w [n,M] of rows k̂ [n,M].
func (a *system) rows(w, k []float64) {
	if a.sparse {
		sparseProduct(w, k, a.root, a.m)
		return
	}
	m, n := a.m, len(k)/a.m
	for j := 0; j < m; j += rootBlock {
		kernel.Gemm(false, false, n, min(rootBlock, m-j), m-j, 1, k[j:], m, a.root[j*m+j:], m, 0, w[j:], m)
	}
}

// covariances overwrites κ̂ [n,C,C] by Q, with k̂ [n,C,M]; w, as long, is overwritten too.
func (a *system) covariances(outputs int, diag, k, w []float64) {
	c, m := outputs, a.m
	a.rows(w, k)
	for i := range len(diag) / (c * c) {
		kernel.Syrk(false, c, m, -1, w[i*c*m:], m, 1, diag[i*c*c:], c)
	}
	kernel.Scale(diag, a.s, diag)
}

// variances writes the diagonal of Q, [n], for prior variances sκ̂ [n] and k̂ [n,M]; w, as long, is overwritten. Rounding
// may make a variance negative.
func (a *system) variances(q, prior, k, w []float64) {
	a.rows(w, k)
	for i, v := range prior {
		row := w[i*a.m : (i+1)*a.m]
		q[i] = v - a.s*kernel.Dot(row, row)
	}
}

// sparseVariances is variances for rows k̂ of which most numbers are 0.
func (a *system) sparseVariances(q, prior []float64, k *sparseRows, w []float64) {
	for i, v := range prior {
		if columns, values := k.row(i); len(columns) == 1 {
			q[i] = v - a.s*values[0]*values[0]*a.squares[columns[0]]
		} else {
			row := lowerProduct(columns, values, a.root, w, a.m)
			q[i] = v - a.s*kernel.Dot(row, row)
		}
	}
}
