package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/onnxfile"
	"gorgonia.org/tensor"
)

// ONNXForm is an [Op] that can be written as nodes of ONNX, version 17 of its operators. Its ONNX method returns the name of
// the result, given the operands and the extents of the result. It uses the extents of w's values in place of extents that
// the operation itself knows, since these belong to one number of examples.
type ONNXForm interface {
	ONNX(w *ONNX, in []ONNXValue, out []Extent) string
}

// Extent is the extent of an axis: Fixed + Each·B for B examples.
type Extent struct {
	Fixed int // the part that does not depend on the number of examples
	Each  int // what each example adds
}

// one reports whether the extent is 1 for any number of examples.
func (e Extent) one() bool { return e == Extent{Fixed: 1} }

// free reports whether the extent depends on the number of examples.
func (e Extent) free() bool { return e.Each != 0 }

// ONNXValue is a value in a model of ONNX.
type ONNXValue struct {
	Name  string   // of the value
	Shape []Extent // extents of its axes
}

// ONNX writes nodes of ONNX for the operations of a graph. It keeps the first error, as a [Builder] does.
type ONNX struct {
	model *onnxfile.Model
	dt    tensor.Dtype      // of the graph that is being written
	batch string            // name of the number of examples, [1]; empty before the first use
	count int               // names that were given
	known map[string]string // names of values by what makes them
	err   error             // the first

	constant map[string]bool      // names of arrays
	reshaped map[string]ONNXValue // what a value was reshaped from
	uniform  map[string]float64   // values all of whose elements are this number
	narrow   map[string]ONNXValue // values of float32 by the name of the same in float64
}

// Dtype returns the element type of the graph that is being written.
func (w *ONNX) Dtype() tensor.Dtype { return w.dt }

// Failf makes the formatted error the error of w, unless w has one already, and returns no name.
func (w *ONNX) Failf(format string, args ...any) string {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
	return ""
}

// name returns a new name.
func (w *ONNX) name() string {
	w.count++
	return fmt.Sprint("v", w.count)
}

// Node writes a node with one output and returns the name of the output. Equal nodes are written once.
func (w *ONNX) Node(op string, attrs []onnxfile.Attr, in ...string) string {
	return w.once(fmt.Sprintf("%s %v %q", op, attrs, in), func() string {
		y := w.name()
		w.model.Nodes = append(w.model.Nodes, onnxfile.Node{Op: op, Inputs: in, Outputs: []string{y}, Attrs: attrs})
		return y
	})
}

// once returns what was made for a key before, or makes it.
func (w *ONNX) once(key string, make func() string) string {
	if y, ok := w.known[key]; ok {
		return y
	}
	y := make()
	w.known[key] = y
	return y
}

// attr is a list of one setting.
func attr(name string, v any) []onnxfile.Attr { return []onnxfile.Attr{{Name: name, Value: v}} }

// Number returns a constant of no axes, of the element type of the graph.
func (w *ONNX) Number(v float64) string {
	return w.once(fmt.Sprint("number ", w.dt, math.Float64bits(v)), func() string {
		return w.array([]float64{v})
	})
}

// Array returns a constant of the element type of the graph.
func (w *ONNX) Array(v []float64, shape ...int) string {
	return w.once(fmt.Sprint("array ", w.dt, v, shape), func() string { return w.array(v, shape...) })
}

func (w *ONNX) array(v []float64, shape ...int) string {
	if w.dt == tensor.Float64 {
		return w.keep(onnxfile.Floats(w.name(), v, shape...))
	}
	return w.keep(onnxfile.Floats(w.name(), converted[float64, float32](v), shape...))
}

// Ints returns a constant of whole numbers [len].
func (w *ONNX) Ints(v ...int) string { return w.places(v, len(v)) }

// places returns a constant of whole numbers.
func (w *ONNX) places(v []int, shape ...int) string {
	return w.once(fmt.Sprint("ints ", v, shape), func() string { return w.keep(onnxfile.Ints(w.name(), v, shape...)) })
}

func (w *ONNX) keep(a onnxfile.Array) string {
	w.model.Arrays = append(w.model.Arrays, a)
	w.constant[a.Name] = true
	return a.Name
}

// examples returns the name of the number of examples, [1].
func (w *ONNX) examples() string {
	if w.batch == "" {
		w.batch = w.Node("Shape", append(attr("start", 0), attr("end", 1)...), w.model.Inputs[0].Name)
	}
	return w.batch
}

// shape returns the name of a shape, for operators that take one. One free extent may be left open.
func (w *ONNX) shape(s []Extent, open bool) string {
	free := 0
	fixed := make([]int, len(s))
	for d, e := range s {
		if fixed[d] = e.Fixed; e.free() {
			fixed[d] = -1
			free++
		}
	}
	if free == 0 || open && free == 1 {
		return w.Ints(fixed...)
	}
	var parts []string
	for _, e := range s {
		if part := w.Ints(e.Fixed); !e.free() {
			parts = append(parts, part)
			continue
		}
		n := w.examples()
		if e.Each != 1 {
			n = w.Node("Mul", nil, n, w.Ints(e.Each))
		}
		if e.Fixed != 0 {
			n = w.Node("Add", nil, n, w.Ints(e.Fixed))
		}
		parts = append(parts, n)
	}
	return w.Node("Concat", attr("axis", 0), parts...)
}

// Reshape writes x in another shape.
func (w *ONNX) Reshape(x ONNXValue, to ...Extent) ONNXValue {
	if from, ok := w.reshaped[x.Name]; ok && !slices.Equal(x.Shape, to) {
		x = from
	}
	if slices.Equal(x.Shape, to) {
		return x
	}
	y := ONNXValue{w.Node("Reshape", nil, x.Name, w.shape(to, true)), to}
	w.reshaped[y.Name] = x
	return y
}

// Expand repeats x along new leading axes and along axes of extent 1.
func (w *ONNX) Expand(x ONNXValue, to ...Extent) ONNXValue {
	if slices.Equal(x.Shape, to) {
		return x
	}
	return ONNXValue{w.Node("Expand", nil, x.Name, w.shape(to, false)), to}
}

// Transpose permutes the axes of x: axis d of the result is axis perm[d] of x.
func (w *ONNX) Transpose(x ONNXValue, perm ...int) ONNXValue {
	to, last, same := make([]Extent, len(perm)), -1, true
	for d, p := range perm {
		if to[d] = x.Shape[p]; !to[d].one() {
			same, last = same && p > last, p
		}
	}
	if same { // the elements stay where they are
		return w.Reshape(x, to...)
	}
	return ONNXValue{w.Node("Transpose", attr("perm", perm), x.Name), to}
}

// swapped exchanges the last two axes of x.
func (w *ONNX) swapped(x ONNXValue) ONNXValue {
	perm := make([]int, len(x.Shape))
	for d := range perm {
		perm[d] = d
	}
	slices.Reverse(perm[len(perm)-2:])
	return w.Transpose(x, perm...)
}

// sum adds up along axes, which keep the extent 1.
func (w *ONNX) sum(x ONNXValue, axes ...int) ONNXValue {
	if len(axes) == 0 {
		return x
	}
	to := slices.Clone(x.Shape)
	for _, d := range axes {
		to[d] = Extent{Fixed: 1}
	}
	return ONNXValue{w.Node("ReduceSum", attr("keepdims", 1), x.Name, w.Ints(axes...)), to}
}

// product returns the product of extents, at most one of which may be free.
func (w *ONNX) product(s []Extent) Extent {
	p := Extent{Fixed: 1}
	for _, e := range s {
		if p.free() && e.free() {
			w.Failf("a product of two extents that depend on the number of examples")
		}
		p = Extent{p.Fixed * e.Fixed, p.Fixed*e.Each + p.Each*e.Fixed}
	}
	return p
}

// fixed returns a shape, none of whose extents may be free.
func (w *ONNX) fixed(s ...Extent) []int {
	out := make([]int, len(s))
	for d, e := range s {
		if out[d] = e.Fixed; e.free() {
			w.Failf("an extent depends on the number of examples")
		}
	}
	return out
}

// extents returns fixed extents.
func extents(n ...int) []Extent {
	out := make([]Extent, len(n))
	for d, v := range n {
		out[d].Fixed = v
	}
	return out
}
