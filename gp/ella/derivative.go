package ella

import (
	"fmt"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// along writes φ = J(x) v [B,C,K] for the outputs out [B,C] of a network at x and the rows
// of v [K,P]: by a forward pass for each direction or by a reverse pass for each output,
// whichever are fewer. Of ResNet-20, C = 10 and K = 20, the second takes about half the time.
func along(b *graph.Builder, net layers.Network, x, out *graph.Node, v *tensor.Dense) *graph.Node {
	if v.Shape()[0] > out.Shape()[1] {
		return byReverse(b, net, x, out, v)
	}
	return byForward(b, net, out, v)
}

// byForward is the network's derivative along each direction.
func byForward(b *graph.Builder, net layers.Network, out *graph.Node, v *tensor.Dense) *graph.Node {
	wrt, s := params(b, net), out.Shape()
	var all []*graph.Node
	for k := range v.Shape()[0] {
		d := graph.JVP(b, []*graph.Node{out}, wrt, tangents(b, net, v, k))[0]
		all = append(all, b.Reshape(d, 1, s[0], s[1]))
	}
	return b.Transpose(b.Concat(all...), 1, 2, 0)
}

// tangents are row k of v [K,P] in parts of the shapes of the network's parameters.
func tangents(b *graph.Builder, net layers.Network, v *tensor.Dense, k int) []*graph.Node {
	var nodes []*graph.Node
	at := k * v.Shape()[1]
	for i, p := range net.Params() {
		name := fmt.Sprintf("direction %d of parameter %d", k, i)
		nodes = append(nodes, b.Param(&graph.Param{Name: name, Value: view(v, at, p.Value.Shape())}))
		at += p.Value.Shape().TotalSize()
	}
	return nodes
}

// view is an array of a shape that shares the elements of v from one on.
func view(v *tensor.Dense, from int, shape tensor.Shape) *tensor.Dense {
	to := from + shape.TotalSize()
	if v.Dtype() == tensor.Float64 {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v.Float64s()[from:to:to]))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v.Float32s()[from:to:to]))
}

// byReverse multiplies the rows of the Jacobian by v. They are sums of outer products, which
// are multiplied without being formed.
func byReverse(b *graph.Builder, net layers.Network, x, out *graph.Node, v *tensor.Dense) *graph.Node {
	n, c, k := out.Shape()[0], out.Shape()[1], v.Shape()[0]
	directions := b.Param(&graph.Param{Name: "directions", Value: v})
	uses := jacobian.NTK{Net: net}.Factors(b, x)
	sum, at := b.Fill(0, 1, 1, 1), 0
	for i, own := range uses {
		size := net.Params()[i].Value.Shape().TotalSize()
		for _, u := range own {
			sum = b.Add(sum, times(b, u, b.Slice(directions, 1, at, at+size), n))
		}
		at += size
	}
	return b.BroadcastTo(sum, n, c, k)
}

// times is (l⊗r)·v_k = lᵀ V_k r for each row of the factors l and r and each row of
// v [K, l·r], [B, 1 or C, K]. The factor of fewer rows, [B,·] rather than [B·C,·], is
// multiplied first.
func times(b *graph.Builder, u graph.Outer, v *graph.Node, n int) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	k := v.Shape()[0]
	if u.Left == nil {
		return b.Reshape(b.MatMul(u.Right, v, false, true), n, u.Right.Shape()[0]/n, k)
	}
	first, second, order := u.Left, u.Right, []int{1, 0, 2}
	if first.Shape()[0] > second.Shape()[0] {
		first, second, order = second, first, []int{2, 0, 1}
	}
	rows, width := first.Shape()[0], second.Shape()[1]
	turned := b.Transpose(b.Reshape(v, k, u.Left.Shape()[1], u.Right.Shape()[1]), order...)
	half := b.MatMul(first, b.Reshape(turned, first.Shape()[1], k*width), false, false)
	per := second.Shape()[0] / rows
	both := b.MatMul(b.Reshape(second, rows, per, width), b.Reshape(half, rows, k, width), false, true)
	return b.Reshape(both, n, rows*per/n, k)
}
