package valla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// algebra is a random problem of the natural-gradient algebra: K̂_z and Ŝ [M,M], with
// rows k̂ [n,M], their κ̂ [n] and λ [n].
type algebra struct {
	m, n            int
	kz, s           []float64
	k, diag, lambda []float64
}

// newAlgebra draws one; Ŝ has negative eigenvalues if indefinite is set.
func newAlgebra(seed uint64, m, n int, indefinite bool) *algebra {
	rng := rand.New(rand.NewPCG(seed, 3))
	draw := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	a := &algebra{m: m, n: n, k: draw(n * m), lambda: draw(n)}
	features, weights := draw(2*m*m), draw(2*m)
	for i := range weights {
		if !indefinite {
			weights[i] = math.Abs(weights[i])
		}
	}
	ones := make([]float64, 2*m)
	for i := range ones {
		ones[i] = 1
	}
	a.kz, a.s = weightedGram(nil, m, ones, features), weightedGram(nil, m, weights, draw(2*m*m))
	for i := range n { // a variance that exceeds k̂ᵀ K̂_z⁻¹ k̂
		row := mat.NewVecDense(m, a.k[i*m:(i+1)*m])
		var solved mat.VecDense
		if err := solved.SolveVec(a.matrix(a.kz), row); err != nil {
			panic(err)
		}
		a.diag = append(a.diag, mat.Dot(row, &solved)+rng.Float64())
	}
	return a
}

func (a *algebra) matrix(v []float64) *mat.Dense { return mat.NewDense(a.m, a.m, v) }

func (a *algebra) spectrum(t *testing.T, jitter float64) *spectrum {
	t.Helper()
	f, err := newFrame(a.m, a.kz, jitter)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.spectrum(a.natural(f))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// natural is T = R⁻¹ Ŝ R⁻ᵀ.
func (a *algebra) natural(f *frame) []float64 {
	t := append([]float64(nil), a.s...)
	kernel.Trsm(false, false, a.m, a.m, f.r, a.m, t, a.m)
	kernel.Trsm(true, true, a.m, a.m, f.r, a.m, t, a.m)
	return t
}

// rows are the coordinates w of the rows.
func (a *algebra) rows(p *spectrum) []float64 {
	v := append([]float64(nil), a.k...)
	p.whiten(v)
	return p.rotate(v)
}

// dense is Q and KL by inverses, as SPEC.md has them, for a Ŝ without negative
// eigenvalues:
//
//	Q  = s [κ̂ − k̂ᵀ K̂_z⁻¹ k̂ + k̂ᵀ (K̂_z + s Ŝ)⁻¹ k̂]
//	KL = ½ (log|K_z + S| − log|K_z|) − ½ (M − tr K_z (K_z + S)⁻¹),   K_z = s K̂_z, S = s² Ŝ
func (a *algebra) dense(t *testing.T, s float64) (q []float64, kl float64) {
	t.Helper()
	var sum, inv, invSum, product mat.Dense
	sum.Scale(s, a.matrix(a.s))
	sum.Add(&sum, a.matrix(a.kz))
	if err := invSum.Inverse(&sum); err != nil {
		t.Fatal(err)
	}
	if err := inv.Inverse(a.matrix(a.kz)); err != nil {
		t.Fatal(err)
	}
	for i := range a.n {
		row := mat.NewVecDense(a.m, a.k[i*a.m:(i+1)*a.m])
		q = append(q, s*(a.diag[i]-mat.Inner(row, &inv, row)+mat.Inner(row, &invSum, row)))
	}
	product.Mul(a.matrix(a.kz), &invSum)
	logSum, _ := mat.LogDet(&sum)
	logPrior, _ := mat.LogDet(a.matrix(a.kz))
	return q, 0.5*(logSum-logPrior) - 0.5*(float64(a.m)-mat.Trace(&product))
}

func TestNaturalAlgebra(t *testing.T) {
	for seed := range uint64(5) {
		for _, s := range []float64{0.01, 1, 30} {
			a := newAlgebra(seed, 6, 9, false)
			p := a.spectrum(t, 0)
			q, kl := a.dense(t, s)
			fixture.Close(t, "Q", p.variance(s, a.diag, a.rows(p)), q, 1e-10)
			fixture.Close(t, "KL", []float64{p.kl(s)}, []float64{kl}, 1e-10)
		}
	}
}

// TestNaturalProjection: A is positive semi-definite whatever Ŝ is. A is the matrix that
// minimises ½ Σ λ_n Q_n + KL for fixed λ, where Σ λ_n k̂_n k̂_nᵀ is indefinite.
func TestNaturalProjection(t *testing.T) {
	a := newAlgebra(1, 5, 40, true)
	a.s = weightedGram(nil, a.m, a.lambda, a.k)
	const s = 0.7
	objective := func(p *spectrum) float64 {
		sum := p.kl(s)
		for i, q := range p.variance(s, a.diag, a.rows(p)) {
			sum += 0.5 * a.lambda[i] * q
		}
		return sum
	}
	p := a.spectrum(t, 0)
	clipped := 0
	for _, g := range p.gamma {
		if g < 0 {
			t.Errorf("γ = %g is negative", g)
		}
		if g == 0 {
			clipped++
		}
	}
	if clipped == 0 || clipped == a.m {
		t.Fatalf("%d of %d eigenvalues are negative: not the case to be tested", clipped, a.m)
	}
	best := objective(p)
	rng := rand.New(rand.NewPCG(1, 9))
	for range 200 {
		other := newAlgebra(rng.Uint64(), a.m, 1, false)
		for i, v := range other.s { // towards another positive semi-definite matrix
			other.s[i] = a.s[i] + 0.3*rng.Float64()*v
		}
		moved := *a
		moved.s = other.s
		if got := objective(moved.spectrum(t, 0)); got < best-1e-12 {
			t.Errorf("objective %.15g at another A, %.15g at the projected one", got, best)
		}
	}
}

// TestNaturalCotangents compares with central differences of ½ Σ λ_i Q_i at fixed T, from
// dense inverses in whitened coordinates.
func TestNaturalCotangents(t *testing.T) {
	const s, h = 0.8, 1e-5
	a := newAlgebra(2, 4, 7, false)
	p := a.spectrum(t, 0)
	precision := a.precision(p, s)
	var covariance mat.Dense
	if err := covariance.Inverse(precision); err != nil {
		t.Fatal(err)
	}
	value := func() float64 {
		var chol mat.Cholesky
		if !chol.Factorize(mat.NewSymDense(a.m, a.kz)) {
			t.Fatal("K̂_z has no Cholesky factor")
		}
		var r mat.TriDense
		chol.LTo(&r)
		sum := 0.0
		for i, l := range a.lambda {
			var v mat.VecDense
			if err := v.SolveVec(&r, mat.NewVecDense(a.m, a.k[i*a.m:(i+1)*a.m])); err != nil {
				t.Fatal(err)
			}
			sum += 0.5 * l * s * (a.diag[i] - mat.Dot(&v, &v) + mat.Inner(&v, &covariance, &v))
		}
		return sum
	}
	difference := func(v []float64, at ...int) float64 {
		move := func(by float64) float64 {
			for _, i := range at {
				v[i] += by
			}
			return value()
		}
		up := move(h)
		down := move(-2 * h)
		move(h)
		return (up - down) / (2 * h)
	}
	both := p.cotangents(s, a.lambda, a.rows(p))
	k, kz := both[:len(a.k)], both[len(a.k):]
	want := make([]float64, len(k))
	for i := range want {
		want[i] = difference(a.k, i)
	}
	fixture.Close(t, "cotangent of k̂", k, want, 1e-7)
	var got []float64 // the two elements of a pair move together
	want = nil
	for i := range a.m {
		got, want = append(got, kz[i*a.m+i]), append(want, difference(a.kz, i*a.m+i))
		for j := range i {
			got = append(got, kz[i*a.m+j]+kz[j*a.m+i])
			want = append(want, difference(a.kz, i*a.m+j, j*a.m+i))
		}
	}
	fixture.Close(t, "cotangent of K̂_z", got, want, 1e-7)
}

// precision is I + sT.
func (a *algebra) precision(p *spectrum, s float64) *mat.Dense {
	out := a.matrix(a.natural(p.frame))
	out.Scale(s, out)
	for i := range a.m {
		out.Set(i, i, out.At(i, i)+1)
	}
	return out
}

// TestNaturalDistance: a small step's distance is twice the square root of the divergence
// between the posteriors before and after it, and grows with the step.
func TestNaturalDistance(t *testing.T) {
	const s, small = 0.6, 1e-4
	a, b := newAlgebra(5, 5, 6, false), newAlgebra(6, 5, 6, true)
	p := a.spectrum(t, 0)
	for i := range b.s {
		b.s[i] *= small
	}
	before, after := a.precision(p, s), a.matrix(append([]float64(nil), b.s...))
	after.Scale(s, after)
	after.Add(after, before)
	var inv, product mat.Dense
	if err := inv.Inverse(after); err != nil {
		t.Fatal(err)
	}
	product.Mul(before, &inv)
	det, _ := mat.LogDet(&product)
	divergence := 0.5 * (mat.Trace(&product) - float64(a.m) - det)
	d := length(p.relative(s, b.s))
	fixture.Close(t, "distance", []float64{d}, []float64{2 * math.Sqrt(divergence)}, 1e-2)
	for i := range b.s {
		b.s[i] *= 7
	}
	fixture.Close(t, "seven times as far", []float64{length(p.relative(s, b.s))}, []float64{7 * d}, 1e-12)
}

// TestNaturalCurbed: of a step the part remains that takes away no more of the precision, in any
// direction, than it may. The rest of it stays as it is.
func TestNaturalCurbed(t *testing.T) {
	const s, least = 0.6, -0.5
	a, b := newAlgebra(5, 5, 6, false), newAlgebra(6, 5, 6, true)
	p := a.spectrum(t, 0)
	values := func(d []float64) []float64 {
		v, _, err := eigen.Symmetric(a.m, p.relative(s, d))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := values(b.s)
	if want[0] > 2*least || want[a.m-1] < 0 {
		t.Fatalf("eigenvalues %v, expected some below %g and some above 0", want, least)
	}
	for i, v := range want {
		want[i] = max(v, least)
	}
	d, err := p.curbed(s, b.s, p.relative(s, b.s), least)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "eigenvalues", values(d), want, 1e-12)
	if d, err = p.curbed(s, b.s, p.relative(s, b.s), -1e3); err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "a step within the bound", d, b.s, 0)
	// Of a step just within the bound nothing is taken away, of one just beyond it a little.
	lowest := values(b.s)[0]
	for _, c := range []struct {
		least float64
		same  bool
	}{{lowest * (1 + 1e-9), true}, {lowest * (1 - 1e-9), false}} {
		if d, err = p.curbed(s, b.s, p.relative(s, b.s), c.least); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(d, b.s) != c.same {
			t.Errorf("eigenvalues from %g on, bound %g: unchanged is %t", lowest, c.least, !c.same)
		}
	}
}

// TestNaturalRoot: the layer's form, Q = κ − K_xz L (I + LᵀK_zL)⁻¹ Lᵀ K_zx with the
// kernel as it is, gives the variances of the natural form, with jitter or without.
func TestNaturalRoot(t *testing.T) {
	for _, jitter := range []float64{0, 1e-6, 1e-5} {
		for _, indefinite := range []bool{false, true} {
			for _, s := range []float64{0.01, 1, 30} {
				a := newAlgebra(3, 6, 9, indefinite)
				p := a.spectrum(t, jitter)
				root, err := p.root(s)
				if err != nil {
					t.Fatal(err)
				}
				var h, kl, inv, middle mat.Dense
				low := a.matrix(root)
				kl.Mul(a.matrix(a.kz), low)
				h.Mul(low.T(), &kl)
				h.Scale(s, &h)
				for i := range a.m {
					h.Set(i, i, h.At(i, i)+1)
				}
				if err := inv.Inverse(&h); err != nil {
					t.Fatal(err)
				}
				middle.Product(low, &inv, low.T())
				var want []float64
				for i := range a.n {
					row := mat.NewVecDense(a.m, a.k[i*a.m:(i+1)*a.m])
					want = append(want, s*a.diag[i]-s*s*mat.Inner(row, &middle, row))
				}
				what := fmt.Sprintf("jitter %g, indefinite %t, s %g: Q", jitter, indefinite, s)
				fixture.Close(t, what, p.variance(s, a.diag, a.rows(p)), want, 1e-8)
			}
		}
	}
}

func TestNaturalNotFinite(t *testing.T) {
	a := newAlgebra(1, 3, 1, false)
	f, err := newFrame(a.m, a.kz, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		a.s[4] = bad
		if _, err := f.spectrum(a.natural(f)); err == nil {
			t.Errorf("Ŝ with %v: no error", bad)
		}
	}
	if _, err := newFrame(2, []float64{0, 0, 0, 0}, 1e-6); err == nil {
		t.Error("K̂_z = 0: no error")
	}
}
