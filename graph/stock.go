package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// stock is an operation that is not an Op: an operation of Gorgonia's own.
type stock struct {
	n  *Node   // the node that holds the operation
	in []*Node // its operands
}

// isStock reports whether n holds an operation of Gorgonia's own.
func isStock(n *Node) bool {
	_, own := unwrap(n.Op())
	return n.Op() != nil && !own
}

func newStock(n *Node, in []*Node) (stock, error) {
	for _, a := range in {
		if a.Dtype() != n.Dtype() {
			return stock{}, fmt.Errorf("graph: %v mixes element types %v and %v", n.Op(), a.Dtype(), n.Dtype())
		}
	}
	return stock{n, in}, nil
}

func (s stock) Key() string { return fmt.Sprint(s.n.Op()) }

func (s stock) Shape([]tensor.Shape) (tensor.Shape, error) { return s.n.Shape(), nil }

func (s stock) Forward([]tensor.Shape, tensor.Shape) Loops {
	return Loops{F32: stockLoop[float32](s), F64: stockLoop[float64](s)}
}

// stockLoop runs the operation's Do on copies of the operands, since it may keep or
// change them.
func stockLoop[T kernel.Float](s stock) func(y []T, x [][]T) error {
	return func(y []T, x [][]T) error {
		vals := make([]gorgonia.Value, len(s.in))
		for i, a := range s.in {
			vals[i] = newValue(a.Dtype(), a.Shape())
			data, err := slice[T](vals[i])
			if err != nil {
				return err
			}
			copy(data, x[i])
		}
		out, err := s.n.Op().Do(vals...)
		if err != nil {
			return err
		}
		return copyOut(y, out, s.n.Shape())
	}
}

// copyOut copies the result of an operation of Gorgonia's to y.
func copyOut[T kernel.Float](y []T, out gorgonia.Value, shape tensor.Shape) error {
	if t, ok := out.(*tensor.Dense); ok && t.RequiresIterator() {
		out = t.Materialize().(*tensor.Dense)
	}
	data, err := slice[T](out)
	if err != nil {
		return err
	}
	if len(data) != len(y) {
		return fmt.Errorf("result has %d elements, expected shape %v", len(data), shape)
	}
	copy(y, data)
	return nil
}
