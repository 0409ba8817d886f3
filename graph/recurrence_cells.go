package graph

import (
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

func (r recurrence) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: recurrenceLoop[float32](r, in, out), F64: recurrenceLoop[float64](r, in, out)}
}

func recurrenceLoop[T kernel.Float](r recurrence, in []tensor.Shape, out tensor.Shape) func(y []T, x [][]T) error {
	next := map[string]func(c Cell, s *steps[T], row, at, before int){"lstm": lstmStep[T], "gru": gruStep[T], "tanh": plainStep[T], "relu": plainStep[T]}
	kind, _ := r.cell.split()
	f := next[kind]
	s := newSteps(r.cell, r.reverse, false, in[0], out, func(s *steps[T], row, at, before int) { f(r.cell, s, row, at, before) })
	if len(in) > 3 {
		s.start = 3
	}
	return s.run
}

// earlier returns state i of a row before the step at hand, nil if it is zero.
func (s *steps[T]) earlier(row, before, i int) []T {
	switch k := (row*s.states + i) * s.units; {
	case before >= 0:
		return s.state(s.y, row, before, i)
	case s.start > 0:
		return s.x[s.start][k : k+s.units : k+s.units]
	}
	return nil
}

// sums returns R·h + c of a row and, at the step, the inputs of its gates.
func (s *steps[T]) sums(row, at int) (own, u []T) {
	width := s.gates * s.units
	own = s.own[row*width : (row+1)*width : (row+1)*width]
	kernel.Add(own, own, s.x[2])
	return own, s.slopes(s.x[0], row, at, width)
}

// lstmStep computes c' = σ(f) c + σ(i) tanh(g) and h' = σ(o) tanh(c').
func lstmStep[T kernel.Float](c Cell, s *steps[T], row, at, before int) {
	own, u := s.sums(row, at)
	kernel.Add(own, own, u)
	in, forget, out, cell := s.gate(own, c.place('i')), s.gate(own, c.place('f')), s.gate(own, c.place('o')), s.gate(own, c.place('c'))
	for _, g := range [][]T{in, forget, out} {
		kernel.Sigmoid(g, g)
	}
	kernel.Tanh(cell, cell)
	hidden, memory := s.state(s.y, row, at, 0), s.state(s.y, row, at, 1)
	kernel.Mul(memory, in, cell)
	if old := s.earlier(row, before, 1); old != nil {
		mulAdd(memory, forget, old)
	}
	kernel.Tanh(cell, memory)
	kernel.Mul(hidden, out, cell)
}

// gruStep computes h' = (1 − z) n + z h with n = tanh(u + r (R·h + c)).
func gruStep[T kernel.Float](c Cell, s *steps[T], row, at, before int) {
	own, u := s.sums(row, at)
	reset, update, fresh := s.gate(own, c.place('r')), s.gate(own, c.place('z')), s.gate(own, c.place('n'))
	for _, g := range []byte{'r', 'z'} {
		v := s.gate(own, c.place(g))
		kernel.Add(v, v, s.gate(u, c.place(g)))
		kernel.Sigmoid(v, v)
	}
	kernel.Mul(fresh, fresh, reset)
	kernel.Add(fresh, fresh, s.gate(u, c.place('n')))
	kernel.Tanh(fresh, fresh)
	hidden := s.state(s.y, row, at, 0)
	kernel.Mul(hidden, update, fresh)
	kernel.Sub(hidden, fresh, hidden)
	if old := s.earlier(row, before, 0); old != nil {
		mulAdd(hidden, update, old)
	}
}

// plainStep computes h' = tanh(u + R·h + c), or the same with a rectifier.
func plainStep[T kernel.Float](c Cell, s *steps[T], row, at, _ int) {
	own, u := s.sums(row, at)
	hidden := s.state(s.y, row, at, 0)
	kernel.Add(hidden, own, u)
	if c == RNNReLU {
		kernel.ReLU(hidden, hidden)
	} else {
		kernel.Tanh(hidden, hidden)
	}
}
