package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Inner products of rows of a table of tokens are sums over the tokens that two examples share. In texts these are few,
// so that tokens are looked up, and no array of all pairs of places is formed:
//
//	dots:  k_ij = Σ_(t,u) r_it·q_ju,   carry:  y_it = Σ_(j,u) c_ij q_ju,   over pairs (t,u) of one token,
//
// where of a token that comes again in an example only the first place counts, see [Builder.MergeTokens]. Each is the
// derivative of the other.

// tokenDots takes rows r [B·s,T,E] with tokens [B,T], and q [M·k,U,E] with tokens [M,U]: [B·s,M·k].
type tokenDots struct{ rows int } // of the table

// tokenCarry takes numbers c [B·s,M·k] with tokens [B,T], and q [M·k,U,E] with tokens [M,U]: [B·s,T,E].
type tokenCarry struct{ rows int } // of the table

func (r tokenDots) Key() string  { return fmt.Sprint("token dots of ", r.rows) }
func (r tokenCarry) Key() string { return fmt.Sprint("token carry of ", r.rows) }

func (r tokenDots) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if !ofTokens(in[0], in[1]) || !ofTokens(in[2], in[3]) || in[0][2] != in[2][2] {
		return nil, fmt.Errorf("shapes %v, expected [B·s,T,E], [B,T], [M·k,U,E] and [M,U]", in)
	}
	return tensor.Shape{in[0][0], in[2][0]}, nil
}

func (r tokenCarry) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in[0]) != 2 || len(in[1]) != 2 || in[0][0]%in[1][0] != 0 || !ofTokens(in[2], in[3]) || in[0][1] != in[2][0] {
		return nil, fmt.Errorf("shapes %v, expected [B·s,M·k], [B,T], [M·k,U,E] and [M,U]", in)
	}
	return tensor.Shape{in[0][0], in[1][1], in[2][2]}, nil
}

// ofTokens reports whether rows [B·s,T,E] have tokens [B,T].
func ofTokens(rows, tokens tensor.Shape) bool {
	return len(rows) == 3 && len(tokens) == 2 && rows[1] == tokens[1] && rows[0]%tokens[0] == 0
}

func (r tokenDots) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	switch i {
	case 0:
		return b.Apply(tokenCarry(r), ct, in[1], in[2], in[3])
	case 2:
		return b.Apply(tokenCarry(r), b.Transpose(ct, 1, 0), in[3], in[0], in[1])
	}
	return nil
}

func (r tokenCarry) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	switch i {
	case 0:
		return b.Apply(tokenDots(r), ct, in[1], in[2], in[3])
	case 2:
		return b.Apply(r, b.Transpose(in[0], 1, 0), in[3], ct, in[1])
	}
	return nil
}

func (r tokenDots) RowWise(batched []bool, in []tensor.Shape) bool  { return ownTokens(batched, in) }
func (r tokenCarry) RowWise(batched []bool, in []tensor.Shape) bool { return ownTokens(batched, in) }

// ownTokens reports whether the first two of four operands alone are batched, row by row.
func ownTokens(batched []bool, in []tensor.Shape) bool {
	return batched[0] && batched[1] && !batched[2] && !batched[3] && in[0][0] == in[1][0]
}

// Flops implements counted. It takes half of the tokens to be shared.
func (r tokenDots) Flops(in []tensor.Shape, out tensor.Shape) int {
	return size(out) * min(in[0][1], in[2][1]) * in[0][2]
}

// Flops implements counted, as that of tokenDots does.
func (r tokenCarry) Flops(in []tensor.Shape, out tensor.Shape) int {
	return size(in[0]) * min(out[1], in[2][1]) * out[2]
}

func (r tokenDots) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: tokenDotsLoop[float32](r.rows, in, out), F64: tokenDotsLoop[float64](r.rows, in, out)}
}

func (r tokenCarry) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: tokenCarryLoop[float32](r.rows, in, out), F64: tokenCarryLoop[float64](r.rows, in, out)}
}

// shared finds the places of tokens in two sets of examples.
type shared struct {
	rows, steps, others int   // of the table, T and U
	at                  []int // [B·T] the token of each place, −1 where it comes again in its example
	last                []int // by token, the last of the places [M·U] of the other set, or −1
	before              []int // [M·U] the place before with the same token, or −1
	seen                []int // by token, 1 and the number of the last example with it
}

func newShared(rows int, tokens, others tensor.Shape) *shared {
	s := &shared{rows: rows, steps: tokens[1], others: others[1], at: make([]int, size(tokens)), before: make([]int, size(others))}
	s.last, s.seen = make([]int, rows), make([]int, rows)
	for i := range s.last {
		s.last[i] = -1
	}
	return s
}

// find looks up all tokens; forget must follow, after errors, too.
func find[T kernel.Float](s *shared, tokens, others []T) error {
	for i := range s.at {
		at, err := place(tokens[i], s.rows)
		if err != nil {
			return err
		}
		if s.at[i] = at; s.seen[at] == i/s.steps+1 {
			s.at[i] = -1
		} else {
			s.seen[at] = i/s.steps + 1
		}
	}
	for i := range s.before {
		at, err := place(others[i], s.rows)
		if err != nil {
			return err
		}
		if last := s.last[at]; last < 0 || last/s.others != i/s.others {
			s.before[i], s.last[at] = last, i
		}
	}
	return nil
}

// forget makes ready for other tokens.
func forget[T kernel.Float](s *shared, others []T) {
	for _, at := range s.at {
		if at >= 0 {
			s.seen[at] = 0
		}
	}
	for _, v := range others {
		if at, err := place(v, s.rows); err == nil {
			s.last[at] = -1
		}
	}
}

// each calls f for the pairs of place t of example i and place u of another example j with the same token.
func (s *shared) each(i int, f func(t, j, u int)) {
	for t, at := range s.at[i*s.steps : (i+1)*s.steps] {
		if at < 0 {
			continue
		}
		for k := s.last[at]; k >= 0; k = s.before[k] {
			f(t, k/s.others, k%s.others)
		}
	}
}

// overTokens computes example after example with the tokens of operands 1 and 3.
func overTokens[T kernel.Float](s *shared, examples, work int, f func(y []T, x [][]T, i int)) func(y []T, x [][]T) error {
	all := stacked(examples, work, f)
	return func(y []T, x [][]T) error {
		clear(y)
		defer forget(s, x[3])
		if err := find(s, x[1], x[3]); err != nil {
			return err
		}
		return all(y, x)
	}
}

func tokenDotsLoop[T kernel.Float](rows int, in []tensor.Shape, out tensor.Shape) func(y []T, x [][]T) error {
	s, width, columns := newShared(rows, in[1], in[3]), in[0][2], out[1]
	per, each := in[0][0]/in[1][0], in[2][0]/in[3][0]
	return overTokens(s, in[1][0], size(out)/in[1][0]*width, func(y []T, x [][]T, i int) {
		s.each(i, func(t, j, u int) {
			for a := i * per; a < (i+1)*per; a++ {
				r := x[0][(a*s.steps+t)*width:][:width]
				for c := j * each; c < (j+1)*each; c++ {
					y[a*columns+c] += kernel.Dot(r, x[2][(c*s.others+u)*width:][:width])
				}
			}
		})
	})
}

func tokenCarryLoop[T kernel.Float](rows int, in []tensor.Shape, out tensor.Shape) func(y []T, x [][]T) error {
	s, width, columns := newShared(rows, in[1], in[3]), out[2], in[0][1]
	per, each := in[0][0]/in[1][0], in[2][0]/in[3][0]
	return overTokens(s, in[1][0], size(in[0])/in[1][0]*width, func(y []T, x [][]T, i int) {
		s.each(i, func(t, j, u int) {
			for a := i * per; a < (i+1)*per; a++ {
				to := y[(a*s.steps+t)*width:][:width]
				for c := j * each; c < (j+1)*each; c++ {
					kernel.Axpy(x[0][a*columns+c], x[2][(c*s.others+u)*width:][:width], to)
				}
			}
		})
	})
}

// TokenDots returns the inner products of the rows x [B·s,T,E] of a table of rows rows, at the places [B,T], with other
// rows y [M·k,U,E] of the table, at [M,U]: sums over the places of the same token, of which in each example only the
// first counts, see [Builder.MergeTokens]: [B·s,M·k].
func (b *Builder) TokenDots(rows int, x, tokens, y, others *Node) *Node {
	return b.Apply(tokenDots{rows}, x, tokens, y, others)
}
