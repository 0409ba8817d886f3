package graph

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// reshape keeps the elements and their order. A Program runs it for free.
type reshape struct {
	to tensor.Shape // of the result
}

// shapeText is how fmt prints a shape, in less time: a graph has many operations that have a shape in their key.
func shapeText(s tensor.Shape) string {
	text := append(make([]byte, 0, 32), '(')
	for i, n := range s {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return string(append(text, ')'))
}

func (r reshape) Key() string { return "reshape " + shapeText(r.to) }

func (r reshape) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if size(in[0]) != size(r.to) {
		return nil, fmt.Errorf("shape %v has %d elements, %v has %d", in[0], size(in[0]), r.to, size(r.to))
	}
	return r.to, nil
}

func (r reshape) Pullback(b *Builder, _ int, in []*Node, _, ct *Node) *Node {
	return b.reshaped(ct, in[0].Shape()...)
}

func (r reshape) RowWise(_ []bool, in []tensor.Shape) bool {
	return len(in[0]) > 0 && len(r.to) > 0 && in[0][0] == r.to[0]
}

func (r reshape) Forward([]tensor.Shape, tensor.Shape) Loops { return copying() }

// ONNX implements ONNXForm.
func (reshape) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	return w.Reshape(in[0], out...).Name
}

// copying is the loop of an operation that keeps the elements as they are.
func copying() Loops {
	return Loops{
		F32: func(y []float32, x [][]float32) error { copy(y, x[0]); return nil },
		F64: func(y []float64, x [][]float64) error { copy(y, x[0]); return nil },
	}
}

// directed returns the shapes of the operand and of the result of a linear operation from arrays of one
// shape to arrays of another, or of its transpose.
func directed(transposed bool, from, to tensor.Shape) (operand, result tensor.Shape) {
	if transposed {
		return to, from
	}
	return from, to
}

// expected returns the shape of the result of [directed], or an error unless the operand has its shape.
func expected(got tensor.Shape, transposed bool, from, to tensor.Shape) (tensor.Shape, error) {
	operand, result := directed(transposed, from, to)
	if !sameShape(got, operand) {
		return nil, fmt.Errorf("shape %v, expected %v", got, operand)
	}
	return result, nil
}

// Reshape gives x another shape with the same number of elements, in row-major order.
func (b *Builder) Reshape(x *Node, shape ...int) *Node {
	return b.Apply(reshape{slices.Clone(shape)}, x)
}

// reshaped is x if it has the shape already, and Reshape otherwise.
func (b *Builder) reshaped(x *Node, shape ...int) *Node {
	return b.with("reshape", b.Reshape, x, shape)
}

// with returns x if it has the shape already, and what change makes of x otherwise.
func (b *Builder) with(what string, change func(x *Node, shape ...int) *Node, x *Node, shape []int) *Node {
	if b.usable(what, x) && slices.Equal(x.Shape(), shape) {
		return x
	}
	return change(x, shape...)
}

// transpose permutes axes: axis d of the result is axis perm[d] of the input.
type transpose struct {
	perm []int // the input axis of each axis of the result
}

func (r transpose) Key() string { return fmt.Sprintf("transpose %v", r.perm) }

func (r transpose) Shape(in []tensor.Shape) (tensor.Shape, error) {
	out := make(tensor.Shape, len(in[0]))
	seen := make([]bool, len(in[0]))
	for d, p := range r.perm {
		if len(r.perm) != len(out) || p < 0 || p >= len(out) || seen[p] {
			return nil, fmt.Errorf("%v is no permutation of the axes of shape %v", r.perm, in[0])
		}
		seen[p] = true
		out[d] = in[0][p]
	}
	return out, nil
}

func (r transpose) Pullback(b *Builder, _ int, _ []*Node, _, ct *Node) *Node {
	inverse := make([]int, len(r.perm))
	for d, p := range r.perm {
		inverse[p] = d
	}
	return b.Transpose(ct, inverse...)
}

func (r transpose) RowWise([]bool, []tensor.Shape) bool { return len(r.perm) > 0 && r.perm[0] == 0 }

func (r transpose) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: transposeLoop[float32](r.perm, in[0], out), F64: transposeLoop[float64](r.perm, in[0], out)}
}

// ONNX implements ONNXForm.
func (r transpose) ONNX(w *ONNX, in []ONNXValue, _ []Extent) string {
	return w.Transpose(in[0], r.perm...).Name
}

// transposeLoop transposes matrices whose rows lie along the last axis of the input
// and whose columns lie along the output's last axis, one for each place along the other
// axes. If both are the same axis it copies vectors.
func transposeLoop[T kernel.Float](perm []int, in, out tensor.Shape) func(y []T, x [][]T) error {
	last := len(perm) - 1
	turned := slices.Index(perm, last)
	from, to := broadcastStrides(in, in), broadcastStrides(out, out)
	rows, cols := out[last], out[turned]
	ldx, ldy := max(cols, from[perm[last]]), max(rows, to[turned]) // the strides of unit axes are 0
	others := loop{strides: make([][]int, 2)}
	for d, p := range perm {
		if d != last && d != turned {
			others.add(out[d], to[d], from[p])
		}
	}
	others.add(1, 1, 1)
	outer, c := others.outer(), others.cursor()
	return func(y []T, x [][]T) error {
		for range outer {
			dst, src := y[c.off[0]:], x[0][c.off[1]:]
			if turned == last {
				copy(dst[:cols], src)
			} else {
				kernel.Transpose(dst, ldy, src, ldx, rows, cols)
			}
			c.next()
		}
		return nil
	}
}

// Transpose permutes x's axes: axis d of the result is axis perm[d] of x. Without
// perm it swaps the last two.
func (b *Builder) Transpose(x *Node, perm ...int) *Node {
	if !b.usable("transpose", x) {
		return nil
	}
	if len(perm) == 0 {
		if x.Dims() < 2 {
			return b.Failf("graph: transpose: shape %v has fewer than two axes", x.Shape())
		}
		for d := range x.Dims() {
			perm = append(perm, d)
		}
		slices.Reverse(perm[x.Dims()-2:])
	}
	return b.Apply(transpose{slices.Clone(perm)}, x)
}

// window copies every step-th element from from on along one axis: extent elements
// from the larger array (a slice), or, with pad set, the whole of the smaller one into
// zeros of that extent.
type window struct {
	axis, from, step int  // the axis, the first element on it and the distance to the next
	extent           int  // of the axis in the result
	pad              bool // the transpose
}

func (r window) Key() string {
	return fmt.Sprintf("window axis %d from %d step %d extent %d pad %t", r.axis, r.from, r.step, r.extent, r.pad)
}

func (r window) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if r.axis < 0 || r.axis >= len(in[0]) {
		return nil, fmt.Errorf("axis %d of shape %v", r.axis, in[0])
	}
	small, large := r.extent, in[0][r.axis]
	if r.pad {
		small, large = large, small
	}
	if r.from < 0 || r.step < 1 || small < 1 || (large-1-r.from)/r.step < small-1 || r.from >= large {
		return nil, fmt.Errorf("[%d, %d) does not lie in [0, %d) on axis %d of shape %v",
			r.from, r.from+(small-1)*r.step+1, large, r.axis, in[0])
	}
	out := in[0].Clone()
	out[r.axis] = r.extent
	return out, nil
}

func (r window) Pullback(b *Builder, _ int, in []*Node, _, ct *Node) *Node {
	return b.Apply(window{r.axis, r.from, r.step, in[0].Shape()[r.axis], !r.pad}, ct)
}

func (r window) RowWise([]bool, []tensor.Shape) bool { return r.axis > 0 }

func (r window) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: windowLoop[float32](r, in[0], out), F64: windowLoop[float64](r, in[0], out)}
}

// ONNX implements ONNXForm. An array that is put into zeros in steps is gathered from itself and a zero behind it.
func (r window) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	x := in[0]
	switch {
	case slices.Equal(x.Shape, out):
		return x.Name
	case !r.pad:
		end := r.from + (r.extent-1)*r.step + 1
		return w.Node("Slice", nil, x.Name, w.Ints(r.from), w.Ints(end), w.Ints(r.axis), w.Ints(r.step))
	case r.step == 1:
		small := w.fixed(x.Shape[r.axis])[0]
		return w.padded(x, r.axis, r.from, r.extent-small-r.from)
	}
	small := w.fixed(x.Shape[r.axis])[0]
	at := make([]int, r.extent)
	for i := range at {
		k := i - r.from
		if at[i] = small; k >= 0 && k%r.step == 0 && k/r.step < small {
			at[i] = k / r.step
		}
	}
	return w.Node("Gather", attr("axis", r.axis), w.padded(x, r.axis, 0, 1), w.Ints(at...))
}

// padded puts zeros before and after x along an axis.
func (w *ONNX) padded(x ONNXValue, axis, before, after int) string {
	pads := make([]int, 2*len(x.Shape))
	pads[axis], pads[len(x.Shape)+axis] = before, after
	return w.Node("Pad", attr("mode", "constant"), x.Name, w.Ints(pads...), w.Number(0))
}

func windowLoop[T kernel.Float](r window, in, out tensor.Shape) func(y []T, x [][]T) error {
	large, small := directed(r.pad, in, out)
	l := newWindowLoop(r, small, large)
	n, outer, c := l.inner(), l.outer(), l.cursor()
	step := l.step(1)
	return func(y []T, x [][]T) error {
		if r.pad {
			clear(y)
		}
		for range outer {
			at, from := c.off[0], c.off[1]+r.from*size(large[r.axis+1:])
			switch {
			case r.pad:
				strided(y[from:], step, x[0][at:], 1, n)
			default:
				strided(y[at:], 1, x[0][from:], step, n)
			}
			c.next()
		}
		return nil
	}
}

// newWindowLoop walks the smaller array and the places of its elements in the larger.
func newWindowLoop(r window, small, large tensor.Shape) loop {
	width := size(large[r.axis+1:])
	l := loop{strides: make([][]int, 2)}
	l.add(size(small[:r.axis]), size(small[r.axis:]), size(large[r.axis:]))
	if r.step == 1 {
		l.add(small[r.axis]*width, 1, 1)
		return l
	}
	l.add(small[r.axis], width, r.step*width)
	if width > 1 {
		l.add(width, 1, 1)
	}
	return l
}

// strided copies n elements of src, which are from apart, to places of dst that are to apart.
func strided[T any](dst []T, to int, src []T, from, n int) {
	if to == 1 && from == 1 {
		copy(dst[:n], src)
		return
	}
	for i := range n {
		dst[i*to] = src[i*from]
	}
}

// Slice returns the part [from, to) of x along axis.
func (b *Builder) Slice(x *Node, axis, from, to int) *Node {
	return b.Apply(window{axis: axis, from: from, step: 1, extent: to - from}, x)
}

// Every returns every step-th element of x along axis, the first one included.
func (b *Builder) Every(x *Node, axis, step int) *Node {
	if !b.usable("every", x) {
		return nil
	}
	if axis < 0 || axis >= x.Dims() || step < 1 {
		return b.Failf("graph: every: step %d along axis %d of shape %v", step, axis, x.Shape())
	}
	return b.Apply(window{axis: axis, step: step, extent: (x.Shape()[axis]-1)/step + 1}, x)
}

// Pad puts x into zeros of the given extent along axis, starting at from.
func (b *Builder) Pad(x *Node, axis, from, extent int) *Node {
	return b.Apply(window{axis: axis, from: from, step: 1, extent: extent, pad: true}, x)
}

// concat joins arrays along an axis.
type concat struct {
	axis int // along which the operands follow each other
}

func (r concat) Key() string { return fmt.Sprint("concat ", r.axis) }

func (r concat) Shape(in []tensor.Shape) (tensor.Shape, error) {
	out := in[0].Clone()
	if r.axis < 0 || r.axis >= len(out) {
		return nil, fmt.Errorf("axis %d of shape %v", r.axis, in[0])
	}
	for _, s := range in[1:] {
		if len(s) != len(out) || !slices.Equal(s[:r.axis], out[:r.axis]) || !slices.Equal(s[r.axis+1:], out[r.axis+1:]) {
			return nil, fmt.Errorf("shapes %v and %v differ beyond axis %d", in[0], s, r.axis)
		}
		out[r.axis] += s[r.axis]
	}
	return out, nil
}

func (r concat) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	from := 0
	for _, n := range in[:i] {
		from += n.Shape()[r.axis]
	}
	return b.Slice(ct, r.axis, from, from+in[i].Shape()[r.axis])
}

func (r concat) RowWise(batched []bool, _ []tensor.Shape) bool {
	return r.axis > 0 && !slices.Contains(batched, false)
}

func (r concat) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: concatLoop[float32](r.axis, in), F64: concatLoop[float64](r.axis, in)}
}

// ONNX implements ONNXForm.
func (r concat) ONNX(w *ONNX, in []ONNXValue, _ []Extent) string {
	if len(in) == 1 { // ONNX Runtime 1.30 has been seen to crash where it moved a transpose through such a node
		return in[0].Name
	}
	names := make([]string, len(in))
	for i, v := range in {
		names[i] = v.Name
	}
	return w.Node("Concat", attr("axis", r.axis), names...)
}

func concatLoop[T kernel.Float](axis int, in []tensor.Shape) func(y []T, x [][]T) error {
	outer, widths := size(in[0][:axis]), make([]int, len(in))
	for i, s := range in {
		widths[i] = size(s[axis:])
	}
	return func(y []T, x [][]T) error {
		for o := range outer {
			for i, w := range widths {
				y = y[copy(y, x[i][o*w:(o+1)*w]):]
			}
		}
		return nil
	}
}

// Concat joins nodes along an axis. Their shapes may differ along this axis only.
func (b *Builder) Concat(axis int, parts ...*Node) *Node {
	if len(parts) == 0 {
		return b.Failf("graph: concat of nothing")
	}
	return b.Apply(concat{axis}, parts...)
}
