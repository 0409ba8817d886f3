package graph

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// unfold copies the patches under a square filter out of images [B,C,H,W], to
// [B,C·K·K,H'·W']; fold, its transpose, adds them up where they were.
type unfold struct {
	kernel.Conv      // of one filter
	fold        bool // the transpose
}

func (r unfold) Key() string { return fmt.Sprintf("unfold %+v fold %t", r.Conv, r.fold) }

func (r unfold) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	b := in[0][0]
	images := tensor.Shape{b, r.In, r.Height, r.Width}
	patches := tensor.Shape{b, r.In * r.KernelHeight * r.KernelWidth, r.OutHeight() * r.OutWidth()}
	return expected(in[0], r.fold, images, patches)
}

func (r unfold) Pullback(b *Builder, _ int, _ []*Node, _, ct *Node) *Node {
	return b.Apply(unfold{r.Conv, !r.fold}, ct)
}

func (r unfold) RowWise(batched []bool, _ []tensor.Shape) bool { return batched[0] }

func (r unfold) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: unfoldLoop[float32](r, in[0][0]), F64: unfoldLoop[float64](r, in[0][0])}
}

// unfoldLoop handles one image at a time.
func unfoldLoop[T kernel.Float](r unfold, images int) func(y []T, x [][]T) error {
	c := general(plainConv{r.Conv})
	pixels, elements := c.in*c.height*c.width, c.taps()*c.spots()
	return func(y []T, x [][]T) error {
		patches, from := y, x[0]
		if r.fold {
			clear(y)
			patches, from = x[0], y
		}
		for i := range images {
			movePatches(c, r.fold, patches[i*elements:(i+1)*elements], from[i*pixels:])
		}
		return nil
	}
}

// Unfold returns the patches of images x [B,C,H,W] under a filter of size by size
// elements, [B,C·size·size,H'·W'], zeros where the filter reaches over the edge; H' and
// W' as in Conv2D.
func (b *Builder) Unfold(x *Node, size, stride, padding int) *Node {
	if !b.images("unfold", x) {
		return nil
	}
	s := x.Shape()
	return b.Apply(unfold{Conv: kernel.Conv{
		In: s[1], Height: s[2], Width: s[3], Out: 1,
		KernelHeight: size, KernelWidth: size, Stride: stride, Padding: padding,
	}}, x)
}

// FilterUse is the use of a convolution's filters: Jacobian row r of example e = r/per
// is the derivative of ⟨Results_r, filters ∗ Images_e⟩ by the filters.
type FilterUse struct {
	Images          *Node // [examples,In,H,W]
	Results         *Node // the cotangents, [examples·per,Out,H',W']
	Stride, Padding int   // of the convolution
}

// FilterRows returns the nodes from which RowPullback made the rows for the filters of a
// [Builder.Conv2D]; the rows may have been reshaped since. It returns false for other nodes.
func FilterRows(rows *Node) (FilterUse, bool) {
	_, plain, ok := filterRows(rows)
	if !ok {
		return FilterUse{}, false
	}
	in := Children(Unshaped(rows))
	return FilterUse{Images: in[0], Results: in[1], Stride: plain.Stride, Padding: plain.Padding}, ok
}

// filterRows returns the operation that made rows for filters.
func filterRows(rows *Node) (conv, plainConv, bool) {
	r, _ := unwrap(Unshaped(rows).Op())
	c, ok := r.(conv)
	if !ok || c.part != filters || !c.stacked {
		return c, plainConv{}, false
	}
	plain, ok := c.convolution.(plainConv)
	return c, plain, ok
}

// Reordered returns two stacks of rows for the filters of a [Builder.Conv2D], see [FilterRows],
// with the elements of each row in another order, the same for both, in which they are found
// faster. It returns other nodes as they are. Inner products do not depend on the order.
func Reordered(b *Builder, u, v *Node) (*Node, *Node) {
	if !b.usable("reordered", u, v) {
		return u, v
	}
	_, p, ok := filterRows(u)
	_, q, alike := filterRows(v)
	if !ok || !alike || !slices.Equal(p.shape(filters), q.shape(filters)) {
		return u, v
	}
	return reordered(b, u), reordered(b, v)
}

// reordered returns rows with the channels of their filters last.
func reordered(b *Builder, rows *Node) *Node {
	c, plain, _ := filterRows(rows)
	plain.ChannelsLast = true
	c.convolution = plain
	return b.Reshape(b.Apply(c, Children(Unshaped(rows))...), rows.Shape()...)
}
