package sampled

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// Random streams of a seed: one for each sample of each.
const (
	weightStream = 41 << 32
	rowStream    = 42 << 32
	batchStream  = 43
	sketchStream = 44
	subsetStream = 45
	newtonStream = 46
)

// curvature multiplies by the Λ_n of rows with the network's outputs, or by its root.
type curvature struct {
	lik likelihood.Likelihood // of the targets
	c   int                   // outputs
}

// rows returns the targets of n rows from number first on, of y [N,W·C].
func (k curvature) rows(y []float64, first, n int) []float64 {
	w := k.c * k.lik.Width()
	return y[first*w : (first+n)*w]
}

// times returns Λ_n f_n, times the weight of row n, for the rows of s from number first on, with outputs out [n,C] and
// f [n,C]: with Λ = Σ_c w_c (e_c − m)(e_c − m)ᵀ it is r − m Σ_c r_c, where r_c = w_c (f_c − m·f).
func (k curvature) times(s subset, first int, out, f []float64) []float64 {
	return k.each(s, first, out, func(at int, w, m, r []float64) {
		row := f[at : at+k.c]
		centre := kernel.Dot(m, row)
		for c := range r {
			r[c] = w[c] * (row[c] - centre)
		}
	})
}

// root returns R_n ε_n, with R Rᵀ = Λ times the weight: r_c = √w_c ε_c in the same formula.
func (k curvature) root(s subset, first int, out []float64, epsilon func() float64) []float64 {
	return k.each(s, first, out, func(_ int, w, _, r []float64) {
		for c := range r {
			r[c] = math.Sqrt(w[c]) * epsilon()
		}
	})
}

// trace returns tr Λ_n = Σ_c w_c |e_c − m|², times the weight, of rows.
func (k curvature) trace(s subset, first int, out []float64) []float64 {
	var t []float64
	k.each(s, first, out, func(_ int, w, m, _ []float64) {
		sum := 0.0
		for c := range w {
			sum += w[c] * (1 - 2*m[c] + kernel.Dot(m, m))
		}
		t = append(t, sum)
	})
	return t
}

// each returns r − m Σ_c r_c for each row, with the r that write writes.
func (k curvature) each(s subset, first int, out []float64, write func(at int, w, m, r []float64)) []float64 {
	w, m, all := make([]float64, k.c), make([]float64, k.c), make([]float64, len(out))
	for at := 0; at < len(out); at += k.c {
		r, row := all[at:at+k.c], first+at/k.c
		likelihood.RootOf(k.lik, w, m, k.rows(s.y, row, 1), out[at:at+k.c])
		if s.weights != nil {
			kernel.Scale(w, s.weights[row], w)
		}
		write(at, w, m, r)
		kernel.Axpy(-kernel.Sum(r), m, r)
	}
	return all
}

// draws are what makes samples random: standard normal z [S,P], and u = Σ_n J_nᵀ R_n ε_n [S,P]
// for standard normal ε_n [C]. The sample for the prior precision λ is (M + λI)⁻¹ (√λ z + u).
type draws struct{ z, u []float64 }

// newDraws draws z, and computes u in one pass over the rows e. A sample's numbers depend on
// the seed and its own number alone.
func newDraws(ctx context.Context, l *linear, k curvature, e subset, samples int, seed uint64) (draws, error) {
	z, noise := make([]float64, samples*l.p), make([]func() float64, samples)
	for s := range noise {
		rng := rand.New(rand.NewPCG(seed, weightStream+uint64(s)))
		for i := range l.p {
			z[s*l.p+i] = rng.NormFloat64()
		}
		noise[s] = rand.New(rand.NewPCG(seed, rowStream+uint64(s))).NormFloat64
	}
	u, err := project(ctx, l, k, e, noise)
	return draws{z, u}, err
}

// project returns u for the noise of each sample, whose numbers are taken output by output.
func project(ctx context.Context, l *linear, k curvature, e subset, noise []func() float64) ([]float64, error) {
	u := make([]float64, len(noise)*l.p)
	return u, l.sweep(ctx, pull, e.X, dense.Indices(len(noise)), nil, u, func(s, first int, out, _ []float64) []float64 {
		return k.root(e, first, out, noise[s])
	})
}

// target writes b = √λ z + u of sample s to dst [P].
func (d draws) target(dst []float64, s int, lambda float64) {
	at := s * len(dst)
	copy(dst, d.u[at:])
	kernel.Axpy(math.Sqrt(lambda), d.z[at:at+len(dst)], dst)
}
