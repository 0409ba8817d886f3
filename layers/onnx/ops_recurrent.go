package onnx

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
)

func init() {
	add(map[string]operator{
		"LSTM": recurrent(map[string]graph.Cell{"Sigmoid Tanh Tanh": graph.LSTMOutputSecond}),
		"GRU":  recurrent(map[string]graph.Cell{"Sigmoid Tanh": graph.GRUUpdateFirst}),
		"RNN":  recurrent(map[string]graph.Cell{"Tanh": graph.RNN, "Relu": graph.RNNReLU}),
	})
}

// recurrent runs a layer over the steps of the input X [S,B,I]. cells are the supported cells by
// their activations. The formulas are ONNX's.
func recurrent(cells map[string]graph.Cell) operator {
	return func(c *call) []value {
		c.only("layout", 0)
		if _, clipped := c.Attributes["clip"]; clipped || c.int("input_forget", 0) != 0 || c.has(7) {
			c.failf("clip, input_forget and peepholes are not supported")
		}
		if c.Op == "GRU" && c.int("linear_before_reset", 0) == 0 {
			c.failf("linear_before_reset = 0 is not supported, only 1, as PyTorch exports it")
		}
		x := c.batchFirst(c.value(0))
		if x.Dims() != 3 {
			c.failf("inputs of shape %v, expected [S,B,I]", x.Shape())
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
			states := c.direct(d, c.cell(cells, d, len(directions)), reverse, x)
			hidden := c.node(2).Shape()[2]
			end := c.b.Slice(states, 1, x.Shape()[1]-1, x.Shape()[1])
			if reverse {
				end = c.b.Slice(states, 1, 0, 1)
			}
			end = c.made(c.b.Reshape(end, end.Shape()[0], end.Shape()[2]))
			all = append(all, c.made(c.b.Slice(states, 2, 0, hidden)))
			last = append(last, c.made(c.b.Slice(end, 1, 0, hidden)))
			memory = append(memory, c.made(c.b.Slice(end, 1, end.Shape()[1]-hidden, end.Shape()[1])))
		}
		return c.recurrentOutputs(all, last, memory)
	}
}

// cell returns the cell of direction d, which its activations choose.
func (c *call) cell(cells map[string]graph.Cell, d, directions int) graph.Cell {
	texts := c.Attributes["activations"].Texts
	for activations, cell := range cells {
		want := strings.Fields(activations)
		n := len(want)
		switch {
		case len(texts) == 0 && cell != graph.RNNReLU, len(texts) == n*directions && slices.Equal(texts[d*n:(d+1)*n], want):
			return cell
		}
	}
	c.failf("activations %q, expected %q for each direction", texts, slices.Sorted(maps.Keys(cells)))
	return ""
}

// direct returns the states of all steps in direction d, [B,S,H] or, with a memory, [B,S,2·H].
func (c *call) direct(d int, cell graph.Cell, reverse bool, x *graph.Node) *graph.Node {
	batch, hidden := x.Shape()[0], c.node(2).Shape()[2]
	rows := cell.Gates() * hidden
	r, bias := c.direction(2, d, rows, hidden), c.b.Fill(0, rows)
	u := c.b.MatMul(x, c.direction(1, d, rows, x.Shape()[2]), false, true)
	if c.has(3) {
		both := c.direction(3, d, 2*rows)
		u, bias = c.b.AddBias(u, c.b.Slice(both, 0, 0, rows)), c.b.Slice(both, 0, rows, 2*rows)
	}
	var first *graph.Node
	if c.zero(5) && c.zero(6) {
		return c.made(c.b.Recurrence(cell, reverse, u, r, bias, nil))
	}
	var states []*graph.Node
	for i := range cell.States() {
		states = append(states, c.first(5+i, d, batch, hidden, u))
	}
	first = c.b.Concat(1, states...)
	return c.made(c.b.Recurrence(cell, reverse, u, r, bias, first))
}

// zero reports whether the states of input i are zeros.
func (c *call) zero(i int) bool {
	return !c.has(i) || c.value(i).host != nil && !slices.ContainsFunc(c.host(i).v, func(x float64) bool { return x != 0 })
}

// first returns the first states of input i, [B,H].
func (c *call) first(i, d, batch, hidden int, u *graph.Node) *graph.Node {
	if c.zero(i) {
		return c.made(c.b.Scale(c.b.Reshape(c.b.Slice(c.b.Slice(u, 1, 0, 1), 2, 0, hidden), batch, hidden), 0))
	}
	return c.direction(i, d, batch, hidden)
}

// batchFirst returns an array [S,B,...] as [B,S,...].
func (c *call) batchFirst(v value) *graph.Node {
	perm := c.axes(nil, len(v.shape()))
	if len(perm) < 2 {
		c.failf("shape %v, expected [S,B,...]", v.shape())
	}
	perm[0], perm[1] = 1, 0
	return c.asNode(c.transposed(v, perm)[0])
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

// recurrentOutputs returns Y [S,D,B,H], Y_h [D,B,H] and Y_c for D directions.
func (c *call) recurrentOutputs(all, last, memory []*graph.Node) []value {
	stack := func(parts []*graph.Node, axis int) *graph.Node {
		for i, p := range parts {
			s := p.Shape().Clone()
			parts[i] = c.b.Reshape(p, append(append(s[:axis:axis], 1), s[axis:]...)...)
		}
		return c.made(c.b.Concat(axis, parts...))
	}
	y := c.transposed(value{node: stack(all, 2), moved: true}, []int{1, 2, 0, 3})
	for _, states := range [][]*graph.Node{last, memory} {
		y = append(y, c.transposed(value{node: stack(states, 1), moved: true}, []int{1, 0, 2})...)
	}
	return y
}
