package ella

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// PredictBatch is how many inputs have their features computed at a time. Where that needs
// more memory than the limit, a whole fraction of it is computed at a time.
const PredictBatch = 100

// features computes the network g(x) and φ(x) = J(x) v for any number of inputs.
type features struct {
	f    *graph.Batched
	c, k int
	held int64 // bytes
}

// newFeatures compiles the features for inputs of a shape each and directions v [K,P].
func newFeatures(net layers.Network, input []int, v *tensor.Dense, limit int64) (*features, error) {
	out := &features{k: v.Shape()[0]}
	var b *graph.Builder
	var x *graph.Node
	var nodes []*graph.Node
	_, bytes, err := graph.Tile("ella: the features of inputs", PredictBatch, max(1, limit), func(size int) (int64, error) {
		b = graph.NewBuilder(v.Dtype())
		x = b.Input("x", append([]int{size}, input...)...)
		nodes = write(b, net, x, v)
		bytes, err := graph.Plan(b, nodes, graph.Options{Varying: []*graph.Node{x}})
		return int64(bytes), err
	})
	if err != nil {
		return nil, err
	}
	if s := nodes[0].Shape(); len(s) != 2 || s[0] != x.Shape()[0] {
		return nil, fmt.Errorf("the network maps shape %v to %v, expected [B,…] to [B,C]", x.Shape(), s)
	}
	if out.f, err = graph.NewBatched(b, x, nodes...); err != nil {
		return nil, err
	}
	out.f.Limit(limit)
	out.c, out.held = nodes[0].Shape()[1], bytes
	return out, nil
}

// write adds the network at x to a graph, and its derivatives along the rows of v: nodes
// [B,C], the network first.
func write(b *graph.Builder, net layers.Network, x *graph.Node, v *tensor.Dense) []*graph.Node {
	out := net.Forward(b, x)
	wrt := params(b, net)
	nodes := []*graph.Node{out}
	for k := range v.Shape()[0] {
		nodes = append(nodes, graph.JVP(b, []*graph.Node{out}, wrt, tangents(b, net, v, k))...)
	}
	return nodes
}

// tangents are row k of v [K,P] in parts of the shapes of the network's parameters.
func tangents(b *graph.Builder, net layers.Network, v *tensor.Dense, k int) []*graph.Node {
	var nodes []*graph.Node
	at := k * v.Shape()[1]
	for i, p := range net.Params() {
		shape := p.Value.Shape()
		end := at + shape.TotalSize()
		var part *tensor.Dense
		if v.Dtype() == tensor.Float64 {
			part = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v.Float64s()[at:end:end]))
		} else {
			part = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v.Float32s()[at:end:end]))
		}
		nodes = append(nodes, b.Param(&graph.Param{Name: fmt.Sprintf("direction %d of parameter %d", k, i), Value: part}))
		at = end
	}
	return nodes
}

// each calls visit, batch by batch in order, with the number of the first input, the
// network's outputs [n,C] and the features [n,C,K]. The slices are visit's to keep.
func (f *features) each(ctx context.Context, x *tensor.Dense, visit func(first int, mean, phi []float64) error) error {
	if x.Dims() < 2 || slices.Min(x.Shape()) == 0 {
		return errors.New("0 inputs, expected [N,…], N ≥ 1")
	}
	return f.f.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		mean, phi := graph.Floats(out[0])[:n*f.c], make([]float64, n*f.c*f.k)
		for k, d := range out[1:] {
			if d.Dtype() == tensor.Float64 {
				spread(phi[k:], d.Float64s()[:n*f.c], f.k)
			} else {
				spread(phi[k:], d.Float32s()[:n*f.c], f.k)
			}
		}
		return visit(first, mean, phi)
	})
}

// spread copies src to every step-th element of dst.
func spread[T float32 | float64](dst []float64, src []T, step int) {
	for i, v := range src {
		dst[i*step] = float64(v)
	}
}
