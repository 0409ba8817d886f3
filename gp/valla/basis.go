package valla

import (
	"errors"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/scratch"
)

// The algebra of the natural-gradient fit, in float64. K̂, κ̂ and k̂ are the kernel
// without the prior variance s = σ₀², and S = K_z A K_z = s² Ŝ, so that
//
//	Q = s [κ̂ − k̂ᵀ K̂_z⁻¹ k̂ + k̂ᵀ (K̂_z + s Ŝ)⁻¹ k̂].
//
// With K̂_z + εI = R Rᵀ the natural parameters are kept as T = R⁻¹ Ŝ R⁻ᵀ = Σ λ v vᵀ,
// v = R⁻¹ k̂, in coordinates in which the prior is sI whatever Z is (whitening: Hensman,
// Matthews, Filippone and Ghahramani 2015). While Z moves, T stays as it is, and so does KL.
// If Ŝ or A stayed instead, a small move of Z would turn a nearly singular K̂_z so far that
// what has been learned is spoilt. With T = U Γ Uᵀ and w = Uᵀ v everything is diagonal:
//
//	Q  = s (κ̂ − Σ_j e_j w_j²),   e = sγ/(1 + sγ)
//	KL = ½ Σ_j log(1 + sγ_j) − e_j
//
// A is positive semi-definite where Γ is. Among the A that are, the best one for given
// λ has the negative γ set to 0: the multiplier of that bound is positive and lives on
// the complement.

// frame is what depends on the inducing inputs alone.
type frame struct {
	m      int       // number of inducing points
	r      []float64 // [M,M], lower
	ridge  float64   // ε
	jitter float64   // ε as a fraction of the mean diagonal of K̂_z

	transposed []float64 // of r, where K̂_z is sparse; otherwise nil
}

// newFrame factors K̂_z with at least the jitter given.
func newFrame(m int, kz []float64, least float64) (*frame, error) {
	r, jitter, err := gp.Factor(m, kz, least)
	if err != nil {
		return nil, err
	}
	f := &frame{m: m, r: r, ridge: jitter * gp.MeanDiagonal(m, kz), jitter: jitter}
	if isSparse(m, kz) {
		f.transposed = make([]float64, m*m)
		kernel.Transpose(f.transposed, m, r, m, m, m)
	}
	return f, nil
}

// whiten overwrites rows k̂ [n,M] by v.
func (f *frame) whiten(k []float64) {
	if f.transposed != nil {
		sparseSolve(k, f.transposed, f.m)
		return
	}
	kernel.Trsm(true, true, len(k)/f.m, f.m, f.r, f.m, k, f.m)
}

// spectrum is a frame's coordinates for one T.
type spectrum struct {
	*frame                 // the coordinates
	gamma  []float64       // [M], none negative
	u      []float64       // [M,M], eigenvectors in columns
	mem    *scratch.Memory // of the results of its methods; nil: new memory
}

var errNatural = errors.New("valla: the natural parameters are not finite")

// spectrum diagonalises T [M,M].
func (f *frame) spectrum(t []float64) (*spectrum, error) {
	p := &spectrum{frame: f, gamma: make([]float64, f.m), u: make([]float64, f.m*f.m)}
	return p, p.diagonalise(t)
}

// diagonalise makes p the spectrum of T [M,M].
func (p *spectrum) diagonalise(t []float64) error {
	if sum := kernel.Sum(t); sum-sum != 0 {
		return errNatural
	}
	m, sym := p.m, p.mem.Take(len(t))
	for i := range m {
		for j := range i + 1 {
			v := (t[i*m+j] + t[j*m+i]) / 2
			sym[i*m+j], sym[j*m+i] = v, v
		}
	}
	if err := eigen.SymmetricTo(p.gamma, p.u, m, sym); err != nil {
		return err
	}
	for j, g := range p.gamma {
		p.gamma[j] = max(g, 0)
	}
	return nil
}

// rotate returns w [n,M] of whitened rows v [n,M].
func (p *spectrum) rotate(v []float64) []float64 {
	w := p.mem.Take(len(v))
	if p.transposed != nil {
		sparseProduct(w, v, p.u, p.m)
		return w
	}
	kernel.Gemm(false, false, len(v)/p.m, p.m, p.m, 1, v, p.m, p.u, p.m, 0, w, p.m)
	return w
}

// shrink returns e [M].
func (p *spectrum) shrink(s float64) []float64 {
	e := make([]float64, p.m)
	for j, g := range p.gamma {
		e[j] = s * g / (1 + s*g)
	}
	return e
}

// variance returns Q [n] of points with prior variances κ̂ [n] and coordinates w [n,M].
func (p *spectrum) variance(s float64, diag, w []float64) []float64 {
	e, q, room := p.shrink(s), make([]float64, len(diag)), make([]float64, p.m)
	for i := range q {
		row := w[i*p.m : (i+1)*p.m]
		kernel.Mul(room, e, row)
		q[i] = s * max(diag[i]-kernel.Dot(room, row), 0)
	}
	return q
}

// kl returns the divergence of the posterior from the prior.
func (p *spectrum) kl(s float64) float64 {
	kl, e := 0.0, p.shrink(s)
	for j, g := range p.gamma {
		kl += 0.5 * (math.Log1p(s*g) - e[j])
	}
	return kl
}

// relative returns a change d [M,M] of the natural parameters relative to the precision
// I + sT, E = (I + sT)^(−½) s d (I + sT)^(−½), in the spectrum's coordinates.
func (p *spectrum) relative(s float64, d []float64) []float64 {
	m, half, inner := p.m, p.mem.Take(len(d)), p.mem.Take(len(d))
	kernel.Gemm(false, false, m, m, m, 1, d, m, p.u, m, 0, half, m)
	kernel.Gemm(true, false, m, m, m, 1, p.u, m, half, m, 0, inner, m)
	std := make([]float64, m) // of the posterior, where the prior's is 1
	for i, g := range p.gamma {
		std[i] = 1 / math.Sqrt(1+s*g)
	}
	for i := range m {
		for j := range m {
			inner[i*m+j] *= s * std[i] * std[j]
		}
	}
	return inner
}

// length is ‖E‖ of a change. For small steps it is twice the square root of the divergence
// between the posteriors before and after.
func length(relative []float64) float64 { return math.Sqrt(kernel.Dot(relative, relative)) }

// curbed returns a change d, given with its E, without the part whose eigenvalues in E are
// below least < 0: they are raised to it.
func (p *spectrum) curbed(s float64, d, relative []float64, least float64) ([]float64, error) {
	m := p.m
	if p.exceeds(relative, least) {
		return d, nil
	}
	values, vectors, err := eigen.Below(m, relative, least)
	if err != nil {
		return d, err
	}
	below := len(values)
	rows := p.mem.Take(below * m) // √((least − value)/s) (I + sT)^½ of each eigenvector
	for k := range below {
		for i := range m {
			rows[k*m+i] = vectors[i*below+k] * math.Sqrt((least-values[k])*(1+s*p.gamma[i])/s)
		}
	}
	turned, out := p.mem.Take(below*m), p.copied(d)
	kernel.Gemm(false, true, below, m, m, 1, rows, m, p.u, m, 0, turned, m)
	kernel.Gemm(true, false, m, m, below, 1, turned, m, turned, m, 1, out, m)
	return out, nil
}

// exceeds says whether all eigenvalues of the symmetric matrix a [M,M] exceed least. A Cholesky
// factorisation takes a tenth of the time of a spectrum.
func (p *spectrum) exceeds(a []float64, least float64) bool {
	m, a := p.m, p.copied(a)
	for i := range m {
		a[i*m+i] -= least
	}
	return kernel.Cholesky(m, a, m) < 0
}

// copied returns a copy of v.
func (p *spectrum) copied(v []float64) []float64 {
	c := p.mem.Take(len(v))
	copy(c, v)
	return c
}

// cotangents returns the gradient of ½ Σ_i λ_i Q_i, at fixed T, with respect to k̂ [n,M] and
// K̂_z [M,M], one after the other. With E = U e Uᵀ and W = Σ_i λ_i v_i v_iᵀ they are
//
//	−s λ (E v)ᵀ R⁻¹   and   ½ s R⁻ᵀ sym(E W) R⁻¹,
//
// where sym(·) is the symmetric matrix with the lower triangle of its argument. This is how a
// gradient passes a Cholesky factorisation (Murray 2016).
func (p *spectrum) cotangents(s float64, lambda, w []float64) []float64 {
	m, n, e := p.m, len(lambda), p.shrink(s)
	scaled, inner, half := weighted(p.mem, m, lambda, w), p.mem.Take(m*m), p.mem.Take(m*m)
	kernel.Gemm(true, false, m, m, n, 1, scaled, m, w, m, 0, inner, m)
	for i := range m {
		kernel.Scale(inner[i*m:(i+1)*m], e[i], inner[i*m:(i+1)*m])
	}
	kernel.Gemm(false, true, m, m, m, 1, inner, m, p.u, m, 0, half, m)
	both := p.mem.Take((n + m) * m)
	k, kz := both[:n*m], both[n*m:]
	kernel.Gemm(false, false, m, m, m, 0.5*s, p.u, m, half, m, 0, kz, m)
	kernel.CopyLower(m, kz, m)
	kernel.Trsm(false, true, m, m, p.r, m, kz, m)
	kernel.Trsm(true, false, m, m, p.r, m, kz, m)

	pull := half // −s e Uᵀ R⁻¹
	kernel.Transpose(pull, m, p.u, m, m, m)
	for j := range m {
		kernel.Scale(pull[j*m:(j+1)*m], -s*e[j], pull[j*m:(j+1)*m])
	}
	kernel.Trsm(true, false, m, m, p.r, m, pull, m)
	kernel.Gemm(false, false, n, m, m, 1, scaled, m, pull, m, 0, k, m)
	return both
}

// weighted returns rows λ_i k_i of rows k [n,M].
func weighted(mem *scratch.Memory, m int, lambda, k []float64) []float64 {
	out := mem.Take(len(k))
	for i, l := range lambda {
		kernel.Scale(out[i*m:(i+1)*m], l, k[i*m:(i+1)*m])
	}
	return out
}

// weightedGram returns Σ_i λ_i k_i k_iᵀ [M,M] of rows k [n,M].
func weightedGram(mem *scratch.Memory, m int, lambda, k []float64) []float64 {
	sum := mem.Take(m * m)
	kernel.Gemm(true, false, m, m, len(lambda), 1, weighted(mem, m, lambda, k), m, k, m, 0, sum, m)
	return sum
}

// root returns a lower triangular L [M,M] with which a layer of prior variance s has
// the same posterior. A = R⁻ᵀ U Γ Uᵀ R⁻¹ = F Fᵀ belongs to K̂_z + εI; the layer's kernel
// has no ε, so that it needs (A⁻¹ + sεI)⁻¹ = F (I + sε FᵀF)⁻¹ Fᵀ. Only triangles are
// inverted.
func (p *spectrum) root(s float64) ([]float64, error) {
	m := p.m
	f := append([]float64(nil), p.u...)
	for i := range f {
		f[i] *= math.Sqrt(p.gamma[i%m])
	}
	kernel.Trsm(false, true, m, m, p.r, m, f, m)
	if p.ridge > 0 {
		h := make([]float64, m*m)
		kernel.Gemm(true, false, m, m, m, s*p.ridge, f, m, f, m, 0, h, m)
		for i := range m {
			h[i*m+i]++
		}
		if kernel.Cholesky(m, h, m) >= 0 {
			return nil, errNatural // I + a Gram matrix has a factor if it is finite
		}
		kernel.Trsm(true, true, m, m, h, m, f, m)
	}
	return lowerRoot(m, f), nil
}
