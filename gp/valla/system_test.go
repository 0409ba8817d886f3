package valla

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// features draws a problem whose kernels are kernels of random features. It returns J of the
// inducing points [m,f] and of n inputs of c outputs [n·c,f].
func features(rng *rand.Rand, m, n, f int) (z, x *mat.Dense) {
	draw := func(rows int) *mat.Dense {
		d := mat.NewDense(rows, f, nil)
		d.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, d)
		return d
	}
	return draw(m), draw(n)
}

func gram(a, b *mat.Dense) *mat.Dense {
	var k mat.Dense
	k.Mul(a, b.T())
	return &k
}

// TestSystem compares Q with the posterior of a linear model of the features, which has no
// difference of large numbers: with A⁻¹ the noise of the points, Q = J (I/s + J_zᵀ A J_z)⁻¹ Jᵀ.
// It holds for any prior variance.
func TestSystem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		m, c, n := rapid.IntRange(1, 70).Draw(t, "points"), rapid.IntRange(1, 3).Draw(t, "outputs"), 4
		const f = 80
		s := math.Pow(10, rapid.Float64Range(-3, 6).Draw(t, "log prior variance"))
		z, x := features(rng, m, n*c, f)
		l := make([]float64, m*m)
		for i := range m {
			for j := range i + 1 {
				l[i*m+j] = rng.NormFloat64() / math.Sqrt(float64(m))
			}
		}
		at, err := newSystem(s, l, gram(z, z).RawMatrix().Data)
		if err != nil {
			t.Fatal(err)
		}
		var lz, r, solved, cov mat.Dense
		lz.Mul(mat.NewDense(m, m, l).T(), z)
		root := mat.NewDense(m+f, f, nil) // its product with itself, in which 1/s would be rounded, is the precision
		root.Slice(0, m, 0, f).(*mat.Dense).Copy(&lz)
		for i := range f {
			root.Set(m+i, i, 1/math.Sqrt(s))
		}
		var qr mat.QR
		qr.Factorize(root)
		qr.RTo(&r)
		if err := solved.Solve(r.Slice(0, f, 0, f).T(), x.T()); err != nil && !errors.As(err, new(mat.Condition)) {
			t.Fatal(err)
		}
		cov.Mul(solved.T(), &solved)
		diag := make([]float64, n*c*c)
		prior := gram(x, x)
		want := make([]float64, n*c*c)
		for i := range n {
			for j := range c {
				for k := range c {
					diag[(i*c+j)*c+k], want[(i*c+j)*c+k] = prior.At(i*c+j, i*c+k), cov.At(i*c+j, i*c+k)
				}
			}
		}
		k := gram(x, z).RawMatrix().Data
		variances, before := make([]float64, n*c), diagonals(diag, c)
		kernel.Scale(before, s, before)
		at.variances(variances, before, k, make([]float64, len(k)))
		at.covariances(c, diag, k, make([]float64, len(k)))
		if e := fixture.RelErr(diag, want); e > 1e-8 {
			t.Errorf("Q is off by %g", e)
		}
		if e := fixture.RelErr(variances, diagonals(diag, c)); e > 1e-10 {
			t.Errorf("the variances are off by %g", e)
		}
	})
}

func TestSystemRefusesWhatIsNoKernel(t *testing.T) {
	_, err := newSystem(1, []float64{1, 0, 0, 1}, []float64{1, 0, 0, -3})
	var not *graph.NotPositiveDefiniteError
	if !errors.As(err, &not) || not.Pivot != 1 {
		t.Errorf("error %v", err)
	}
}

// TestNegativeVariances: a variance that rounding makes negative is 0. Any other negative variance
// is an error with the row, also where the rows are some of many.
func TestNegativeVariances(t *testing.T) {
	add := func(q *predictions, kappa, k float64) error {
		cross := tensor.New(tensor.WithShape(2, 1, 1), tensor.WithBacking([]float64{0, k}))
		return q.add(0, 2, tensor.New(tensor.WithShape(2, 1, 1), tensor.WithBacking([]float64{1, kappa})), cross)
	}
	at := &system{m: 1, s: 1, root: []float64{1}}
	room := func(epistemic bool, q *predictions) *predictions {
		var g gp.Gaussian
		g.Resize(2, 1, epistemic)
		q.into(&g)
		return q
	}
	q := room(true, &predictions{system: at, known: at})
	if err := add(q, 4, 2+1e-7); err != nil || q.g.Cov[1] != 0 || q.g.Epistemic[1] != 0 || q.g.Cov[0] != 1 {
		t.Errorf("covariances %v, epistemic %v, error %v", q.g.Cov, q.g.Epistemic, err)
	}
	q.rows = []int{3, 7}
	if err := add(q, 4, 2.1); err == nil || !strings.Contains(err.Error(), "row 7 (counting from 0): the variance of output 0 is -0.41") {
		t.Errorf("error %v", err)
	}
	// In float32 such a row is to be computed again.
	q = room(false, &predictions{system: at})
	single := func(v ...float32) *tensor.Dense { return tensor.New(tensor.WithShape(2, 1, 1), tensor.WithBacking(v)) }
	if err := q.add(0, 2, single(1, 4), single(0, 2.1)); err != nil || len(q.blunt) != 1 || q.blunt[0] != 1 {
		t.Errorf("rows %v to be computed again, error %v", q.blunt, err)
	}
}
