package gp

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// forward returns the outputs of a network at x.
func forward(t *testing.T, net layers.Network, x *tensor.Dense) []float64 {
	t.Helper()
	b := graph.NewBuilder(x.Dtype())
	out := net.Forward(b, b.Param(&graph.Param{Name: "x", Value: x}))
	p, err := graph.Compile(b, []*graph.Node{out}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return graph.Floats(p.Value(out))
}

// TestPicked: each example has the output that was chosen for it, for inputs of any shape.
func TestPicked(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	cnn, err := (layers.CNN{Channels: 1, Height: 4, Width: 4, Filters: []int{2}, Hidden: []int{3}, Outputs: 3, Activation: "tanh"}).New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, net := range []layers.Network{small(t, likelihood.Softmax{}).Net, cnn} {
		shape := tensor.Shape{2}
		if len(net.Params()) > 2 {
			shape = tensor.Shape{1, 4, 4}
		}
		n := 5
		v := make([]float64, n*shape.TotalSize())
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		x := floats(v, append([]int{n}, shape...)...)
		all, output := forward(t, net, x), []int{2, 0, 1, 1, 2}
		p := Picked{Net: net, Input: shape, Outputs: 3}
		got := forward(t, p, p.Inputs(x, output, tensor.Float64))
		for i, c := range output {
			if len(got) != n || math.Abs(got[i]-all[3*i+c]) > 1e-14 {
				t.Errorf("inputs of shape %v: output %d of example %d is %v, expected %v", shape, c, i, got, all[3*i+c])
			}
		}
		if len(p.Params()) != len(net.Params()) {
			t.Errorf("%d parameters, the network has %d", len(p.Params()), len(net.Params()))
		}
	}
}

// TestCandidates: every prior meets every noise. The noises are the given one, nine about the
// residual, the residual without validation rows, and 1 in classification.
func TestCandidates(t *testing.T) {
	priors := []float64{0.5, 2}
	p := small(t, likelihood.NewGaussian(4, tensor.Float64)) // the residual is 2
	alone := p
	alone.Validation = nil
	for _, c := range []struct {
		what  string
		p     Problem
		noise float64
		want  []float64
	}{
		{"a given noise", p, 0.1, []float64{0.1}},
		{"no validation rows", alone, 0, []float64{2}},
		{"classification", small(t, likelihood.Softmax{}), 0.1, []float64{1}},
		{"nine", p, 0, LogSpaced(0.5, 8, 9)},
	} {
		got := Candidates(c.p, priors, c.noise)
		if len(got) != len(priors)*len(c.want) {
			t.Fatalf("%s: %v", c.what, got)
		}
		for i, g := range got {
			if want := (Candidate{priors[i/len(c.want)], c.want[i%len(c.want)]}); math.Abs(g.Noise-want.Noise) > 1e-14 || g.Prior != want.Prior {
				t.Errorf("%s: candidate %d is %v, expected %v", c.what, i, g, want)
			}
		}
	}
}

// ownPoint is a Point with a mean of its own.
type ownPoint struct{ Point }

func (ownPoint) OwnMean() string { return "The mean is its own." }

// TestMeanOf: only a posterior that says so has a mean of its own.
func TestMeanOf(t *testing.T) {
	if got := MeanOf(Point{}); got != "" {
		t.Errorf("%q of a Point", got)
	}
	if got := MeanOf(ownPoint{}); got != "The mean is its own." {
		t.Errorf("%q", got)
	}
}

// TestTell: progress without a loss has the unit and the counts, and nobody need listen.
func TestTell(t *testing.T) {
	Run{}.Tell("rows")(1, 2)
	var got []train.Progress
	tell := Run{OnProgress: func(p train.Progress) { got = append(got, p) }}.Tell("rows")
	tell(1, 3)
	tell(3, 3)
	if len(got) != 2 || got[0].Unit != "rows" || got[0].Done != 1 || got[1].Done != 3 || got[1].Total != 3 || !math.IsNaN(got[0].Loss) || !math.IsNaN(got[0].Validation) {
		t.Errorf("progress %+v", got)
	}
}

// TestForwardFlops: a linear layer of 2 inputs and 3 outputs multiplies and adds six times for an
// example, however many examples there are. A network that does not fit the inputs is an error.
func TestForwardFlops(t *testing.T) {
	p := small(t, likelihood.Softmax{})
	n, err := ForwardFlops(p)
	if err != nil || n < 12 || n > 18 { // 2·2·3, and the bias
		t.Errorf("%d operations, error %v", n, err)
	}
	p.Train = p.Train.Rows([]int{0})
	if one, err := ForwardFlops(p); err != nil || one != n {
		t.Errorf("%d operations with one example, %d with four (%v)", one, n, err)
	}
	p.Train.X = floats(make([]float64, 5), 1, 5)
	if _, err := ForwardFlops(p); err == nil {
		t.Error("inputs of another width are no error")
	}
}

// TestPredictInputs: inputs that are no plain array of floating-point numbers are errors that say
// so.
func TestPredictInputs(t *testing.T) {
	net := small(t, likelihood.Softmax{}).Net
	p := Point{net, tensor.Float64}
	turned := floats([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	for want, x := range map[string]*tensor.Dense{
		"inputs are int64, expected float32 or float64": tensor.New(tensor.Of(tensor.Int64), tensor.WithShape(2, 2)),
		"inputs of shape (4), expected [N,…]":           floats(make([]float64, 4), 4),
		"not contiguous and row-major":                  turned,
	} {
		if _, err := Predict(t.Context(), p, x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	e, err := NewEngine(p, []int{2}, EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(int, Gaussian) error { return nil }
	if err := e.Each(t.Context(), floats(make([]float64, 6), 2, 3), 1, nothing); err == nil || !strings.Contains(err.Error(), "expected [N,…] with (2) for each") && !strings.Contains(err.Error(), "expected [N,…] with [2] for each") {
		t.Errorf("another width: %v", err)
	}
}

// TestEach: the parts cover all inputs in order, and the error of the callback ends the pass.
func TestEach(t *testing.T) {
	e, err := NewEngine(&double{}, []int{1}, EngineOptions{Sizes: []int{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	x, next := floats(column(7), 7, 1), 0
	err = e.Each(t.Context(), x, 3, func(first int, g Gaussian) error {
		if first != next || g.N() != min(3, 7-first) {
			t.Errorf("%d inputs from %d on, expected %d", g.N(), first, next)
		}
		for i, v := range g.Mean {
			if v != 2*float64(first+i+1) {
				t.Errorf("mean %g of input %d", v, first+i)
			}
		}
		next += g.N()
		return nil
	})
	if err != nil || next != 7 {
		t.Errorf("%d inputs, error %v", next, err)
	}
	full, calls := errors.New("full"), 0
	if err := e.Each(t.Context(), x, 3, func(int, Gaussian) error { calls++; return full }); !errors.Is(err, full) || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}
