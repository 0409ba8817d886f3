package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Node is a node of a Gorgonia expression graph.
type Node = gorgonia.Node

// Builder writes nodes into one expression graph.
//
// It keeps the first error: every method is a no-op that returns nil after it, so
// that a formula can be written without checking each line, and Err is asked once
// at the end.
type Builder struct {
	g       *gorgonia.ExprGraph
	dt      tensor.Dtype      // of all nodes
	err     error             // the first error
	params  map[string]*Param // the parameters in the graph by name
	index   *index            // finds leaves and places in the graph
	instead map[*Param]*Node  // nodes that Let put in the place of parameters
	convert bool              // a parameter of another element type enters the graph as a copy
	scope   string            // prefix of the names of parameters and constants, see Scope
}

// NewBuilder starts an empty graph whose nodes hold dt, tensor.Float32 or tensor.Float64.
func NewBuilder(dt tensor.Dtype) *Builder { return on(gorgonia.NewGraph(), dt) }

// NewConverting is NewBuilder for a graph that takes parameters of another element type
// too: the graph holds copies of these, with their values at the time of writing. Thus a network of
// float32 weights can be evaluated in float64.
func NewConverting(dt tensor.Dtype) *Builder {
	b := NewBuilder(dt)
	b.convert = true
	return b
}

// on returns a Builder that adds to an existing graph, for networks written
// directly in Gorgonia.
func on(g *gorgonia.ExprGraph, dt tensor.Dtype) *Builder {
	b := &Builder{g: g, dt: dt, params: map[string]*Param{}, instead: map[*Param]*Node{}, index: newIndex(g)}
	if dt != tensor.Float32 && dt != tensor.Float64 {
		b.Failf("graph: element type %v is neither float32 nor float64", dt)
	}
	return b
}

// of returns a Builder for the graph that n is in.
func of(n *Node) *Builder { return on(n.Graph(), n.Dtype()) }

// Graph returns the expression graph that b writes to.
func (b *Builder) Graph() *gorgonia.ExprGraph { return b.g }

// Dtype returns the element type of b's nodes.
func (b *Builder) Dtype() tensor.Dtype { return b.dt }

// Err returns the first error, or nil.
func (b *Builder) Err() error { return b.err }

// Failf makes the formatted error the error of b, unless b has one already. It returns nil, in
// place of a node.
func (b *Builder) Failf(format string, args ...any) *Node {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
	return nil
}

// Input adds a leaf that a Program binds before it runs. Names are unique in a
// graph: Gorgonia would silently merge two inputs of one name and shape.
func (b *Builder) Input(name string, shape ...int) *Node {
	if b.err != nil {
		return nil
	}
	if strings.Contains(name, ":") {
		return b.Failf("graph: input name %q: a colon is reserved for the graph's own leaves", name)
	}
	return b.leaf(name, nil, shape)
}

// Scope puts a prefix before the names of parameters and constants, after the prefixes that are there already, until end is
// called, so that parts of a graph may use equal names for different arrays.
func (b *Builder) Scope(prefix string) (end func()) {
	before := b.scope
	b.scope += prefix
	return func() { b.scope = before }
}

// Param returns the node of p in this graph, bound to p.Value by reference, but see
// [NewConverting].
func (b *Builder) Param(p *Param) *Node {
	if b.err != nil {
		return nil
	}
	if n := b.instead[p]; n != nil {
		return n
	}
	if p == nil || p.Value == nil {
		return b.Failf("graph: parameter %+v has no value", p)
	}
	name := b.scope + p.Name
	if other, ok := b.params[name]; ok && other != p {
		return b.Failf("graph: two different parameters are named %q", name)
	}
	if strings.HasPrefix(name, constPrefix) {
		return b.Failf("graph: parameter name %q: %q is reserved for constants", p.Name, constPrefix)
	}
	if _, ok := b.params[name]; ok {
		return b.index.leaf(name)
	}
	value := p.Value
	if got := value.Dtype(); got != b.dt {
		if !b.convert {
			return b.Failf("graph: parameter %q holds %v, the graph %v", p.Name, got, b.dt)
		}
		value = Convert(value, b.dt)
	}
	b.params[name] = p
	return b.leaf(name, value, value.Shape())
}

// Params returns the nodes of parameters, see [Builder.Param].
func (b *Builder) Params(ps []*Param) []*Node {
	nodes := make([]*Node, len(ps))
	for i, p := range ps {
		nodes[i] = b.Param(p)
	}
	return nodes
}

// Let makes Param give n for p from now on. A network that is written then has n in place of
// p, such as weights that are computed from others. The shapes must be equal.
func (b *Builder) Let(p *Param, n *Node) {
	if !b.usable("let", n) {
		return
	}
	if p == nil || p.Value == nil || !slices.Equal(p.Value.Shape(), n.Shape()) {
		b.Failf("graph: a node of shape %v in place of the parameter %+v, expected its shape", n.Shape(), p)
		return
	}
	b.instead[p] = n
}

// Const adds a leaf that holds the values v (row-major, len = product of shape).
// Its name identifies it: the same name with the same values is the same node, with
// others an error.
func (b *Builder) Const(name string, v []float64, shape ...int) *Node {
	if b.err != nil {
		return nil
	}
	if n := tensor.Shape(shape).TotalSize(); len(shape) == 0 || n != len(v) {
		return b.Failf("graph: constant %q: %d values for shape %v", name, len(v), shape)
	}
	n := b.constant("value "+b.scope+name, shape, func(to []float64) { copy(to, v) })
	if n != nil && !(slices.Equal(n.Shape(), shape) && sameBits(Floats(n.Value().(*tensor.Dense)), Floats(newDense(b.dt, v, shape)))) {
		return b.Failf("graph: two different constants are named %q", name)
	}
	return n
}

// sameBits reports whether the numbers are the same, NaN included.
func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// Fill returns a constant of the given shape, every element v.
func (b *Builder) Fill(v float64, shape ...int) *Node {
	name := fmt.Sprintf("fill %x %v", math.Float64bits(v), shape)
	return b.constant(name, shape, func(to []float64) { fillWith(to, v) })
}

// Eye returns the n×n identity.
func (b *Builder) Eye(n int) *Node {
	return b.constant(fmt.Sprintf("eye %d", n), []int{n, n}, func(to []float64) {
		for i := range n {
			to[i*n+i] = 1
		}
	})
}

// OneHot returns a [len(class), classes] constant whose row i is 1 at class[i], else 0.
func (b *Builder) OneHot(class []int, classes int) *Node {
	name := fmt.Sprintf("onehot %d %v", classes, class)
	for i, c := range class {
		if c < 0 || c >= classes {
			return b.Failf("graph: class[%d] = %d, want 0 ≤ class < %d", i, c, classes)
		}
	}
	return b.constant(name, []int{len(class), classes}, func(to []float64) {
		for i, c := range class {
			to[i*classes+c] = 1
		}
	})
}

// constant returns the leaf of that name. On first use, set sets its elements, which are zeros.
func (b *Builder) constant(name string, shape []int, set func(to []float64)) *Node {
	if b.err != nil {
		return nil
	}
	name = constPrefix + name
	if old := b.index.leaf(name); old != nil {
		return old
	}
	if len(shape) == 0 || !possible(shape) {
		return b.leaf(name, nil, shape)
	}
	v := make([]float64, size(shape))
	set(v)
	return b.leaf(name, newDense(b.dt, v, shape), shape)
}

const constPrefix = "const:"

// leaf adds a node without children, bound to v unless v is nil.
func (b *Builder) leaf(name string, v *tensor.Dense, shape []int) *Node {
	if len(shape) == 0 {
		return b.Failf("graph: leaf %q: shape has no dimension; use [1] for a scalar", name)
	}
	if !possible(shape) {
		return b.Failf("graph: leaf %q: shape %v is empty or too large", name, shape)
	}
	if b.index.leaf(name) != nil {
		return b.Failf("graph: two leaves are named %q", name)
	}
	opts := []gorgonia.NodeConsOpt{gorgonia.WithShape(shape...), gorgonia.WithName(name)}
	if v != nil {
		opts = append(opts, gorgonia.WithValue(v))
	}
	b.index.expect()
	return gorgonia.NewTensor(b.g, b.dt, len(shape), opts...)
}

// newDense copies v into a new tensor of the given element type.
func newDense(dt tensor.Dtype, v []float64, shape []int) *tensor.Dense {
	if dt == tensor.Float64 {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(append([]float64(nil), v...)))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(converted[float64, float32](v)))
}

// converted copies v to another element type, or the same.
func converted[T, U kernel.Float](v []T) []U {
	out := make([]U, len(v))
	for i, x := range v {
		out[i] = U(x)
	}
	return out
}

// possible reports whether an array can have this shape: the array has an element, and
// memory could hold its number of elements.
func possible(shape []int) bool {
	n := 1
	for _, d := range shape {
		if d < 1 || d > 1<<40/n {
			return false
		}
		n *= d
	}
	return true
}

// size is the number of elements of a shape; 1 for a scalar's.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
