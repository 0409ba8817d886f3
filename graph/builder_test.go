package graph_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// argument is a value of type t to call a Builder method with; nodes are n.
func argument(t reflect.Type, n *node) reflect.Value {
	switch t {
	case reflect.TypeFor[*node]():
		return reflect.ValueOf(n)
	case reflect.TypeFor[int]():
		return reflect.ValueOf(1)
	case reflect.TypeFor[string]():
		return reflect.ValueOf("name")
	case reflect.TypeFor[float64]():
		return reflect.ValueOf(2.0)
	}
	if t.Kind() == reflect.Slice && t != reflect.TypeFor[[]any]() {
		one := reflect.MakeSlice(t, 1, 1)
		one.Index(0).Set(argument(t.Elem(), n))
		return one
	}
	return reflect.Zero(t)
}

// methods calls every method of b that makes a node, so that new ones are covered too.
func methods(t *testing.T, b *builder, n *node, visit func(name string, takesNode bool, call func() *node)) {
	t.Helper()
	v, count := reflect.ValueOf(b), 0
	for i := range v.NumMethod() {
		m, name := v.Method(i), v.Type().Method(i).Name
		if name == "Fail" || name == "Failf" || m.Type().NumOut() != 1 || m.Type().Out(0) != reflect.TypeFor[*node]() {
			continue
		}
		var args []reflect.Value
		takesNode := false
		for j := range m.Type().NumIn() {
			in := m.Type().In(j)
			takesNode = takesNode || in == reflect.TypeFor[*node]() || in == reflect.TypeFor[[]*node]()
			args = append(args, argument(in, n))
		}
		count++
		visit(name, takesNode, func() *node {
			if m.Type().IsVariadic() {
				return m.CallSlice(args)[0].Interface().(*node)
			}
			return m.Call(args)[0].Interface().(*node)
		})
	}
	if count < 40 { // 43 when this was written
		t.Fatalf("found only %d methods", count)
	}
}

// TestFirstErrorIsKept: after an error, no method does anything, whatever it is given.
func TestFirstErrorIsKept(t *testing.T) {
	first := errors.New("the first error")
	for _, given := range []string{"nil", "a node"} {
		b := graph.NewBuilder(tensor.Float64)
		var n *node
		if given == "a node" {
			n = b.Input("x", 2, 2)
		}
		b.Failf("%w", first)
		size := b.Graph().AllNodes().Len()
		methods(t, b, n, func(name string, _ bool, call func() *node) {
			if got := call(); got != nil {
				t.Errorf("%s of %s after an error returned %v", name, given, got)
			}
		})
		b.Failf("another %s", "error")
		if !errors.Is(b.Err(), first) {
			t.Errorf("the error is %q, want the first one", b.Err())
		}
		if b.Graph().AllNodes().Len() != size {
			t.Error("nodes were added after an error")
		}
	}
}

func TestNilNodeIsAnError(t *testing.T) {
	names := []string{}
	methods(t, graph.NewBuilder(tensor.Float64), nil, func(name string, takesNode bool, _ func() *node) {
		if takesNode {
			names = append(names, name)
		}
	})
	for _, want := range names {
		b := graph.NewBuilder(tensor.Float64)
		methods(t, b, nil, func(name string, _ bool, call func() *node) {
			if name != want {
				return
			}
			if got := call(); got != nil || b.Err() == nil || !strings.Contains(b.Err().Error(), "nil") {
				t.Errorf("%s(nil) = %v with error %v", name, got, b.Err())
			}
		})
	}
}

// wantFailure builds with f on a new Builder and looks for each text in its error.
func wantFailure(t *testing.T, name string, f func(b *builder) *node, want ...string) {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	got := f(b)
	if b.Err() == nil {
		t.Errorf("%s: no error, node of shape %v", name, got.Shape())
		return
	}
	if got != nil {
		t.Errorf("%s: returned a node with error %v", name, b.Err())
	}
	for _, w := range want {
		if !strings.Contains(b.Err().Error(), w) {
			t.Errorf("%s: error %q does not name %q", name, b.Err(), w)
		}
	}
}

// TestShapeErrors: each operation names the shapes that it cannot take.
func TestShapeErrors(t *testing.T) {
	two := func(op func(b *builder, x, y *node) *node, x, y []int) func(b *builder) *node {
		return func(b *builder) *node { return op(b, b.Input("x", x...), b.Input("y", y...)) }
	}
	one := func(op func(b *builder, x *node) *node, x ...int) func(b *builder) *node {
		return func(b *builder) *node { return op(b, b.Input("x", x...)) }
	}
	ofScalar := func(op func(b *builder, x *node) *node) func(b *builder) *node {
		return func(b *builder) *node { return op(b, b.Sum(b.Input("x", 2))) }
	}
	matMul := func(ta, tb bool) func(b *builder, x, y *node) *node {
		return func(b *builder, x, y *node) *node { return b.MatMul(x, y, ta, tb) }
	}
	solve := func(b *builder, x, y *node) *node { return b.SolveLower(x, y, false) }
	shaped := func(op func(b *builder, x *node, s ...int) *node, s ...int) func(b *builder, x *node) *node {
		return func(b *builder, x *node) *node { return op(b, x, s...) }
	}
	concat := func(b *builder, x, y *node) *node { return b.Concat(0, x, y) }
	table := []struct {
		name string
		f    func(b *builder) *node
		want []string
	}{
		{"add", two((*builder).Add, []int{2, 3}, []int{2}), []string{"add", "(2, 3)", "(2)"}},
		{"sub", two((*builder).Sub, []int{4}, []int{3}), []string{"sub", "(4)", "(3)"}},
		{"mul", two((*builder).Mul, []int{2, 1, 4}, []int{3, 3}), []string{"mul", "(2, 1, 4)", "(3, 3)"}},
		{"div", two((*builder).Div, []int{2, 2}, []int{3, 2}), []string{"div", "(2, 2)", "(3, 2)"}},
		{"bias too long", two((*builder).AddBias, []int{2, 3}, []int{2}), []string{"bias", "(2, 3)", "(2)"}},
		{"bias matrix", two((*builder).AddBias, []int{2, 3}, []int{2, 3}), []string{"bias", "(2, 3)"}},
		{"bias of a vector", two((*builder).AddBias, []int{3}, []int{3}), []string{"bias", "(3)"}},
		{"matmul", two(matMul(false, false), []int{2, 3}, []int{2, 3}), []string{"matmul", "(2, 3)"}},
		{"matmul left", two(matMul(true, false), []int{2, 3}, []int{3, 4}), []string{"(2, 3)", "(3, 4)"}},
		{"matmul right", two(matMul(false, true), []int{2, 3}, []int{3, 4}), []string{"(2, 3)", "(3, 4)"}},
		{"matmul of vectors", two(matMul(false, false), []int{3}, []int{3}), []string{"(3)"}},
		{"matmul of a transposed stack and a matrix", two(matMul(true, false), []int{2, 3, 4}, []int{3, 5}), []string{"(2, 3, 4)", "(3, 5)"}},
		{"matmul of a matrix and a stack", two(matMul(false, false), []int{3, 4}, []int{2, 4, 5}), []string{"(3, 4)", "(2, 4, 5)"}},
		{"matmul of stacks", two(matMul(false, false), []int{2, 3, 4}, []int{3, 4, 5}), []string{"(2, 3, 4)", "(3, 4, 5)"}},
		{"matmul in four dimensions", two(matMul(false, false), []int{2, 1, 1, 1}, []int{1, 2, 1, 1}), []string{"(2, 1, 1, 1)", "(1, 2, 1, 1)"}},
		{"gram of a vector", one((*builder).Gram, 3), []string{"gram", "(3)"}},
		{"gram of a scalar", ofScalar((*builder).Gram), []string{"gram", "()"}},
		{"gram in four dimensions", one((*builder).Gram, 1, 1, 1, 1), []string{"(1, 1, 1, 1)"}},
		{"cholesky", one((*builder).Cholesky, 2, 3), []string{"cholesky", "(2, 3)"}},
		{"cholesky of a stack", one((*builder).Cholesky, 2, 3, 3), []string{"(2, 3, 3)"}},
		{"cholesky of a scalar", ofScalar((*builder).Cholesky), []string{"()"}},
		{"solve", two(solve, []int{3, 3}, []int{2, 3}), []string{"solve", "(3, 3)", "(2, 3)"}},
		{"solve not square", two(solve, []int{2, 3}, []int{2, 3}), []string{"(2, 3)"}},
		{"solve of a vector", two(solve, []int{3, 3}, []int{3}), []string{"(3, 3)", "(3)"}},
		{"log det", one((*builder).LogDet, 2, 3), []string{"(2, 3)"}},
		{"diag", one((*builder).Diag, 2, 3), []string{"(2, 3)"}},
		{"diag of a vector", one((*builder).Diag, 2), []string{"(2)"}},
		{"diag of a scalar", ofScalar((*builder).Diag), []string{"()"}},
		{"diagonal of a scalar", ofScalar((*builder).Diagonal), []string{"()"}},
		{"lower", one((*builder).Lower, 2, 4), []string{"(2, 4)"}},
		{"lower of a scalar", ofScalar((*builder).Lower), []string{"()"}},
		{"pack lower", one((*builder).PackLower, 3, 2), []string{"(3, 2)"}},
		{"log softmax of a scalar", ofScalar((*builder).LogSoftmax), []string{"scalar"}},
		{"sum to", one(shaped((*builder).SumTo, 4), 2, 3), []string{"(4)", "(2, 3)"}},
		{"sum to a larger", one(shaped((*builder).SumTo, 1, 2, 3), 2, 3), []string{"(1, 2, 3)", "(2, 3)"}},
		{"sum axis", one(func(b *builder, x *node) *node { return b.SumAxis(x, 2) }, 2, 3), []string{"axis 2", "(2, 3)"}},
		{"sum axis from the end", one(func(b *builder, x *node) *node { return b.SumAxis(x, -3) }, 2, 3), []string{"(2, 3)"}},
		{"sum axis of a scalar", ofScalar(func(b *builder, x *node) *node { return b.SumAxis(x, -1) }), []string{"()"}},
		{"broadcast", one(shaped((*builder).BroadcastTo, 4, 3), 2), []string{"(4, 3)", "(2)"}},
		{"broadcast to a smaller", one(shaped((*builder).BroadcastTo, 3), 2, 3), []string{"(2, 3)", "(3)"}},
		{"broadcast to nothing", one(shaped((*builder).BroadcastTo, 0, 3), 3), []string{"(0, 3)", "(3)"}},
		{"reshape", one(shaped((*builder).Reshape, 4, 2), 2, 3), []string{"(4, 2)", "(2, 3)"}},
		{"reshape to negative", one(shaped((*builder).Reshape, -2, -3), 2, 3), []string{"(-2, -3)", "(2, 3)"}},
		{"reshape to a scalar", one(shaped((*builder).Reshape), 2, 3), []string{"()", "(2, 3)"}},
		{"transpose", one(shaped((*builder).Transpose, 0, 0), 2, 3), []string{"[0 0]", "(2, 3)"}},
		{"transpose of more axes", one(shaped((*builder).Transpose, 0, 1, 2), 2, 3), []string{"[0 1 2]", "(2, 3)"}},
		{"transpose of fewer axes", one(shaped((*builder).Transpose, 0), 2, 3), []string{"[0]", "(2, 3)"}},
		{"transpose of negative axes", one(shaped((*builder).Transpose, -1, 0), 2, 3), []string{"[-1 0]", "(2, 3)"}},
		{"transpose of a vector", one(shaped((*builder).Transpose), 3), []string{"(3)"}},
		{"slice axis", one(func(b *builder, x *node) *node { return b.Slice(x, 2, 0, 1) }, 2, 3), []string{"axis 2", "(2, 3)"}},
		{"slice beyond", one(func(b *builder, x *node) *node { return b.Slice(x, 1, 1, 4) }, 2, 3), []string{"[1, 4)", "(2, 3)"}},
		{"slice of nothing", one(func(b *builder, x *node) *node { return b.Slice(x, 1, 2, 2) }, 2, 3), []string{"[2, 2)", "(2, 3)"}},
		{"slice far beyond", one(func(b *builder, x *node) *node { return b.Slice(x, 0, math.MaxInt, math.MinInt) }, 2, 3), []string{"(2, 3)"}},
		{"slice of a scalar", ofScalar(func(b *builder, x *node) *node { return b.Slice(x, 0, 0, 1) }), []string{"()"}},
		{"pad too small", one(func(b *builder, x *node) *node { return b.Pad(x, 0, 1, 2) }, 2, 3), []string{"[1, 3)", "(2, 3)"}},
		{"pad without end", one(func(b *builder, x *node) *node { return b.Pad(x, 0, 0, math.MaxInt) }, 2, 3), []string{"(2, 3)", "too large"}},
		{"concat", two(concat, []int{2, 3}, []int{2, 4}), []string{"concat", "(2, 3)", "(2, 4)"}},
		{"concat of dimensions", two(concat, []int{2, 3}, []int{3}), []string{"(2, 3)", "(3)"}},
		{"concat of vector and column", two(concat, []int{3}, []int{3, 1}), []string{"(3)", "(3, 1)"}},
		{"concat of a scalar", ofScalar(func(b *builder, x *node) *node { return b.Concat(0, x, x) }), []string{"axis 0", "()"}},
		{"concat of nothing", func(b *builder) *node { return b.Concat(0) }, []string{"nothing"}},
		{"constant", func(b *builder) *node { return b.Const("c", []float64{1, 2}, 3) }, []string{`"c"`, "2 values", "[3]"}},
		{"constant without shape", func(b *builder) *node { return b.Const("c", []float64{1}) }, []string{`"c"`, "[]"}},
		{"fill without shape", func(b *builder) *node { return b.Fill(1) }, []string{"[1]"}},
		{"fill of nothing", func(b *builder) *node { return b.Fill(1, 2, 0) }, []string{"[2 0]"}},
		{"fill of negative", func(b *builder) *node { return b.Fill(1, -2, -2) }, []string{"[-2 -2]"}},
		{"eye 0", func(b *builder) *node { return b.Eye(0) }, []string{"[0 0]"}},
		{"eye −1", func(b *builder) *node { return b.Eye(-1) }, []string{"[-1 -1]"}},
		{"one-hot", func(b *builder) *node { return b.OneHot([]int{0, 3}, 3) }, []string{"class[1] = 3", "< 3"}},
		{"one-hot negative", func(b *builder) *node { return b.OneHot([]int{-1}, 3) }, []string{"class[0] = -1"}},
		{"one-hot of nothing", func(b *builder) *node { return b.OneHot(nil, 3) }, []string{"[0 3]"}},
		{"input without shape", func(b *builder) *node { return b.Input("x") }, []string{`"x"`, "[1]"}},
		{"empty batch", func(b *builder) *node { return b.Input("x", 0, 3) }, []string{`"x"`, "[0 3]"}},
		{"negative batch", func(b *builder) *node { return b.Input("x", -1, 3) }, []string{`"x"`, "[-1 3]"}},
	}
	for _, c := range table {
		wantFailure(t, c.name, c.f, c.want...)
	}
}

// TestOperandErrors: wrong element type, another graph, names.
func TestOperandErrors(t *testing.T) {
	other := graph.NewBuilder(tensor.Float64)
	alien := other.Input("x", 2)
	wantFailure(t, "another graph", func(b *builder) *node { return b.Add(b.Input("y", 2), alien) }, "add", "input 1", "another graph")
	wantFailure(t, "another graph, nothing to do", func(b *builder) *node { return b.Reshape(alien, 2) }, "another graph")
	wantFailure(t, "other type", func(b *builder) *node {
		return b.Exp(graph.On(b.Graph(), tensor.Float32).Input("y", 2))
	}, "exp", "float32", "float64")
	wantFailure(t, "input named twice", func(b *builder) *node { b.Input("y", 2); return b.Input("y", 2) }, `"y"`)
	wantFailure(t, "input named twice, other shape", func(b *builder) *node { b.Input("y", 2); return b.Input("y", 3) }, `"y"`)
	wantFailure(t, "reserved name", func(b *builder) *node { return b.Input("const:eye 2", 2, 2) }, "const:eye 2")
	p := func(name string, v ...float64) *graph.Param { return &graph.Param{Name: name, Value: vector(v...)} }
	wantFailure(t, "two parameters of one name", func(b *builder) *node { b.Param(p("w", 1)); return b.Param(p("w", 1)) }, `"w"`, "two different")
	wantFailure(t, "input and parameter", func(b *builder) *node { b.Input("w", 2); return b.Param(p("w", 1)) }, `"w"`)
	wantFailure(t, "parameter and input", func(b *builder) *node { b.Param(p("w", 1)); return b.Input("w", 2) }, `"w"`)
	wantFailure(t, "parameter named as a constant", func(b *builder) *node { return b.Param(p("const:fill", 1)) }, "const:fill")
	wantFailure(t, "parameter of another type", func(b *builder) *node {
		return b.Param(&graph.Param{Name: "w", Value: tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2))})
	}, `"w"`, "float32", "float64")
	wantFailure(t, "parameter without value", func(b *builder) *node { return b.Param(&graph.Param{Name: "w"}) }, "w")
	wantFailure(t, "no parameter", func(b *builder) *node { return b.Param(nil) }, "parameter")
	wantFailure(t, "scalar parameter", func(b *builder) *node {
		return b.Param(&graph.Param{Name: "w", Value: tensor.New(tensor.FromScalar(1.0))})
	}, `"w"`, "[1]")
	wantFailure(t, "constants of one name", func(b *builder) *node {
		b.Const("c", []float64{1, 2}, 2)
		return b.Const("c", []float64{1, 3}, 2)
	}, `"c"`, "two different")
	wantFailure(t, "constants of one name, other shape", func(b *builder) *node {
		b.Const("c", []float64{1, 2}, 2)
		return b.Const("c", []float64{1, 2}, 2, 1)
	}, `"c"`, "two different")

	for _, dt := range []tensor.Dtype{tensor.Int, tensor.Bool, tensor.Complex128} {
		b := graph.NewBuilder(dt)
		if b.Err() == nil || !strings.Contains(b.Err().Error(), dt.String()) {
			t.Errorf("element type %v: error %v", dt, b.Err())
		}
	}
}

func vector(v ...float64) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v)), tensor.WithBacking(v))
}

// TestParamIsBoundByReference: programs read what an optimizer writes into Value, and
// asking for a parameter again gives its one node.
func TestParamIsBoundByReference(t *testing.T) {
	p := &graph.Param{Name: "w", Value: vector(1, 2)}
	for range 2 { // one parameter in two graphs
		b := graph.NewBuilder(tensor.Float64)
		w := b.Param(p)
		if b.Param(p) != w {
			t.Error("a parameter has two nodes")
		}
		m := newMachine(t, b, nil, []*node{b.Square(w)}, graph.Options{})
		start := p.Value.Float64s()[0]
		wantSame(t, "square", m.eval(t, nil), arrays{{start * start, 4}}, 0)
		p.Value.Float64s()[0] = -3
		wantSame(t, "square of the changed value", m.eval(t, nil), arrays{{9, 4}}, 0)
	}
}

// TestLet: what is written with a parameter takes the node in its place, and gradients flow
// to what that is made of. Another shape is an error.
func TestLet(t *testing.T) {
	p, raw := &graph.Param{Name: "w", Value: vector(1, 2)}, &graph.Param{Name: "raw", Value: vector(3, 4)}
	b := graph.NewBuilder(tensor.Float64)
	r := b.Param(raw)
	b.Let(p, b.Scale(r, 2))
	y := b.Square(b.Param(p))
	noErr(t, b)
	m := newMachine(t, b, nil, append(graph.Grad(b, b.Sum(y), r), y), graph.Options{})
	wantSame(t, "gradient and value", m.eval(t, nil), arrays{{24, 32}, {36, 64}}, 0)
	if b.Let(p, b.Fill(1, 3)); b.Err() == nil {
		t.Error("a node of another shape stands in place of a parameter")
	}
}

// TestDetach: the value stays, the derivative is 0, also where it is taken twice.
func TestDetach(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Param(&graph.Param{Name: "x", Value: vector(3, -2)})
	y := b.Mul(b.Detach(x), b.Square(x)) // y' = 2x·x, y'' = 2x
	first := graph.Grad(b, b.Sum(y), x)[0]
	m := newMachine(t, b, nil, []*node{y, first, graph.Grad(b, b.Sum(first), x)[0]}, graph.Options{})
	wantSame(t, "value and derivatives", m.eval(t, nil), arrays{{27, -8}, {18, 8}, {6, -4}}, 0)
}

// TestConstants: the same constant twice is one node; its values are
// copied; names of constants do not clash with names of the package's own constants.
func TestConstants(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b := graph.NewBuilder(dt)
		v := []float64{1, 2, 3, 4}
		c := b.Const("eye 2", v, 2, 2)
		again := b.Const("eye 2", slices.Clone(v), 2, 2)
		v[0] = 100
		out := []*node{c, b.Eye(2), b.Fill(0.5, 3), b.OneHot([]int{1, 0}, 3), b.Fill(math.Copysign(0, -1), 1)}
		noErr(t, b)
		if c != again || b.Eye(2) != out[1] || b.Fill(0.5, 3) != out[2] {
			t.Error("one constant has two nodes")
		}
		got := evaluate(t, b, nil, out, nil)
		wantSame(t, "constants", got, arrays{{1, 2, 3, 4}, {1, 0, 0, 1}, {0.5, 0.5, 0.5}, {0, 1, 0, 1, 0, 0}, {0}}, 0)
		if !math.Signbit(got[4][0]) {
			t.Error("−0 was merged with 0")
		}
		nan := b.Const("nan", []float64{math.NaN()}, 1)
		if b.Const("nan", []float64{math.NaN()}, 1) != nan || b.Err() != nil {
			t.Errorf("a constant that is no number has two nodes, error %v", b.Err())
		}
	}
}

// TestLongConstantsStayApart: Gorgonia merges tensors that print alike, and long ones
// are printed without their middle.
func TestLongConstantsStayApart(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	var out []*node
	var want arrays
	for k := range 3 {
		v := make([]float64, 10_000)
		v[5_000] = float64(k)
		out, want = append(out, b.Const(fmt.Sprint("c", k), v, 100, 100)), append(want, v)
	}
	noErr(t, b)
	wantSame(t, "constants", evaluate(t, b, nil, out, nil), want, 0)
}

// TestNodesStayApart makes 20,000 small nodes and checks that each node is the node that
// was asked for, also when the node is asked for again.
func TestNodesStayApart(t *testing.T) {
	const n = 10_000
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2)
	pair := func(i int) [2]*node {
		y := b.Affine(x, float64(i), 1)
		return [2]*node{y, b.Sin(y)}
	}
	seen := make(map[*node]bool, 2*n)
	first := make([][2]*node, n)
	for i := range first {
		first[i] = pair(i)
		for _, y := range first[i] {
			if seen[y] {
				t.Fatalf("node %d was merged with another", i)
			}
			seen[y] = true
		}
		if c := graph.Children(first[i][1]); len(c) != 1 || c[0] != first[i][0] {
			t.Fatalf("node %d has other operands", i)
		}
	}
	for i := 0; i < n; i += 7 {
		if pair(i) != first[i] {
			t.Fatalf("node %d was made again", i)
		}
	}
	noErr(t, b)
	last := first[n-1][:]
	want := arrays{{n, 2*n - 1}, {math.Sin(n), math.Sin(2*n - 1)}}
	wantSame(t, "last node", evaluate(t, b, []*node{x}, last, arrays{{1, 2}}), want, 1e-12)
}

// TestCollidingNodesStayApart: Gorgonia identifies a node by a 32-bit hash of its
// operation and its operands' hashes. The two names were found by search: their
// leaves' hashes agree, and so do the hashes of everything computed alike from the leaves.
func TestCollidingNodesStayApart(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, y := b.Input("x682451501", 2), b.Input("x867542288", 2)
	if x.Hashcode() != y.Hashcode() {
		t.Fatalf("the hashes %x and %x differ; the names show nothing", x.Hashcode(), y.Hashcode())
	}
	build := func() []*node {
		return []*node{b.Sin(x), b.Sin(y), b.Sub(x, y), b.Sub(y, x), b.Exp(b.Sin(x)), b.Exp(b.Sin(y)),
			graph.Grad(b, b.Sum(b.Sin(x)), x)[0], graph.Grad(b, b.Sum(b.Sin(y)), y)[0]}
	}
	out := build()
	noErr(t, b)
	for i, n := range build() {
		if n != out[i] {
			t.Errorf("node %d was made again", i)
		}
	}
	s1, s2, e := math.Sin(1), math.Sin(2), math.Exp
	want := arrays{{s1, s1}, {s2, s2}, {-1, -1}, {1, 1}, {e(s1), e(s1)}, {e(s2), e(s2)},
		{math.Cos(1), math.Cos(1)}, {math.Cos(2), math.Cos(2)}}
	wantSame(t, "values", evaluate(t, b, []*node{x, y}, out, arrays{{1, 1}, {2, 2}}), want, 1e-14)
}
