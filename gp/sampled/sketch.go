package sampled

import (
	"context"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// sketch is the randomised Nyström approximation M̂ = (M Zᵀ)(Z M Zᵀ)⁻¹(Z M) = UᵀLU of the
// curvature M [P,P] by the rows of Z [S,P]. It makes the preconditioner of Frangella, Tropp and
// Udell (2023, section 2.3),
//
//	P⁻¹ r = r + Uᵀ ((L_min + λ)(L + λI)⁻¹ − I) U r,
//
// for any λ. A nil sketch stands for no preconditioner.
type sketch struct {
	p      int       // P
	values []float64 // L [rank], ascending
	u      []float64 // U [rank,P], orthonormal rows
}

// sketchRows is how many rows stand for all in the sketch. On MNIST a ninth of the rows hold four
// fifths of Σ_n tr Λ_n. A sketch of 128 directions from sketchRows rows took as long as a sketch of
// 32 directions from all rows, and conjugate gradients took half the iterations.
const sketchRows = 5000

// precondition makes the sketch of the curvature that some rows have, weighted to stand for all.
func (f *fitting) precondition(ctx context.Context) error {
	rank, rng := min(f.s.Rank, f.size), rand.New(rand.NewPCG(f.r.Seed, sketchStream))
	rows, weights, err := f.leading(ctx, rng)
	if err != nil {
		return err
	}
	some := f.p.Train.Rows(rows)
	targets := graph.Floats(some.Y)
	z, y := make([]float64, rank*f.size), make([]float64, rank*f.size)
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	err = f.linear.sweep(ctx, both, some.X, dense.Indices(rank), z, y, func(_, first int, out, along []float64) []float64 {
		ct := f.times(f.rows(targets, first, len(out)/f.c), out, along)
		for i := range ct {
			ct[i] *= weights[first+i/f.c]
		}
		return ct
	})
	f.numbers.Passes += rank * len(rows) / f.p.Train.N()
	if err == nil {
		f.sketch, err = newSketch(f.size, z, y, f.p.Dtype())
	}
	return err
}

// leading draws rows with probabilities in proportion to tr Λ_n, and returns the number of each
// and the weight with which the sum over them estimates that over all rows. Where there are no
// more than sketchRows it returns all.
func (f *fitting) leading(ctx context.Context, rng *rand.Rand) (rows []int, weights []float64, err error) {
	n := f.p.Train.N()
	if n <= sketchRows {
		weights = make([]float64, n)
		kernel.AddScalar(weights, 1, weights)
		return dense.Indices(n), weights, nil
	}
	upTo, w, m, sum := make([]float64, n), make([]float64, f.c), make([]float64, f.c), 0.0
	err = f.linear.sweep(ctx, push, f.p.Train.X, []int{0}, f.z, nil, func(_, first int, out, _ []float64) []float64 {
		for i := 0; i < len(out); i += f.c {
			likelihood.RootOf(f.lik, w, m, f.rows(f.y, first+i/f.c, 1), out[i:i+f.c])
			for c := range w {
				sum += w[c] * (1 - 2*m[c] + kernel.Dot(m, m))
			}
			upTo[first+i/f.c] = sum
		}
		return nil
	})
	if err != nil || !(sum > 0) {
		return []int{0}, []float64{0}, err
	}
	for i := range sketchRows {
		row := min(n-1, sort.SearchFloat64s(upTo, (float64(i)+rng.Float64())/sketchRows*sum))
		own := upTo[row]
		if row > 0 {
			own -= upTo[row-1]
		}
		if k := len(rows) - 1; k >= 0 && rows[k] == row {
			weights[k] += sum / sketchRows / own
			continue
		}
		rows, weights = append(rows, row), append(weights, sum/sketchRows/own)
	}
	return rows, weights, nil
}

// newSketch returns the sketch for Z [S,P] and y = Z M [S,P], numbers that were computed in dt.
// Directions in which M is 0 up to rounding are left out.
func newSketch(p int, z, y []float64, dt tensor.Dtype) (*sketch, error) {
	n := len(z) / p
	inner := make([]float64, n*n)
	kernel.Gemm(false, true, n, n, p, 1, z, p, y, p, 0, inner, n)
	for i := range n {
		for j := range i {
			mean := (inner[i*n+j] + inner[j*n+i]) / 2
			inner[i*n+j], inner[j*n+i] = mean, mean
		}
	}
	root, _, err := whitened(p, y, inner, dense.Epsilon(dt)) // its Gram matrix has the eigenvalues of M̂
	if err != nil {
		return nil, err
	}
	n = len(root) / p
	gram := make([]float64, n*n)
	kernel.Syrk(false, n, p, 1, root, p, 0, gram, n)
	u, values, err := whitened(p, root, gram, dense.Epsilon(tensor.Float64))
	return &sketch{p: p, values: values, u: u}, err
}

// whitened returns D^−½ Vᵀ rows, for the eigenvalues D and eigenvectors V of a [n,n] that are
// not 0 up to rounding, and D, ascending. It overwrites a.
func whitened(p int, rows, a []float64, rounding float64) (out, values []float64, err error) {
	n := len(rows) / p
	if n == 0 {
		return nil, nil, nil
	}
	d, v, err := eigen.Symmetric(n, a)
	if err != nil {
		return nil, nil, err
	}
	first := 0
	for first < n && !(d[first] > rounding*float64(n)*d[n-1]) {
		first++
	}
	rank := n - first
	w := make([]float64, n*rank)
	for i := range n {
		for j := range rank {
			w[i*rank+j] = v[i*n+first+j] / math.Sqrt(d[first+j])
		}
	}
	out = make([]float64, rank*p)
	if rank > 0 {
		kernel.Gemm(true, false, rank, p, n, 1, w, rank, rows, p, 0, out, p)
	}
	return out, d[first:], nil
}

// solve writes P⁻¹ r to dst [P].
func (k *sketch) solve(dst, r []float64, lambda float64) {
	copy(dst, r)
	if k == nil || len(k.values) == 0 {
		return
	}
	n := len(k.values)
	t := make([]float64, n)
	kernel.Gemm(false, false, n, 1, k.p, 1, k.u, k.p, r, 1, 0, t, 1)
	for i, v := range k.values {
		t[i] *= (k.values[0]+lambda)/(v+lambda) - 1
	}
	kernel.Gemm(true, false, k.p, 1, n, 1, k.u, k.p, t, 1, 1, dst, 1)
}
