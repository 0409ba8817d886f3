package fmgp

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// points are N inputs with the network's outputs and features, in its element type. They are a
// train.Source of the rows [x, f, g].
type points struct {
	x *tensor.Dense // inputs, [N,…]
	f *tensor.Dense // inputs of the network's last dense layer, [N,E]; nil for E = 0
	g *tensor.Dense // outputs, [N,C]
}

// n is N, 0 without any.
func (p points) n() int {
	if p.g == nil {
		return 0
	}
	return p.g.Shape()[0]
}

// parts are the arrays that make a row, without f where there is none.
func (p points) parts() []*tensor.Dense {
	if p.f == nil {
		return []*tensor.Dense{p.x, p.g}
	}
	return []*tensor.Dense{p.x, p.f, p.g}
}

// width is the number of elements of a row of t.
func width(t *tensor.Dense) int { return t.Shape().TotalSize() / t.Shape()[0] }

// Shape implements train.Source: [N, D+E+C].
func (p points) Shape() tensor.Shape {
	all := 0
	for _, t := range p.parts() {
		all += width(t)
	}
	return tensor.Shape{p.n(), all}
}

// Load implements train.Source.
func (p points) Load(dst *tensor.Dense, rows []int, _ int) error {
	if dst.Dtype() == tensor.Float64 {
		load(dst.Float64s(), p.parts(), rows, (*tensor.Dense).Float64s)
	} else {
		load(dst.Float32s(), p.parts(), rows, (*tensor.Dense).Float32s)
	}
	return nil
}

// load puts rows of arrays of one element type beside each other.
func load[T kernel.Float](dst []T, parts []*tensor.Dense, rows []int, of func(*tensor.Dense) []T) {
	for _, r := range rows {
		for _, t := range parts {
			w := width(t)
			copy(dst, of(t)[r*w:(r+1)*w])
			dst = dst[w:]
		}
	}
}

// Identity implements train.Source.
func (p points) Identity() string {
	text := "points"
	for _, t := range p.parts() {
		text += " " + train.Checksum(t)
	}
	return text
}

// wide returns the points [x, f] from first to first+n−1 in float64, [n, D+E].
func (p points) wide(first, n int) *tensor.Dense {
	parts := p.parts()
	parts = parts[:len(parts)-1]
	all := p.Shape()[1] - width(p.g)
	out, at := make([]float64, n*all), 0
	for _, t := range parts {
		w := width(t)
		for i := range n {
			dense.Copy(out[i*all+at:i*all+at+w], t, (first+i)*w)
		}
		at += w
	}
	return tensor.New(tensor.WithShape(n, all), tensor.WithBacking(out))
}

// network computes points.
type network struct {
	each     *graph.Batched // outputs and features
	outputs  int            // C
	features int            // E
	same     bool           // the features are the inputs, as of a network of one layer
}

// newNetwork compiles a network for inputs of a shape, with its features or without, in as
// many rows at a time as the memory allows.
func newNetwork(net layers.Network, dt tensor.Dtype, shape []int, features bool, limit int64) (*network, error) {
	n, err := &network{}, error(nil)
	pass := networkPass(net, dt, shape, features)
	n.each, err = graph.NewBatchedWithin("fmgp: the outputs of the network", predictBatch, limit, func(size int) (graph.Pass, error) {
		p, err := pass(size)
		n.same = features && len(p.Outputs) == 1
		return p, err
	})
	if err != nil {
		return nil, err
	}
	switch n.outputs = n.each.Width(0); {
	case n.same:
		n.features = tensor.Shape(shape).TotalSize()
	case features:
		n.features = n.each.Width(1)
	}
	return n, nil
}

// networkPass writes the network's outputs and, where they are wanted and are not the inputs, its features.
func networkPass(net layers.Network, dt tensor.Dtype, shape []int, features bool) func(size int) (graph.Pass, error) {
	return func(size int) (graph.Pass, error) {
		b := graph.NewBuilder(dt)
		x := b.Input("x", append([]int{size}, shape...)...)
		out := writeNetwork(b, net, x, features)
		if features && b.Err() == nil && graph.Unshaped(out[1]) == x {
			out = out[:1]
		}
		return graph.Pass{Builder: b, X: x, Outputs: out}, b.Err()
	}
}

// writeNetwork writes the outputs [B,C] at x [B,…] and, where they are wanted, the features
// [B,E].
func writeNetwork(b *graph.Builder, net layers.Network, x *graph.Node, features bool) []*graph.Node {
	out := []*graph.Node{net.Forward(b, x)}
	if features {
		out = append(out, lastInputs(b, net, x))
	}
	return out
}

// lastInputs are the inputs of the network's last dense layer at x [B,…], [B,E]: the factor
// that the outputs of an example share in the Jacobian of that layer's weights.
func lastInputs(b *graph.Builder, net layers.Network, x *graph.Node) *graph.Node {
	factors := jacobian.NTK{Net: net}.Factors(b, x)
	if b.Err() != nil {
		return nil
	}
	for _, uses := range slices.Backward(factors) {
		if len(uses) == 1 && uses[0].Left != nil && uses[0].Left.Shape()[0] == x.Shape()[0] {
			return uses[0].Left
		}
	}
	if h := beforeDense(b, net, x); h != nil || b.Err() != nil {
		return h
	}
	return b.Failf("fmgp: the network has no dense layer, whose inputs are the features of the kernel embedding; expected kernel rbf")
}

// beforeDense are the inputs [B,E] of the last part of the network that is a dense layer, nil if there is none.
func beforeDense(b *graph.Builder, net layers.Network, x *graph.Node) *graph.Node {
	parts, err := layers.Chain(net, x.Shape()[1:], b.Dtype())
	if err != nil {
		return b.Failf("fmgp: %w", err)
	}
	var found *graph.Node
	for _, p := range parts {
		if _, ok := p.(layers.Affine); ok && x.Dims() == 2 {
			found = x
		}
		if x = p.Forward(b, x); b.Err() != nil {
			return nil
		}
	}
	return found
}

// points returns the points of inputs x [N,…] and calls tell after each batch. If they need more than
// limit bytes beside the inputs, the error is a *graph.MemoryError; 0 is no limit.
func (w *network) points(ctx context.Context, x *tensor.Dense, limit int64, tell func(done, total int)) (points, error) {
	if x.Dims() < 2 || x.Shape()[0] < 1 {
		return points{}, fmt.Errorf("inputs have shape %v, expected [N,…]", x.Shape())
	}
	n, dt, computed := x.Shape()[0], x.Dtype(), w.outputs
	if !w.same {
		computed += w.features
	}
	if need := int64(n) * int64(computed) * int64(dt.Size()); limit > 0 && need > limit {
		return points{}, &graph.MemoryError{What: "fmgp: the network's outputs and features", Need: need, Limit: limit}
	}
	p := points{x: x, g: tensor.New(tensor.Of(dt), tensor.WithShape(n, w.outputs))}
	switch {
	case w.same:
		p.f = dense.Rows(x, 0, n)
	case w.features > 0:
		p.f = tensor.New(tensor.Of(dt), tensor.WithShape(n, w.features))
	}
	err := w.each.Each(ctx, x, func(first, rows int, out []*tensor.Dense) error {
		dense.Put(p.g, first, out[0], 0, rows)
		if len(out) > 1 {
			dense.Put(p.f, first, out[1], 0, rows)
		}
		tell(first+rows, n)
		return nil
	})
	if err != nil {
		return points{}, err
	}
	for _, t := range p.parts()[1:] {
		if i, v := graph.FirstNonFinite(t); i >= 0 {
			return points{}, fmt.Errorf("row %d (counting from 0): the network gives %g", i/width(t), v)
		}
	}
	return p, nil
}
