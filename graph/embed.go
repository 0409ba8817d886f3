package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// embed takes rows of a table at the places that its second operand holds. With scatter set it
// is the transpose by the table: rows, its first operand, are added at their places to a table
// of zeros. With stacked set there is a table for each row of axis 0 of the rows. Several of
// these, neighbours, may share a row of places. Places have no derivative.
type embed struct {
	rows    int  // of the table
	scatter bool // the transpose: rows are added to a table of zeros
	stacked bool // each row of axis 0 has a table of its own
}

func (r embed) Key() string {
	return fmt.Sprintf("embed %d scatter %t stacked %t", r.rows, r.scatter, r.stacked)
}

func (r embed) Shape(in []tensor.Shape) (tensor.Shape, error) {
	first, at := in[0], in[1]
	width, ok := 0, len(first) > 1 && len(at) > 0
	if ok {
		width = first[len(first)-1]
	}
	switch {
	case ok && r.scatter && len(first) == len(at)+1 && slices.Equal(first[1:len(at)], at[1:]) && first[0]%at[0] == 0:
		if r.stacked {
			return tensor.Shape{first[0], r.rows, width}, nil
		}
		return tensor.Shape{r.rows, width}, nil
	case ok && !r.scatter && !r.stacked && len(first) == 2 && first[0] == r.rows:
		return append(at.Clone(), width), nil
	case ok && !r.scatter && r.stacked && len(first) == 3 && first[1] == r.rows && first[0]%at[0] == 0:
		return append(append(tensor.Shape{first[0]}, at[1:]...), width), nil
	}
	return nil, fmt.Errorf("shapes %v and %v do not fit a table of %d rows", first, at, r.rows)
}

func (r embed) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	if i == 1 {
		return nil
	}
	r.scatter = !r.scatter
	return b.Apply(r, ct, in[1])
}

func (r embed) RowWise(batched []bool, in []tensor.Shape) bool {
	if r.stacked {
		return batched[0] && batched[1] && in[0][0] == in[1][0]
	}
	return !r.scatter && batched[1] && !batched[0]
}

// RowPullback: the rows of the table are tables of the cotangents of each example.
func (r embed) RowPullback(b *Builder, i int, in []*Node, _, ct *Node) (Outer, bool) {
	if i != 0 || r.scatter || r.stacked {
		return Outer{}, false
	}
	tables := b.Apply(embed{rows: r.rows, scatter: true, stacked: true}, ct, in[1])
	return Outer{Right: b.Reshape(tables, ct.Shape()[0], size(in[0].Shape()))}, true
}

func (r embed) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: embedLoop[float32](r, in, out), F64: embedLoop[float64](r, in, out)}
}

// embedLoop copies rows of one table, or of the table of each row of the results. With scatter set it
// adds rows to one table, or to the table of each row of axis 0.
func embedLoop[T kernel.Float](r embed, in []tensor.Shape, out tensor.Shape) func(y []T, x [][]T) error {
	rows, width := out, out[len(out)-1]
	if r.scatter {
		rows = in[0]
	}
	places, per := size(in[1][1:]), rows[0]/in[1][0]
	return func(y []T, x [][]T) error {
		if r.scatter {
			clear(y)
		}
		for k := range size(rows) / width {
			row := k / places
			at, err := place(x[1][row/per*places+k%places], r.rows)
			if err != nil {
				return err
			}
			if r.stacked {
				at += row * r.rows
			}
			if r.scatter {
				to := y[at*width : (at+1)*width]
				kernel.Add(to, to, x[0][k*width:(k+1)*width])
			} else {
				copy(y[k*width:(k+1)*width], x[0][at*width:])
			}
		}
		return nil
	}
}

// outside is the error of a place that a table does not have. It is about the values of an input and not about the graph, so
// that its message has no name of an operation.
type outside struct {
	place float64
	rows  int // of the table
}

// Error implements error.
func (o outside) Error() string {
	return fmt.Sprintf("embedding: place %g, expected a whole number from 0 to %d", o.place, o.rows-1)
}

// place returns the whole number next to v, which counts from the end if it is negative.
func place[T kernel.Float](v T, n int) (int, error) {
	f := math.RoundToEven(float64(v))
	if !(f >= -float64(n) && f < float64(n)) {
		return 0, outside{float64(v), n}
	}
	return (int(f) + n) % n, nil
}

// Embed returns the rows of a table [V,E] at the places x [B,...], numbers from 0 to V − 1 or,
// counted from the end, from −V to −1: [B,...,E]. Places are rounded to whole numbers, and others
// are an error when the program runs.
func (b *Builder) Embed(table, x *Node) *Node {
	if !b.usable("embed", table, x) {
		return nil
	}
	if table.Dims() != 2 {
		return b.Failf("graph: embed: a table of shape %v, expected [V,E]", table.Shape())
	}
	return b.Apply(embed{rows: table.Shape()[0]}, table, x)
}
