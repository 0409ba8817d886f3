package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// rowsOf splits an array by axis 0.
func rowsOf(v []float64, rows int) arrays {
	out := make(arrays, rows)
	for r := range out {
		out[r] = v[r*len(v)/rows : (r+1)*len(v)/rows]
	}
	return out
}

// TestRows: the cases of the conformance table cover the operations that act on rows, and
// those that know their Jacobian rows; graphtest checks what they say.
func TestRows(t *testing.T) {
	claimed, offered := 0, map[string]bool{}
	for i, c := range opCases() {
		found := graphtest.CheckRows(t, c, uint64(1000+i))
		claimed += found.RowWise
		for _, name := range found.Pullbacks {
			offered[name] = true
		}
	}
	if claimed < 600 { // 821 when this was written
		t.Errorf("only %d uses of operations act on rows", claimed)
	}
	for _, want := range []string{"add 1", "add 0", "sub 1", "mul 1", "div 1", "matmul false false 1", "matmul false true 1"} {
		if !offered[want] {
			t.Errorf("no case has the Jacobian rows of %s", want)
		}
	}
}

// rowFormula is a formula on a batch of any number of rows, and on inputs that do
// not depend on the batch.
type rowFormula struct {
	name  string
	row   [][]int // shapes of one row of the batched inputs
	fixed [][]int // shapes of the others
	f     func(b *builder, rows int, in []*node) *node
}

func rowFormulas() []rowFormula {
	unary := func(name string, row []int, f func(b *builder, rows int, x *node) *node) rowFormula {
		return rowFormula{name, [][]int{row}, nil, func(b *builder, rows int, in []*node) *node { return f(b, rows, in[0]) }}
	}
	two := func(name string, row, fixed []int, f func(b *builder, x, y *node) *node) rowFormula {
		return rowFormula{name, [][]int{row}, [][]int{fixed}, func(b *builder, _ int, in []*node) *node { return f(b, in[0], in[1]) }}
	}
	swap := func(f func(b *builder, x, y *node) *node) func(b *builder, x, y *node) *node {
		return func(b *builder, x, y *node) *node { return f(b, y, x) }
	}
	return []rowFormula{
		unary("tanh", []int{3}, func(b *builder, _ int, x *node) *node { return b.Tanh(x) }),
		unary("tanh of numbers", nil, func(b *builder, _ int, x *node) *node { return b.Tanh(x) }),
		unary("affine", []int{3}, func(b *builder, _ int, x *node) *node { return b.Affine(x, 2, 1) }),
		unary("log softmax", []int{3}, func(b *builder, _ int, x *node) *node { return b.LogSoftmax(x) }),
		unary("reshape", []int{6}, func(b *builder, rows int, x *node) *node { return b.Reshape(x, rows, 2, 3) }),
		unary("flatten", []int{2, 3}, func(b *builder, rows int, x *node) *node { return b.Reshape(x, rows, 6) }),
		unary("transpose", []int{2, 3}, func(b *builder, _ int, x *node) *node { return b.Transpose(x) }),
		unary("slice", []int{3}, func(b *builder, _ int, x *node) *node { return b.Slice(x, 1, 1, 3) }),
		unary("pad", []int{3}, func(b *builder, _ int, x *node) *node { return b.Pad(x, 1, 1, 5) }),
		unary("sum", []int{3}, func(b *builder, _ int, x *node) *node { return b.SumAxis(x, 1) }),
		unary("broadcast", []int{1}, func(b *builder, rows int, x *node) *node { return b.BroadcastTo(x, rows, 4) }),
		unary("gram", []int{2, 3}, func(b *builder, _ int, x *node) *node { return b.Gram(x) }),
		unary("diag", []int{2, 2}, func(b *builder, _ int, x *node) *node { return b.Diag(x) }),
		unary("diagonal", []int{2}, func(b *builder, _ int, x *node) *node { return b.Diagonal(x) }),
		unary("lower", []int{3}, func(b *builder, _ int, x *node) *node { return b.Lower(x) }),
		unary("pack lower", []int{2, 2}, func(b *builder, _ int, x *node) *node { return b.PackLower(x) }),
		two("add bias", []int{3}, []int{3}, (*builder).AddBias),
		two("bias first", []int{3}, []int{3}, swap((*builder).Add)),
		two("sub row", []int{2, 3}, []int{1, 2, 1}, (*builder).Sub),
		two("mul number", []int{3}, []int{1}, (*builder).Mul),
		two("div", []int{3}, []int{3}, swap((*builder).Div)),
		two("matmul", []int{3}, []int{3, 2}, func(b *builder, x, w *node) *node { return b.MatMul(x, w, false, false) }),
		two("matmul transposed", []int{3}, []int{2, 3}, func(b *builder, x, w *node) *node { return b.MatMul(x, w, false, true) }),
		{"product of batches", [][]int{{3}, {1}}, nil, func(b *builder, _ int, in []*node) *node { return b.Mul(in[0], in[1]) }},
		{"stack of products", [][]int{{2, 3}, {2, 3}}, nil, func(b *builder, _ int, in []*node) *node { return b.MatMul(in[0], in[1], true, false) }},
	}
}

// compileRows compiles the formula for a number of rows.
func (c rowFormula) compile(t *testing.T, rows int) (*machine, *node, []bool) {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	var shapes [][]int
	batched := make([]bool, len(c.row)+len(c.fixed))
	for i, s := range c.row {
		shapes, batched[i] = append(shapes, append([]int{rows}, s...)), true
	}
	in := inputs(b, "x", append(shapes, c.fixed...)...)
	y := c.f(b, rows, in)
	noErr(t, b)
	return newMachine(t, b, in, []*node{y}, graph.Options{}), y, batched
}

// TestRowFormulas: each of these acts on rows, says so at any number of rows, and
// gives for a batch the same results as for the batch's rows one at a time.
func TestRowFormulas(t *testing.T) {
	const rows = 4
	for _, c := range rowFormulas() {
		t.Run(c.name, func(t *testing.T) {
			batch, y, batched := c.compile(t, rows)
			one, y1, _ := c.compile(t, 1)
			for _, n := range []*node{y, y1} {
				in := graph.Children(n)
				marks := slices.Clone(batched)
				if in[0].Name() == "x1" { // the formula has its operands exchanged
					slices.Reverse(marks)
				}
				if !graph.RowWise(n.Op(), marks, in) {
					t.Fatalf("%v of %v does not say that it acts on rows", n.Op(), shapesOf(in))
				}
			}
			args := make(arrays, len(batch.args))
			rng := rngFor(t)
			for i, a := range batch.args {
				args[i] = make([]float64, a.Size())
				for j := range args[i] {
					args[i][j] = 0.5 + rng.Float64()
				}
			}
			got := rowsOf(batch.eval(t, args)[0], rows)
			for r := range rows {
				single := slices.Clone(args)
				for i := range c.row {
					single[i] = rowsOf(args[i], rows)[r]
				}
				wantSame(t, fmt.Sprint("row ", r), arrays{got[r]}, one.eval(t, single), 1e-14)
			}
		})
	}
}

// TestNotRowWise: what mixes rows, or reads a row of an input that is not batched,
// does not claim to act on rows.
func TestNotRowWise(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, w := b.Input("x", 3, 3), b.Input("w", 3, 3)
	stack := b.Input("stack", 3, 3, 3)
	yes, no := true, false
	for _, c := range []struct {
		n       *node
		batched []bool
	}{
		{b.Add(x, w), []bool{yes, no}},
		{b.Mul(w, x), []bool{no, yes}},
		{b.Add(b.Slice(x, 0, 0, 1), w), []bool{yes, no}},
		{b.Add(stack, x), []bool{no, yes}},
		{b.MatMul(x, w, false, false), []bool{yes, yes}},
		{b.MatMul(x, w, true, false), []bool{yes, no}},
		{b.MatMul(w, x, false, false), []bool{no, yes}},
		{b.MatMul(stack, b.Scale(stack, 2), false, false), []bool{yes, no}},
		{b.Gram(x), []bool{yes}},
		{b.Transpose(x), []bool{yes}},
		{b.Sum(x), []bool{yes}},
		{b.SumAxis(x, 0), []bool{yes}},
		{b.SumTo(x, 3), []bool{yes}},
		{b.SumTo(stack, 3, 3), []bool{yes}},
		{b.Reshape(x, 9), []bool{yes}},
		{b.Reshape(b.Sum(x), 1), []bool{yes}},
		{b.BroadcastTo(b.Slice(x, 0, 0, 1), 3, 3), []bool{yes}},
		{b.BroadcastTo(x, 3, 3, 3), []bool{yes}},
		{b.Slice(x, 0, 0, 2), []bool{yes}},
		{b.Pad(x, 0, 1, 5), []bool{yes}},
		{b.Concat(0, x, w), []bool{yes, yes}},
		{b.Cholesky(x), []bool{yes}},
		{b.SolveLower(x, w, false), []bool{no, yes}},
		{b.Diag(x), []bool{yes}},
		{b.PackLower(x), []bool{yes}},
		{b.Diagonal(b.Slice(b.Reshape(x, 9), 0, 0, 3)), []bool{yes}},
		{b.LogSoftmax(b.Reshape(x, 9)), []bool{yes}},
		{b.Tanh(b.Sum(x)), []bool{yes}},
	} {
		if graph.RowWise(c.n.Op(), c.batched, graph.Children(c.n)) {
			t.Errorf("%v of %v with %v batched claims to act on rows", c.n.Op(), shapesOf(graph.Children(c.n)), c.batched)
		}
	}
	noErr(t, b)
	y, err := gorgonia.Tanh(x)
	if err != nil {
		t.Fatal(err)
	}
	if graph.RowWise(y.Op(), []bool{yes}, []*node{x}) {
		t.Error("a stock operation claims to act on rows")
	}
	if _, ok := graph.RowPullback(b, y.Op(), 0, []*node{x}, y, x); ok {
		t.Error("a stock operation has Jacobian rows")
	}
}

// IsPointwise is true of functions of one element, and of nothing else.
func TestIsPointwise(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2, 3)
	stock := gorgonia.Must(gorgonia.Tanh(x))
	for want, nodes := range map[bool][]*node{
		true:  {b.Tanh(x), b.Affine(x, 2, 1), b.Step(x)},
		false: {b.Apply(embedded{graph.Pointwise{Name: "without functions"}.Op()}, x), b.Mul(x, x), b.Reshape(x, 3, 2), b.LogSoftmax(x), b.Sum(x), stock},
	} {
		for _, n := range nodes {
			if got := graph.IsPointwise(n.Op()); got != want {
				t.Errorf("%v is pointwise: %v, want %v", n.Op(), got, want)
			}
		}
	}
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
}
