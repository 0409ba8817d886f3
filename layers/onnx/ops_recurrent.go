package onnx

import (
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
)

func init() {
	add(map[string]operator{
		"LSTM": recurrent(4, lstmStep, "Sigmoid", "Tanh", "Tanh"),
		"GRU":  recurrent(3, gruStep, "Sigmoid", "Tanh"),
		"RNN":  recurrent(1, rnnStep, "Tanh"),
	})
}

// maxSteps bounds the steps of a sequence, each of which has nodes of its own.
const maxSteps = 4096

// cell is one direction of a recurrent layer with H units. Its weights have the rows of the
// gates one below the other.
type cell struct {
	*call
	hidden    int         // H
	inputs    *graph.Node // W·x and its bias for all steps, [B,S,gates·H]
	weights   *graph.Node // R, [gates·H,H]
	bias      *graph.Node // of R·h, [1,gates·H], or nil
	h, memory *graph.Node // [B,H]
}

// step computes the state after one more step from the gates of the input, [B,gates·H].
type step func(c *cell, x *graph.Node)

// recurrent unrolls a layer over the steps of the input X [S,B,I] (Hochreiter and Schmidhuber
// 1997; Cho and others 2014). The formulas are ONNX's.
func recurrent(gates int, next step, activations ...string) operator {
	return func(c *call) []value {
		c.only("layout", 0)
		if a := c.Attributes["activations"]; len(a.Texts) > 0 && !strings.HasPrefix(strings.Repeat(strings.Join(activations, " ")+" ", 2), strings.Join(a.Texts, " ")) {
			c.failf("activations %q, expected %q", a.Texts, activations)
		}
		if _, clipped := c.Attributes["clip"]; clipped || c.int("input_forget", 0) != 0 || c.has(7) {
			c.failf("clip, input_forget and peepholes are not supported")
		}
		x := c.batchFirst(c.value(0))
		if x.Dims() != 3 || x.Shape()[1] > maxSteps {
			c.failf("inputs of shape %v, expected [S,B,I] and at most %d steps", x.Shape(), maxSteps)
		}
		for _, n := range c.optional(4, nil) {
			if n != x.Shape()[1] {
				c.failf("sequences of different lengths")
			}
		}
		directions := map[string][]bool{"forward": {false}, "reverse": {true}, "bidirectional": {false, true}}[c.text("direction", "forward")]
		if directions == nil || c.node(1).Dims() != 3 || c.node(2).Dims() != 3 || c.node(1).Shape()[0] != len(directions) {
			c.failf("direction %q with weights of shape %v", c.text("direction", "forward"), c.node(1).Shape())
		}
		var all, last, memory []*graph.Node
		for d, reverse := range directions {
			cell := c.cell(d, gates, x)
			all = append(all, cell.unroll(next, reverse))
			last, memory = append(last, cell.h), append(memory, cell.memory)
		}
		return c.recurrentOutputs(all, last, memory)
	}
}

// batchFirst returns an array [S,B,...] as [B,S,...].
func (c *call) batchFirst(v value) *graph.Node {
	perm := c.axes(nil, len(v.shape()))
	if len(perm) < 2 {
		c.failf("shape %v, expected [S,B,...]", v.shape())
	}
	perm[0], perm[1] = 1, 0
	return c.transposed(v, perm)[0].node
}

// direction returns the part of an input that belongs to direction d, with a shape.
func (c *call) direction(i, d int, shape ...int) *graph.Node {
	v := c.node(i)
	if v.Shape()[0] > 1 {
		v = c.b.Slice(v, 0, d, d+1)
	}
	if c.made(v).Shape().TotalSize() != product(shape) {
		c.failf("input %d has shape %v, expected %v for each direction", i+1, c.node(i).Shape(), shape)
	}
	return c.made(c.b.Reshape(v, shape...))
}

func (c *call) cell(d, gates int, x *graph.Node) *cell {
	s := c.node(2).Shape()
	hidden, batch := s[2], x.Shape()[0]
	rows := gates * hidden
	r := &cell{call: c, hidden: hidden}
	r.weights = c.direction(2, d, rows, hidden)
	r.inputs = c.b.MatMul(x, c.direction(1, d, rows, x.Shape()[2]), false, true)
	if c.has(3) {
		both := c.direction(3, d, 1, 2*rows)
		r.inputs = c.b.Add(r.inputs, c.b.Slice(both, 1, 0, rows))
		r.bias = c.b.Slice(both, 1, rows, 2*rows)
	}
	state := func(i int) *graph.Node {
		if !c.has(i) || c.value(i).host != nil && !slices.ContainsFunc(c.host(i).v, func(x float64) bool { return x != 0 }) {
			return c.b.Scale(c.b.Slice(c.b.Reshape(c.b.Slice(r.inputs, 1, 0, 1), batch, rows), 1, 0, hidden), 0)
		}
		return c.direction(i, d, batch, hidden)
	}
	r.h, r.memory = state(5), state(6)
	c.made(r.memory)
	return r
}

// unroll returns the states of all steps, [B,S,H].
func (r *cell) unroll(next step, reverse bool) *graph.Node {
	s := r.inputs.Shape()
	states := make([]*graph.Node, s[1])
	for k := range s[1] {
		at := k
		if reverse {
			at = s[1] - 1 - k
		}
		next(r, r.b.Reshape(r.b.Slice(r.inputs, 1, at, at+1), s[0], s[2]))
		states[at] = r.b.Reshape(r.made(r.h), s[0], 1, r.hidden)
	}
	return r.made(r.b.Concat(1, states...))
}

// recurrentOutputs returns Y [S,D,B,H], Y_h [D,B,H] and Y_c for D directions.
func (c *call) recurrentOutputs(all, last, memory []*graph.Node) []value {
	stack := func(parts []*graph.Node, axis int) *graph.Node {
		for i, p := range parts {
			s := p.Shape().Clone()
			parts[i] = c.b.Reshape(p, append(append(s[:axis:axis], 1), s[axis:]...)...)
		}
		return c.made(c.b.Concat(axis, parts...))
	}
	y := c.transposed(value{node: stack(all, 2)}, []int{1, 2, 0, 3})
	for _, states := range [][]*graph.Node{last, memory} {
		y = append(y, c.transposed(value{node: stack(states, 1)}, []int{1, 0, 2})...)
	}
	return y
}

// recurrence is R·h and its bias.
func (r *cell) recurrence() *graph.Node {
	y := r.b.MatMul(r.h, r.weights, false, true)
	if r.bias != nil {
		y = r.b.Add(y, r.bias)
	}
	return y
}

// gate returns the k-th part of a row of gates.
func (r *cell) gate(x *graph.Node, k int) *graph.Node {
	return r.b.Slice(x, 1, k*r.hidden, (k+1)*r.hidden)
}

// lstmStep has the gates input, output, forget and cell.
func lstmStep(r *cell, x *graph.Node) {
	b, sum := r.b, r.b.Add(x, r.recurrence())
	in, out, forget := b.Sigmoid(r.gate(sum, 0)), b.Sigmoid(r.gate(sum, 1)), b.Sigmoid(r.gate(sum, 2))
	r.memory = b.Add(b.Mul(forget, r.memory), b.Mul(in, b.Tanh(r.gate(sum, 3))))
	r.h = b.Mul(out, b.Tanh(r.memory))
}

// gruStep has the gates update, reset and hidden.
func gruStep(r *cell, x *graph.Node) {
	b, own := r.b, r.recurrence()
	update, reset := b.Sigmoid(b.Add(r.gate(x, 0), r.gate(own, 0))), b.Sigmoid(b.Add(r.gate(x, 1), r.gate(own, 1)))
	if r.int("linear_before_reset", 0) == 0 {
		r.failf("linear_before_reset = 0 is not supported, only 1, as PyTorch exports it")
	}
	candidate := b.Tanh(b.Add(r.gate(x, 2), b.Mul(reset, r.gate(own, 2))))
	r.h = b.Add(candidate, b.Mul(update, b.Sub(r.h, candidate)))
}

func rnnStep(r *cell, x *graph.Node) { r.h = r.b.Tanh(r.b.Add(x, r.recurrence())) }
