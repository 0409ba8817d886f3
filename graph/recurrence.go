package graph

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/tensor"
)

// Cell is a kind of recurrent cell with the order of its gates, which are stacked in its weights.
type Cell string

const (
	// LSTM has the gates input, forget, cell and output, as in PyTorch (Hochreiter and Schmidhuber 1997). Its states
	// are the hidden values h and the memory c.
	LSTM Cell = "lstm ifco"
	// LSTMOutputSecond is LSTM with the order of gates of ONNX.
	LSTMOutputSecond Cell = "lstm iofc"
	// GRU has the gates reset, update and new, as in PyTorch, and resets R·h + c (Cho and others 2014).
	GRU Cell = "gru rzn"
	// GRUUpdateFirst is GRU with the order of gates of ONNX.
	GRUUpdateFirst Cell = "gru zrn"
	// RNN is h' = tanh(u + R·h + c) (Elman 1990).
	RNN Cell = "tanh h"
	// RNNReLU is RNN with a rectifier instead of tanh.
	RNNReLU Cell = "relu h"
)

// split returns the kind and the gates, one letter each.
func (c Cell) split() (kind, gates string) {
	kind, gates, _ = strings.Cut(string(c), " ")
	return kind, gates
}

// Gates returns how many gates the cell has, 0 for an unknown cell.
func (c Cell) Gates() int {
	if !slices.Contains([]Cell{LSTM, LSTMOutputSecond, GRU, GRUUpdateFirst, RNN, RNNReLU}, c) {
		return 0
	}
	_, gates := c.split()
	return len(gates)
}

// States returns how many states a unit of the cell has: 2 for an LSTM, else 1.
func (c Cell) States() int {
	if kind, _ := c.split(); kind == "lstm" {
		return 2
	}
	return 1
}

// place returns where gate g comes in the stack of gates.
func (c Cell) place(g byte) int {
	_, gates := c.split()
	return strings.IndexByte(gates, g)
}

// recurrence runs a cell over the steps of sequences. Its operands are u [B,T,G·H], R [G·H,H], c [G·H]
// and, unless the states start at zero, the first states [B,S·H]. The derivative is a linear recurrence,
// see linearScan, so that all steps are one node in any derivative.
type recurrence struct {
	cell    Cell
	reverse bool // the steps run from the last to the first
}

func (r recurrence) Key() string { return fmt.Sprintf("recurrence %s reverse %t", r.cell, r.reverse) }

func (r recurrence) Shape(in []tensor.Shape) (tensor.Shape, error) {
	gates, states := r.cell.Gates(), r.cell.States()
	if gates == 0 {
		return nil, fmt.Errorf("unknown cell %q", string(r.cell))
	}
	u, own, bias := in[0], in[1], in[2]
	ok := len(u) == 3 && len(own) == 2 && own[0] == u[2] && own[0] == gates*own[1] && slices.Equal(bias, own[:1])
	if ok && len(in) > 3 {
		ok = slices.Equal(in[3], tensor.Shape{u[0], states * own[1]})
	}
	if !ok {
		return nil, fmt.Errorf("shapes %v, expected [B,T,%d·H], [%d·H,H], [%d·H] and first states [B,%d·H]", in, gates, gates, gates, states)
	}
	return tensor.Shape{u[0], u[1], states * own[1]}, nil
}

func (r recurrence) RowWise(batched []bool, _ []tensor.Shape) bool {
	return batched[0] && !batched[1] && !batched[2] && (len(batched) == 3 || batched[3])
}

// Neighbours: see TakesNeighbours.
func (recurrence) Neighbours() bool { return true }

// back is what the pullbacks of a recurrence share.
type back struct {
	linear
	before *Node // the states before each step, [B,T,S·H]
	lambda *Node // the cotangents of the states, [B·per,T,S·H]
	own    *Node // the cotangents of R·h + c, [B·per,T,G·H]
	input  *Node // the cotangents of u, [B·per,T,G·H]
}

// back writes the linear recurrence that runs against the steps.
func (r recurrence) back(b *Builder, in []*Node, out, ct *Node) back {
	s := linearScan{cell: r.cell, reverse: r.reverse, adjoint: true}
	var first *Node
	if len(in) > 3 {
		first = in[3]
	}
	p := back{before: s.before(b, out, first)}
	own := b.AddBias(b.MatMul(s.hidden(b, p.before), in[1], false, true), in[2])
	p.linear = r.cell.linear(b, in[0], own, out, p.before)
	p.lambda = b.Apply(s, p.operands(in[1], ct)...)
	stacked := s.gates(b, p.lambda)
	p.own, p.input = b.perRow(p.gains, stacked), b.perRow(p.inputGains, stacked)
	return p
}

func (r recurrence) Pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node {
	p := r.back(b, in, out, ct)
	s := linearScan{cell: r.cell, reverse: r.reverse}
	switch i {
	case 0:
		return p.input
	case 1:
		return b.MatMul(b.matrix(p.own), b.matrix(s.hidden(b, p.before)), true, false)
	case 2:
		return b.Reshape(b.SumTo(b.matrix(p.own), 1, in[1].Shape()[0]), in[1].Shape()[0])
	}
	return p.first(b, s, in[1])
}

// first returns the cotangent of the first states.
func (p *back) first(b *Builder, s linearScan, own *Node) *Node {
	at := 0
	if s.reverse {
		at = p.before.Shape()[1] - 1
	}
	step := func(x *Node) *Node {
		n := x.Shape()
		return b.Reshape(b.Slice(x, 1, at, at+1), n[0], n[2])
	}
	hidden := b.MatMul(step(p.own), own, false, false)
	if p.keep == nil {
		return hidden
	}
	kept := step(b.perRow(p.keep, s.carried(b, p.lambda)))
	if s.cell.States() == 1 {
		return b.Add(hidden, kept)
	}
	return b.Concat(1, hidden, kept)
}

// RowPullback: the rows of R are sums over the steps of outer products, and the rows of c are sums.
func (r recurrence) RowPullback(b *Builder, i int, in []*Node, out, ct *Node) (Outer, bool) {
	if i != 1 && i != 2 {
		return Outer{}, false
	}
	p := r.back(b, in, out, ct)
	if i == 1 {
		s := linearScan{cell: r.cell}
		return Outer{Right: matMul{transB: true}.sums(b, s.hidden(b, p.before), p.own)}, true
	}
	return Outer{Right: b.Reshape(b.SumAxis(p.own, 1), ct.Shape()[0], in[2].Shape()[0])}, true
}

// perRow multiplies rows x [B·per,…] by k [B,…], whose rows belong to per neighbours each.
func (b *Builder) perRow(k, x *Node) *Node {
	if b.err != nil || k.Shape()[0] == x.Shape()[0] {
		return b.Mul(k, x)
	}
	n, s := k.Shape(), x.Shape()
	split := b.Reshape(x, append([]int{n[0], s[0] / n[0]}, s[1:]...)...)
	return b.Reshape(b.Mul(b.Reshape(k, append([]int{n[0], 1}, n[1:]...)...), split), s...)
}

// Recurrence runs a recurrent cell with H units over the T steps of sequences, backwards if reverse is set.
// u [B,T,G·H] are the inputs of the gates of each step, W·x and a bias; R [G·H,H] and c [G·H] give R·h + c. first
// [B,S·H] are the states before the first step, zeros if it is nil. The result [B,T,S·H] has all states, for an LSTM
// the hidden values before the memory. Time and memory are linear in T.
func (b *Builder) Recurrence(cell Cell, reverse bool, u, r, c, first *Node) *Node {
	in := []*Node{u, r, c}
	if first != nil {
		in = append(in, first)
	}
	return b.Apply(recurrence{cell, reverse}, in...)
}
