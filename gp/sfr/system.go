package sfr

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

// system is the sparse Gaussian process of one part with M inducing variables. With the
// kernel without σ₀², K̂_z + εI = R Rᵀ and v = R⁻¹ k̂, the sums over the data
//
//	T = Σ_n v_n Λ_n v_nᵀ,   b = Σ_n v_n (α_n + Λ_n g_n)
//
// are in coordinates in which the prior is σ₀² I: B_u is σ₀⁴ R T Rᵀ, and ỹ_u is σ₀² R b. With
// T = U diag(γ) Uᵀ, w = Uᵀ v and e = σ₀²γ/(1 + σ₀²γ) the covariance is
//
//	Q = σ₀² (κ̂ − Σ_j e_j w_j²),
//
// which is κ − κ_xz [K_z⁻¹ − (K_z + B_u)⁻¹] κ_zx without a difference of inverses, and SFR's
// mean is σ₀² Σ_j w_j (Uᵀb)_j/(1 + σ₀²γ_j).
type system struct {
	m       int       // M
	r       []float64 // R [M,M], lower
	jitter  float64   // ε as a fraction of the mean diagonal of K̂_z
	t, b    []float64 // T [M,M] and b [M]
	root, a []float64 // of solve: U diag(√e) [M,M] and the weights [M] of v in SFR's mean
}

// newSystem factors K̂_z [m,m], before there are data.
func newSystem(m int, gram []float64) (*system, error) {
	s := &system{m: m, t: make([]float64, m*m), b: make([]float64, m)}
	if v := kernel.Sum(gram); !kernel.Finite(v) {
		return nil, fmt.Errorf("the kernel among the points is not finite: the sum of its elements is %g", v)
	}
	var err error
	s.r, s.jitter, err = gp.Factor(m, gram, 0)
	return s, err
}

// whiten overwrites rows k̂ [n,M] by v.
func (s *system) whiten(k []float64) { kernel.Trsm(true, true, len(k)/s.m, s.m, s.r, s.m, k, s.m) }

// add adds rows v [n,M], multiplied by Λ^½, to T.
func (s *system) add(v []float64) error {
	kernel.Syrk(true, s.m, len(v)/s.m, 1, v, s.m, 1, s.t, s.m)
	if v := kernel.Sum(s.t); !kernel.Finite(v) {
		return fmt.Errorf("the curvature is not finite: the sum of its elements is %g", v)
	}
	return nil
}

// addLinear adds rows v [n,M] times α + Λ g [n] to b.
func (s *system) addLinear(v, linear []float64) {
	kernel.Gemm(false, false, 1, s.m, len(linear), 1, linear, len(linear), v, s.m, 1, s.b, s.m)
}

// scale multiplies the sums.
func (s *system) scale(by float64) {
	kernel.Scale(s.t, by, s.t)
	kernel.Scale(s.b, by, s.b)
}

// spectrum is a system in the coordinates of T's eigenvectors.
type spectrum struct {
	gamma, u, b []float64 // γ [M], none negative, U [M,M] and Uᵀb [M]
}

func (s *system) spectrum() (p spectrum, err error) {
	if p.gamma, p.u, err = eigen.Symmetric(s.m, slices.Clone(s.t)); err != nil {
		return p, fmt.Errorf("eigenvalues of the curvature at the points: %w", err)
	}
	for i, g := range p.gamma {
		p.gamma[i] = max(0, g)
	}
	p.b = make([]float64, s.m)
	kernel.Gemm(false, false, 1, s.m, s.m, 1, s.b, s.m, p.u, s.m, 0, p.b, s.m)
	return p, nil
}

// shrink returns e [M] for σ₀², and the weights σ₀² (Uᵀb)_j/(1 + σ₀²γ_j) of w in SFR's mean,
// where T and b are still to be multiplied by a number.
func (p spectrum) shrink(variance, times float64) (e, weights []float64) {
	e, weights = make([]float64, len(p.gamma)), make([]float64, len(p.gamma))
	for j, g := range p.gamma {
		s := variance * times
		e[j] = s * g / (1 + s*g)
		weights[j] = s * p.b[j] / (1 + s*g)
	}
	return e, weights
}

// solve computes what predictions need, and returns the number of parameters that the data
// determine, Σ e.
func (s *system) solve(variance float64) (effective float64, err error) {
	p, err := s.spectrum()
	if err != nil {
		return 0, err
	}
	e, weights := p.shrink(variance, 1)
	s.a, s.root = make([]float64, s.m), p.u
	kernel.Gemm(false, true, 1, s.m, s.m, 1, weights, s.m, p.u, s.m, 0, s.a, s.m)
	for i := range s.root {
		s.root[i] *= math.Sqrt(e[i%s.m])
	}
	return kernel.Sum(e), nil
}

// gain overwrites rows k̂ [n,M] by v, and returns SFR's mean v·a [n] and the rows v U diag(√e)
// [n,M], the products of which are what the data take from the prior covariance over σ₀².
func (s *system) gain(k []float64) (mean, w []float64) {
	var r room
	s.gainIn(&r, k)
	return r.mean, r.w
}

// room is what covariances are computed in, kept between calls.
type room struct {
	mean  []float64 // SFR's mean [n·O]
	w     []float64 // v U diag(√e) [n·O,M]
	prior []float64 // diagonals of the kernel [n·O]
}

// gainIn is gain in a room.
func (s *system) gainIn(r *room, k []float64) {
	n := len(k) / s.m
	s.whiten(k)
	r.mean, r.w = slices.Grow(r.mean[:0], n)[:n], slices.Grow(r.w[:0], n*s.m)[:n*s.m]
	mean, w := r.mean, r.w
	kernel.Gemm(false, false, n, 1, s.m, 1, k, s.m, s.a, 1, 0, mean, 1)
	kernel.Gemm(false, false, n, s.m, s.m, 1, k, s.m, s.root, s.m, 0, w, s.m)
}

// covariances returns SFR's mean [n·O] of inputs, and overwrites their diag by the covariances
// [n,O,O], for the prior variance σ₀². The next call with a room overwrites the mean.
func (s *system) covariances(r *room, v values, variance float64) (mean []float64, err error) {
	s.gainIn(r, v.cross)
	o, w := len(v.mean)/v.n, r.w
	r.prior = r.prior[:0]
	for i := range v.n {
		for c := range o {
			r.prior = append(r.prior, v.diag[(i*o+c)*o+c])
		}
		kernel.Syrk(false, o, s.m, -1, w[i*o*s.m:], s.m, 1, v.diag[i*o*o:], o)
	}
	if err := gp.Settle(gp.Gaussian{Mean: r.mean, Cov: v.diag[:v.n*o*o]}, r.prior, nil, v.first); err != nil {
		return nil, err
	}
	kernel.Scale(v.diag, variance, v.diag)
	return r.mean, nil
}

// clone returns a copy of the system with sums of its own, before solve.
func (s *system) clone() *system {
	return &system{m: s.m, r: s.r, jitter: s.jitter, t: slices.Clone(s.t), b: slices.Clone(s.b)}
}
