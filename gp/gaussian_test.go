package gp

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// drawGaussian draws n Gaussians of c outputs, whose numbers are all different.
func drawGaussian(t *rapid.T, n, c int) Gaussian {
	var g Gaussian
	g.Resize(n, c, rapid.Bool().Draw(t, "epistemic"))
	if rapid.Bool().Draw(t, "probabilities") {
		g.ResizeProbs()
	}
	next := rapid.Float64Range(-9, 9).Draw(t, "first")
	for _, v := range [][]float64{g.Mean, g.Cov, g.Epistemic, g.Probs} {
		for i := range v {
			next++
			v[i] = next
		}
	}
	return g
}

func equal(a, b Gaussian) bool {
	return slices.Equal(a.Mean, b.Mean) && slices.Equal(a.Cov, b.Cov) && slices.Equal(a.Epistemic, b.Epistemic) && slices.Equal(a.Probs, b.Probs)
}

// TestGaussianRows: the rows before and after any place, put together, are the whole, and they are
// in the memory of the whole.
func TestGaussianRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, c := rapid.IntRange(1, 5).Draw(t, "inputs"), rapid.IntRange(1, 4).Draw(t, "outputs")
		g := drawGaussian(t, n, c)
		if g.N() != n || g.Outputs() != c {
			t.Fatalf("%d inputs and %d outputs, expected %d and %d", g.N(), g.Outputs(), n, c)
		}
		at := rapid.IntRange(0, n).Draw(t, "place")
		var whole Gaussian
		whole.Append(g.Rows(0, at))
		whole.Append(g.Rows(at, n-at))
		if !equal(whole, g) {
			t.Fatalf("%+v, expected %+v", whole, g)
		}
		if at < n {
			g.Rows(at, n-at).Cov[0] = 1e9
			if g.Cov[at*c*c] != 1e9 {
				t.Fatal("the rows are a copy")
			}
		}
	})
}

// TestGaussianSet: a copy has the same numbers whatever it held before, and shares no memory.
func TestGaussianSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := drawGaussian(t, rapid.IntRange(1, 4).Draw(t, "inputs"), rapid.IntRange(1, 3).Draw(t, "outputs"))
		to := drawGaussian(t, rapid.IntRange(1, 4).Draw(t, "earlier inputs"), rapid.IntRange(1, 3).Draw(t, "earlier outputs"))
		to.Set(from)
		if !equal(to, from) {
			t.Fatalf("%+v, expected %+v", to, from)
		}
		to.Mean[0]++
		if from.Mean[0] == to.Mean[0] {
			t.Fatal("the copy shares its means")
		}
	})
}

// TestGaussianResize: room is used again, and no input has no outputs.
func TestGaussianResize(t *testing.T) {
	var g Gaussian
	if g.N() != 0 || g.Outputs() != 0 {
		t.Errorf("%d inputs with %d outputs of nothing", g.N(), g.Outputs())
	}
	g.Resize(4, 3, true)
	g.ResizeProbs()
	first := &g.Cov[0]
	g.Resize(2, 3, false)
	if len(g.Mean) != 6 || len(g.Cov) != 18 || len(g.Epistemic) != 0 || len(g.Probs) != 0 || &g.Cov[0] != first {
		t.Errorf("%d means, %d covariances, %d shares, %d probabilities", len(g.Mean), len(g.Cov), len(g.Epistemic), len(g.Probs))
	}
	if allocated := testing.AllocsPerRun(10, func() { g.Resize(4, 3, true); g.ResizeProbs() }); allocated != 0 {
		t.Errorf("%g allocations for room that is there", allocated)
	}
}

// TestSetMean: means are the first elements of an array, of both element types.
func TestSetMean(t *testing.T) {
	var g Gaussian
	g.Resize(2, 1, false)
	g.SetMean(tensor.New(tensor.WithShape(3, 1), tensor.WithBacking([]float64{1, 2, 3})))
	if !slices.Equal(g.Mean, []float64{1, 2}) {
		t.Errorf("means %v", g.Mean)
	}
	g.SetMean(tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float32{0.1, 4})))
	if !slices.Equal(g.Mean, []float64{float64(float32(0.1)), 4}) {
		t.Errorf("means %v of float32", g.Mean)
	}
}

// TestProbit: the probabilities of a row add up to 1, keep the order of the logits where the
// variances are equal, come nearer to each other as the variances grow, and are softmax without
// variance.
func TestProbit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(2, 5).Draw(t, "classes")
		mean := rapid.SliceOfN(rapid.Float64Range(-5, 5), c, c).Draw(t, "logits")
		at := func(variance float64) []float64 {
			var g Gaussian
			g.Resize(1, c, false)
			clear(g.Cov)
			copy(g.Mean, mean)
			for k := range c {
				g.Cov[k*c+k] = variance
			}
			return Probit(nil, g)
		}
		v := rapid.Float64Range(0, 20).Draw(t, "variance")
		certain, some, more := at(0), at(v), at(v+1)
		sum, odds := 0.0, 0.0
		for k := range c {
			sum += some[k]
			odds += math.Exp(mean[k])
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("the sum of %v is %v", some, sum)
		}
		for k := range c {
			if want := math.Exp(mean[k]) / odds; math.Abs(certain[k]-want) > 1e-12 {
				t.Fatalf("class %d has %v without variance, expected %v", k, certain[k], want)
			}
			if mean[k] < mean[0] && some[k] > some[0] {
				t.Fatalf("classes 0 and %d of the logits %v have %v", k, mean, some)
			}
		}
		if slices.Max(more) > slices.Max(some)+1e-12 || slices.Min(more) < slices.Min(some)-1e-12 {
			t.Fatalf("%v with the variance %g, %v with 1 more", some, v, more)
		}
	})
}
