package gp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
)

func gaussian(n, c int, seed uint64, rank int) Gaussian {
	rng := rand.New(rand.NewPCG(seed, 0))
	mean, cov := make([]float64, n*c), make([]float64, n*c*c)
	for i := range mean {
		mean[i] = rng.NormFloat64()
	}
	for i := range n {
		a := make([]float64, c*rank)
		for j := range a {
			a[j] = rng.NormFloat64()
		}
		kernel.Syrk(false, c, rank, 1, a, rank, 0, cov[i*c*c:], c)
	}
	return Gaussian{
		Mean: mean,
		Cov:  cov,
	}
}

// TestSemiRoot: full and deficient rank, with rounding as of float32, give roots; an
// indefinite matrix and NaN are errors.
func TestSemiRoot(t *testing.T) {
	const c = 10
	rng := rand.New(rand.NewPCG(8, 8))
	for _, noise := range []float64{0, 1e-6} {
		for rank := 1; rank <= c; rank++ {
			a := gaussian(1, c, uint64(rank), rank).Cov
			scale := 0.0
			for i := range c {
				scale = max(scale, a[i*c+i])
				for j := range i + 1 {
					a[i*c+j] += noise * rng.NormFloat64()
					a[j*c+i] = a[i*c+j]
				}
			}
			root, back := make([]float64, c*c), make([]float64, c*c)
			if err := semiRoot(t.Context(), c, append([]float64(nil), a...), root); err != nil {
				t.Fatalf("rank %d, noise %g: %v", rank, noise, err)
			}
			kernel.Syrk(false, c, c, 1, root, c, 0, back, c)
			for i := range a {
				if d := math.Abs(a[i] - back[i]); !(d <= 2*negligible*scale+20*noise) {
					t.Errorf("rank %d, noise %g: element %d is %g, want %g", rank, noise, i, back[i], a[i])
				}
			}
		}
	}
	for _, a := range [][]float64{{1, 2, 2, 1}, {math.NaN(), 0, 0, 1}, {1, 0, 0, math.Inf(1)}, {-1, 0, 0, -2}} {
		if err := semiRoot(t.Context(), 2, append([]float64(nil), a...), make([]float64, 4)); err == nil {
			t.Errorf("%v has a root", a)
		}
	}
}

// TestMonteCarloProbs: against one-dimensional quadrature in the difference of two
// logits, which correlated covariances enter as LLᵀ and not LᵀL.
func TestMonteCarloProbs(t *testing.T) {
	g := Gaussian{
		Mean: []float64{0.5, -0.2},
		Cov:  []float64{4, 1.9, 1.9, 1},
	}
	p := make([]float64, 2)
	if err := MonteCarloProbs(t.Context(), p, g, 200000, 3, 0); err != nil {
		t.Fatal(err)
	}
	// f_0 − f_1 ~ N(0.7, 4 + 1 − 2·1.9)
	want, sd := 0.0, math.Sqrt(1.2)
	const steps = 20000
	for i := range steps {
		z := -10 + 20*(float64(i)+0.5)/steps
		want += math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 20 / steps / (1 + math.Exp(-0.7-sd*z))
	}
	if got := p[0]; math.Abs(got-want) > 0.003 { // 5 standard errors at most
		t.Errorf("probability %g, want %g", got, want)
	}
}

// TestBridge: two classes with the mean 0 are equally probable whatever the covariance; α is that
// of the formula, also where its exponentials overflow; a factor of the covariance changes nothing.
func TestBridge(t *testing.T) {
	g := gaussian(6, 3, 4, 3)
	probs, wide := make([]float64, 18), make([]float64, 18)
	if err := Bridge(probs, g, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		alpha, sum := make([]float64, 3), 0.0
		for k, m := range g.Mean[3*i : 3*i+3] {
			for _, other := range g.Mean[3*i : 3*i+3] {
				alpha[k] += math.Exp(m-other) / 9
			}
			alpha[k] = (1 - 2.0/3 + alpha[k]) / g.Cov[9*i+4*k]
			sum += alpha[k]
		}
		for k, a := range alpha {
			if math.Abs(probs[3*i+k]-a/sum) > 1e-14 {
				t.Errorf("row %d: probability %g, want %g", i, probs[3*i+k], a/sum)
			}
		}
	}
	kernel.Scale(g.Cov, 7, g.Cov)
	if err := Bridge(wide, g, 0); err != nil {
		t.Fatal(err)
	}
	for i, p := range probs {
		if math.Abs(p-wide[i]) > 1e-14 {
			t.Errorf("probability %g with 7 times the covariance, %g before", wide[i], p)
		}
	}
	two := Gaussian{Mean: []float64{0, 0, 800, -800, 1, 2}, Cov: []float64{2, 0.5, 0.5, 2, 1, 0, 0, 1, 0, 0, 0, 0}}
	if err := Bridge(probs[:6], two, 0); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.5, 0.5, 1, 0, 1 / (1 + math.E), math.E / (1 + math.E)} {
		if math.Abs(probs[i]-want) > 1e-15 {
			t.Errorf("probability %d: %g, want %g", i, probs[i], want)
		}
	}
	two.Cov[8] = 1
	if err := Bridge(probs[:6], two, 5); err == nil || !strings.Contains(err.Error(), "row 7 (counting from 0): 1 of 2 logits have the variance 0") {
		t.Errorf("a variance of 0: %v", err)
	}
}

// TestProbsWithoutVariance: without variance both kinds of probabilities are softmax(mean),
// and rows sum to one.
func TestProbsWithoutVariance(t *testing.T) {
	g := gaussian(5, 3, 1, 3)
	clear(g.Cov)
	mc := make([]float64, 15)
	if err := MonteCarloProbs(t.Context(), mc, g, 3, 1, 0); err != nil {
		t.Fatal(err)
	}
	probit := Probit(nil, g)
	for i, m := 0, g.Mean; i < len(m); i++ {
		sum := 0.0
		for _, v := range m[i-i%3 : i-i%3+3] {
			sum += math.Exp(v)
		}
		want := math.Exp(m[i]) / sum
		if math.Abs(probit[i]-want) > 1e-15 || math.Abs(mc[i]-want) > 1e-14 {
			t.Errorf("element %d: probit %g, mc %g, want %g", i, probit[i], mc[i], want)
		}
	}
}

// TestMonteCarloBatches: cutting the examples differently, or sampling parts beside each other,
// changes no bit. The end of the context and a matrix that is no covariance are errors.
func TestMonteCarloBatches(t *testing.T) {
	const n = 7*sampledAtOnce/2 + 1
	g := gaussian(n, 3, 2, 3)
	all, one := make([]float64, 3*n), make([]float64, 3)
	if err := MonteCarloProbs(t.Context(), all, g, 50, 9, 0); err != nil {
		t.Fatal(err)
	}
	for _, row := range []int{0, sampledAtOnce - 1, sampledAtOnce, n - 1} {
		if err := MonteCarloProbs(t.Context(), one, g.Rows(row, 1), 50, 9, row); err != nil || !slices.Equal(one, all[3*row:3*row+3]) {
			t.Errorf("row %d: %g alone, %g in a batch, error %v", row, one, all[3*row:3*row+3], err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := MonteCarloProbs(ended, all, g, 50, 9, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	g.Cov[203*9] = -1
	if err := MonteCarloProbs(t.Context(), all, g, 50, 9, 4); err == nil || !strings.Contains(err.Error(), "covariance of example 207") {
		t.Errorf("error %v, expected one that names example 207", err)
	}
}
