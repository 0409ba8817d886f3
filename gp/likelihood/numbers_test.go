package likelihood_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"
	"gorgonia.org/tensor"
)

// both are the likelihoods, with whether targets are one-hot.
var both = map[bool]likelihood.Likelihood{false: likelihood.NewGaussian(0.3, tensor.Float64), true: likelihood.Softmax{}}

// row are the numbers of example i, with n each.
func row(v []float64, i, n int) []float64 { return v[i*n : (i+1)*n] }

// TestLogDensity: the densities of gonum, and of a softmax by plain loops.
func TestLogDensity(t *testing.T) {
	g, c := newData(11, false), newData(11, true)
	for i := range batch {
		want := 0.0
		for k := range outputs {
			want += distuv.Normal{Mu: g.mean[i*outputs+k], Sigma: math.Sqrt(0.3)}.LogProb(g.y[i*outputs+k])
		}
		got := both[false].LogDensity(row(g.y, i, outputs), row(g.mean, i, outputs))
		fixture.Close(t, "Gaussian", []float64{got}, []float64{want}, 1e-13)
		f := row(c.mean, i, outputs)
		class := slices.Index(row(c.y, i, outputs), 1)
		got = both[true].LogDensity(row(c.y, i, outputs), f)
		fixture.Close(t, "softmax", []float64{got}, logSoftmax(f)[class:class+1], 1e-13)
	}
}

// TestGradient: central differences of the log density.
func TestGradient(t *testing.T) {
	const h = 1e-5
	for oneHot, l := range both {
		d := newData(14, oneHot)
		for i := range batch {
			y, f, got, want := row(d.y, i, outputs), row(d.mean, i, outputs), make([]float64, outputs), make([]float64, outputs)
			l.Gradient(got, y, f)
			for k := range want {
				up, down := slices.Clone(f), slices.Clone(f)
				up[k], down[k] = f[k]+h, f[k]-h
				want[k] = (l.LogDensity(y, up) - l.LogDensity(y, down)) / (2 * h)
			}
			fixture.Close(t, fmt.Sprintf("%v, example %d", l, i), got, want, 1e-8)
		}
	}
}

// TestRootRows: the squares of Λ^½ φ sum to φᵀ Λ φ.
func TestRootRows(t *testing.T) {
	const k = 4
	for oneHot, l := range both {
		d, rng := newData(15, oneHot), rand.New(rand.NewPCG(15, 1))
		phi := make([]float64, batch*outputs*k)
		for i := range phi {
			phi[i] = rng.NormFloat64()
		}
		want, lambda := mat.NewDense(k, k, nil), make([]float64, outputs*outputs)
		for i := range batch {
			l.Curvature(lambda, row(d.mean, i, outputs))
			rows := mat.NewDense(outputs, k, row(phi, i, outputs*k))
			var half, all mat.Dense
			half.Mul(rows.T(), mat.NewDense(outputs, outputs, lambda))
			all.Mul(&half, rows)
			want.Add(want, &all)
		}
		roots := slices.Clone(phi)
		likelihood.RootRows(l, nil, d.mean, roots, outputs)
		r := mat.NewDense(batch*outputs, k, roots)
		var got mat.Dense
		got.Mul(r.T(), r)
		fixture.Close(t, l.String(), got.RawMatrix().Data, want.RawMatrix().Data, 1e-12)
	}
}

// TestCurvature: second central differences of the log density, whose errors are h² and
// 1e-16/h² times the density. Λ does not depend on the target.
func TestCurvature(t *testing.T) {
	const h = 1e-4
	for oneHot, l := range both {
		d := newData(12, oneHot)
		for i := range batch {
			f := row(d.mean, i, outputs)
			got := make([]float64, outputs*outputs)
			for k := range got {
				got[k] = math.NaN() // all of it must be written
			}
			l.Curvature(got, f)
			for _, y := range [][]float64{row(d.y, i, outputs), row(d.y, (i+1)%batch, outputs)} {
				want := make([]float64, 0, outputs*outputs)
				for a := range outputs {
					for b := range outputs {
						want = append(want, -secondDifference(l, y, f, a, b, h))
					}
				}
				fixture.Close(t, fmt.Sprintf("%v, example %d", l, i), got, want, 1e-6)
			}
		}
	}
}

// secondDifference is ∂² log p(y | f)/∂f_a ∂f_b.
func secondDifference(l likelihood.Likelihood, y, f []float64, a, b int, h float64) float64 {
	at := func(da, db float64) float64 {
		g := slices.Clone(f)
		g[a] += da
		g[b] += db
		return l.LogDensity(y, g)
	}
	return (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h)
}

// TestRoot: Σ_c w_c (e_c − m)(e_c − m)ᵀ is the curvature, also where the softmax has
// almost all its mass on one class.
func TestRoot(t *testing.T) {
	for oneHot, l := range both {
		d := newData(13, oneHot)
		copy(d.mean, []float64{30, -5, 0})
		for i := range batch {
			f := row(d.mean, i, outputs)
			want, got := make([]float64, outputs*outputs), make([]float64, outputs*outputs)
			w, m := []float64{9, 9, 9}, []float64{9, 9, 9}
			l.Curvature(want, f)
			l.Root(w, m, f)
			for c := range outputs {
				for a := range outputs {
					for b := range outputs {
						got[a*outputs+b] += w[c] * (unit(c, a) - m[a]) * (unit(c, b) - m[b])
					}
				}
			}
			fixture.Close(t, fmt.Sprintf("%v, example %d", l, i), got, want, 1e-12)
			if slices.Min(w) < 0 {
				t.Errorf("%v: weights %g", l, w)
			}
		}
	}
}

func unit(c, a int) float64 {
	if c == a {
		return 1
	}
	return 0
}

// TestGaussianPredictive: the density of N(mean, cov + σ²I) as gonum has it, for several
// outputs that vary together.
func TestGaussianPredictive(t *testing.T) {
	d := newData(14, false)
	for i := range batch {
		cov := mat.NewSymDense(outputs, slices.Clone(row(d.cov, i, outputs*outputs)))
		for k := range outputs {
			cov.SetSym(k, k, cov.At(k, k)+0.3)
		}
		n, ok := distmv.NewNormal(row(d.mean, i, outputs), cov, nil)
		if !ok {
			t.Fatal("no covariance")
		}
		got := both[false].LogPredictive(row(d.y, i, outputs), row(d.mean, i, outputs), row(d.cov, i, outputs*outputs))
		fixture.Close(t, fmt.Sprint("example ", i), []float64{got}, []float64{n.LogProb(row(d.y, i, outputs))}, 1e-12)
	}
	if got := both[false].LogPredictive([]float64{0, 0}, []float64{0, 0}, []float64{1, 9, 9, 1}); !math.IsInf(got, -1) {
		t.Errorf("log density %g with a matrix that is no covariance, want −∞", got)
	}
}

// predictive is ∫ p(y | f + √q z e_0) N(z) dz, in which only output 0 varies.
func predictive(l likelihood.Likelihood, y, f []float64, q float64) float64 {
	return quad.Fixed(func(z float64) float64 {
		g := slices.Clone(f)
		g[0] += math.Sqrt(q) * z
		return math.Exp(l.LogDensity(y, g)) * distuv.UnitNormal.Prob(z)
	}, -12, 12, 400, quad.Legendre{}, 0)
}

// TestPredictiveIntegral: LogPredictive is the integral that it is said to be, exactly for
// a Gaussian. With classes it is MacKay's approximation: where one logit of two varies,
// the probability is off by less than 0.02 for all means and variances.
func TestPredictiveIntegral(t *testing.T) {
	worst := 0.0
	for mean := -6.0; mean <= 6; mean += 0.5 {
		for _, q := range []float64{0, 0.01, 0.3, 1, 3, 10, 30} {
			g := both[false].LogPredictive([]float64{0.4}, []float64{mean / 6}, []float64{q})
			want := predictive(both[false], []float64{0.4}, []float64{mean / 6}, q)
			fixture.Close(t, fmt.Sprintf("Gaussian with mean %g and variance %g", mean/6, q), []float64{math.Exp(g)}, []float64{want}, 1e-9)
			y, f := []float64{1, 0}, []float64{mean, 0}
			p := math.Exp(both[true].LogPredictive(y, f, []float64{q, 0, 0, 0}))
			worst = max(worst, math.Abs(p-predictive(both[true], y, f, q)))
		}
	}
	if !(worst < 0.02) || worst < 1e-6 {
		t.Errorf("the probit approximation is off by %g, want something below 0.02", worst)
	}
}

// TestPredictiveMonteCarlo: of three classes, where the two logits that do not vary have
// log Σ exp = 0, MacKay's approximation holds as with two: within five standard errors of
// the mean over samples and the 0.02 of TestPredictiveIntegral. The probabilities without
// the variance are further off.
func TestPredictiveMonteCarlo(t *testing.T) {
	const samples, q = 20_000, 9.0
	rng, f := rand.New(rand.NewPCG(15, 5)), []float64{2.5, -math.Ln2, -math.Ln2}
	cov := []float64{q, 0, 0, 0, 0, 0, 0, 0, 0}
	for class := range outputs {
		y := []float64{unit(class, 0), unit(class, 1), unit(class, 2)}
		sum, squares := 0.0, 0.0
		for range samples {
			p := math.Exp(both[true].LogDensity(y, []float64{f[0] + math.Sqrt(q)*rng.NormFloat64(), f[1], f[2]}))
			sum, squares = sum+p, squares+p*p
		}
		mean := sum / samples
		stderr := math.Sqrt((squares/samples - mean*mean) / samples)
		got, without := math.Exp(both[true].LogPredictive(y, f, cov)), math.Exp(both[true].LogDensity(y, f))
		if tol := 5*stderr + 0.02; math.Abs(got-mean) > tol || math.Abs(without-mean) < tol {
			t.Errorf("class %d: probability %g, %g without variance, %g ± %g by samples", class, got, without, mean, stderr)
		}
	}
}

// TestDataTermIsPredictive: at α = 1 the data term is LogPredictive, for classes with any
// covariance, for a Gaussian where outputs do not vary together.
func TestDataTermIsPredictive(t *testing.T) {
	for oneHot, l := range both {
		d := newData(16, oneHot)
		if !oneHot {
			for i := range d.cov {
				if i%(outputs*outputs)/outputs != i%outputs {
					d.cov[i] = 0
				}
			}
		}
		terms, _ := d.term(t, l, 1, tensor.Float64, nil)
		for i := range batch {
			want := l.LogPredictive(row(d.y, i, outputs), row(d.mean, i, outputs), row(d.cov, i, outputs*outputs))
			fixture.Close(t, fmt.Sprintf("%v, example %d", l, i), terms[i:i+1], []float64{want}, 1e-12)
		}
	}
}

// TestCopy: a copy has parameters of its own, of the type asked for.
func TestCopy(t *testing.T) {
	g := likelihood.NewGaussian(0.3, tensor.Float64)
	c := g.Copy(tensor.Float32).(likelihood.Gaussian)
	if dt := c.LogVariance.Value.Dtype(); dt != tensor.Float32 || math.Abs(c.Variance()-0.3) > 1e-7 || c.LogVariance.Name != g.LogVariance.Name {
		t.Errorf("variance %g of type %v", c.Variance(), dt)
	}
	if c.LogVariance.Set(0, 2); math.Abs(g.Variance()-0.3) > 1e-15 {
		t.Errorf("the copy is not its own: variance %g", g.Variance())
	}
	if same := g.Copy(tensor.Float64).(likelihood.Gaussian); same.Variance() != g.Variance() {
		t.Errorf("variance %g, want the same bits as %g", same.Variance(), g.Variance())
	}
	if (likelihood.Softmax{}).Copy(tensor.Float32) != (likelihood.Softmax{}) {
		t.Error("a copy of softmax is something else")
	}
}

func TestNames(t *testing.T) {
	for want, l := range map[string]likelihood.Likelihood{"gaussian": both[false], "softmax": both[true]} {
		if l.String() != want {
			t.Errorf("%v, want %s", l, want)
		}
	}
	if got := likelihood.NoiseVariance(both[false]); math.Abs(got-0.3) > 1e-15 {
		t.Errorf("noise variance %g", got)
	}
	if got := likelihood.NoiseVariance(both[true]); got != 0 {
		t.Errorf("noise variance %g of classes", got)
	}
}

// TestLogSumExp: nothing overflows or vanishes.
func TestLogSumExp(t *testing.T) {
	for _, c := range []struct {
		f    []float64
		want float64
	}{
		{[]float64{0, 0}, math.Ln2}, {[]float64{1000, 1000}, 1000 + math.Ln2}, {[]float64{-1000, -1000}, -1000 + math.Ln2},
		{[]float64{3}, 3}, {[]float64{0, math.Inf(-1)}, 0},
	} {
		if got := likelihood.LogSumExp(c.f); got != c.want {
			t.Errorf("%v: %g, want %g", c.f, got, c.want)
		}
	}
}

// Softmax's log density stays finite where exp(f) does not.
func TestLargeLogits(t *testing.T) {
	for _, f := range [][]float64{{2000, 0, -2000}, {-2000, -2000, -2000}} {
		w, m, lambda := make([]float64, 3), make([]float64, 3), make([]float64, 9)
		both[true].Root(w, m, f)
		both[true].Curvature(lambda, f)
		all := append(slices.Concat(w, m, lambda), both[true].LogDensity([]float64{0, 1, 0}, f))
		if i := slices.IndexFunc(all, func(v float64) bool { return v-v != 0 }); i >= 0 {
			t.Errorf("logits %v: number %d is %g", f, i, all[i])
		}
	}
}

// Two regressions predict the same value, one with more certainty: the observation that
// lies far off is likelier under the other.
func ExampleGaussian_LogPredictive() {
	noise := likelihood.NewGaussian(0.01, tensor.Float64)
	for _, variance := range []float64{0.05, 1} {
		fmt.Printf("variance %.2f: %.2f\n", variance, noise.LogPredictive([]float64{2}, []float64{0}, []float64{variance}))
	}
	// Output:
	// variance 0.05: -32.85
	// variance 1.00: -2.90
}

// The variance of the logits draws probabilities towards each other.
func ExampleSoftmax_LogPredictive() {
	classes, logits := []float64{1, 0, 0}, []float64{3, 0, 0}
	for _, v := range []float64{0, 1, 10} {
		p := likelihood.Softmax{}.LogPredictive(classes, logits, []float64{v, 0, 0, 0, v, 0, 0, 0, v})
		fmt.Printf("variance %2.0f: probability %.2f\n", v, math.Exp(p))
	}
	// Output:
	// variance  0: probability 0.91
	// variance  1: probability 0.86
	// variance 10: probability 0.66
}

// The data term of VaLLA's objective is a node of a graph.
func ExampleLikelihood() {
	b := graph.NewBuilder(tensor.Float64)
	y, mean := b.Const("y", []float64{1}, 1, 1), b.Const("mean", []float64{0.5}, 1, 1)
	variance := b.Const("variance", []float64{0.2}, 1, 1)
	term := likelihood.NewGaussian(0.05, tensor.Float64).DataTerm(b, y, mean, variance, 1)
	p, err := graph.Compile(b, []*graph.Node{term}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("log N(1; 0.5, 0.25) = %.4f\n", graph.Floats(p.Value(term))[0])
	// Output: log N(1; 0.5, 0.25) = -0.7258
}

// TestCRPSOfStudent: the closed form of the mixture of scales is the integral over the CDF.
func TestCRPSOfStudent(t *testing.T) {
	for _, nu := range []float64{2.5, 3, 4.5, 8, 30, 1e6} {
		l := likelihood.Each(likelihood.NewStudentT(nu, 0.5, true, tensor.Float64))
		for _, q := range []float64{0, 0.3, 40} {
			for _, r := range []float64{0, 0.5, -3, 50, 1e4} {
				d := l.Predict(0, 2, q)
				got, want := likelihood.CRPS(d, 2+r, likelihood.Number), likelihood.CRPS(plain{d}, 2+r, likelihood.Number)
				if math.Abs(got-want) > 1e-8*want {
					t.Errorf("ν = %g, q = %g, residual %g: %.12g, expected %.12g", nu, q, r, got, want)
				}
			}
		}
	}
}
