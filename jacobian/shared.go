package jacobian

import "github.com/go-valla/valla/graph"

// Behind a last convolution, of which averages over its places are taken, the cotangents of all
// outputs of an example are the same array times a number for each channel. So are the rows of the
// convolution's filters, δ_po ⊗ a = s_po (δ_o ⊗ a), of which one for each channel is enough:
//
//	(J J'ᵀ)_pp' = Σ_o s_po (r_o·r'_p'o).

// shared are such rows.
type shared struct {
	scale *graph.Node // [examples or 1,per,Out]
	own   *graph.Node // [examples,Out,·]
}

// sharedRows returns the rows u as such rows, and v with elements in the same order.
func sharedRows(b *graph.Builder, u, v *graph.Node) (*shared, *graph.Node, bool) {
	if b.Err() != nil || u.Shape()[1] < 2 {
		return nil, nil, false
	}
	scale, own, ok := graph.SharedRows(b, u)
	_, ordered := graph.Reordered(b, u, v)
	if !ok || ordered.Shape()[2] != u.Shape()[2] {
		return nil, nil, false
	}
	return &shared{scale, own}, ordered, true
}

// squares returns s_po |r_o|², [examples,per,Out].
func (s *shared) squares(b *graph.Builder) *graph.Node {
	n := s.own.Shape()
	return b.Mul(s.scale, b.Reshape(b.SumTo(b.Square(s.own), n[0], n[1], 1), n[0], 1, n[1]))
}

// every returns the scale of every example.
func (s *shared) every(b *graph.Builder) *graph.Node {
	return repeated(b, s.scale, s.own.Shape()[0], s.scale.Shape()[1], s.scale.Shape()[2])
}

// within pairs the rows of each example with each other: [B,per,per].
func (s *shared) within(b *graph.Builder, _ *graph.Node) *graph.Node {
	return b.MatMul(s.squares(b), s.every(b), false, true)
}

// alone pairs each row with itself: [B,per,1].
func (s *shared) alone(b *graph.Builder, _ *graph.Node) *graph.Node {
	return b.SumTo(b.Mul(s.squares(b), s.scale), s.own.Shape()[0], s.scale.Shape()[1], 1)
}

// across pairs every row with every row v [M,1,·]: [B,per,M].
func (s *shared) across(b *graph.Builder, v *graph.Node) *graph.Node {
	n, m := s.own.Shape(), v.Shape()[0]
	filters := b.Transpose(b.Reshape(v, m, n[1], n[2]), 1, 2, 0)
	dots := b.MatMul(b.Transpose(s.own, 1, 0, 2), filters, false, false) // [Out,B,M]
	return b.MatMul(s.every(b), b.Transpose(dots, 1, 0, 2), false, false)
}
