package gp

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

func floats(v []float64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

// small is a problem of four examples with two inputs and three outputs.
func small(t testing.TB, l likelihood.Likelihood) Problem {
	t.Helper()
	net, err := layers.MLP{Inputs: 2, Outputs: 3}.New(tensor.Float64, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	x := floats([]float64{0, 1, 2, 3, 4, 5, 6, 7}, 4, 2)
	y := floats([]float64{1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1}, 4, 3)
	p := Problem{Net: net, Likelihood: l, Train: Examples{x, y}}
	held := p.Train.Rows([]int{3, 1})
	p.Validation = &held
	return p
}

func TestExamples(t *testing.T) {
	e := small(t, likelihood.Softmax{}).Train
	if e.N() != 4 || !slices.Equal(e.Labels(), []int{0, 2, 1, 2}) {
		t.Errorf("%d examples of the classes %v", e.N(), e.Labels())
	}
	part := e.Rows([]int{2, 0})
	if !slices.Equal(part.X.Float64s(), []float64{4, 5, 0, 1}) || !slices.Equal(part.Y.Float64s(), []float64{0, 1, 0, 1, 0, 0}) {
		t.Errorf("rows 2 and 0: %v, %v", part.X, part.Y)
	}
	part.X.Float64s()[0], part.Y.Float64s()[0] = 9, 9
	if e.X.Float64s()[4] != 4 || e.Y.Float64s()[6] != 0 {
		t.Error("chosen rows are no copy")
	}
	single := Examples{graph.Convert(e.X, tensor.Float32), graph.Convert(e.Y, tensor.Float32)}
	if rows := single.Rows([]int{1}); rows.X.Dtype() != tensor.Float32 || !slices.Equal(rows.Labels(), []int{2}) {
		t.Errorf("%v of the classes %v", rows.X.Dtype(), rows.Labels())
	}
}

func TestProblem(t *testing.T) {
	for _, l := range []likelihood.Likelihood{likelihood.NewGaussian(1, tensor.Float64), likelihood.Softmax{}} {
		p := small(t, l)
		if err := p.Check(); err != nil || p.Dtype() != tensor.Float64 || p.Outputs() != 3 {
			t.Errorf("%v with %d outputs: %v", p.Dtype(), p.Outputs(), err)
		}
		p.Validation = nil
		if err := p.Check(); err != nil {
			t.Errorf("without validation rows: %v", err)
		}
	}
	// Numbers are no classes, and with Gaussian noise need not be.
	p := small(t, likelihood.NewGaussian(1, tensor.Float64))
	p.Train.Y.Float64s()[0] = -0.5
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

// Everything that does not fit is an error in one line that wraps ErrProblem, and says
// what is wrong.
func TestProblemErrors(t *testing.T) {
	single := func(d *tensor.Dense) *tensor.Dense { return graph.Convert(d, tensor.Float32) }
	for _, c := range []struct {
		want  string
		spoil func(p *Problem)
	}{
		{"expected a network", func(p *Problem) { p.Net = nil }},
		{"a likelihood", func(p *Problem) { p.Likelihood = nil }},
		{"training examples", func(p *Problem) { p.Train.X = nil }},
		{"training examples", func(p *Problem) { p.Train.Y = nil }},
		{"validation examples: inputs or targets are nil", func(p *Problem) { p.Validation.X = nil }},
		{"training inputs are float32, expected float64 as the network's dense1.weight", func(p *Problem) { p.Train.X = single(p.Train.X) }},
		{"training examples: inputs are float64 and targets float32", func(p *Problem) { p.Train.Y = single(p.Train.Y) }},
		{"validation examples: inputs are float32 and targets float64", func(p *Problem) { p.Validation.X = single(p.Validation.X) }},
		{"inputs of shape (2, 2) with targets of shape (4, 3)", func(p *Problem) { p.Train.X = p.Validation.X }},
		{"targets of shape (12), expected [N,…] and [N,C]", func(p *Problem) { p.Train.Y = floats(make([]float64, 12), 12) }},
		{"inputs of shape (4)", func(p *Problem) { p.Train.X = floats(make([]float64, 4), 4) }},
		{"validation examples: inputs of shape (2, 2) with targets of shape (2, 2)", func(p *Problem) { p.Validation.Y = floats(make([]float64, 4), 2, 2) }},
		{"validation examples: inputs of shape (2, 3), expected [N,…] like those of training, (4, 2)", func(p *Problem) { p.Validation.X = floats(make([]float64, 6), 2, 3) }},
		{"the inputs of example 3 are not finite", func(p *Problem) { p.Train.X.Float64s()[6] = math.NaN() }},
		{"the targets of example 1 are not finite", func(p *Problem) { p.Validation.Y.Float64s()[3] = math.Inf(-1) }},
		{"the targets of example 2 are [0 0 0], expected one 1 among zeros", func(p *Problem) { p.Train.Y.Float64s()[7] = 0 }},
		{"the targets of example 0 are [1 0.5 0]", func(p *Problem) { p.Train.Y.Float64s()[1] = 0.5 }},
		{"the targets of example 0 are [1 1 0]", func(p *Problem) { p.Train.Y.Float64s()[1] = 1 }},
		{"the targets of example 0 are [1 1 -1]", func(p *Problem) { copy(p.Train.Y.Float64s(), []float64{1, 1, -1}) }},
		{"expected at least two classes", func(p *Problem) {
			p.Train.Y, p.Validation = floats([]float64{1, 1, 1, 1}, 4, 1), nil
		}},
	} {
		p := small(t, likelihood.Softmax{})
		c.spoil(&p)
		err := p.Check()
		if !errors.Is(err, ErrProblem) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q in one line", err, c.want)
		}
	}
	p := small(t, likelihood.NewGaussian(1, tensor.Float64))
	p.Net = layers.Activation("tanh") // no parameters to compare with
	p.Train.X = tensor.New(tensor.Of(tensor.Int64), tensor.WithShape(4, 2))
	if err := p.Check(); !errors.Is(err, ErrProblem) || !strings.Contains(err.Error(), "inputs are int64") {
		t.Errorf("error %v", err)
	}
	p = small(t, likelihood.NewGaussian(1, tensor.Float32))
	p.Net, p.Validation = layers.Activation("tanh"), nil
	p.Train = Examples{single(p.Train.X), single(p.Train.Y)}
	if p.Train.X.Float32s()[5] = float32(math.Inf(1)); p.Check() == nil {
		t.Error("an infinite float32 was taken")
	}
}
