package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// TokenUse is a use of a table [V,E] by all places of the examples: each Jacobian row is a table of the cotangents.
type TokenUse struct {
	Tokens  *Node // the places in the table, [examples,T]
	Results *Node // the cotangents, [examples·per,T,E]
}

// TokenRows returns the nodes from which RowPullback made the rows for a table of a [Builder.Embed]; the rows may
// have been reshaped since. It returns false for other nodes.
func TokenRows(b *Builder, rows *Node) (TokenUse, bool) {
	n := Unshaped(rows)
	r, _ := unwrap(n.Op())
	if e, ok := r.(embed); !ok || !e.scatter || !e.stacked {
		return TokenUse{}, false
	}
	in := Children(n)
	at, width := in[1].Shape(), n.Shape()[2]
	steps := size(at[1:])
	return TokenUse{b.Reshape(in[1], at[0], steps), b.Reshape(in[0], in[0].Shape()[0], steps, width)}, true
}

// sameTokens is 1 where two numbers mean the same row of a table, else 0: of places [B,T] and [B,U], [B,T,U].
type sameTokens struct{ rows int } // of the table

func (r sameTokens) Key() string { return fmt.Sprint("same tokens of ", r.rows) }

func (r sameTokens) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in[0]) != 2 || len(in[1]) != 2 || in[0][0] != in[1][0] {
		return nil, fmt.Errorf("shapes %v and %v, expected [B,T] and [B,U]", in[0], in[1])
	}
	return append(in[0].Clone(), in[1][1]), nil
}

func (r sameTokens) Pullback(*Builder, int, []*Node, *Node, *Node) *Node { return nil }

func (r sameTokens) RowWise(batched []bool, _ []tensor.Shape) bool { return batched[0] && batched[1] }

func (r sameTokens) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: sameTokensLoop[float32](r, in), F64: sameTokensLoop[float64](r, in)}
}

func sameTokensLoop[T kernel.Float](r sameTokens, in []tensor.Shape) func(y []T, x [][]T) error {
	n, m := in[0][1], in[1][1]
	others := make([]int, m)
	return func(y []T, x [][]T) error {
		clear(y)
		for row := range in[0][0] {
			var err error
			for i := range others {
				if others[i], err = place(x[1][row*m+i], r.rows); err != nil {
					return err
				}
			}
			for i := range n {
				at, err := place(x[0][row*n+i], r.rows)
				if err != nil {
					return err
				}
				for k, other := range others {
					if other == at {
						y[(row*n+i)*m+k] = 1
					}
				}
			}
		}
		return nil
	}
}

// SameTokens returns 1 where places x [B,T] and y [B,U] mean the same row of a table of rows rows, see [Builder.Embed],
// else 0: [B,T,U].
func (b *Builder) SameTokens(rows int, x, y *Node) *Node { return b.Apply(sameTokens{rows}, x, y) }

// mergeTokens adds the rows of each token of an example at the token's first place, and sets the others to zero. With
// spread set it is the transpose: each place of a token has the row of the first place.
type mergeTokens struct {
	rows   int  // of the table
	spread bool // the transpose
}

func (r mergeTokens) Key() string {
	return fmt.Sprintf("merge tokens of %d spread %t", r.rows, r.spread)
}

func (r mergeTokens) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in[0]) != 3 || len(in[1]) != 2 || in[0][1] != in[1][1] || in[0][0]%in[1][0] != 0 {
		return nil, fmt.Errorf("shapes %v and %v, expected [B·C,T,E] and [B,T]", in[0], in[1])
	}
	return in[0].Clone(), nil
}

func (r mergeTokens) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	if i == 1 {
		return nil
	}
	r.spread = !r.spread
	return b.Apply(r, ct, in[1])
}

func (r mergeTokens) RowWise(batched []bool, in []tensor.Shape) bool {
	return batched[0] && batched[1] && in[0][0] == in[1][0]
}

func (r mergeTokens) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: mergeTokensLoop[float32](r, in), F64: mergeTokensLoop[float64](r, in)}
}

func mergeTokensLoop[T kernel.Float](r mergeTokens, in []tensor.Shape) func(y []T, x [][]T) error {
	steps, width, per := in[0][1], in[0][2], in[0][0]/in[1][0]
	of, known := make([]int, steps), make(map[int]int, steps)
	return func(y []T, x [][]T) error {
		clear(y)
		for row := range in[0][0] {
			if row%per == 0 {
				if err := firstPlaces(of, known, x[1][row/per*steps:], r.rows); err != nil {
					return err
				}
			}
			from, to := x[0][row*steps*width:], y[row*steps*width:]
			for t, first := range of {
				if r.spread {
					copy(to[t*width:(t+1)*width], from[first*width:])
					continue
				}
				sum := to[first*width : (first+1)*width]
				kernel.Add(sum, sum, from[t*width:(t+1)*width])
			}
		}
		return nil
	}
}

// firstPlaces sets of[t] to the first place of the token at place t, of a table of n rows. known is memory.
func firstPlaces[T kernel.Float](of []int, known map[int]int, tokens []T, n int) error {
	clear(known)
	for t := range of {
		at, err := place(tokens[t], n)
		if err != nil {
			return err
		}
		first, ok := known[at]
		if !ok {
			first, known[at] = t, t
		}
		of[t] = first
	}
	return nil
}

// MergeTokens adds the rows x [B·C,T,E] of each token of an example at the first place of the token, for the places
// tokens [B,T] in a table of rows rows, see [Builder.Embed]. Rows at later places of the token are zero: [B·C,T,E].
func (b *Builder) MergeTokens(rows int, x, tokens *Node) *Node {
	return b.Apply(mergeTokens{rows: rows}, x, tokens)
}
