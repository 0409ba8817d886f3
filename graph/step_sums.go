package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// stepSums is Σ_t l_t ⊗ r_t for each row of the batch: the Jacobian rows of weights that all steps or places of an
// example share. Its operands are the inputs l [B,T,P] and the cotangents r [B·per,T,Q] or, if swapped is set, the
// cotangents l [B·per,T,P] and the inputs r [B,T,Q]; the result is [B·per,P·Q].
type stepSums struct{ swapped bool }

func (s stepSums) Key() string {
	return fmt.Sprintf("sums of outer products over steps, swapped %t", s.swapped)
}

func (stepSums) Shape(in []tensor.Shape) (tensor.Shape, error) {
	l, r := in[0], in[1]
	if len(l) != 3 || len(r) != 3 || l[1] != r[1] || max(l[0], r[0])%min(l[0], r[0]) != 0 {
		return nil, fmt.Errorf("shapes %v and %v, expected [B,T,P] and [B·per,T,Q]", l, r)
	}
	return tensor.Shape{max(l[0], r[0]), l[2] * r[2]}, nil
}

func (stepSums) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	own, other := in[i].Shape(), in[1-i].Shape()
	rows := max(own[0], other[0])
	ct = b.Reshape(ct, rows, in[0].Shape()[2], in[1].Shape()[2])
	return b.sumNeighbours(b.MatMul(b.neighbours(in[1-i], rows), ct, false, i == 0), own[0])
}

// neighbours repeats each row of x [B,…] to rows rows.
func (b *Builder) neighbours(x *Node, rows int) *Node {
	if b.err != nil || x.Shape()[0] == rows {
		return x
	}
	s := x.Shape()
	split := b.Reshape(x, append([]int{s[0], 1}, s[1:]...)...)
	return b.Reshape(b.BroadcastTo(split, append([]int{s[0], rows / s[0]}, s[1:]...)...), append([]int{rows}, s[1:]...)...)
}

func (stepSums) RowWise(batched []bool, in []tensor.Shape) bool {
	return batched[0] && batched[1] && in[0][0] == in[1][0]
}

func (stepSums) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	return Loops{F32: stepSumsLoop[float32](in[0], in[1], out), F64: stepSumsLoop[float64](in[0], in[1], out)}
}

// ONNX implements ONNXForm: a product of matrices for each example and cotangent, which broadcasts the inputs.
func (s stepSums) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	of := in[0].Shape[0] // the examples
	if s.swapped {
		of = in[1].Shape[0]
	}
	var x [2]ONNXValue
	for i, v := range in {
		n := v.Shape[0]
		per := w.per(n, of)
		x[i] = w.Reshape(v, of, per, v.Shape[1], v.Shape[2])
	}
	return w.Reshape(w.matMul(x[0], x[1], true, false), out...).Name
}

func stepSumsLoop[T kernel.Float](l, r, out tensor.Shape) func(y []T, x [][]T) error {
	rows, steps, p, q := out[0], l[1], l[2], r[2]
	return stacked(rows, steps*p*q, func(y []T, x [][]T, i int) {
		left, right := x[0][i/(rows/l[0])*steps*p:], x[1][i/(rows/r[0])*steps*q:]
		kernel.Gemm(true, false, p, q, steps, 1, left, p, right, q, 0, y[i*p*q:], q)
	})
}

// Flops implements counted.
func (stepSums) Flops(in []tensor.Shape, out tensor.Shape) int { return 2 * in[0][1] * size(out) }

// StepUse is a use of weights [P,Q] by all steps of the examples: each Jacobian row is Σ_t a_t ⊗ δ_t.
type StepUse struct {
	Inputs  *Node // a [examples,T,P]
	Results *Node // the cotangents δ, [examples·per,T,Q]
	Swapped bool  // the weights are [Q,P]: δ_t ⊗ a_t
}

// StepRows returns the nodes from which RowPullback made the rows for weights that all steps share; the rows may have
// been reshaped since. It returns false for other nodes.
func StepRows(rows *Node) (StepUse, bool) {
	n := Unshaped(rows)
	r, _ := unwrap(n.Op())
	s, ok := r.(stepSums)
	if !ok {
		return StepUse{}, false
	}
	first, second := Children(n)[0], Children(n)[1]
	if s.swapped {
		first, second = second, first
	}
	return StepUse{first, second, s.swapped}, true
}
