package valla

import (
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// inputs computes what a part of a mini-batch needs of the network and the kernel, and the
// gradient for the inducing inputs Z. One program does both, since they share the network's
// Jacobians: between the two it hands the values to natural.part, which answers with the
// cotangents of k̂ and K̂_z, and the program pulls these back to Z.
type inputs struct {
	all     [3]*tensor.Dense // inputs, targets and variances beside the layer's of all examples
	part    [3]*tensor.Dense // inputs, targets and variances of a part
	program *graph.Program   // computes out
	out     *graph.Node      // the gradient of a part, or, where Z is fixed, nothing of interest

	size  int  // examples in a part
	parts int  // of a mini-batch, of equal size
	moves bool // Z moves between steps, and what belongs to it is computed with the first part of each
	// afterwards says that the gradient for Z is taken after the step of T and not before
	// it. This is better where the step is large, since T before it belongs to an older Z,
	// but possible only where a mini-batch has one part.
	afterwards bool

	ask   request // what the program asks of natural.part
	found *sums   // its answer
}

// newInputs compiles the program for as large a part of a mini-batch as the memory allows.
func (n *natural) newInputs(e gp.Examples) (*inputs, error) {
	g, size, err := n.partGraph(e.X.Shape(), n.draws.size)
	if err != nil {
		return nil, err
	}
	return n.compiled(g, size, e)
}

// compiled compiles the program of a graph for parts of size examples.
func (n *natural) compiled(g *inputsGraph, size int, e gp.Examples) (in *inputs, err error) {
	in = &inputs{all: [3]*tensor.Dense{e.X, e.Y, n.orZeros(n.others.train, e.N())}, out: g.out, size: size, parts: n.draws.size / size}
	in.afterwards, in.moves = in.parts == 1, g.moves
	if in.program, err = g.draft.Compile(); err != nil {
		return nil, err
	}
	for i, leaf := range g.leaves {
		in.part[i] = tensor.New(tensor.Of(n.dt), tensor.WithShape(leaf.Shape()...))
		if err := in.program.Bind(leaf, in.part[i]); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// orZeros returns the given variances, which are added to the layer's at rows examples, or zeros [rows,C] where
// given is nil.
func (n *natural) orZeros(given *tensor.Dense, rows int) *tensor.Dense {
	if given != nil {
		return given
	}
	return tensor.New(tensor.Of(n.dt), tensor.WithShape(rows, n.outputs))
}

// partGraph returns the graph of a part of a mini-batch of so many examples, and the examples of a part: as many as the memory
// allows. Parts keep what belongs to Z from the first to the last where this takes fewer operations, although the
// memory for it makes parts smaller.
func (n *natural) partGraph(shape tensor.Shape, batch int) (g *inputsGraph, size int, err error) {
	if g, size, err = n.largestPart(shape, batch, false); err != nil || size == batch || n.s.FixInducing {
		return g, size, err
	}
	h, few, err := n.largestPart(shape, batch, true)
	if err == nil && h.stepCost(batch/few).Each.Products < g.stepCost(batch/size).Each.Products {
		return h, few, nil
	}
	return g, size, nil
}

// largestPart returns the graph of the largest part of a mini-batch that the memory allows.
func (n *natural) largestPart(shape tensor.Shape, batch int, held bool) (g *inputsGraph, size int, err error) {
	size, _, err = graph.Tile("a natural-gradient step", batch, n.memory, func(size int) (int64, error) {
		var err error
		if g, err = n.inputsGraph(shape, size, held); err != nil {
			return 0, err
		}
		return g.draft.Bytes(), nil
	})
	return g, size, err
}

// inputsGraph is the graph of a part of a mini-batch.
type inputsGraph struct {
	b      *graph.Builder // the graph
	leaves [3]*graph.Node // inputs, targets and variances of a part
	z, out *graph.Node    // inducing inputs, and what the program computes
	held   bool           // z is the same in several runs, and what belongs to it alone is computed in the first of them
	moves  bool           // z is held from part to part and moves between steps
	draft  *graph.Draft   // of the program
}

func (g *inputsGraph) options() graph.Options {
	if g.held {
		return graph.Options{Varying: g.leaves[:]}
	}
	return graph.Options{Varying: append(g.leaves[:], g.z)}
}

// inputsGraph writes the network and the kernel at size examples of inputs [N,…] into a
// graph and, unless Z is fixed, the pullback to Z. With held, Z and its Jacobian stay from run to run until a refresh.
func (n *natural) inputsGraph(shape tensor.Shape, size int, held bool) (*inputsGraph, error) {
	b, l, c := graph.NewBuilder(n.dt), n.layer, n.outputs
	x, y, beside := b.Input("x", append([]int{size}, shape[1:]...)...), b.Input("y", size, n.width*c), b.Input("beside", size, c)
	g := &inputsGraph{b: b, leaves: [3]*graph.Node{x, y, beside}, z: b.Param(l.Z), held: n.s.FixInducing || held, moves: held && !n.s.FixInducing}
	mean := n.p.Net.Forward(b, x)
	kernel, each := n.rowsOf(b, mean, y)
	diag, cross, gram := gp.Variances(kernel, b, x), kernel.Cross(b, x, g.z, l.Class), l.Kernel.Gram(b, g.z, l.Class)
	if b.Err() == nil && (len(mean.Shape()) != 2 || mean.Shape()[1] != c) {
		b.Failf("the network maps to shape %v, the targets have shape %v", mean.Shape(), y.Shape())
	}
	rows, m := 0, l.Inducing()
	if !n.s.FixInducing {
		rows = size*each + m
	}
	g.out = b.Call("natural gradient", []int{max(rows, 1), m}, n.answer, mean, y, diag, cross, gram, beside)
	if !n.s.FixInducing {
		k, kz := b.Reshape(b.Slice(g.out, 0, 0, size*each), size, each, m), b.Slice(g.out, 0, size*each, rows)
		g.out = graph.VJP(b, []*graph.Node{cross, gram}, []*graph.Node{k, kz}, []*graph.Node{g.z})[0]
	}
	var err error
	g.draft, err = graph.NewDraft(b, []*graph.Node{g.out}, g.options())
	return g, err
}

// rowsOf returns the kernel of the outputs whose rows a step computes at examples with outputs
// mean and targets y, and how many of each example they are.
func (n *natural) rowsOf(b *graph.Builder, mean, y *graph.Node) (gp.Kernel, int) {
	if n.picks == nil {
		return n.layer.Kernel, n.outputs
	}
	seeds := b.Call("choice of outputs", []int{y.Shape()[0], n.picks.each, n.outputs}, n.pick, mean, y)
	return n.layer.Kernel.(jacobian.NTK).Combined(seeds), n.picks.each
}

// answer is called by the program with the network's outputs [b,C], targets [b,W·C], the
// diagonals of κ̂ [b,K], k̂ [b,K,M], K̂_z [M,M] and the variances beside the layer's [b,C], and returns the
// cotangents of k̂ and K̂_z. It overwrites k̂, which is a copy of its own.
func (n *natural) answer(in [][]float64) (cotangents []float64, err error) {
	v := values{mean: in[0], y: in[1], diag: in[2], k: in[3], gram: in[4], beside: in[5]}
	n.inputs.found, cotangents, err = n.part(n.inputs.ask, v)
	return cotangents, err
}

// stepFlops returns the operations of products of a step.
func (in *inputs) stepFlops() int {
	once, each := in.program.Flops()
	if !in.moves {
		once = 0
	}
	return once + in.parts*each
}

// run loads a part and runs the program. Z may have moved before the first part of a mini-batch.
func (in *inputs) run(rows []int, first bool, ask request) (*sums, error) {
	if first && in.moves {
		in.program.Refresh()
	}
	for i, to := range in.part {
		if err := (train.Rows{All: in.all[i]}).Load(to, rows, 0); err != nil {
			return nil, err
		}
	}
	in.ask, in.found = ask, nil
	err := in.program.Run()
	return in.found, err
}

// addGradient adds the gradient of the last part to sum, the gradient of the parts before, or
// overwrites sum.
func (in *inputs) addGradient(sum *tensor.Dense, overwrite bool) {
	switch v := in.program.Value(in.out); {
	case v.Dtype() == tensor.Float64:
		addTo(sum.Float64s(), v.Float64s(), overwrite)
	default:
		addTo(sum.Float32s(), v.Float32s(), overwrite)
	}
}

// addTo adds v to sum, or overwrites sum.
func addTo[T kernel.Float](sum, v []T, overwrite bool) {
	if overwrite {
		copy(sum, v)
		return
	}
	kernel.Add(sum, sum, v)
}

// cotangents returns the cotangents of k̂ and K̂_z of the objective at rung i. They belong to the
// T of its spectrum or, where inputs.afterwards says so and the step makes this spectrum stale, to T after its step,
// which is kept in out.
func (n *natural) cotangents(i int, out *sums, e values, m marginals, ask request) (_ []float64, err error) {
	p := out.spectra[i]
	if n.inputs.afterwards {
		if out.lead, err = n.target(i, p, out.t[i], ask.pace); err != nil {
			return nil, err
		}
		if stale(out.change + out.lead.change) {
			if p, err = n.ladder.lookAhead(p, out.lead.t); err != nil {
				return nil, err
			}
			if m, err = n.marginals(i, p, e, ask.weights); err != nil {
				return nil, err
			}
		}
	}
	return p.cotangents(n.ladder.scale(i), m.lambda, m.w), nil
}
