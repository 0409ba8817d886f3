package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// linearScan is the linearisation of a recurrent cell, run over all steps. With v_t the changes of the states
// after step t, and k, d and q the slopes of the cell at this step, an LSTM has
//
//	c_t = d_t c_{t−1} + Σ_{g≠o} k_gt (R h_{t−1})_g + w_ct,   h_t = q_t c_t + k_ot (R h_{t−1})_o + w_ht,
//
// and cells with one state have h_t = d_t h_{t−1} + Σ_g k_gt (R h_{t−1})_g + w_t, where d is 0 for the simplest cell.
// This is a linear system (1 − N) v = w. The adjoint solves the transposed system, from the last step to the first.
// Each is the derivative of the other, so that derivatives of any order are made of these two.
//
// The operands are k [B,T,G·H], R [G·H,H], w [B·per,T,S·H] and, where the cell has them, d and q [B,T,H]. Several
// rows of w, neighbours, share the slopes of a row.
type linearScan struct {
	cell             Cell
	reverse, adjoint bool // the steps of the cell run from the last to the first; the transposed system
}

// linear are the slopes of a cell at all steps.
type linear struct {
	gains      *Node // of the states in R·h + c, [B,T,G·H]
	inputGains *Node // of the states in u, [B,T,G·H]
	keep       *Node // of the carried state in itself, [B,T,H]; nil: 0
	shown      *Node // of the hidden values in the memory, [B,T,H]; nil: there is no memory
}

// operands returns the operands of a linearScan.
func (l linear) operands(r, w *Node) []*Node {
	in := []*Node{l.gains, r, w}
	for _, n := range []*Node{l.keep, l.shown} {
		if n != nil {
			in = append(in, n)
		}
	}
	return in
}

// linear returns the slopes of the cell where u and own = R·h + c are the two parts of its gates.
func (c Cell) linear(b *Builder, u, own, states, before *Node) linear {
	if b.err != nil {
		return linear{}
	}
	switch kind, _ := c.split(); kind {
	case "lstm":
		return c.linearLSTM(b, b.Add(u, own), states, before)
	case "gru":
		return c.linearGRU(b, u, own, before)
	case "relu":
		k := b.Step(states)
		return linear{gains: k, inputGains: k}
	}
	k := b.unitSlope(states)
	return linear{gains: k, inputGains: k}
}

// unitSlope is 1 − y², the slope of y = tanh(x).
func (b *Builder) unitSlope(y *Node) *Node { return b.Affine(b.Square(y), -1, 1) }

// logisticSlope is y(1 − y), the slope of y = σ(x).
func (b *Builder) logisticSlope(y *Node) *Node { return b.Sub(y, b.Square(y)) }

// third returns the i-th part of width h along axis 2.
func (b *Builder) third(x *Node, i, h int) *Node { return b.Slice(x, 2, i*h, (i+1)*h) }

// inOrder joins the values of gates in the order of the cell.
func (c Cell) inOrder(b *Builder, of map[byte]*Node) *Node {
	_, gates := c.split()
	parts := make([]*Node, len(gates))
	for i := range gates {
		parts[i] = of[gates[i]]
	}
	return b.Concat(2, parts...)
}

func (c Cell) linearLSTM(b *Builder, sum, states, before *Node) linear {
	h := states.Shape()[2] / 2
	gate := func(g byte) *Node { return b.third(sum, c.place(g), h) }
	in, forget, out, cell := b.Sigmoid(gate('i')), b.Sigmoid(gate('f')), b.Sigmoid(gate('o')), b.Tanh(gate('c'))
	shown := b.Tanh(b.third(states, 1, h))
	k := c.inOrder(b, map[byte]*Node{
		'i': b.Mul(cell, b.logisticSlope(in)),
		'f': b.Mul(b.third(before, 1, h), b.logisticSlope(forget)),
		'c': b.Mul(in, b.unitSlope(cell)),
		'o': b.Mul(shown, b.logisticSlope(out)),
	})
	return linear{gains: k, inputGains: k, keep: forget, shown: b.Mul(out, b.unitSlope(shown))}
}

func (c Cell) linearGRU(b *Builder, u, own, before *Node) linear {
	h := before.Shape()[2]
	gate := func(x *Node, g byte) *Node { return b.third(x, c.place(g), h) }
	reset, update := b.Sigmoid(b.Add(gate(u, 'r'), gate(own, 'r'))), b.Sigmoid(b.Add(gate(u, 'z'), gate(own, 'z')))
	fresh := b.Tanh(b.Add(gate(u, 'n'), b.Mul(reset, gate(own, 'n'))))
	slope := b.Mul(b.Affine(update, -1, 1), b.unitSlope(fresh))
	k := map[byte]*Node{
		'r': b.Mul(slope, b.Mul(gate(own, 'n'), b.logisticSlope(reset))),
		'z': b.Mul(b.Sub(before, fresh), b.logisticSlope(update)),
		'n': slope,
	}
	inputs := c.inOrder(b, k)
	k['n'] = b.Mul(slope, reset)
	return linear{gains: c.inOrder(b, k), inputGains: inputs, keep: update}
}

func (s linearScan) Key() string {
	return fmt.Sprintf("linear scan %s reverse %t adjoint %t", s.cell, s.reverse, s.adjoint)
}

func (s linearScan) Shape(in []tensor.Shape) (tensor.Shape, error) {
	k, r, w := in[0], in[1], in[2]
	ok := len(k) == 3 && len(r) == 2 && len(w) == 3 && r[0] == k[2] && r[0] == s.cell.Gates()*r[1] &&
		w[0]%k[0] == 0 && w[1] == k[1] && w[2] == s.cell.States()*r[1]
	for _, d := range in[3:] {
		ok = ok && slices.Equal(d, tensor.Shape{k[0], k[1], r[1]})
	}
	if !ok {
		return nil, fmt.Errorf("shapes %v do not fit", in)
	}
	return w, nil
}

func (s linearScan) RowWise(batched []bool, in []tensor.Shape) bool {
	return !batched[1] && !slices.Contains(slices.Delete(slices.Clone(batched), 1, 2), false) && in[0][0] == in[2][0]
}

func (s linearScan) Pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node {
	other := s
	other.adjoint = !s.adjoint
	args := slices.Clone(in)
	args[2] = ct
	lambda, v := b.Apply(other, args...), out
	if i == 2 {
		return lambda
	}
	if s.adjoint {
		lambda, v = out, lambda
	}
	if b.err != nil {
		return nil
	}
	rows := in[0].Shape()[0]
	switch i {
	case 0:
		return b.sumNeighbours(b.Mul(s.gates(b, lambda), b.MatMul(s.hidden(b, s.before(b, v, nil)), in[1], false, true)), rows)
	case 1:
		own := b.perRow(in[0], s.gates(b, lambda))
		return b.MatMul(b.matrix(own), b.matrix(s.hidden(b, s.before(b, v, nil))), true, false)
	case 3:
		return b.sumNeighbours(b.Mul(s.carried(b, lambda), s.carried(b, s.before(b, v, nil))), rows)
	}
	return b.sumNeighbours(b.Mul(s.hidden(b, lambda), s.carried(b, v)), rows)
}

// sumNeighbours adds the neighbours x [rows·per,…] to [rows,…].
func (b *Builder) sumNeighbours(x *Node, rows int) *Node {
	if b.err != nil || x.Shape()[0] == rows {
		return x
	}
	s := x.Shape().Clone()
	split := b.Reshape(x, append([]int{rows, s[0] / rows}, s[1:]...)...)
	s[0] = rows
	return b.Reshape(b.SumAxis(split, 1), s...)
}

// before returns the states before each step, of which first are those before the first, zeros if it is nil.
func (s linearScan) before(b *Builder, states, first *Node) *Node {
	if b.err != nil {
		return nil
	}
	n := states.Shape()
	if first == nil {
		first = b.Scale(b.Slice(states, 1, 0, 1), 0) // rows of its own for each example
	}
	first = b.Reshape(first, n[0], 1, n[2])
	switch {
	case n[1] == 1:
		return first
	case s.reverse:
		return b.Concat(1, b.Slice(states, 1, 1, n[1]), first)
	}
	return b.Concat(1, first, b.Slice(states, 1, 0, n[1]-1))
}

// hidden returns the hidden values of states [·,T,S·H], and carried the states that a step keeps a part of.
func (s linearScan) hidden(b *Builder, states *Node) *Node { return s.state(b, states, 0) }

func (s linearScan) carried(b *Builder, states *Node) *Node {
	return s.state(b, states, s.cell.States()-1)
}

func (s linearScan) state(b *Builder, states *Node, i int) *Node {
	if b.err != nil || s.cell.States() == 1 {
		return states
	}
	return b.third(states, i, states.Shape()[2]/2)
}

// gates returns for each gate the value of the state that it changes, [·,T,G·H].
func (s linearScan) gates(b *Builder, states *Node) *Node {
	parts := slices.Repeat([]*Node{s.carried(b, states)}, s.cell.Gates())
	if s.cell.States() == 2 {
		parts[s.cell.place('o')] = s.hidden(b, states)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return b.Concat(2, parts...)
}
