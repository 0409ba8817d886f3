package layers

import (
	"cmp"
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
)

// Recurrent describes recurrent layers, one above the other, for sequences [T,I], as PyTorch's LSTM, GRU and RNN:
// cells are the formulas and the order of gates. The outputs are the hidden values of the last layer [T,D·Units], with
// D = 2 for two directions.
type Recurrent struct {
	Name          string `json:"name,omitempty"`          // empty: recurrent1, recurrent2, …
	Cell          string `json:"cell"`                    // lstm, gru, rnn or rnn-relu
	Units         int    `json:"units"`                   // H, for each direction
	Layers        int    `json:"layers,omitempty"`        // 0: 1
	Bidirectional bool   `json:"bidirectional,omitempty"` // a second cell runs from the last step to the first
	Last          bool   `json:"last,omitempty"`          // the outputs are the hidden values after the last step of each direction, [D·Units]
}

// cells are the cells by their names.
var cells = map[string]graph.Cell{"lstm": graph.LSTM, "gru": graph.GRU, "rnn": graph.RNN, "rnn-relu": graph.RNNReLU}

// recurrent is the network that [Recurrent] describes.
type recurrent struct {
	levels    [][]direction // the directions of each layer
	describes Recurrent     // the description the network was made of
}

// direction is one cell, which runs in one direction.
type direction struct {
	cell         graph.Cell
	reverse      bool
	input, state *graph.Param // weights [G·H,I] and [G·H,H]
	biases       [2]*graph.Param
}

func init() { RegisterLayer[Recurrent]("recurrent") }

// Make implements Layer. The arrays have PyTorch's names: name.weight_ih_l0, name.weight_hh_l0, name.bias_ih_l0,
// name.bias_hh_l0, the same with _reverse, and l1, l2, … for further layers. They start from ±1/√Units.
func (l Recurrent) Make(m *Maker, in []int) (Network, []int, error) {
	cell, ok := cells[l.Cell]
	switch count := cmp.Or(l.Layers, 1); {
	case len(in) != 2:
		return nil, nil, expectSequences(in)
	case !ok:
		return nil, nil, fmt.Errorf("cell %q, expected lstm, gru, rnn or rnn-relu", l.Cell)
	case l.Units < 1 || count < 1 || count > 64:
		return nil, nil, fmt.Errorf("%d units in %d layers, expected at least 1 unit and 1 to 64 layers", l.Units, count)
	}
	l.Name = m.Name(l.Name, "recurrent")
	n, width, directions := recurrent{describes: l}, in[1], []bool{false}
	if l.Bidirectional {
		directions = append(directions, true)
	}
	for k := range cmp.Or(l.Layers, 1) {
		var level []direction
		for _, reverse := range directions {
			level = append(level, l.direction(m, cell, k, width, reverse))
		}
		n.levels, width = append(n.levels, level), l.Units*len(directions)
	}
	if l.Last {
		return n, []int{width}, nil
	}
	return n, []int{in[0], width}, nil
}

// direction makes the arrays of a cell of layer k.
func (l Recurrent) direction(m *Maker, cell graph.Cell, k, inputs int, reverse bool) direction {
	suffix := fmt.Sprintf("_l%d", k)
	if reverse {
		suffix += "_reverse"
	}
	rows, start := cell.Gates()*l.Units, Uniform(1/math.Sqrt(float64(l.Units)))
	array := func(name string, shape ...int) *graph.Param {
		return m.Param(l.Name+"."+name+suffix, start, shape...)
	}
	return direction{
		cell: cell, reverse: reverse, input: array("weight_ih", rows, inputs), state: array("weight_hh", rows, l.Units),
		biases: [2]*graph.Param{array("bias_ih", rows), array("bias_hh", rows)},
	}
}

// Forward implements Network: x [B,T,I] gives [B,T,D·H] or [B,D·H].
func (n recurrent) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	for i, level := range n.levels {
		var outputs []*graph.Node
		for _, d := range level {
			y := d.run(b, x)
			if n.describes.Last && i == len(n.levels)-1 {
				y = d.last(b, y)
			}
			outputs = append(outputs, y)
		}
		if x = outputs[0]; len(outputs) > 1 && b.Err() == nil {
			x = b.Concat(x.Dims()-1, outputs...)
		}
	}
	return x
}

// run returns the hidden values of all steps, [B,T,H].
func (d direction) run(b *graph.Builder, x *graph.Node) *graph.Node {
	u := b.AddBias(b.MatMul(x, b.Param(d.input), false, true), b.Param(d.biases[0]))
	states := b.Recurrence(d.cell, d.reverse, u, b.Param(d.state), b.Param(d.biases[1]), nil)
	if b.Err() != nil || d.cell.States() == 1 {
		return states
	}
	return b.Slice(states, 2, 0, states.Shape()[2]/d.cell.States())
}

// last returns the hidden values after the last step in this direction, [B,H].
func (d direction) last(b *graph.Builder, y *graph.Node) *graph.Node {
	if d.reverse {
		return PoolSteps{Take: "first"}.Forward(b, y)
	}
	return PoolSteps{Take: "last"}.Forward(b, y)
}

// Params implements Network.
func (n recurrent) Params() []*graph.Param {
	var all []*graph.Param
	for _, level := range n.levels {
		for _, d := range level {
			all = append(all, d.input, d.state, d.biases[0], d.biases[1])
		}
	}
	return all
}

// InFileOrder implements FileOrdered: all arrays.
func (n recurrent) InFileOrder() []*graph.Param { return n.Params() }

// Describe implements Describer.
func (n recurrent) Describe() (Layers, error) { return Layers{n.describes}, nil }
