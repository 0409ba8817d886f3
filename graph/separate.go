package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// SharedRows splits rows for filters, see [FilterRows], of which the outputs of each example have
// all in common but a number for each channel of the results. Such are rows of a last convolution
// whose results are averaged over their places. Element o, k of row p of example e is
// scale_epo · own_eok with scale [examples or 1,per,Out] and own [examples,Out,·], whose elements
// lie as [Reordered] makes them lie. It returns false for other rows.
func SharedRows(b *Builder, rows *Node) (scale, own *Node, ok bool) {
	c, plain, ok := filterRows(rows)
	examples := c.rows.X
	if !ok || b.err != nil || c.rows.W == examples || c.rows.W != c.rows.Y {
		return nil, nil, false
	}
	in, per := Children(Unshaped(rows)), c.rows.W/examples
	s := &separation{b: b}
	if !s.take(in[1], examples, per) || s.places == nil || s.outputs == nil {
		return nil, nil, false
	}
	results := in[1].Shape()
	plain.ChannelsLast = true
	c.convolution, c.rows = plain, kernel.ConvRows{X: examples, W: examples, Y: examples}
	places := b.spread(s.places, append([]int{examples}, results[1:]...)...)
	outputs := s.outputs.Shape()
	own = b.Reshape(b.Apply(c, in[0], places), examples, results[1], plain.taps())
	return b.spread(s.outputs, outputs[0], per, results[1]), own, true
}

// separation is an array [examples,per,C,H,W] as a product.
type separation struct {
	b       *Builder // writes the factors
	outputs *Node    // [examples or 1, per or 1, C or 1]: the same at all places
	places  *Node    // [examples or 1, C or 1, …]: the same for all outputs
}

// take multiplies the product by n, whose axes in front of C, H and W stand for e examples and p
// outputs. It reports false if n is no such product itself.
func (s *separation) take(n *Node, e, p int) bool {
	shape := n.Shape()
	image := shape[max(0, len(shape)-3):]
	switch {
	case len(image) < 3:
		return false
	case image[1] == 1 && image[2] == 1:
		s.outputs = s.times(s.outputs, s.b.Reshape(n, e, p, image[0]))
		return true
	case p == 1:
		s.places = s.times(s.places, s.b.Reshape(n, append([]int{e}, image...)...))
		return true
	}
	op, _ := unwrap(n.Op())
	switch op := op.(type) {
	case reshape:
		from := Children(n)[0]
		same := from.Dims() == 4 || from.Dims() == 5 && from.Shape()[0] == e
		return same && slices.Equal(from.Shape()[from.Dims()-3:], image) && s.take(from, e, p)
	case broadcastTo:
		return s.operands(n, e, p)
	case binary:
		return op.name == "mul" && s.operands(n, e, p)
	}
	return false
}

// operands takes the operands of n, which broadcast to it.
func (s *separation) operands(n *Node, e, p int) bool {
	return !slices.ContainsFunc(Children(n), func(a *Node) bool {
		front := func(axis int) int { return extent(a.Shape(), axis-n.Dims()+a.Dims()) }
		if n.Dims() == 5 {
			return !s.take(a, front(0), front(1))
		}
		if front(0) == 1 {
			return !s.take(a, 1, 1)
		}
		return !s.take(a, e, p)
	})
}

func (s *separation) times(x, y *Node) *Node {
	if x == nil {
		return y
	}
	return s.b.Mul(x, y)
}

// taps is the number of elements of one filter.
func (c plainConv) taps() int { return size(c.shape(filters)[1:]) }
