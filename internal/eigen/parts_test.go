package eigen

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/scratch"
	"pgregory.net/rapid"
)

// drawSpectrum draws an order, ascending eigenvalues with repetitions, and a matrix with these
// eigenvalues.
func drawSpectrum(t *rapid.T, most int) (n int, d, a []float64) {
	d = rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-5, 5), rapid.SampledFrom([]float64{0, 1, 1, 1, -2})), 1, most).Draw(t, "spectrum")
	slices.Sort(d)
	return len(d), d, withSpectrum(d, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
}

// TestSymmetricSpectrum: Symmetric finds the eigenvalues that a matrix was made with, and
// SymmetricTo gives the same bits.
func TestSymmetricSpectrum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d, a := drawSpectrum(t, 60)
		values, vectors, err := Symmetric(n, slices.Clone(a))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if math.Abs(v-d[i]) > 1e-14*float64(n+10) {
				t.Fatalf("eigenvalue %d of %d is %.17g, want %.17g", i, n, v, d[i])
			}
		}
		v, z := make([]float64, n), make([]float64, n*n)
		if err := SymmetricTo(v, z, n, a); err != nil || !slices.Equal(v, values) || !slices.Equal(z, vectors) {
			t.Fatalf("SymmetricTo gives other bits than Symmetric, error %v", err)
		}
	})
}

// TestSymmetricShift: A + sI has the eigenvalues of A plus s.
func TestSymmetricShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d, a := drawSpectrum(t, 40)
		s := rapid.Float64Range(-10, 10).Draw(t, "s")
		for i := range n {
			a[i*n+i] += s
		}
		values, _, err := Symmetric(n, a)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if math.Abs(v-d[i]-s) > 1e-14*float64(n+30) {
				t.Fatalf("eigenvalue %d is %g, want %g", i, v, d[i]+s)
			}
		}
	})
}

// TestSymmetricTiny: elements whose squares are no normal numbers do not disturb the eigenvalues beside them.
func TestSymmetricTiny(t *testing.T) {
	for _, tiny := range []float64{1e-140, 1e-150, 3.7e-155, 1e-160, 1e-165, 1e-300} {
		const n = 5
		a := withSpectrum([]float64{0, tiny / 16, tiny, tiny, 2 * tiny}, rand.New(rand.NewPCG(1, 1)))
		for i := range n {
			a[i*n+i]++
		}
		values, vectors, err := Symmetric(n, a)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if math.Abs(v-1) > 1e-14 {
				t.Errorf("%g: eigenvalue %d is %.17g, want 1", tiny, i, v)
			}
		}
		for i := range n {
			for j := range n {
				sum := 0.0
				for k := range n {
					sum += vectors[k*n+i] * vectors[k*n+j]
				}
				if want := float64(max(0, 1-(i-j)*(i-j))); math.Abs(sum-want) > 1e-14 {
					t.Errorf("%g: eigenvectors %d and %d have the product %g", tiny, i, j, sum)
				}
			}
		}
	}
}

// TestReduce: the reflections turn the tridiagonal matrix back into the matrix, and reduce does not read
// the lower triangle.
func TestReduce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, _, a := drawSpectrum(t, 70)
		upper := slices.Clone(a)
		for i := range n {
			for j := range i {
				upper[i*n+j] = math.NaN()
			}
		}
		f := reduce(n, upper, make([]float64, n), new(scratch.Memory))
		left := make([]float64, n*n) // Q T, and then Q T Qᵀ
		for i, v := range f.d {
			left[i*n+i] = v
			if i < len(f.e) {
				left[i*n+i+1], left[(i+1)*n+i] = f.e[i], f.e[i]
			}
		}
		f.apply(left, n)
		back := make([]float64, n*n)
		kernel.Transpose(back, n, left, n, n, n)
		f.apply(back, n)
		for i, v := range back {
			if math.Abs(v-a[i]) > 1e-13*float64(n+10) {
				t.Fatalf("element %d,%d of order %d is %g, want %g", i/n, i%n, n, v, a[i])
			}
		}
	})
}

// TestReflect: the reflection of x leaves only its first element, of the same length, and has τ = 0
// where nothing is to be done.
func TestReflect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), 1, 20).Draw(t, "x")
		v := slices.Clone(x)
		beta, tau := reflect(v)
		if v[0] != 1 {
			t.Fatalf("the first element is %g", v[0])
		}
		dot, norm := 0.0, 0.0
		for i := range x {
			dot += v[i] * x[i]
			norm = math.Hypot(norm, x[i])
		}
		for i := range x {
			want := 0.0
			if i == 0 {
				want = beta
			}
			if got := x[i] - tau*v[i]*dot; math.Abs(got-want) > 1e-14*(1+norm) {
				t.Fatalf("element %d becomes %g, want %g", i, got, want)
			}
		}
		if math.Abs(math.Abs(beta)-norm) > 1e-14*(1+norm) {
			t.Fatalf("the length becomes %g, want %g", beta, norm)
		}
	})
	if beta, tau := reflect([]float64{-2, 0, 0}); beta != -2 || tau != 0 {
		t.Errorf("β %g and τ %g of a vector that is there already", beta, tau)
	}
}

// TestUnit: the matrix is divided by its largest magnitude; zeros stay, and NaN and Inf are found.
func TestUnit(t *testing.T) {
	for _, c := range []struct {
		a     []float64
		scale float64
	}{{nil, 1}, {[]float64{0, math.Copysign(0, -1)}, 1}, {[]float64{1, -4, 2}, 4}, {[]float64{-1e-300}, 1e-300}, {[]float64{5e-310, -2e-309}, 2e-309}, {[]float64{3, math.Inf(-1)}, math.Inf(1)}} {
		before := slices.Clone(c.a)
		if got := unit(c.a); got != c.scale {
			t.Errorf("%v: scale %g, want %g", before, got, c.scale)
		}
		for i, v := range c.a {
			if want := before[i] / c.scale; !math.IsInf(c.scale, 0) && math.Abs(v-want) > 1e-15 {
				t.Errorf("%v: element %d becomes %g, want %g", before, i, v, want)
			}
		}
	}
	if got := unit([]float64{1, math.NaN(), math.Inf(1)}); !math.IsNaN(got) {
		t.Errorf("scale %g of a matrix with NaN", got)
	}
}

// TestCounts: the number of negative pivots is the number of eigenvalues below x.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d, a := drawSpectrum(t, 40)
		scale := unit(a)
		s := newBisection(reduce(n, a, make([]float64, n), new(scratch.Memory)))
		var x [4]float64
		for i := range x {
			x[i] = rapid.Float64Range(-6, 6).Draw(t, "x") / scale
		}
		for i, got := range s.counts(x) {
			least, most := 0, 0 // eigenvalues that rounding may put on the other side do not count
			for _, v := range d {
				if v/scale < x[i]-1e-13 {
					least++
				}
				if v/scale < x[i]+1e-13 {
					most++
				}
			}
			if got < least || got > most {
				t.Fatalf("%d eigenvalues below %g, want %d to %d of %v", got, x[i], least, most, d)
			}
		}
	})
}

// TestSecular: the zeros of the secular equation lie between the poles and are the eigenvalues of
// D + ρzzᵀ, and the vectors are orthonormal eigenvectors.
func TestSecular(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, rho := rapid.IntRange(1, 30).Draw(t, "k"), rapid.Float64Range(0.01, 10).Draw(t, "rho")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		s := newSecular(rho, k, new(scratch.Memory))
		at := 0.0
		for i := range k {
			at += 0.01 + rng.Float64()
			s.d[i], s.z[i] = at, 0.1+rng.Float64()
		}
		s.find()
		for j := range k {
			if v := s.root(j); !(v > s.d[j]) || j+1 < k && !(v < s.d[j+1]) {
				t.Fatalf("zero %d is %g, not between %v", j, v, s.d)
			}
		}
		s.vectors(ordered(k, func(i int) int { return i }))
		for j := range k {
			v, dot := s.diff[j*k:(j+1)*k], 0.0
			for i := range k {
				dot += s.z[i] * v[i]
			}
			for i := range k {
				if r := s.d[i]*v[i] + rho*s.z[i]*dot - s.root(j)*v[i]; math.Abs(r) > 1e-13*(1+s.root(k-1)) {
					t.Fatalf("residual %g in element %d of eigenvector %d", r, i, j)
				}
			}
			for l := range j + 1 {
				want := 0.0
				if l == j {
					want = 1
				}
				if got := kernel.Dot(v, s.diff[l*k:(l+1)*k]); math.Abs(got-want) > 1e-13 {
					t.Fatalf("vectors %d and %d have the product %g", j, l, got)
				}
			}
		}
	})
}

// TestOrthonormalize: x becomes orthogonal to the rows and has the length 1; a zero, NaN and Inf are
// refused.
func TestOrthonormalize(t *testing.T) {
	const n = 9
	rng := rand.New(rand.NewPCG(3, 1))
	var rows []float64
	for k := range n {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64() * math.Pow(10, float64(k*30-120))
		}
		if !orthonormalize(x, rows) {
			t.Fatalf("vector %d is refused", k)
		}
		rows = append(rows, x...)
	}
	for i := range n {
		for j := range n {
			want := 0.0
			if i == j {
				want = 1
			}
			if got := kernel.Dot(rows[i*n:(i+1)*n], rows[j*n:(j+1)*n]); math.Abs(got-want) > 1e-14 {
				t.Errorf("rows %d and %d have the product %g", i, j, got)
			}
		}
	}
	for _, bad := range []float64{0, math.NaN(), math.Inf(1)} {
		if orthonormalize([]float64{bad, bad, bad}, nil) {
			t.Errorf("a vector of %g is accepted", bad)
		}
	}
}

// TestSemidefiniteAgrees: Semidefinite agrees with Symmetric for any places of zero rows.
func TestSemidefiniteAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 25).Draw(t, "n")
		a := slices.Clone(symmetricCases(n)["gram"])
		for i, zero := range rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "zero") {
			for j := range n {
				if zero {
					a[i*n+j], a[j*n+i] = 0, 0
				}
			}
		}
		want, _, err := Symmetric(n, slices.Clone(a))
		if err != nil {
			t.Fatal(err)
		}
		values, v, err := Semidefinite(n, slices.Clone(a))
		if err != nil || !slices.IsSorted(values) {
			t.Fatalf("eigenvalues %v, error %v", values, err)
		}
		for i := range n {
			if math.Abs(values[i]-want[i]) > 1e-14*float64(n+10)*max(1, want[n-1]) {
				t.Fatalf("eigenvalue %d is %g, want %g", i, values[i], want[i])
			}
			for j := range n {
				if r := kernel.Dot(a[j*n:(j+1)*n], column(v, n, i)) - values[i]*v[j*n+i]; math.Abs(r) > 1e-13*float64(n+10)*max(1, want[n-1]) {
					t.Fatalf("residual %g in element %d of eigenvector %d", r, j, i)
				}
			}
		}
	})
}

// column returns column i of v [n,n].
func column(v []float64, n, i int) []float64 {
	out := make([]float64, n)
	for j := range out {
		out[j] = v[j*n+i]
	}
	return out
}

// TestOrdered: the order is stable.
func TestOrdered(t *testing.T) {
	key := []float64{2, 1, 2, 0, 1}
	if got := ordered(len(key), func(i int) float64 { return key[i] }); !slices.Equal(got, []int{3, 1, 4, 0, 2}) {
		t.Errorf("order %v", got)
	}
	if got := ordered(0, func(int) int { panic("called") }); len(got) != 0 {
		t.Errorf("order %v of nothing", got)
	}
}

// TestBelowMatchesCount: for any bound, Below returns the eigenvalues below the bound and residuals that
// rounding explains.
func TestBelowMatchesCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d, a := drawSpectrum(t, 40)
		bound := rapid.Float64Range(-6, 6).Draw(t, "bound")
		want := 0
		for _, v := range d {
			if math.Abs(v-bound) < 1e-12 {
				t.Skip() // rounding decides
			}
			if v < bound {
				want++
			}
		}
		values, v, err := Below(n, slices.Clone(a), bound)
		if err != nil || len(values) != want || len(v) != n*want {
			t.Fatalf("%d eigenvalues and %d elements of vectors below %g, want %d (%v)", len(values), len(v), bound, want, err)
		}
		for j, value := range values {
			for i := range n {
				av := 0.0
				for l := range n {
					av += a[i*n+l] * v[l*want+j]
				}
				if math.Abs(av-value*v[i*want+j]) > 1e-13*float64(n+10) {
					t.Fatalf("residual %g in element %d of eigenvector %d", av-value*v[i*want+j], i, j)
				}
			}
		}
	})
}
