package graph_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
)

// recurrenceCases have every cell, in both directions, with and without first states, and their derivatives,
// which are recurrences of their own.
func recurrenceCases() (cases []graphtest.Case) {
	const batch, steps, units = 2, 3, 2
	for k, cell := range []graph.Cell{graph.LSTM, graph.LSTMOutputSecond, graph.GRU, graph.GRUUpdateFirst, graph.RNN, graph.RNNReLU} {
		reverse, gates := k%2 == 1, cell.Gates()
		for _, shapes := range [][][]int{
			{{batch, steps, gates * units}, {gates * units, units}, {gates * units}},
			{{batch, steps, gates * units}, {gates * units, units}, {gates * units}, {batch, cell.States() * units}},
		} {
			build := func(b *builder, in []*node) *node {
				first := (*node)(nil)
				if len(in) > 3 {
					first = in[3]
				}
				return b.Recurrence(cell, reverse, in[0], in[1], in[2], first)
			}
			cases = append(cases, graphtest.Case{
				NoONNX: true, Name: fmt.Sprintf("recurrence %s with %d operands", cell, len(shapes)), Shapes: shapes, Shape: []int{batch, steps, cell.States() * units},
				Build: build,
				Naive: func(in arrays) []float64 { return naiveRecurrence(cell, reverse, in, batch, steps, units) },
			})
		}
	}
	return append(cases, stepSumCases()...)
}

// stepSumCases: Jacobian rows of weights that steps share, with several rows for each example on either side.
func stepSumCases() (cases []graphtest.Case) {
	for _, transposed := range []bool{false, true} {
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprint("sums over steps ", transposed), Shapes: [][]int{{2, 3, 2}, {4, 3, 5}}, Shape: []int{4, 10},
			Build: func(b *builder, in []*node) *node {
				w := b.Const("w", make([]float64, 10), 2, 5)
				if transposed {
					w = b.Const("v", make([]float64, 10), 5, 2)
				}
				y := b.MatMul(in[0], w, false, transposed)
				o, _ := graph.RowPullback(b, y.Op(), 1, []*node{in[0], w}, y, in[1])
				return o.Right
			},
			Naive: func(in arrays) []float64 {
				rows := make([]float64, 40)
				for r := range 4 {
					for t := range 3 {
						for i := range 2 {
							for k := range 5 {
								to := i*5 + k
								if transposed {
									to = k*2 + i
								}
								rows[r*10+to] += in[0][(r/2*3+t)*2+i] * in[1][(r*3+t)*5+k]
							}
						}
					}
				}
				return rows
			},
		})
	}
	return cases
}

// naiveRecurrence runs the cell one number at a time.
func naiveRecurrence(cell graph.Cell, reverse bool, in arrays, batch, steps, units int) []float64 {
	states, width := cell.States(), cell.Gates()*units
	y := make([]float64, batch*steps*states*units)
	for row := range batch {
		old := make([]float64, states*units)
		if len(in) > 3 {
			copy(old, in[3][row*states*units:])
		}
		for k := range steps {
			at := k
			if reverse {
				at = steps - 1 - k
			}
			u, own := in[0][(row*steps+at)*width:], make([]float64, width)
			for g := range own {
				own[g] = in[2][g]
				for i := range units {
					own[g] += in[1][g*units+i] * old[i]
				}
			}
			old = naiveCell(string(cell), u, own, old, units)
			copy(y[(row*steps+at)*states*units:], old)
		}
	}
	return y
}

func naiveCell(cell string, u, own, old []float64, units int) []float64 {
	kind, gates, _ := strings.Cut(cell, " ")
	sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	now := make([]float64, len(old))
	for i := range units {
		at := func(g string) int { return strings.Index(gates, g)*units + i }
		sum := func(g string) float64 { return u[at(g)] + own[at(g)] }
		switch kind {
		case "lstm":
			now[units+i] = sigma(sum("f"))*old[units+i] + sigma(sum("i"))*math.Tanh(sum("c"))
			now[i] = sigma(sum("o")) * math.Tanh(now[units+i])
		case "gru":
			z := sigma(sum("z"))
			now[i] = (1-z)*math.Tanh(u[at("n")]+sigma(sum("r"))*own[at("n")]) + z*old[i]
		case "tanh":
			now[i] = math.Tanh(sum("h"))
		case "relu":
			now[i] = max(0, sum("h"))
		}
	}
	return now
}
