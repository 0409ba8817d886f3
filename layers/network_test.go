package layers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
)

var naiveActivations = map[Activation]func(float64) float64{
	"tanh":     math.Tanh,
	"relu":     func(x float64) float64 { return max(x, 0) },
	"erf":      math.Erf,
	"softplus": func(x float64) float64 { return math.Log(1 + math.Exp(x)) },
	"sigmoid":  func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"sin":      math.Sin,
	"gelu":     func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
	"silu":     func(x float64) float64 { return x / (1 + math.Exp(-x)) },
	"mish":     func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) },
	"elu":      func(x float64) float64 { return max(x, 0) + math.Expm1(min(x, 0)) },
	"selu": func(x float64) float64 {
		return 1.0507009873554805 * (max(x, 0) + 1.6732632423543772*math.Expm1(min(x, 0)))
	},
	"leaky-relu": func(x float64) float64 { return max(x, 0.01*x) },
	"hard-swish": func(x float64) float64 { return x * min(max(x/6+0.5, 0), 1) },
}

// naiveMLP computes a perceptron with parameters W1, b1, … for rows of inputs.
func naiveMLP(params []*graph.Param, f func(float64) float64, x []float64) []float64 {
	for l := 0; l < len(params); l += 2 {
		if l > 0 {
			for i := range x {
				x[i] = f(x[i])
			}
		}
		x = naiveDense(x, floats(params[l].Value), floats(params[l+1].Value))
	}
	return x
}

func naiveDense(x, w, b []float64) []float64 {
	out := len(b)
	in := len(w) / out
	var y []float64
	for r := 0; r < len(x); r += in {
		for j := range out {
			s := b[j]
			for i := range in {
				s += x[r+i] * w[i*out+j]
			}
			y = append(y, s)
		}
	}
	return y
}

func TestMLPForward(t *testing.T) {
	tol := map[tensor.Dtype]float64{tensor.Float64: 1e-13, tensor.Float32: 1e-5} // some hundred roundings
	if len(naiveActivations) != len(Activations()) {
		t.Fatalf("activations %v; the test knows %d", Activations(), len(naiveActivations))
	}
	for _, dt := range dtypes {
		for _, a := range Activations() {
			t.Run(fmt.Sprint(dt, " ", a), func(t *testing.T) {
				net, err := MLP{Inputs: 5, Hidden: []int{7, 4}, Outputs: 3, Activation: a}.New(dt, newRand(1))
				if err != nil {
					t.Fatal(err)
				}
				x := arrayOf(dt, fixture.Normal(newRand(2), 6*5), 6, 5)
				want := naiveMLP(net.Params(), naiveActivations[a], floats(x))
				fixture.Close(t, "outputs", forward(t, net, x), want, tol[dt])
			})
		}
	}
}

func TestMLPParameters(t *testing.T) {
	net := newMLP(t, tensor.Float32, 3, 5, 7, 4, 2)
	want := []string{
		"dense1.weight (5, 7)", "dense1.bias (7)",
		"dense2.weight (7, 4)", "dense2.bias (4)",
		"dense3.weight (4, 2)", "dense3.bias (2)",
	}
	var got []string
	for _, p := range net.Params() {
		got = append(got, fmt.Sprint(p.Name, " ", p.Value.Shape()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("parameters %q, want %q", got, want)
	}
	if n := Count(net); n != 5*7+7+7*4+4+4*2+2 {
		t.Errorf("Count = %d", n)
	}
	if again := newMLP(t, tensor.Float32, 3, 5, 7, 4, 2); !sameBits(values(net), values(again)) {
		t.Error("the same seed gives other weights")
	}
	if other := newMLP(t, tensor.Float32, 4, 5, 7, 4, 2); sameBits(values(net), values(other)) {
		t.Error("another seed gives the same weights")
	}
}

// A uniform variable on ±1/√in has variance 1/(3 in).
func TestDenseStartValues(t *testing.T) {
	const in, out = 50, 400
	for _, p := range NewDense("d", in, out, tensor.Float64, newRand(5)).Params() {
		bound, square := 1/math.Sqrt(in), 0.0
		v := floats(p.Value)
		for _, x := range v {
			square += x * x
			if math.Abs(x) > bound {
				t.Fatalf("%s has %g, beyond ±%g", p.Name, x, bound)
			}
		}
		// The relative error of the mean of n squares is √(4/5n): 0.045 for the biases.
		if ratio := square / float64(len(v)) * 3 * in; math.Abs(ratio-1) > 0.2 {
			t.Errorf("%s: variance is %g of what it should be", p.Name, ratio)
		}
	}
}

func TestMLPErrors(t *testing.T) {
	for _, c := range []struct {
		m    MLP
		want string // "" where New must succeed
	}{
		{MLP{Inputs: 0, Outputs: 1}, "[0 1]"},
		{MLP{Inputs: 1, Outputs: 0}, "[1 0]"},
		{MLP{Inputs: 2, Hidden: []int{3, -1}, Outputs: 1, Activation: "tanh"}, "[2 3 -1 1]"},
		{MLP{Inputs: 2, Hidden: []int{3}, Outputs: 1}, `unknown activation ""; known are elu, erf, gelu, hard-swish, leaky-relu, mish, relu, selu, sigmoid, silu, sin, softplus, tanh`},
		{MLP{Inputs: 2, Hidden: []int{3}, Outputs: 1, Activation: "Tanh"}, `unknown activation "Tanh"`},
		{MLP{Inputs: 2, Outputs: 1, Activation: "none"}, ""}, // linear: the activation is not used
	} {
		_, err := c.m.New(tensor.Float64, newRand(1))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v, want %q in it", c.m, err, c.want)
		}
	}
}

func TestUnknownActivationFailsGraph(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	y := Activation("swish").Forward(b, b.Input("x", 2, 3))
	if y != nil || b.Err() == nil || !strings.Contains(b.Err().Error(), `"swish"`) {
		t.Errorf("node %v, error %v", y, b.Err())
	}
}

func TestSequentialSharesLayers(t *testing.T) {
	rng := newRand(7)
	d := NewDense("d", 4, 4, tensor.Float64, rng)
	net := Sequential{d, Activation("tanh"), Sequential{d, NewDense("e", 4, 2, tensor.Float64, rng)}}
	var names []string
	for _, p := range net.Params() {
		names = append(names, p.Name)
	}
	if want := []string{"d.weight", "d.bias", "e.weight", "e.bias"}; !slices.Equal(names, want) {
		t.Fatalf("parameters %q, want %q", names, want)
	}
	x, ct := arrayOf(tensor.Float64, fixture.Normal(rng, 12), 3, 4), fixture.Normal(rng, 6)
	for _, p := range net.Params() {
		dir := fixture.Normal(rng, p.Value.Size())
		b := graph.NewBuilder(tensor.Float64)
		in := b.Input("x", 3, 4)
		loss := b.Sum(b.Mul(net.Forward(b, in), b.Const("ct", ct, 3, 2)))
		bound := map[*graph.Node]*tensor.Dense{in: x}
		slope := dot(compute(t, b, graph.Grad(b, loss, b.Param(p))[0], bound), dir)
		at := func(h float64) float64 {
			v := p.Value.Float64s()
			old := slices.Clone(v)
			defer copy(v, old)
			for i := range v {
				v[i] += h * dir[i]
			}
			return dot(forward(t, net, x), ct)
		}
		// Central differences: an error of h² and rounding of 1e-16/h.
		const h = 1e-5
		if want := (at(h) - at(-h)) / (2 * h); math.Abs(slope-want) > 1e-8*(1+math.Abs(want)) {
			t.Errorf("%s: slope %.12g, differences give %.12g", p.Name, slope, want)
		}
	}
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func TestResidual(t *testing.T) {
	d := NewDense("d", 3, 3, tensor.Float64, newRand(8))
	net := Residual{Inner: Sequential{d, Activation("relu")}}
	x := arrayOf(tensor.Float64, fixture.Normal(newRand(9), 6), 2, 3)
	want := floats(x)
	for i, y := range naiveDense(floats(x), floats(d.W.Value), floats(d.B.Value)) {
		want[i] += max(y, 0)
	}
	fixture.Close(t, "outputs", forward(t, net, x), want, 1e-14)
	if p := net.Params(); len(p) != 2 || p[0] != d.W || p[1] != d.B {
		t.Errorf("parameters %v", p)
	}
}

func TestResidualRefusesOtherShapes(t *testing.T) {
	for _, out := range []int{1, 2} { // 1 would broadcast
		b := graph.NewBuilder(tensor.Float64)
		y := Residual{Inner: NewDense("d", 3, out, tensor.Float64, newRand(1))}.Forward(b, b.Input("x", 2, 3))
		want := fmt.Sprintf("(2, %d), the shortcut (2, 3)", out)
		if y != nil || b.Err() == nil || !strings.Contains(b.Err().Error(), want) {
			t.Errorf("%d outputs: error %v, want %q in it", out, b.Err(), want)
		}
	}
}

func TestDenseRefusesOtherInputs(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	NewDense("d", 3, 2, tensor.Float64, newRand(1)).Forward(b, b.Input("x", 5, 4))
	if b.Err() == nil {
		t.Error("a layer of 3 inputs took 4")
	}
}
