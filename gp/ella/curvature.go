package ella

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
)

// curvature is G = Σ_n φ_nᵀ Λ_n φ_n [K,K], in float64, with Λ of unit noise.
type curvature struct {
	k   int                   // K
	g   []float64             // G [K,K], the lower triangle
	lik likelihood.Likelihood // with unit noise
}

// newCurvature returns a G of no rows, of the likelihood lik with unit noise.
func newCurvature(k int, lik likelihood.Likelihood) *curvature {
	return &curvature{k: k, g: make([]float64, k*k), lik: likelihood.WithNoise(lik, 1)}
}

// addRows adds the examples e with the features f. done is called after each batch
// with the number of its examples. It is an error if G is not finite then.
func (a *curvature) addRows(ctx context.Context, f *jacobian.Directional, e gp.Examples, done func(n int)) error {
	y, w := graph.Floats(e.Y), a.lik.Width()
	return f.Each(ctx, e.X, func(first int, mean, phi []float64) error {
		at := first * f.Outputs() * w
		a.add(y[at:at+len(mean)*w], mean, phi, f.Outputs())
		if v := kernel.Sum(a.g); !kernel.Finite(v) {
			return fmt.Errorf("the curvature is not finite: the sum of its elements is %g", v)
		}
		done(len(mean) / f.Outputs())
		return nil
	})
}

// add adds examples with the targets y [n,W·C], the outputs mean [n,C] and the features phi [n,C,K], which it
// overwrites.
func (a *curvature) add(y, mean, phi []float64, c int) {
	likelihood.RootRows(a.lik, y, mean, phi, c)
	kernel.Syrk(true, a.k, len(mean), 1, phi, a.k, 1, a.g, a.k)
}

// precision is G/σ² + share·I/σ₀² as Q diag(d/σ² + share/σ₀²) Qᵀ, for all σ and σ₀ at once.
type precision struct {
	d []float64 // [K], none negative
	q []float64 // [K,K]
}

// newPrecision decomposes G [k,k] without changing G.
func newPrecision(k int, g []float64) (precision, error) {
	d, q, err := eigen.Symmetric(k, append([]float64(nil), g...))
	for i := range d {
		d[i] = max(0, d[i])
	}
	return precision{d, q}, err
}

// variances returns the diagonal of the inverse in the coordinates of Q, [K].
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

// effective returns the number of directions that the data determine, tr G (G + I/σ₀²)⁻¹.
func (p precision) effective(prior, share float64) float64 {
	sum := 0.0
	for i, s := range p.variances(prior, 1, share) {
		sum += p.d[i] * s
	}
	return sum
}
