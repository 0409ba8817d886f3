package graph

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// call is an operation that a Go function computes.
type call struct {
	name   string                                  // for errors
	serial int64                                   // no two calls are the same operation
	out    tensor.Shape                            // of the result
	f      func(in [][]float64) ([]float64, error) // computes the result
}

var calls atomic.Int64

// Call returns a node of the given shape whose elements f computes from the elements of the
// operands, in the middle of a program's run; an error of f ends the run. Arrays are
// row-major, and float64 whatever the graph holds. They are copies, which f may keep and
// change. In a [Batched] several goroutines may call f at the same time. Each Call is a node of its own.
//
// The node has no derivative. It serves to compute the cotangents of a reverse pass
// outside of the graph.
func (b *Builder) Call(name string, shape []int, f func(in [][]float64) ([]float64, error), in ...*Node) *Node {
	if b.err == nil && f == nil {
		b.Failf("graph: call %q: the function is nil", name)
	}
	if b.err != nil {
		return nil
	}
	return b.Apply(call{name, calls.Add(1), slices.Clone(shape), f}, in...)
}

func (c call) Key() string { return fmt.Sprintf("call %d, %s", c.serial, c.name) }

func (c call) Shape([]tensor.Shape) (tensor.Shape, error) { return c.out, nil }

func (c call) Pullback(b *Builder, _ int, _ []*Node, _, _ *Node) *Node {
	return b.Failf("graph: %s: the result of a Go function has no derivative", c.name)
}

func (call) RowWise([]bool, []tensor.Shape) bool { return false }

func (c call) Forward([]tensor.Shape, tensor.Shape) Loops {
	return Loops{F32: callLoop[float32](c), F64: callLoop[float64](c)}
}

func callLoop[T kernel.Float](c call) func(y []T, x [][]T) error {
	return func(y []T, x [][]T) error {
		in := make([][]float64, len(x))
		for i, v := range x {
			in[i] = converted[T, float64](v)
		}
		out, err := c.f(in)
		if err != nil {
			return err
		}
		if len(out) != len(y) {
			return fmt.Errorf("the function returned %d elements, expected %d for shape %v", len(out), len(y), c.out)
		}
		copy(y, converted[float64, T](out))
		return nil
	}
}
