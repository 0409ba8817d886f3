package graph_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gonum.org/v1/gonum/mathext"
	"gorgonia.org/tensor"
)

// specialCases are the rows of [TestOps] for functions of one and two numbers and for LogSumExp.
func specialCases() []graphtest.Case {
	positive := func(in arrays) {
		for _, v := range in {
			for i, x := range v {
				v[i] = 0.3 + math.Abs(x)
			}
		}
	}
	var cases []graphtest.Case
	for _, r := range []struct {
		name    string
		op      func(b *builder, x *node) *node
		f       func(float64) float64
		prepare func(arrays)
	}{
		{"log1p", (*builder).Log1p, math.Log1p, positive},
		{"log phi", (*builder).LogPhi, func(x float64) float64 { return math.Log(0.5 * math.Erfc(-x/math.Sqrt2)) }, nil},
		{"log gamma", (*builder).LogGamma, lgamma, positive},
		{"digamma", func(b *builder, x *node) *node { return b.Polygamma(0, x) }, mathext.Digamma, positive},
		{"trigamma", func(b *builder, x *node) *node { return b.Polygamma(1, x) }, func(x float64) float64 { return mathext.Zeta(2, x) }, positive},
	} {
		cases = append(cases, graphtest.Case{
			Name: r.name, Shapes: [][]int{{3, 1, 5}}, Prepare: r.prepare, NoONNX: r.name != "log1p" && r.name != "log sum exp",
			Build: func(b *builder, in []*node) *node { return r.op(b, in[0]) },
			Naive: func(in arrays) []float64 {
				out := make([]float64, len(in[0]))
				for i, x := range in[0] {
					out[i] = r.f(x)
				}
				return out
			},
		})
	}
	for _, s := range [][2][]int{{{2, 3}, {2, 3}}, {{1}, {2, 3}}, {{4, 3}, {4, 1}}} {
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprint("log rising ", s), Shapes: s[:], Prepare: positive, NoONNX: true,
			Build: func(b *builder, in []*node) *node { return b.LogRising(in[0], in[1]) },
			Naive: func(in arrays) []float64 {
				return naiveBroadcast(in, s, func(x, y float64) float64 { return lgamma(x+y) - lgamma(x) })
			},
		})
	}
	for _, s := range [][]int{{4, 3}, {5}, {2, 2, 3}} {
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprint("log sum exp ", s), Shapes: [][]int{s},
			Build: func(b *builder, in []*node) *node { return b.LogSumExp(in[0]) },
			Naive: func(in arrays) []float64 { return naiveLogSumExp(in[0], s[len(s)-1]) },
		})
	}
	return cases
}

func naiveLogSumExp(x []float64, n int) []float64 {
	out := make([]float64, len(x)/n)
	for i, v := range x {
		out[i/n] += math.Exp(v)
	}
	for i, v := range out {
		out[i] = math.Log(v)
	}
	return out
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// TestLogRising: sums of logarithms, for x up to 10⁹, where log Γ has lost its digits.
func TestLogRising(t *testing.T) {
	for _, x := range []float64{0.3, 1, 19.9, 20, 31.4, 1e3, 1e6, 1e9} {
		want := 0.0
		for y := range 400 {
			if got := graph.LogRising(x, float64(y)); math.Abs(got-want) > 1e-13*(100+want) {
				t.Errorf("log rising of %g and %d: %.17g, want %.17g", x, y, got, want)
			}
			want += math.Log(x + float64(y))
		}
	}
}

// TestLogRisingSlope: Σ 1/(x + j), the derivative, on both sides of the change of formula.
func TestLogRisingSlope(t *testing.T) {
	for _, x := range []float64{0.3, 19.9, 20, 25, 1e4} {
		b := graph.NewBuilder(tensor.Float64)
		at := b.Param(graph.NewParam("x", []float64{x}, tensor.Float64, 1))
		slope := graph.Grad(b, b.Sum(b.LogRising(at, b.Const("", []float64{7}, 1))), at)[0]
		p, err := graph.Compile(b, []*graph.Node{slope}, graph.Options{})
		if err == nil {
			err = p.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for j := range 7 {
			want += 1 / (x + float64(j))
		}
		if got := graph.Floats(p.Value(slope))[0]; math.Abs(got-want) > 1e-13 {
			t.Errorf("slope at %g: %.17g, want %.17g", x, got, want)
		}
	}
}

// TestLogPhi: values of the upper tail by its complement, and of the lower tail by bounds of Mills's ratio,
// x/(x²+1) < Φ(−x)/φ(x) < 1/x; both formulas agree where one replaces the other.
func TestLogPhi(t *testing.T) {
	for _, x := range []float64{5.1, 8, 20} {
		if got, want := graph.LogPhi(x), -0.5*math.Erfc(x/math.Sqrt2); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("log Φ(%g) = %g, want about %g", x, got, want)
		}
	}
	for _, x := range []float64{10, 29, 31, 100, 1e4} {
		got, phi := graph.LogPhi(-x), -0.5*x*x-0.5*math.Log(2*math.Pi)
		if low, high := phi+math.Log(x/(x*x+1)), phi-math.Log(x); !(low <= got && got <= high) {
			t.Errorf("log Φ(−%g) = %.15g, expected between %.15g and %.15g", x, got, low, high)
		}
	}
	for _, at := range []float64{5, -30} {
		below, above := graph.LogPhi(at-1e-9), graph.LogPhi(at+1e-9)
		slope := math.Exp(-0.5*at*at - 0.5*math.Log(2*math.Pi) - graph.LogPhi(at))
		if math.Abs(above-below-2e-9*slope) > 1e-12*math.Abs(above)+1e-15 {
			t.Errorf("log Φ jumps by %g at %g", above-below-2e-9*slope, at)
		}
	}
}

// TestLogPhiSlopes: far out the first two derivatives, in whose formulas large terms cancel, are those of the asymptotic series
// −x (1 + u − 2u² + 10u³) and −1 + u − 6u² + 50u³ with u = 1/x².
func TestLogPhiSlopes(t *testing.T) {
	for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float32: 1e-6, tensor.Float64: 1e-7} {
		for _, x := range []float64{-29, -31, -3000, -1e4, -2e4} {
			b := graph.NewBuilder(dt)
			in := b.Param(graph.NewParam("x", []float64{x}, dt, 1))
			slope := graph.Grad(b, b.Sum(b.LogPhi(in)), in)[0]
			curve := graph.Grad(b, b.Sum(slope), in)[0]
			got, err := graph.Evaluate(b, slope, curve)
			if err != nil {
				t.Fatal(err)
			}
			u := 1 / (x * x)
			for i, want := range []float64{-x * (1 + u*(1-u*(2-u*10))), -1 + u*(1-u*(6-u*50))} {
				if v := got[i][0]; !(math.Abs(v/want-1) <= tolerance) {
					t.Errorf("%v: derivative %d at %g is %.15g, expected %.15g", dt, i+1, x, v, want)
				}
			}
		}
	}
}
