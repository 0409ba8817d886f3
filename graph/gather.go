package graph

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// gather takes the parts of an array at fixed places along an axis. With scatter set it is the
// transpose, which adds each part to its place in zeros of the given extent.
type gather struct {
	axis    int
	at      []int // places along the axis
	extent  int   // of the axis in the larger array
	scatter bool  // the transpose
}

func (r gather) Key() string {
	return fmt.Sprintf("gather %v of %d along axis %d scatter %t", r.at, r.extent, r.axis, r.scatter)
}

func (r gather) Shape(in []tensor.Shape) (tensor.Shape, error) {
	have, result := r.extent, len(r.at)
	if r.scatter {
		have, result = result, have
	}
	if r.axis < 0 || r.axis >= len(in[0]) || in[0][r.axis] != have {
		return nil, fmt.Errorf("axis %d of shape %v, expected the extent %d", r.axis, in[0], have)
	}
	for _, k := range r.at {
		if k < 0 || k >= r.extent {
			return nil, fmt.Errorf("place %d of %d along axis %d", k, r.extent, r.axis)
		}
	}
	out := in[0].Clone()
	out[r.axis] = result
	return out, nil
}

func (r gather) Pullback(b *Builder, _ int, _ []*Node, _, ct *Node) *Node {
	r.scatter = !r.scatter
	return b.Apply(r, ct)
}

func (r gather) RowWise([]bool, []tensor.Shape) bool { return r.axis > 0 }

func (r gather) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	outer, width := size(in[0][:r.axis]), size(in[0][r.axis+1:])
	return Loops{F32: gatherLoop[float32](r, outer, width), F64: gatherLoop[float64](r, outer, width)}
}

// ONNX implements ONNXForm. Places to which several parts are added are a product with zeros and ones.
func (r gather) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	x := in[0]
	if !r.scatter {
		return w.Node("Gather", attr("axis", r.axis), x.Name, w.Ints(r.at...))
	}
	last := len(x.Shape) - 1
	perm := make([]int, len(x.Shape))
	for d := range perm {
		perm[d] = d
	}
	perm[r.axis], perm[last] = last, r.axis
	table := make([]float64, len(r.at)*r.extent)
	for i, k := range r.at {
		table[i*r.extent+k] = 1
	}
	parts := ONNXValue{w.Array(table, len(r.at), r.extent), extents(len(r.at), r.extent)}
	return w.Transpose(w.matMul(w.Transpose(x, perm...), parts, false, false), perm...).Name
}

func gatherLoop[T kernel.Float](r gather, outer, width int) func(y []T, x [][]T) error {
	n := len(r.at)
	return func(y []T, x [][]T) error {
		if r.scatter {
			clear(y)
		}
		for o := range outer {
			for i, k := range r.at {
				small, large := (o*n+i)*width, (o*r.extent+k)*width
				if r.scatter {
					to := y[large : large+width]
					kernel.Add(to, to, x[0][small:small+width])
				} else {
					copy(y[small:small+width], x[0][large:])
				}
			}
		}
		return nil
	}
}

// Gather returns the parts of x at the places at along an axis, in this order. A place may occur
// several times.
func (b *Builder) Gather(x *Node, axis int, at ...int) *Node {
	if !b.usable("gather", x) {
		return nil
	}
	if axis < 0 || axis >= x.Dims() {
		return b.Failf("graph: gather: axis %d of shape %v", axis, x.Shape())
	}
	return b.Apply(gather{axis: axis, at: slices.Clone(at), extent: x.Shape()[axis]}, x)
}
