package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Program computes chosen nodes of a graph, many times. Its order, its buffers and
// its loops are fixed when it is compiled, so a run allocates nothing, except in
// stock Gorgonia operations, which allocate in their own Do, and in functions of [Builder.Call].
//
// A Program is not safe for concurrent use; compile one for each goroutine.
type Program struct {
	m       machine
	outputs map[*Node]*tensor.Dense // the values of the outputs
	leaves  map[*Node]bool          // the nodes that the outputs depend on; true for leaves
	nodes   []*Node                 // the outputs in order
	exprs   []*expr                 // the outputs as expressions
	options Options                 // for twins
}

// Options change how a graph is compiled. The zero value recomputes everything.
type Options struct {
	// Varying lists the leaves that change from run to run. If it is not nil, what
	// depends on none of these leaves is computed in the first run only, until Refresh.
	Varying []*Node
}

// machine is a program for one element type.
type machine interface {
	bind(leaf *Node, v gorgonia.Value) error
	run() error
	refresh()
	prime() error
	bytes() int
	twinBytes(outputs []*expr, o Options) (int, error)
	twin(outputs []*expr, o Options) (machine, []*tensor.Dense, error)
	steps() (once, each int)
	flops() (once, each int)
}

// with makes p use a machine and its values.
func (p *Program) with(m machine, values []*tensor.Dense, err error) (*Program, error) {
	p.m, p.outputs = m, make(map[*Node]*tensor.Dense)
	for i, v := range values {
		p.outputs[p.nodes[i]] = v
	}
	return p, err
}

// twin compiles another program of the same outputs, which may run at the same time as p. It reads
// what is computed once from p's memory: see [Program.prime]. What was bound to p's leaves must be
// bound to the twin's leaves, too.
func (p *Program) twin() (*Program, error) {
	twin := *p
	return twin.with(p.m.twin(p.exprs, p.options))
}

// prime computes what is computed once, unless that has been done. It must be called before a program
// and its twins run at the same time.
func (p *Program) prime() error { return p.m.prime() }

// rewritten returns the expressions of outputs, which are among the nodes of order. panels is for takeOut.
func rewritten(order, outputs []*Node, o Options, panels bool) ([]*expr, error) {
	of, err := rewrite(order, o)
	if err != nil {
		return nil, err
	}
	exprs := make([]*expr, len(outputs))
	for i, n := range outputs {
		exprs[i] = of[n]
	}
	return takeOut(exprs, o, panels), nil
}

// Bind makes leaf read v, by reference: later changes of v's elements are seen.
// Shape and element type must equal the leaf's shape and element type.
func (p *Program) Bind(leaf *Node, v *tensor.Dense) error {
	switch isLeaf, used := p.leaves[leaf]; {
	case !used:
		return nil // the outputs do not depend on it
	case !isLeaf:
		return fmt.Errorf("graph: bind: node %v is computed, not a leaf", leaf.Name())
	case v == nil:
		return fmt.Errorf("graph: bind %q: the tensor is nil", leaf.Name())
	case !slices.Equal(v.Shape(), leaf.Shape()) || v.Dtype() != leaf.Dtype():
		return fmt.Errorf("graph: bind %q: expected %v of shape %v, found %v of shape %v",
			leaf.Name(), leaf.Dtype(), leaf.Shape(), v.Dtype(), v.Shape())
	}
	return p.m.bind(leaf, v)
}

// Run computes the outputs. An error of an operation, such as a
// *NotPositiveDefiniteError, is wrapped; the outputs are then undefined.
func (p *Program) Run() error { return p.m.run() }

// Refresh makes the next Run, of this program or of a twin, compute the parts again that are otherwise
// computed only once.
func (p *Program) Refresh() { p.m.refresh() }

// Value returns the value of an output as of the last Run: an array owned by the
// program, which the next Run overwrites. A scalar has shape [1]. Value panics if n
// is no output of the program.
func (p *Program) Value(n *Node) *tensor.Dense {
	v, ok := p.outputs[n]
	if !ok {
		panic(fmt.Sprintf("graph: node %v is not an output of the program", n))
	}
	return v
}

// Scalar returns the value of an output with one element as of the last Run.
func (p *Program) Scalar(n *Node) float64 {
	switch v := p.Value(n); v.Dtype() {
	case tensor.Float64:
		return v.Float64s()[0]
	default:
		return float64(v.Float32s()[0])
	}
}

// Bytes returns the memory that the program holds for intermediate values and
// outputs, leaves not counted.
func (p *Program) Bytes() int { return p.m.bytes() }

// twinBytes returns the memory that each [Program.twin] holds beside, planned as Plan does it.
func (p *Program) twinBytes() (int, error) { return p.m.twinBytes(p.exprs, p.options) }

// Steps returns how many operations run once, and how many in each Run.
func (p *Program) Steps() (once, each int) { return p.m.steps() }
