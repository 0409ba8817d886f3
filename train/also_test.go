package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestNoDecay: the weight decay of each optimizer leaves a parameter without decay alone. Where the gradient is 0 the
// parameter keeps its value.
func TestNoDecay(t *testing.T) {
	for name, o := range map[string]Optimizer{
		"adam": &Adam{LR: 0.1, WeightDecay: 0.5}, "adamw": &Adam{LR: 0.1, WeightDecay: 0.5, Decoupled: true},
		"sgd": &SGD{LR: 0.1, WeightDecay: 0.5}, "momentum": &SGD{LR: 0.1, WeightDecay: 0.5, Momentum: 0.9},
	} {
		free, bound := newParam[float32]("free", []int{1}, 2), newParam[float32]("bound", []int{1}, 2)
		free.NoDecay = true
		for range 3 {
			if err := o.Step([]Param{free, bound}, 1); err != nil {
				t.Fatal(err)
			}
		}
		if v, w := free.Value.Float32s()[0], bound.Value.Float32s()[0]; v != 2 || w >= 2 {
			t.Errorf("%s: %g without decay, %g with it", name, v, w)
		}
	}
}

// TestAlso: a parameter of the loss is trained along with the network: the logarithm of the scale of Gaussian noise becomes
// the logarithm of the standard deviation of the residuals.
func TestAlso(t *testing.T) {
	const n = 200
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		y[i] = 2*x[i] + 0.3*rng.NormFloat64()
	}
	net := layers.Sequential{layers.NewDense("d", 1, 1, tensor.Float64, rng)}
	logScale := graph.NewParam("scale", []float64{0}, tensor.Float64, 1)
	loss := func(b *graph.Builder, y, f *graph.Node) *graph.Node {
		s := b.Param(logScale)
		return b.Add(b.Sum(s), b.Scale(b.Sum(b.Mul(b.Square(b.Sub(y, f)), b.Exp(b.Scale(s, -2)))), 0.5/n))
	}
	m := MAP{Net: net, Loss: loss, Also: []*graph.Param{logScale}, BatchSize: n, Config: Config{Iterations: 800, Optimizer: &Adam{LR: 0.02, WeightDecay: 1e-6}}}
	if _, err := m.Train(t.Context(), Rows{All: dense[float64]([]int{n, 1}, x...)}, dense[float64]([]int{n, 1}, y...)); err != nil {
		t.Fatal(err)
	}
	w, c, sum := net.Params()[0].At(0), net.Params()[1].At(0), 0.0
	for i := range x {
		r := y[i] - w*x[i] - c
		sum += r * r / n
	}
	if got, want := math.Exp(logScale.At(0)), math.Sqrt(sum); math.Abs(got/want-1) > 0.01 || math.Abs(w-2) > 0.1 {
		t.Errorf("the scale is %g, the residuals have %g; the weight is %g", got, want, w)
	}
}
