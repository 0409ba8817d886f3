package graph

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/onnxfile"
	"gorgonia.org/tensor"
)

// topPlaces finds the places of the k largest elements of the last axis. Places have no derivative.
type topPlaces struct{ k int }

func (r topPlaces) Key() string { return fmt.Sprintf("places of the %d largest", r.k) }

func (r topPlaces) Shape(in []tensor.Shape) (tensor.Shape, error) {
	last := len(in[0]) - 1
	if last < 0 || r.k < 1 || r.k > in[0][last] {
		return nil, fmt.Errorf("%d elements of shape %v", r.k, in[0])
	}
	out := in[0].Clone()
	out[last] = r.k
	return out, nil
}

func (topPlaces) Pullback(*Builder, int, []*Node, *Node, *Node) *Node { return nil }

func (topPlaces) RowWise(_ []bool, in []tensor.Shape) bool { return len(in[0]) > 1 }

func (r topPlaces) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	n := in[0][len(in[0])-1]
	return Loops{F32: largestLoop[float32](n, r.k), F64: largestLoop[float64](n, r.k)}
}

// largestLoop inserts each element that is larger than the last of the k largest so far behind those that are not smaller.
func largestLoop[T kernel.Float](n, k int) func(y []T, x [][]T) error {
	top := make([]int, 0, k+1)
	return func(y []T, x [][]T) error {
		for r := 0; r*n < len(x[0]); r++ {
			row := x[0][r*n : (r+1)*n]
			top = top[:0]
			for i, v := range row {
				if len(top) == k && !(v > row[top[k-1]]) {
					continue
				}
				at := len(top)
				for ; at > 0 && v > row[top[at-1]]; at-- {
				}
				top = slices.Insert(top, at, i)[:min(len(top)+1, k)]
			}
			for i, at := range top {
				y[r*k+i] = T(at)
			}
		}
		return nil
	}
}

// ONNX implements ONNXForm.
func (r topPlaces) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	places := w.once(fmt.Sprintf("places of the %d largest of %q", r.k, in[0].Name), func() string {
		values, places := w.name(), w.name()
		w.model.Nodes = append(w.model.Nodes, onnxfile.Node{Op: "TopK", Inputs: []string{in[0].Name, w.Ints(r.k)}, Outputs: []string{values, places}})
		return places
	})
	return w.cast(ONNXValue{places, out}, onnxfile.Int64, elementType(w.dt)).Name
}

// Largest returns the places of the k largest elements of the last axis of x [..., N], numbers from 0 to N − 1 as in [Builder.Embed],
// in descending order of the elements; the first of equal ones comes first: [..., k].
func (b *Builder) Largest(x *Node, k int) *Node { return b.Apply(topPlaces{k}, x) }
