package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/raw"
)

// The opsets whose operators are known.
const (
	minOpset = 11
	maxOpset = 24
)

// value is what a name in the graph stands for: a node, or a constant.
type value struct {
	node *graph.Node // nil for a constant
	host *host       // nil for a node
	// node is the transpose of origin, if this is not nil; see ordered.
	origin *graph.Node
	perm   []int // axis d of node is axis perm[d] of origin
	// node is single [1,…] repeated for all examples, if this is not nil.
	single *graph.Node
	// rows are the elements with the examples first, if those of node are [before,B,…], and nil if they are [B,…]; see byRows.
	rows   *graph.Node
	before int
	kind   kind // what is known of the elements
	moved  bool // the elements depend on the inputs
}

func (v value) shape() []int {
	if v.host != nil {
		return v.host.shape
	}
	return v.node.Shape()
}

// run writes the graph for the inputs x [B,...] into b's graph and returns the output. array
// returns the node of an array of weights. seen, if not nil, is called with the number of each
// node, its call and its outputs.
func (g Graph) run(b *graph.Builder, x *graph.Node, array func(Array) *graph.Node, seen func(i int, c *call, out []value)) (*graph.Node, error) {
	if b.Err() != nil {
		return nil, b.Err()
	}
	values, err := g.known(b, x, array)
	if err != nil {
		return nil, err
	}
	constants := 0 // elements of all computed constants
	for i := range g.Nodes {
		n := &g.Nodes[i]
		c := &call{b: b, Node: n, opset: g.Opset, fixed: g.Batch, batch: x.Shape()[0], narrow: g.Narrow, examplesFirst: g.ExamplesFirst}
		for _, name := range n.Inputs {
			c.in = append(c.in, values[name])
		}
		out, err := c.do()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.at(i), err)
		}
		if seen != nil {
			seen(i, c, out)
		}
		for k, name := range n.Outputs[:min(len(n.Outputs), len(out))] {
			values[name] = out[k]
			constants += out[k].host.size()
		}
		if constants > 4*maxHost {
			return nil, fmt.Errorf("%s: the constants have more than %d elements", g.at(i), 4*maxHost)
		}
	}
	y, ok := values[g.Output]
	if !ok || y.node == nil {
		return nil, fmt.Errorf("the output %q does not depend on the input and the weights", g.Output)
	}
	return g.ended(b, y.node, x.Shape()[0]), b.Err()
}

// ended returns an output as the network's. An output [B] becomes [B,1].
func (g Graph) ended(b *graph.Builder, y *graph.Node, batch int) *graph.Node {
	if y.Dims() == 1 && y.Shape()[0] == batch {
		y = b.Reshape(y, batch, 1)
	}
	if g.Narrow {
		y = b.Narrow(y)
	}
	return y
}

// known returns the values that the first node may take: the input x, the arrays and the constants.
func (g Graph) known(b *graph.Builder, x *graph.Node, array func(Array) *graph.Node) (map[string]value, error) {
	values, err := g.ends(b, x)
	if err != nil {
		return nil, err
	}
	for name, v := range g.seeds {
		values[name] = v
	}
	for _, a := range g.Arrays {
		values[a.Name] = value{node: array(a)}
	}
	for _, c := range g.Constants {
		h, err := c.host()
		if err != nil {
			return nil, err
		}
		values[c.Name] = value{host: h, kind: kindOf(c.Type)}
	}
	return values, nil
}

// call is one use of an operator.
type call struct {
	*Node
	b             *graph.Builder // the graph that is written
	opset         int            // of the file
	fixed, batch  int            // numbers of examples, in the file (0: free) and now
	narrow        bool           // see Graph.Narrow
	examplesFirst bool           // see Graph.ExamplesFirst
	in            []value        // values of the inputs
	err           error          // the error that ended the operator
}

// do carries the operator out. A helper that fails panics with errStop, which do recovers. What else breaks off, at a damaged file, is
// an error, too.
func (c *call) do() (out []value, err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errStop:
			out, err = nil, c.err
		default:
			out, err = nil, fmt.Errorf("the operator broke off: %.200q", fmt.Sprint(r))
		}
	}()
	if out = c.apart(); out == nil {
		out = operators[c.Op](c)
	}
	for i := range out {
		out[i].kind = c.output(i)
		out[i].moved = out[i].node != nil && slices.ContainsFunc(c.in, func(v value) bool { return v.moved })
	}
	return out, c.b.Err()
}

// errStop ends an operator whose error is noted.
var errStop = errors.New("stop")

// failf notes an error and ends the operator.
func (c *call) failf(format string, args ...any) {
	c.err = fmt.Errorf(format, args...)
	panic(errStop)
}

// must returns a result, or ends the operator with its error.
func must[T any](c *call, v T, err error) T {
	if err != nil {
		c.failf("%w", err)
	}
	return v
}

// try is must for constants.
func (c *call) try(h *host, err error) *host { return must(c, h, err) }

// made ends the operator if a node could not be made.
func (c *call) made(n *graph.Node) *graph.Node {
	if c.b.Err() != nil {
		c.failf("%w", c.b.Err())
	}
	return n
}

// has says whether the node has input i, which may be optional.
func (c *call) has(i int) bool {
	return i < len(c.in) && i < len(c.Inputs) && c.Inputs[i] != "" && (c.in[i].node != nil || c.in[i].host != nil)
}

// value returns input i, or ends the operator if the node has no such input.
func (c *call) value(i int) value {
	if !c.has(i) {
		c.failf("input %d is missing", i+1)
	}
	return c.in[i]
}

// host returns input i as a constant, or ends the operator if the input is a node.
func (c *call) host(i int) *host {
	v := c.value(i)
	if v.host == nil {
		c.failf("input %d depends on the examples or the weights, expected a constant", i+1)
	}
	return v.host
}

// number returns the only element of input i, a constant, which what names in messages.
func (c *call) number(i int, what string) float64 {
	v, ok := c.host(i).scalar()
	if !ok {
		c.failf("%s of shape %v, expected one number", what, c.host(i).shape)
	}
	return v
}

// node returns an input as a node.
func (c *call) node(i int) *graph.Node { return c.asNode(c.value(i)) }

func (c *call) asNode(of value) *graph.Node {
	if of.node != nil {
		return of.node
	}
	shape := of.host.shape
	if len(shape) == 0 {
		shape = []int{1}
	}
	if n, err := raw.Count(shape, maxHost); err != nil || n == 0 {
		c.failf("a constant of shape %v", shape)
	}
	v, h := slices.Clone(of.host.v), fnv.New64a()
	for i, x := range v {
		if math.IsInf(x, 0) {
			v[i] = math.Copysign(c.largest(), x) // keeps 0·∞ out of derivatives
		}
		h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v[i])))
	}
	return c.made(c.b.Const(fmt.Sprintf("onnx %x %v", h.Sum64(), shape), v, shape...))
}

// largest is a number that takes the place of infinity.
func (c *call) largest() float64 {
	if c.b.Dtype() == tensor.Float32 {
		return 1e30
	}
	return 1e300
}

// rows reports whether axis 0 of a value is that of the examples, as far as its extent tells.
func (c *call) rows(v value) bool {
	return (v.moved || v.single != nil) && v.node != nil && v.rows == nil && v.node.Dims() > 0 && v.node.Shape()[0] == c.batch
}

// constant says whether all inputs are constants.
func (c *call) constant() bool {
	for i := range c.in {
		if c.has(i) && c.in[i].host == nil {
			return false
		}
	}
	return true
}

func (c *call) int(name string, standard int) int {
	if a, ok := c.Attributes[name]; ok {
		return int(a.Int)
	}
	return standard
}

func (c *call) float(name string, standard float64) float64 {
	if a, ok := c.Attributes[name]; ok {
		return a.Float
	}
	return standard
}

func (c *call) text(name, standard string) string {
	if a, ok := c.Attributes[name]; ok {
		return a.Text
	}
	return standard
}

// ints returns a list of numbers, nil if there is none.
func (c *call) ints(name string) []int {
	a, ok := c.Attributes[name]
	if !ok {
		return nil
	}
	out := make([]int, len(a.Ints))
	for i, n := range a.Ints {
		out[i] = int(max(min(n, math.MaxInt32), math.MinInt32))
	}
	return out
}

// list returns numbers that are an attribute or, in newer opsets, an input.
func (c *call) list(name string, input int) []int { return c.optional(input, c.ints(name)) }

// optional returns the numbers of a constant input, or missing if the node does not have the input.
func (c *call) optional(input int, missing []int) []int {
	if c.has(input) {
		return c.host(input).ints()
	}
	return missing
}

// table returns a constant of a shape whose last two axes are rows and columns. All other axes have the
// extent 1.
func (c *call) table(shape []int, element func(i, j int) float64) *host {
	rows, columns := shape[len(shape)-2], shape[len(shape)-1]
	if rows*columns > maxHost {
		c.failf("images of %d×%d", rows, columns)
	}
	h := &host{shape: shape, v: make([]float64, rows*columns)}
	for k := range h.v {
		h.v[k] = element(k/columns, k%columns)
	}
	return h
}

// along returns a shape of n axes, of which one has the given extent and the others the extent 1.
func along(n, axis, extent int) []int {
	shape := slices.Repeat([]int{1}, n)
	shape[axis] = extent
	return shape
}

// axis returns an axis of n, which may count from the end.
func (c *call) axis(axis, n int) int {
	if axis < -n || axis >= n {
		c.failf("axis %d of %d", axis, n)
	}
	return (axis + n) % n
}

// axes returns axes of n in ascending order; all if the list is empty.
func (c *call) axes(list []int, n int) []int {
	var out []int
	for _, a := range list {
		out = append(out, c.axis(a, n))
	}
	if len(list) == 0 {
		for d := range n {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inOrder returns different axes of n in the order of a list; all if there is no list.
func (c *call) inOrder(list []int, n int) []int {
	if list == nil {
		return c.axes(nil, n)
	}
	out := make([]int, len(list))
	for i, a := range list {
		if out[i] = c.axis(a, n); slices.Contains(out[:i], out[i]) {
			c.failf("axes %v of %d, expected each once", list, n)
		}
	}
	return out
}

// outputs counts the outputs that have a name.
func (c *call) outputs() (n int) {
	for _, name := range c.Outputs {
		if name != "" {
			n++
		}
	}
	return n
}

// only ends the operator unless an attribute has the only supported value, want.
func (c *call) only(name string, want int) {
	if got := c.int(name, want); got != want {
		c.failf("%s = %d is not supported, only %d", name, got, want)
	}
}

func nodes(n ...*graph.Node) []value {
	out := make([]value, len(n))
	for i, x := range n {
		out[i] = value{node: x}
	}
	return out
}

func hosts(h *host) []value { return []value{{host: h}} }
