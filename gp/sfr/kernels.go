package sfr

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// predictBatch is how many inputs are computed at a time. Where that needs more memory than
// the limit, a whole fraction of it is computed at a time.
const predictBatch = 100

// convertAtOnce is how many inputs are converted to float64 at a time.
const convertAtOnce = 10 * predictBatch

// kernels computes what the Gaussian processes need of a network, in float64: its outputs
// and the tangent kernel, without σ₀², at inputs and between inputs and points. There are C
// parts, of which part c is output c at each point, or with joint outputs a single part, of
// all outputs at each point.
type kernels struct {
	net     layers.Network // the network g
	points  *tensor.Dense  // z [M,…] of the network's element type
	input   tensor.Shape   // of one example
	outputs int            // C
	joint   bool           // all outputs are one Gaussian process

	z     *graph.Param   // the points as the program takes them
	at    int            // number of the part that z has the points of; −1: none
	batch *graph.Batched // computes values of a part at inputs
}

// newKernels compiles the kernels. They need at most limit bytes.
func newKernels(net layers.Network, points *tensor.Dense, outputs int, joint bool, limit int64) (*kernels, error) {
	k := &kernels{net: net, points: points, input: points.Shape()[1:].Clone(), outputs: outputs, joint: joint, at: -1}
	k.z = &graph.Param{Name: "points", Value: k.inputs(points, 0, joint)}
	limit = max(1, limit-dense.Bytes(k.z.Value))
	var err error
	k.batch, err = graph.NewBatchedWithin("a batch of inputs", predictBatch, limit, func(size int) (graph.Pass, error) {
		return k.write(k.z, size)
	})
	if err != nil {
		return nil, fmt.Errorf("sfr: %w", err)
	}
	return k, nil
}

// write writes the outputs and the kernel of size inputs, and that with the points z.
func (k *kernels) write(z *graph.Param, size int) (graph.Pass, error) {
	b := graph.NewConverting(tensor.Float64)
	x := b.Input("x", append([]int{size}, k.inputShape()...)...)
	of := jacobian.NTK{Net: k.network()}
	nodes := []*graph.Node{of.Net.Forward(b, x), of.Diag(b, x), of.Cross(b, x, b.Param(z), dense.Cycle(k.size(), k.width()))}
	if b.Err() != nil {
		return graph.Pass{}, b.Err()
	}
	if s := nodes[0].Shape(); !slices.Equal(s, []int{size, k.width()}) {
		return graph.Pass{}, fmt.Errorf("the network maps %d inputs to shape %v, expected [%d,%d]", size, s, size, k.width())
	}
	return graph.Pass{Builder: b, X: x, Outputs: nodes, Beside: 8 * int64(nodes[2].Shape().TotalSize())}, nil
}

// parts is the number of Gaussian processes.
func (k *kernels) parts() int {
	if k.joint {
		return 1
	}
	return k.outputs
}

// width is the number of outputs of a part.
func (k *kernels) width() int { return k.outputs / k.parts() }

// size is the number of inducing variables of a part: with joint outputs variable m·C + c
// belongs to output c at point m.
func (k *kernels) size() int { return k.points.Shape()[0] * k.width() }

// first is the first output of a part.
func (k *kernels) first(part int) int { return part * k.width() }

func (k *kernels) picked() gp.Picked {
	return gp.Picked{Net: k.net, Input: k.input, Outputs: k.outputs}
}

// network is the network of a part.
func (k *kernels) network() layers.Network {
	if k.joint {
		return k.net
	}
	return k.picked()
}

// inputShape is the shape of an input of network.
func (k *kernels) inputShape() []int {
	if k.joint {
		return k.input
	}
	return []int{k.input.TotalSize() + k.outputs}
}

// inputs returns x [n,…] as the network of a part takes it, in float64. each repeats every
// input for each output.
func (k *kernels) inputs(x *tensor.Dense, part int, each bool) *tensor.Dense {
	n := x.Shape()[0]
	if !k.joint {
		return k.picked().Inputs(x, slices.Repeat([]int{part}, n), tensor.Float64)
	}
	if !each {
		return graph.Convert(x, tensor.Float64)
	}
	in, v := graph.Floats(x), make([]float64, 0, x.Shape().TotalSize()*k.outputs)
	for row := range slices.Chunk(in, len(in)/n) {
		v = append(v, slices.Repeat(row, k.outputs)...)
	}
	return dense.Of(v, append([]int{n * k.outputs}, k.input...)...)
}

// move puts the points of a part where the program reads them.
func (k *kernels) move(part int) {
	if k.at != part {
		copy(k.z.Value.Float64s(), k.inputs(k.points, part, k.joint).Float64s())
		k.batch.Refresh()
		k.at = part
	}
}

// values hold what a part has at n inputs, of which the first has the number first. O is the number
// of outputs of the part, and M is the number of its inducing variables.
type values struct {
	first, n    int       // number of the first input, and number of inputs
	mean        []float64 // the network's outputs [n·O]
	diag, cross []float64 // the kernel [n,O,O] and [n·O,M]
}

// each calls visit with the values of a part at inputs x [N,…], batch by batch in order. The
// slices are visit's to keep.
func (k *kernels) each(ctx context.Context, part int, x *tensor.Dense, visit func(values) error) error {
	if err := k.check(x); err != nil {
		return err
	}
	k.move(part)
	o, m := k.width(), k.size()
	for start := 0; start < x.Shape()[0]; start += convertAtOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := k.inputs(dense.Rows(x, start, min(start+convertAtOnce, x.Shape()[0])), part, false)
		err := k.batch.Each(ctx, some, func(first, n int, out []*tensor.Dense) error {
			return visit(values{
				first: start + first, n: n, mean: graph.Floats(out[0])[:n*o],
				diag: graph.Floats(out[1])[:n*o*o], cross: graph.Floats(out[2])[:n*o*m],
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if x is not a batch of inputs.
func (k *kernels) check(x *tensor.Dense) error {
	if err := dense.CheckRows(x); err != nil {
		return err
	}
	if !slices.Equal(x.Shape()[1:], k.input) {
		return fmt.Errorf("inputs have shape %v, expected [N,…] with %v for each of N ≥ 1 examples", x.Shape(), k.input)
	}
	return nil
}

// gram returns the kernel among the inducing variables of a part, [M,M].
func (k *kernels) gram(ctx context.Context, part int) ([]float64, error) {
	var all []float64
	err := k.each(ctx, part, k.points, func(v values) error {
		all = append(all, v.cross...)
		return nil
	})
	m := k.size()
	for i := range len(all) / max(1, m) {
		for j := range i {
			mean := (all[i*m+j] + all[j*m+i]) / 2
			all[i*m+j], all[j*m+i] = mean, mean
		}
	}
	return all, err
}

// among returns the kernel among all outputs of a part at all inputs x [N,…], [N·O,N·O].
func (k *kernels) among(part int, x *tensor.Dense) ([]float64, error) {
	b := graph.NewConverting(tensor.Float64)
	at := b.Param(&graph.Param{Name: "x", Value: k.inputs(x, part, true)})
	gram := jacobian.NTK{Net: k.network()}.Gram(b, at, dense.Cycle(x.Shape()[0]*k.width(), k.width()))
	values, err := graph.Evaluate(b, gram)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}
