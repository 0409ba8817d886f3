package graphtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Rows counts what the operations of a case say of rows.
type Rows struct {
	// RowWise is the number of uses, with operands marked as batched, that act on rows.
	RowWise int
	// Pullbacks names the operations and the number of the operand whose Jacobian rows
	// they know, such as "matmul false false 1".
	Pullbacks []string
}

// CheckRows checks the operations that a case and its gradients consist of. Where one
// says that it acts on rows, exchanging the rows of the batched operands must exchange
// the rows of the result, and a change of one row must change that row alone. Where one
// offers Jacobian rows, row r multiplied out must be the dense pullback of row r of the
// cotangent.
//
// Operands that are inputs of the case get its values, others numbers above 0.5.
func CheckRows(t testing.TB, c Case, seed uint64) Rows {
	t.Helper()
	r := &rowChecker{t: t, c: c, rng: rand.New(rand.NewPCG(seed, 1)), b: graph.NewBuilder(tensor.Float64)}
	r.leaves = c.leaves(r.b, "x")
	y := c.Build(r.b, r.leaves)
	out := append(graph.Grad(r.b, r.b.Sum(r.b.Square(y)), r.leaves...), y)
	r.noErr()
	for _, n := range graph.Ancestors(out...) {
		if len(graph.Children(n)) > 0 {
			r.check(use{n, graph.Children(n)})
		}
	}
	return r.found
}

type rowChecker struct {
	t      testing.TB
	c      Case           // the case under test
	rng    *rand.Rand     // for operands and cotangents
	b      *graph.Builder // the graph of the case and of its gradients
	leaves []*graph.Node  // the inputs of the case
	found  Rows           // what the checks have counted
}

// use is a node with its operands.
type use struct {
	n  *graph.Node   // the result
	in []*graph.Node // the operands
}

func (u use) name() string { return fmt.Sprint(u.n.Op()) }

func (r *rowChecker) noErr() {
	r.t.Helper()
	if r.b.Err() != nil {
		r.t.Fatal(r.b.Err())
	}
}

func (r *rowChecker) check(u use) {
	r.t.Helper()
	for mask := 1; mask < 1<<len(u.in); mask++ {
		batched := make([]bool, len(u.in))
		for i := range batched {
			batched[i] = mask>>i&1 == 1
		}
		if graph.RowWise(u.n.Op(), batched, u.in) {
			r.found.RowWise++
			r.rowWise(u, batched)
		}
	}
	ct := r.b.Input(fmt.Sprint("row cotangent of ", u.n.ID()), max(u.n.Shape().TotalSize(), 1))
	full := r.b.Reshape(ct, u.n.Shape()...)
	for i := range u.in {
		rows, ok := graph.RowPullback(r.b, u.n.Op(), i, u.in, u.n, full)
		r.noErr()
		if ok {
			r.found.Pullbacks = append(r.found.Pullbacks, fmt.Sprint(u.name(), " ", i))
			r.pullback(u, i, rows, ct, full)
		}
	}
}

// values are random operands that the operation accepts.
func (r *rowChecker) values(u use) [][]float64 {
	inputs := r.c.inputs(r.rng)
	vals := make([][]float64, len(u.in))
	for i, n := range u.in {
		if k := slices.Index(r.leaves, n); k >= 0 {
			vals[i] = inputs[k]
			continue
		}
		vals[i] = normal(r.rng, max(n.Shape().TotalSize(), 1))[0]
		for j, v := range vals[i] {
			vals[i][j] = 0.5 + v*v
		}
	}
	return vals
}

func (r *rowChecker) rowWise(u use, batched []bool) {
	r.t.Helper()
	rows := 0
	if u.n.Dims() > 0 {
		rows = u.n.Shape()[0]
	}
	for i, n := range u.in {
		if batched[i] && (n.Dims() == 0 || n.Shape()[0] != rows) {
			r.t.Fatalf("%s acts on the rows of operand %d of shape %v, but the result has shape %v", u.name(), i, n.Shape(), u.n.Shape())
		}
	}
	if rows < 2 {
		return
	}
	in, other := r.values(u), r.values(u)
	y, perm, at := r.do(u, in), r.rng.Perm(rows), r.rng.IntN(rows)
	exchanged, changed := slices.Clone(in), slices.Clone(in)
	for i := range in {
		if batched[i] {
			exchanged[i], changed[i] = permuted(in[i], perm), slices.Clone(in[i])
			copy(row(changed[i], at, rows), row(other[i], at, rows))
		}
	}
	Near(r.t, u.name()+": rows exchanged", r.do(u, exchanged), permuted(y, perm), 1e-14)
	z := r.do(u, changed)
	for k := range rows {
		if k != at {
			Near(r.t, fmt.Sprintf("%s: row %d, while row %d changes", u.name(), k, at), row(z, k, rows), row(y, k, rows), 0)
		}
	}
}

// do runs the operation by itself.
func (r *rowChecker) do(u use, in [][]float64) []float64 {
	r.t.Helper()
	vals := make([]gorgonia.Value, len(in))
	for i, n := range u.in {
		vals[i] = gorgonia.NewF64(in[i][0])
		if n.Dims() > 0 {
			vals[i] = dense.Of(slices.Clone(in[i]), n.Shape()...)
		}
	}
	v, err := u.n.Op().Do(vals...)
	if err != nil {
		r.t.Fatalf("%s: %v", u.name(), err)
	}
	if d, ok := v.(*tensor.Dense); ok {
		return graph.Floats(d)
	}
	return []float64{v.Data().(float64)}
}

// pullback compares the Jacobian rows of operand i with dense pullbacks, one for each
// row of the cotangent.
func (r *rowChecker) pullback(u use, i int, rows graph.Outer, ct, full *graph.Node) {
	r.t.Helper()
	out := []*graph.Node{rows.Right, graph.Pullback(r.b, u.n.Op(), u.in, u.n, full, func(k int) bool { return k == i })[i]}
	if rows.Left != nil {
		out = append(out, rows.Left)
	}
	r.noErr()
	in := r.values(u)
	given := map[*graph.Node][]float64{u.n: r.do(u, in), ct: normal(r.rng, max(u.n.Shape().TotalSize(), 1))[0]}
	for k, n := range u.in {
		given[n] = in[k]
	}
	got := r.evaluate(out, given)
	count, all := u.n.Shape()[0], given[ct]
	for k := range count {
		given[ct] = make([]float64, len(all))
		copy(row(given[ct], k, count), row(all, k, count))
		want := r.evaluate(out[1:2], given)[0]
		product := row(got[0], k, count)
		if rows.Left != nil {
			product = outer(row(got[2], k, count), product)
		}
		Near(r.t, fmt.Sprintf("%s: Jacobian row %d of operand %d", u.name(), k, i), product, want, 1e-13)
	}
}

// evaluate runs each operation by itself, where the given nodes have these values.
func (r *rowChecker) evaluate(out []*graph.Node, given map[*graph.Node][]float64) [][]float64 {
	r.t.Helper()
	vals := make(map[*graph.Node][]float64)
	var eval func(n *graph.Node) []float64
	eval = func(n *graph.Node) []float64 {
		if v, ok := given[n]; ok {
			return v
		}
		if vals[n] == nil {
			in := graph.Children(n)
			if len(in) == 0 {
				return graph.Floats(n.Value().(*tensor.Dense))
			}
			args := make([][]float64, len(in))
			for i, a := range in {
				args[i] = eval(a)
			}
			vals[n] = r.do(use{n, in}, args)
		}
		return vals[n]
	}
	results := make([][]float64, len(out))
	for i, n := range out {
		results[i] = eval(n)
	}
	return results
}

// row returns row r of an array that has this number of rows.
func row(v []float64, r, rows int) []float64 { return v[r*len(v)/rows : (r+1)*len(v)/rows] }

func permuted(v []float64, perm []int) []float64 {
	out := make([]float64, 0, len(v))
	for _, p := range perm {
		out = append(out, row(v, p, len(perm))...)
	}
	return out
}

func outer(a, c []float64) []float64 {
	out := make([]float64, 0, len(a)*len(c))
	for _, x := range a {
		for _, y := range c {
			out = append(out, x*y)
		}
	}
	return out
}
