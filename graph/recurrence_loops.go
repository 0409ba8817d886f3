package graph

import (
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// steps runs the steps of a recurrence, linear or not. Threads share the rows of the batch, and each runs all steps
// of its rows.
type steps[T kernel.Float] struct {
	rows, count   int // rows of the result, and steps T
	units, gates  int // H and G
	states        int // S
	per           int // neighbours that share a row of the operands
	first, last   int // the first step and the last
	panels        []T // R in the order in which products read it, see kernel.Panels
	own           []T // R·h of the step at hand, or, in the adjoint system, the products of the step before it, [rows,G·H]
	wide          int // columns of the products with R
	y             []T
	x             [][]T
	adjoint       bool
	start         int                                    // the operand with the states before the first step, 0 if these are zeros
	each          func(s *steps[T], row, at, before int) // one step of one row; before is −1 at the first step
	output, carry int                                    // the place of the output gate, −1 if there is none, and of the carried state
}

// newSteps lays out the steps of a cell. Its result has the shape out.
func newSteps[T kernel.Float](c Cell, reverse, adjoint bool, operands, out tensor.Shape, each func(s *steps[T], row, at, before int)) *steps[T] {
	s := &steps[T]{rows: out[0], count: out[1], gates: c.Gates(), states: c.States(), per: out[0] / operands[0], adjoint: adjoint, each: each}
	s.units, s.carry, s.output = out[2]/s.states, s.states-1, -1
	if s.states == 2 {
		s.output = c.place('o')
	}
	if s.last = s.count - 1; reverse != adjoint {
		s.first, s.last = s.last, 0
	}
	inner := s.units
	if s.wide = s.gates * s.units; adjoint {
		inner, s.wide = s.wide, inner
	}
	s.panels, s.own = make([]T, kernel.PanelsLen(inner, s.wide)), make([]T, s.rows*s.gates*s.units)
	return s
}

func (s *steps[T]) run(y []T, x [][]T) error {
	s.y, s.x = y, x
	width := s.gates * s.units
	if s.adjoint {
		kernel.Panels(false, width, s.units, x[1], s.units, s.panels)
	} else {
		kernel.Panels(true, s.units, width, x[1], s.units, s.panels)
	}
	work := s.rows * s.count * (width*s.units + stackCall)
	kernel.Share(kernel.Parts(s.rows, work, stackWork), kernel.Nanoseconds(work), s)
	return nil
}

// Run implements kernel.Job.
func (s *steps[T]) Run(part, parts int) {
	from, to := s.rows*part/parts, s.rows*(part+1)/parts
	before, forward := -1, 1
	if s.last < s.first {
		forward = -1
	}
	for at := s.first; ; at += forward {
		s.recur(from, to, at, before)
		for row := from; row < to; row++ {
			s.each(s, row, at, before)
		}
		if before = at; at == s.last {
			return
		}
	}
}

// recur multiplies the states before a step by R for rows from…to−1, or, in the adjoint system, adds the products
// of the step before it, times Rᵀ, to the result.
func (s *steps[T]) recur(from, to, at, before int) {
	width, all := s.gates*s.units, s.states*s.units
	switch own := s.own[from*width:]; {
	case s.adjoint && before >= 0:
		// The result has the carried parts as well, which the step adds.
		kernel.GemmPanels(false, to-from, s.units, width, own, width, s.panels, s.y[(from*s.count+at)*all:], s.count*all)
	case s.adjoint:
	case before >= 0:
		kernel.GemmPanels(false, to-from, width, s.units, s.y[(from*s.count+before)*all:], s.count*all, s.panels, own, width)
	case s.start > 0:
		kernel.GemmPanels(false, to-from, width, s.units, s.x[s.start][from*all:], all, s.panels, own, width)
	default:
		clear(own[:(to-from)*width])
	}
}

// state returns state i of a row of the result after the step at.
func (s *steps[T]) state(v []T, row, at, i int) []T {
	k := ((row*s.count+at)*s.states + i) * s.units
	return v[k : k+s.units : k+s.units]
}

// slopes returns the values of an operand [B,T,n] for a row of the result at a step.
func (s *steps[T]) slopes(v []T, row, at, n int) []T {
	k := (row/s.per*s.count + at) * n
	return v[k : k+n : k+n]
}

// gate returns part g of values that are stacked by gates.
func (s *steps[T]) gate(v []T, g int) []T { return v[g*s.units : (g+1)*s.units : (g+1)*s.units] }

// mulAdd adds a∘b to y.
func mulAdd[T kernel.Float](y, a, b []T) { kernel.MulAdd(y, a, b, y) }

// Flops implements counted.
func (r recurrence) Flops(in []tensor.Shape, out tensor.Shape) int { return r.cell.flops(in[1], out) }

// Flops implements counted.
func (s linearScan) Flops(in []tensor.Shape, out tensor.Shape) int { return s.cell.flops(in[1], out) }

// flops counts the products with R [G·H,H] and ten operations for each gate.
func (c Cell) flops(r, out tensor.Shape) int { return out[0]*out[1]*r[0]*2*r[1] + c.gateFlops(r, out) }

// gateFlops counts ten operations for each gate.
func (Cell) gateFlops(r, out tensor.Shape) int { return out[0] * out[1] * r[0] * 10 }

func (s linearScan) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: linearLoop[float32](s, in, out), F64: linearLoop[float64](s, in, out)}
}

func linearLoop[T kernel.Float](s linearScan, in []tensor.Shape, out tensor.Shape) func(y []T, x [][]T) error {
	if s.adjoint {
		return newSteps(s.cell, s.reverse, true, in[0], out, adjointStep[T]).run
	}
	return newSteps(s.cell, s.reverse, false, in[0], out, linearStep[T]).run
}

// linearStep computes the states of one row after one step, see linearScan.
func linearStep[T kernel.Float](s *steps[T], row, at, before int) {
	width := s.gates * s.units
	k, own := s.slopes(s.x[0], row, at, width), s.own[row*width:(row+1)*width]
	carried := s.state(s.y, row, at, s.carry)
	copy(carried, s.state(s.x[2], row, at, s.carry))
	if before >= 0 && len(s.x) > 3 {
		mulAdd(carried, s.slopes(s.x[3], row, at, s.units), s.state(s.y, row, before, s.carry))
	}
	for g := range s.gates {
		if g != s.output {
			mulAdd(carried, s.gate(k, g), s.gate(own, g))
		}
	}
	if s.states == 2 {
		hidden := s.state(s.y, row, at, 0)
		copy(hidden, s.state(s.x[2], row, at, 0))
		mulAdd(hidden, s.slopes(s.x[4], row, at, s.units), carried)
		mulAdd(hidden, s.gate(k, s.output), s.gate(own, s.output))
	}
}

// adjointStep computes the cotangents of the states of one row after the step at. The steps run backwards, so that
// before is the step after it.
func adjointStep[T kernel.Float](s *steps[T], row, at, before int) {
	width := s.gates * s.units
	hidden, carried := s.state(s.y, row, at, 0), s.state(s.y, row, at, s.carry)
	if w := s.state(s.x[2], row, at, 0); before >= 0 {
		kernel.Add(hidden, hidden, w)
	} else {
		copy(hidden, w)
	}
	if s.states == 2 {
		copy(carried, s.state(s.x[2], row, at, 1))
		mulAdd(carried, s.slopes(s.x[4], row, at, s.units), hidden)
	}
	if before >= 0 && len(s.x) > 3 {
		mulAdd(carried, s.slopes(s.x[3], row, before, s.units), s.state(s.y, row, before, s.carry))
	}
	k, own := s.slopes(s.x[0], row, at, width), s.own[row*width:(row+1)*width]
	for g := range s.gates {
		of := carried
		if g == s.output {
			of = hidden
		}
		kernel.Mul(s.gate(own, g), s.gate(k, g), of)
	}
}
