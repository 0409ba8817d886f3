package eigen

import (
	"math"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/scratch"
)

// secular finds the eigenvalues and eigenvectors of D + ρ z zᵀ, where D is diagonal with
// ascending, distinct elements d_i, and ρ > 0. The eigenvalues λ_j are the zeros of
//
//	f(λ) = 1 + ρ Σ_i z_i²/(d_i − λ).
//
// Zero j lies between d_j and d_{j+1}; the last zero lies right of all d. A zero is kept as
// its distance μ from the nearest d, so that all differences d_i − λ_j are accurate.
type secular struct {
	rho   float64   // ρ
	k     int       // order of D
	d, z  []float64 // [k]
	near  []int     // of each zero, the index of the nearest d
	mu    []float64 // [k], the distance of each zero from the nearest d
	exact []float64 // [k], of vectors
	gaps  []float64 // [k], of vectors
	diff  []float64 // [k,k], row j: d_i − λ_j; after vectors, the eigenvector of λ_j, reordered
}

func newSecular(rho float64, k int, work *scratch.Memory) *secular {
	return &secular{rho: rho, k: k, d: work.Zeros(k), z: work.Zeros(k), near: make([]int, k), mu: work.Zeros(k), diff: work.Zeros(k * k), exact: work.Zeros(k), gaps: work.Zeros(k)}
}

// root returns λ_j.
func (s *secular) root(j int) float64 { return s.d[s.near[j]] + s.mu[j] }

// find finds all zeros.
func (s *secular) find() {
	kernel.Parallel(max(1, min(kernel.Threads(), s.k/64)), kernel.Span{N: s.k, F: s.zeros})
}

// zeros finds the zeros from … to−1.
func (s *secular) zeros(from, to int) {
	for j := from; j < to; j++ {
		row := s.diff[j*s.k : (j+1)*s.k]
		s.solve(j, row)
		kernel.AddScalar(row, -s.mu[j], row) // was d_i − d_near
	}
}

// from fills row with d_i − d_near.
func (s *secular) from(row []float64, near int) {
	kernel.AddScalar(row, -s.d[near], s.d)
}

// evaluate returns f(λ), the derivatives of its sums over i ≤ j and over i > j, and the sum
// of the magnitudes of its terms. The argument mu and the poles are the distances of λ and of
// the d_i from the same origin.
func (s *secular) evaluate(poles []float64, mu float64, j int) (f, left, right, size float64) {
	psi, left := kernel.Poles(s.z[:j+1], poles[:j+1], mu)
	phi, right := kernel.Poles(s.z[j+1:], poles[j+1:], mu)
	size = 1 + s.rho*(math.Abs(psi)+math.Abs(phi))
	return 1 + s.rho*(psi+phi), s.rho * left, s.rho * right, size
}

// solve finds zero j. Each step goes to the zero of a function that has the two poles beside
// zero j, and the value and the slopes of f (Li 1993, "the middle way"). Where a step leaves
// the bracket, solve bisects the bracket. It sets row to d_i − d_near.
func (s *secular) solve(j int, row []float64) {
	lo, hi := s.bracket(j, row)
	mu := 0.5 * (lo + hi)
	const epsilon = 0x1p-52
	for range 200 {
		f, left, right, size := s.evaluate(row, mu, j)
		if math.Abs(f) <= epsilon*size*8 || hi-lo <= 2*epsilon*max(math.Abs(lo), math.Abs(hi)) {
			break
		}
		if f < 0 {
			lo = mu
		} else {
			hi = mu
		}
		next := mu + s.step(j, row, mu, f, left, right)
		if !(next > lo && next < hi) {
			next = 0.5 * (lo + hi)
		}
		if next == mu {
			break
		}
		mu = next
	}
	s.mu[j] = mu
}

// bracket chooses the d nearest to zero j as the origin, and returns bounds of the zero as
// distances from the origin. The last zero is at most ρ‖z‖² right of the last d.
func (s *secular) bracket(j int, row []float64) (lo, hi float64) {
	s.near[j] = j
	s.from(row, j)
	if j == s.k-1 {
		return 0, s.rho * kernel.Dot(s.z, s.z)
	}
	gap := row[j+1]
	if f, _, _, _ := s.evaluate(row, gap/2, j); f >= 0 {
		return 0, gap / 2
	}
	s.near[j] = j + 1
	s.from(row, j+1)
	return -gap / 2, 0
}

// step returns the distance from μ to the zero of c + a/(d_j − λ) + b/(d_{j+1} − λ) or, for
// the last zero, of c + a/(d_j − λ). The coefficients give this function the value and the
// slopes of f at μ.
func (s *secular) step(j int, row []float64, mu, f, left, right float64) float64 {
	p := row[j] - mu
	if j == s.k-1 {
		return p + p*p*left/(f-p*left)
	}
	q := row[j+1] - mu
	c := f - p*left - q*right
	a := (p+q)*f - p*q*(left+right)
	b := p * q * f
	root := math.Sqrt(max(0, a*a-4*b*c))
	if a <= 0 {
		return (a - root) / (2 * c)
	}
	return 2 * b / (a + root)
}

// vectors overwrites row j of diff by the eigenvector of λ_j, which is proportional to
// ẑ_i/(d_i − λ_j). The computed zeros are the exact zeros for the vector ẑ,
//
//	ρ ẑ_i² = Π_j (λ_j − d_i) / Π_{j≠i} (d_j − d_i),
//
// which makes the eigenvectors orthogonal (Gu and Eisenstat 1994). Element i of an eigenvector is the
// element order[i].
func (s *secular) vectors(order []int) {
	exact, gaps := s.exact, s.gaps
	for i := range exact {
		exact[i] = 1
	}
	for j := range s.k {
		s.from(gaps, j)
		gaps[j] = 1
		kernel.Div(gaps, s.diff[j*s.k:(j+1)*s.k], gaps)
		kernel.Mul(exact, exact, gaps)
	}
	for i, v := range exact {
		exact[i] = math.Copysign(math.Sqrt(math.Abs(v)), s.z[i])
	}
	for j := range s.k {
		row := s.diff[j*s.k : (j+1)*s.k]
		kernel.Div(gaps, exact, row)
		kernel.Scale(gaps, 1/math.Sqrt(kernel.Dot(gaps, gaps)), gaps)
		for i, from := range order {
			row[i] = gaps[from]
		}
	}
}
