package eigen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/ram"
)

const (
	spare      = 8     // vectors of a block beyond the k wanted vectors
	blocks     = 6     // of a Krylov space
	maxCycles  = 50    // Krylov spaces that are tried
	residual   = 1e-12 // of an eigenpair, as a fraction of the largest eigenvalue
	dependence = 1e-12 // part of a vector below which it lies in the space of others
)

// Largest returns the k largest eigenvalues of the symmetric positive semi-definite
// a [n,n], ascending, and eigenvectors in the columns of an [n,k] matrix.
//
// If k is small beside n, Largest searches Krylov spaces of a block of vectors, which start
// anew from the best vectors so far (Saad 2011, chapter 6). They need some ten products of a
// with the block instead of n products. If k is large, or if the search does not converge,
// Largest returns the last k eigenpairs of Symmetric. It is an error if the search does not
// converge and the machine has no memory for all eigenpairs. The same matrix gives the same bits.
func Largest(n, k int, a []float64) (values, vectors []float64, err error) {
	if direct(n, k) {
		return lastOf(n, k, a)
	}
	s := &krylov{n: n, k: k, a: a, rng: rand.New(rand.NewPCG(uint64(n), uint64(k)))}
	for i := range n {
		s.scale = max(s.scale, a[i*n+i])
	}
	if s.scale == 0 {
		s.scale = 1
	}
	s.start()
	for range maxCycles {
		s.expand()
		if err := s.restart(); err != nil {
			return nil, nil, err
		}
		if s.converged() {
			return s.result()
		}
	}
	return fallBack(n, k, a)
}

// fallBack is lastOf after a search that did not converge. LargestBytes does not count its memory.
func fallBack(n, k int, a []float64) (values, vectors []float64, err error) {
	if left, ok := ram.Fits(lastBytes(n)); !ok {
		return nil, nil, fmt.Errorf("eigen: all eigenvectors of a matrix of %d rows need %d bytes of memory, and %d are free", n, lastBytes(n), left)
	}
	return lastOf(n, k, a)
}

// LargestBytes returns the memory in bytes that Largest takes, with its results. It leaves out what a search that
// does not converge takes in the end, which Largest checks by itself.
func LargestBytes(n, k int) int64 {
	if direct(n, k) {
		return lastBytes(n)
	}
	return 8 * 2 * int64(blocks+1) * int64(k+spare) * int64(n)
}

// direct reports whether Largest finds all eigenvalues, because a Krylov space would not be much
// smaller than the whole space.
func direct(n, k int) bool { return n < 2*blocks*(k+spare) }

// lastBytes returns the memory in bytes that lastOf takes.
func lastBytes(n int) int64 { return 8 * 5 * int64(n) * int64(n) }

// lastOf returns the k last eigenpairs of Symmetric.
func lastOf(n, k int, a []float64) (values, vectors []float64, err error) {
	all, v, err := Symmetric(n, slices.Clone(a))
	if err != nil {
		return nil, nil, err
	}
	return all[n-k:], part(v[n-k:], n, n, k), nil
}

// krylov is a search for the k largest eigenpairs in spaces of orthonormal vectors.
type krylov struct {
	n, k  int        // order of the matrix, and number of pairs
	a     []float64  // [n,n]
	scale float64    // its largest element
	q, aq []float64  // rows: the vectors, and their products with a/scale
	rng   *rand.Rand // draws the first vectors

	theta []float64 // Ritz values of the first vectors, over scale, descending
}

// rows returns the number of vectors.
func (s *krylov) rows() int { return len(s.q) / s.n }

// start begins with random vectors.
func (s *krylov) start() {
	for range s.k + spare {
		v := make([]float64, s.n)
		for i := range v {
			v[i] = s.rng.NormFloat64()
		}
		s.add(v)
	}
	s.multiply()
}

// add makes v orthogonal to the vectors, twice because of rounding, and appends v. It leaves out
// a v that lies in the space of the vectors. It overwrites v.
func (s *krylov) add(v []float64) {
	before := math.Sqrt(kernel.Dot(v, v))
	for range 2 {
		project(v, s.q)
	}
	if after := math.Sqrt(kernel.Dot(v, v)); after > dependence*before {
		kernel.Scale(v, 1/after, v)
		s.q = append(s.q, v...)
	}
}

// multiply computes the products of a/scale with the vectors that have no product yet.
func (s *krylov) multiply() {
	done := len(s.aq)
	s.aq = append(s.aq, make([]float64, len(s.q)-done)...)
	if rows := (len(s.q) - done) / s.n; rows > 0 {
		kernel.Gemm(false, false, rows, s.n, s.n, 1/s.scale, s.q[done:], s.n, s.a, s.n, 0, s.aq[done:], s.n)
	}
}

// expand appends blocks of vectors. Each block is the product of a with the block before it.
func (s *krylov) expand() {
	for from := 0; s.rows() < blocks*(s.k+spare); {
		last := slices.Clone(s.aq[from*s.n:])
		from = s.rows()
		for v := range slices.Chunk(last, s.n) {
			s.add(v)
		}
		if s.rows() == from {
			return // a maps the space into itself
		}
		s.multiply()
	}
}

// restart replaces the vectors by their best combinations, which are the Ritz vectors of the
// largest Ritz values.
func (s *krylov) restart() error {
	m := s.rows()
	keep := min(m, s.k+spare)
	t := make([]float64, m*m)
	kernel.Gemm(false, true, m, m, s.n, 1, s.q, s.n, s.aq, s.n, 0, t, m)
	for i := range m {
		for j := range i {
			t[i*m+j] = (t[i*m+j] + t[j*m+i]) / 2
		}
	}
	kernel.CopyLower(m, t, m)
	values, z, err := Symmetric(m, t)
	if err != nil {
		return err
	}
	s.theta = slices.Clone(values[m-keep:])
	slices.Reverse(s.theta)
	s.q, s.aq = s.combined(s.q, z, m, keep), s.combined(s.aq, z, m, keep)
	return nil
}

// combined returns Zᵀ V, where Z is the last keep columns of z [m,m] in reverse order.
func (s *krylov) combined(v, z []float64, m, keep int) []float64 {
	c := make([]float64, m*keep)
	for i := range m {
		for j := range keep {
			c[i*keep+j] = z[(i+1)*m-1-j]
		}
	}
	out := make([]float64, keep*s.n)
	kernel.Gemm(true, false, keep, s.n, m, 1, c, keep, v, s.n, 0, out, s.n)
	return out
}

// converged reports whether A v = θ v for the k best vectors.
func (s *krylov) converged() bool {
	r := make([]float64, s.n)
	for i := range s.k {
		copy(r, s.aq[i*s.n:])
		kernel.Axpy(-s.theta[i], s.q[i*s.n:(i+1)*s.n], r)
		if !(math.Sqrt(kernel.Dot(r, r)) <= residual*s.theta[0]) {
			return false
		}
	}
	return true
}

// result returns the k best vectors and their Ritz values, ascending.
func (s *krylov) result() (values, vectors []float64, err error) {
	values, vectors = make([]float64, s.k), make([]float64, s.n*s.k)
	for j := range s.k {
		values[s.k-1-j] = s.scale * s.theta[j]
		for i := range s.n {
			vectors[i*s.k+s.k-1-j] = s.q[j*s.n+i]
		}
	}
	return values, vectors, nil
}
