package jacobian

import (
	"fmt"

	"github.com/go-valla/valla/graph"
)

// dense forms the Jacobian rows of the given parameters, or of all parameters if only is nil,
// by one reverse pass for each row. It replaces what j.uses holds for these parameters.
func (j *jac) dense(b *graph.Builder, only map[*graph.Node]bool) {
	if j.uses == nil {
		j.uses = make([][]graph.Outer, len(j.params))
	}
	var wanted []*graph.Node
	for _, p := range j.params {
		if only == nil || only[p] {
			wanted = append(wanted, p)
		}
	}
	rows := make(map[*graph.Node][]*graph.Node)
	for r := range j.examples * j.per {
		grads := graph.VJP(b, []*graph.Node{j.out}, []*graph.Node{j.pickOut(b, r)}, wanted)
		for i, p := range wanted {
			if b.Err() == nil {
				rows[p] = append(rows[p], b.Reshape(grads[i], 1, p.Shape().TotalSize()))
			}
		}
	}
	for i, p := range j.params {
		if b.Err() == nil && (only == nil || only[p]) {
			j.uses[i] = []graph.Outer{{Right: b.Reshape(b.Concat(0, rows[p]...), j.examples, j.per, p.Shape().TotalSize())}}
		}
	}
}

// pickOut returns the cotangent that picks the output of row r: 1 there and 0 elsewhere, or the
// combination of outputs in the row's example.
func (j *jac) pickOut(b *graph.Builder, r int) *graph.Node {
	rows, cols := j.out.Shape()[0], j.out.Shape()[1]
	if j.seeds != nil {
		return b.Pad(b.Slice(b.Reshape(j.seeds, rows*j.per, cols), 0, r, r+1), 0, r/j.per, rows)
	}
	v := make([]float64, rows*cols)
	example := r / j.per
	v[example*cols+j.class[r]] = 1
	return b.Const(fmt.Sprintf("output %d of %d×%d", example*cols+j.class[r], rows, cols), v, rows, cols)
}
