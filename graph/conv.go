package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// conv is two-dimensional convolution, as in PyTorch a cross-correlation. The form
// ⟨y, w ∗ x⟩ is linear in the images x, the filters w and the results y; each value of
// part is the form's derivative by x, w or y, a function of the two others. So the three
// are each other's derivatives.
type conv struct {
	part                        // the operand of the trilinear form that is computed
	convolution                 // sizes and loops
	rows        kernel.ConvRows // numbers of images, sets of filters, and results
	stacked     bool            // filters have an axis of their own in front, one set for each term
}

// convolution is the sizes of a convolution and its loops.
type convolution interface {
	Check() error
	String() string
	shape(p part) []int // of one image, one result, or the filters
	loops(p part, n kernel.ConvRows) Loops
}

// plainConv is a convolution with the fast loops of package kernel.
type plainConv struct{ kernel.Conv }

func (c plainConv) shape(p part) []int {
	switch p {
	case images:
		return []int{c.In, c.Height, c.Width}
	case results:
		return []int{c.Out, c.OutHeight(), c.OutWidth()}
	}
	if c.ChannelsLast {
		return []int{c.Out, c.KernelHeight, c.KernelWidth, c.In}
	}
	return []int{c.Out, c.In, c.KernelHeight, c.KernelWidth}
}

func (c plainConv) loops(p part, n kernel.ConvRows) Loops {
	return Loops{F32: convLoop[float32](c.Conv, p, n), F64: convLoop[float64](c.Conv, p, n)}
}

// part is an operand of the trilinear form.
type part int

const (
	images  part = iota // [X, In, Height, Width]
	filters             // [Out, In, KernelHeight, KernelWidth], stacked: [W, …]
	results             // [Y, Out, OutHeight, OutWidth]
)

// inputs are the operands that a derivative is computed from, in order.
var inputsOf = map[part][2]part{
	results: {images, filters},
	images:  {results, filters},
	filters: {images, results},
}

func (r conv) Key() string {
	return fmt.Sprintf("convolution part %d %v rows %+v stacked %t", r.part, r.convolution, r.rows, r.stacked)
}

// shapeOf returns an operand's shape.
func (r conv) shapeOf(p part) tensor.Shape {
	var front []int
	switch {
	case p == images:
		front = []int{r.rows.X}
	case p == results:
		front = []int{r.rows.Y}
	case r.stacked:
		front = []int{r.rows.W}
	}
	return append(front, r.shape(p)...)
}

func (r conv) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	for i, p := range inputsOf[r.part] {
		if want := r.shapeOf(p); !sameShape(in[i], want) {
			return nil, fmt.Errorf("operand %d has shape %v, expected %v", i, in[i], want)
		}
	}
	return r.shapeOf(r.part), nil
}

// scaled returns r for a result with this number of rows. A Pullback is asked for other
// numbers of rows where each row is treated by itself.
func (r conv) scaled(rows int) conv {
	if r.part == filters && !r.stacked {
		return r
	}
	own := map[part]int{images: r.rows.X, filters: r.rows.W, results: r.rows.Y}[r.part]
	r.rows.X, r.rows.Y = r.rows.X*rows/own, r.rows.Y*rows/own
	if r.stacked {
		r.rows.W = r.rows.W * rows / own
	}
	return r
}

// Pullback: the cotangent of the operand p is the derivative by p at the other
// operand and, in place of the result, its cotangent.
func (r conv) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	if !b.usable("convolution", ct) {
		return nil
	}
	operands := map[part]*Node{r.part: ct}
	for k, p := range inputsOf[r.part] {
		operands[p] = in[k]
	}
	want := r.scaled(ct.Shape()[0])
	want.part = inputsOf[r.part][i]
	from := inputsOf[want.part]
	return b.Apply(want, operands[from[0]], operands[from[1]])
}

// RowWise: each result of its own image, and of filters that all share or of its own.
func (r conv) RowWise(batched []bool, _ []tensor.Shape) bool {
	switch {
	case r.part == filters:
		return batched[0] && batched[1] && r.stacked && r.rows.X == r.rows.W && r.rows.Y == r.rows.W
	case r.rows.X != r.rows.Y || !batched[0]:
		return false
	case r.stacked:
		return batched[1] && r.rows.W == r.rows.X
	}
	return !batched[1]
}

// RowPullback: the rows of shared filters are the filter gradients of each term.
func (r conv) RowPullback(b *Builder, i int, in []*Node, _, ct *Node) (Outer, bool) {
	if r.part == filters || i != 1 || r.stacked {
		return Outer{}, false
	}
	rows, of, per := r, in[0].Shape()[0], ct.Shape()[0]
	rows.part, rows.stacked = filters, true
	x, y := in[0], ct
	rows.rows = kernel.ConvRows{X: of, W: per, Y: per}
	if r.part == images {
		x, y = ct, in[0]
		rows.rows = kernel.ConvRows{X: per, W: per, Y: of}
	}
	return Outer{Right: b.Reshape(b.Apply(rows, x, y), per, size(r.shape(filters)))}, true
}

func (r conv) Forward(_ []tensor.Shape, _ tensor.Shape) Loops {
	rows := r.rows
	rows.Own = r.stacked
	return r.loops(r.part, rows)
}

func convLoop[T kernel.Float](c kernel.Conv, p part, n kernel.ConvRows) func(y []T, x [][]T) error {
	run := map[part]func(kernel.Conv, kernel.ConvRows, []T, []T, []T){
		results: kernel.ConvForward[T], images: kernel.ConvInput[T], filters: kernel.ConvFilter[T],
	}[p]
	return func(y []T, x [][]T) error {
		run(c, n, x[0], x[1], y)
		return nil
	}
}

// followed returns the loops with work that follows on the rows of the result; nil where these are
// too few or not of a stack of their own. The loops report whether the work was done.
func (r conv) followed() (convThen[float32], convThen[float64]) {
	c, plain := r.convolution.(plainConv)
	if !plain || r.part == filters || r.stacked || r.rows.X != r.rows.Y || r.rows.X < manyUnits {
		return nil, nil
	}
	return followedLoop[float32](c.Conv, r.part, r.rows), followedLoop[float64](c.Conv, r.part, r.rows)
}

type convThen[T kernel.Float] func(y []T, x [][]T, then kernel.Then) bool

func followedLoop[T kernel.Float](c kernel.Conv, p part, n kernel.ConvRows) convThen[T] {
	run := kernel.ConvForwardThen[T]
	if p == images {
		run = kernel.ConvInputThen[T]
	}
	return func(y []T, x [][]T, then kernel.Then) bool { return run(c, n, x[0], x[1], y, then) }
}

// Conv2D returns the convolution of images x [B,In,H,W] with filters
// w [Out,In,KH,KW], as PyTorch's conv2d: result [B,Out,H',W'] with
// H' = (H + 2·padding − KH)/stride + 1, rounded down.
func (b *Builder) Conv2D(x, w *Node, stride, padding int) *Node {
	if !b.usable("convolution", x, w) {
		return nil
	}
	xs, ws := x.Shape(), w.Shape()
	if len(xs) != 4 || len(ws) != 4 || xs[1] != ws[1] {
		return b.Failf("graph: convolution: shapes %v and %v, expected [B,In,H,W] and [Out,In,KH,KW]", xs, ws)
	}
	return b.Apply(conv{
		part: results,
		convolution: plainConv{kernel.Conv{
			In: xs[1], Height: xs[2], Width: xs[3], Out: ws[0],
			KernelHeight: ws[2], KernelWidth: ws[3], Stride: stride, Padding: padding,
		}},
		rows: kernel.ConvRows{X: xs[0], W: 1, Y: xs[0]},
	}, x, w)
}
