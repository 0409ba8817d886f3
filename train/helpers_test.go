package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/go-valla/valla/internal/kernel"

	"gorgonia.org/tensor"
)

// dense returns a tensor of T with the given shape and values.
func dense[T kernel.Float](shape []int, v ...float64) *tensor.Dense {
	x := make([]T, len(v))
	for i := range v {
		x[i] = T(v[i])
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

// float64s returns the elements of t as float64.
func float64s(t *tensor.Dense) []float64 {
	if t.Dtype() == tensor.Float64 {
		return floats[float64](t)
	}
	var out []float64
	for _, v := range floats[float32](t) {
		out = append(out, float64(v))
	}
	return out
}

// newParam returns a parameter called name with those values and zero gradient.
func newParam[T kernel.Float](name string, shape []int, v ...float64) Param {
	value := dense[T](shape, v...)
	return Param{Name: name, Value: value, Grad: zerosLike(value)}
}

// bowl is a noisy quadratic, ½|a θ − b_i|² with a target b_i drawn anew for
// mini-batch i, in a matrix, a vector and a scalar parameter.
type bowl[T kernel.Float] struct {
	params []Param
	before func(iteration int) error // called at the start of Evaluate
}

func newBowl[T kernel.Float]() *bowl[T] {
	return &bowl[T]{params: []Param{
		newParam[T]("w", []int{2, 3}, 1, -2, 3, -4, 5, -6),
		newParam[T]("net/b", []int{2}, 0.5, 1.5),
		newParam[T]("log σ", []int{}, -1),
	}}
}

func (o *bowl[T]) Params() []Param { return o.params }

func (o *bowl[T]) Evaluate(ctx context.Context, iteration int) (float64, error) {
	if o.before != nil {
		if err := o.before(iteration); err != nil {
			return 0, err
		}
	}
	rng := rand.New(rand.NewPCG(7, uint64(iteration)))
	loss := 0.0
	for _, p := range o.params {
		g := floats[T](p.Grad)
		for i, x := range floats[T](p.Value) {
			a := T(1 + i%3)
			d := a*x - T(rng.NormFloat64())
			loss += 0.5 * float64(d*d)
			g[i] = a * d
		}
	}
	return loss, nil
}

// sum is a validation value: smooth, with a minimum on the way of the bowl.
func (o *bowl[T]) sum(context.Context) (float64, error) {
	s := 0.0
	for _, p := range o.params {
		for _, x := range float64s(p.Value) {
			s += math.Abs(x - 1)
		}
	}
	return s, nil
}

// bits returns the parameters in a form that compares bit for bit.
func bits(params []Param) string {
	s := ""
	for _, p := range params {
		for _, x := range float64s(p.Value) {
			s += fmt.Sprintf("%x ", math.Float64bits(x))
		}
	}
	return s
}

// optimizers are makers of every optimizer variant by name.
var optimizers = map[string]func() Optimizer{
	"Adam":     func() Optimizer { return &Adam{LR: 0.3} },
	"AdamWD":   func() Optimizer { return &Adam{LR: 0.3, WeightDecay: 0.01} },
	"AdamW":    func() Optimizer { return &Adam{Decoupled: true, LR: 0.3, WeightDecay: 0.01} },
	"SGD":      func() Optimizer { return &SGD{LR: 0.05, WeightDecay: 0.01} },
	"Momentum": func() Optimizer { return &SGD{LR: 0.05, Momentum: 0.9} },
	"Nesterov": func() Optimizer { return &SGD{LR: 0.05, Momentum: 0.9, Nesterov: true} },
	"Groups": func() Optimizer {
		return Groups{{Size: 2, Optimizer: &SGD{LR: 0.05, Momentum: 0.9}}, {Size: 1, Optimizer: &Adam{LR: 0.3}}}
	},
}

// forEach runs test for every optimizer and both element types.
func forEach(t *testing.T, test func(t *testing.T, make func() Optimizer, obj func() testObjective)) {
	for name, make := range optimizers {
		t.Run(name+"/float32", func(t *testing.T) {
			test(t, make, func() testObjective { o := newBowl[float32](); return testObjective{o, &o.before, o.sum} })
		})
		t.Run(name+"/float64", func(t *testing.T) {
			test(t, make, func() testObjective { o := newBowl[float64](); return testObjective{o, &o.before, o.sum} })
		})
	}
}

// testObjective is a bowl of either element type.
type testObjective struct {
	Objective
	before   *func(iteration int) error
	validate func(context.Context) (float64, error)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
