package ella

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

// curvature is G = Σ_n φ_nᵀ Λ_n φ_n [K,K], in float64, with Λ of unit noise.
type curvature struct {
	k   int
	g   []float64
	lik likelihood.Likelihood
}

func newCurvature(k int, lik likelihood.Likelihood) *curvature {
	return &curvature{k: k, g: make([]float64, k*k), lik: lik}
}

// add adds examples with the outputs mean [n,C] and the features phi [n,C,K], which it
// overwrites. With Λ = Σ_c w_c (e_c − m)(e_c − m)ᵀ the sum is that of the squares of
// √w_c (φ_c − Σ_j m_j φ_j), and exact also where Λ is singular.
func (a *curvature) add(mean, phi []float64, c int) {
	w, m, centre := make([]float64, c), make([]float64, c), make([]float64, a.k)
	for at := 0; at < len(mean); at += c {
		a.lik.Root(w, m, mean[at:at+c])
		rows := phi[at*a.k : (at+c)*a.k]
		clear(centre)
		for j, mj := range m {
			kernel.Axpy(mj, rows[j*a.k:(j+1)*a.k], centre)
		}
		for j, wj := range w {
			row := rows[j*a.k : (j+1)*a.k]
			kernel.Sub(row, row, centre)
			kernel.Scale(row, math.Sqrt(wj), row)
		}
	}
	kernel.Syrk(true, a.k, len(mean), 1, phi, a.k, 1, a.g, a.k)
}

// precision is G/σ² + share·I/σ₀² as Q diag(d/σ² + share/σ₀²) Qᵀ, for all σ and σ₀ at once.
type precision struct {
	d []float64 // [K], none negative
	q []float64 // [K,K]
}

// newPrecision decomposes G [k,k], which stays as it is.
func newPrecision(k int, g []float64) (precision, error) {
	d, q, err := eigen.Symmetric(k, append([]float64(nil), g...))
	for i := range d {
		d[i] = max(0, d[i])
	}
	return precision{d, q}, err
}

// variances are the diagonal of the inverse in Q's coordinates, [K].
func (p precision) variances(prior, noiseVariance, share float64) []float64 {
	s := make([]float64, len(p.d))
	for i, d := range p.d {
		s[i] = 1 / (d/noiseVariance + share/(prior*prior))
	}
	return s
}

// root returns R [K,K] with R Rᵀ = (G + share·I/σ₀²)⁻¹.
func (p precision) root(prior, share float64) []float64 {
	k := len(p.d)
	r := append([]float64(nil), p.q...)
	for i, s := range p.variances(prior, 1, share) {
		for row := range k {
			r[row*k+i] *= math.Sqrt(s)
		}
	}
	return r
}

// effective is the number of directions that the data determine, tr G (G + I/σ₀²)⁻¹.
func (p precision) effective(prior, share float64) float64 {
	sum := 0.0
	for i, s := range p.variances(prior, 1, share) {
		sum += p.d[i] * s
	}
	return sum
}
