package likelihood

import (
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// RootRows overwrites the rows φ [n·C,K] of examples with the targets y [n,W·C], which may be nil, and the outputs
// f [n,C] by Λ^½ φ, see [RootOf]: row c
// of an example becomes √w_c (φ_c − Σ_j m_j φ_j), see Likelihood.Root. The sum of the squares
// of the new rows is Σ_n φ_nᵀ Λ_n φ_n, exactly so also where Λ is singular.
func RootRows(l Likelihood, y, f, phi []float64, c int) {
	k := len(phi) / len(f)
	w, m, centre := make([]float64, c), make([]float64, c), make([]float64, k)
	for at := 0; at < len(f); at += c {
		RootOf(l, w, m, targetOf(l, y, at, c), f[at:at+c])
		rows := phi[at*k : (at+c)*k]
		clear(centre)
		for j, mj := range m {
			kernel.Axpy(mj, rows[j*k:(j+1)*k], centre)
		}
		for j, wj := range w {
			row := rows[j*k : (j+1)*k]
			kernel.Sub(row, row, centre)
			kernel.Scale(row, math.Sqrt(wj), row)
		}
	}
}
