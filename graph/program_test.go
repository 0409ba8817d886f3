package graph_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// TestRandomPrograms: on random graphs with their gradients, a program gives to the
// last bit what a fresh array for every operation gives, however its buffers are shared,
// also when it runs again with other inputs.
func TestRandomPrograms(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		rapid.Check(t, func(t *rapid.T) {
			b := graph.NewBuilder(dt)
			e := drawExpression(t, b, rapid.IntRange(1, 10).Draw(t, "steps"))
			out := drawOutputs(t, b, e)
			m := newMachine(t, b, e.in, out, graph.Options{})
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			for range 3 {
				in := e.values(rng)
				wantSame(t, "program", m.eval(t, in), freshRun(t, graph.Options{}, out, e.in, in), 0)
			}
		})
	}
}

// TestRandomFusedPrograms: the same where chains are made of arrays of two elements and
// more, run in blocks of two by several threads.
func TestRandomFusedPrograms(t *testing.T) {
	graph.SetFusing(t, 2, 2, 4)
	t.Run("programs", TestRandomPrograms)
	t.Run("varying", TestRandomVaryingPrograms)
}

// drawOutputs chooses nodes anywhere in the graph, leaves and repeats included, and
// gradients of the last node.
func drawOutputs(t *rapid.T, b *builder, e *expression) []*node {
	out := rapid.SliceOfN(rapid.SampledFrom(e.pool), 1, 4).Draw(t, "outputs")
	y := e.pool[len(e.pool)-1]
	out = append(out, graph.Grad(b, b.Sum(b.Square(y)), e.in...)...)
	out = append(out, b.Reshape(y, max(y.Shape().TotalSize(), 1)))
	noErr(t, b)
	return out
}

// TestRandomVaryingPrograms: what depends on varying leaves follows them, the rest
// is right too, before and after Refresh.
func TestRandomVaryingPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := graph.NewBuilder(tensor.Float64)
		e := drawExpression(t, b, rapid.IntRange(1, 10).Draw(t, "steps"))
		out := drawOutputs(t, b, e)
		mask := rapid.SliceOfN(rapid.Bool(), 3, 3).Draw(t, "varying")
		varying := []*node{}
		for i, n := range e.in {
			if mask[i] {
				varying = append(varying, n)
			}
		}
		m := newMachine(t, b, e.in, out, graph.Options{Varying: varying})
		wantSteps(t, m, out, varying)

		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		in := e.values(rng)
		for round := range 2 {
			for range 3 {
				next := e.values(rng)
				for i := range in {
					if mask[i] {
						in[i] = next[i]
					}
				}
				wantSame(t, fmt.Sprint("round ", round), m.eval(t, in), freshRun(t, graph.Options{Varying: varying}, out, e.in, in), 0)
			}
			in = e.values(rng)
			m.p.Refresh()
		}
	})
}

// wantSteps compares the program's count of its operations with one by the definition.
func wantSteps(t tb, m *machine, out, varying []*node) {
	t.Helper()
	once, each := graph.RewrittenSteps(out, varying)
	if gotOnce, gotEach := m.p.Steps(); gotOnce != once || gotEach != each {
		t.Fatalf("%d steps once and %d each, want %d and %d", gotOnce, gotEach, once, each)
	}
}

// TestVaryingCounts: of y = tanh(w)² x, tanh(w)² is computed once.
func TestVaryingCounts(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	w, x := b.Input("w", 2), b.Input("x", 2)
	frozen := b.Square(b.Affine(w, 2, 0))
	y := b.Mul(frozen, x)
	steps := func(o graph.Options) [2]int {
		once, each := newMachine(t, b, []*node{w, x}, []*node{y}, o).p.Steps()
		return [2]int{once, each}
	}
	for _, c := range []struct {
		varying []*node
		want    [2]int
	}{{nil, [2]int{0, 3}}, {[]*node{x}, [2]int{2, 1}}, {[]*node{w}, [2]int{0, 3}}, {[]*node{}, [2]int{3, 0}}} {
		if got := steps(graph.Options{Varying: c.varying}); got != c.want {
			t.Errorf("varying %v: steps %v, want %v", c.varying, got, c.want)
		}
	}
	m := newMachine(t, b, []*node{w, x}, []*node{y, frozen}, graph.Options{Varying: []*node{x}})
	wantSame(t, "first run", m.eval(t, arrays{{1, 2}, {1, 1}}), arrays{{4, 16}, {4, 16}}, 0)
	wantSame(t, "x changes", m.eval(t, arrays{{1, 2}, {1, 10}}), arrays{{4, 160}, {4, 16}}, 0)
	wantSame(t, "w changes unseen", m.eval(t, arrays{{3, 2}, {1, 10}}), arrays{{4, 160}, {4, 16}}, 0)
	m.p.Refresh()
	wantSame(t, "refreshed", m.eval(t, arrays{{3, 2}, {1, 10}}), arrays{{36, 160}, {36, 16}}, 0)
}

// TestPanels: a matrix that stays as it is from run to run is put in order once, and again after Refresh.
func TestPanels(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, trans := range []bool{false, true} {
			b := graph.NewBuilder(dt)
			shape := []int{70, 30}
			if trans {
				slices.Reverse(shape)
			}
			x, w := b.Input("x", 3, 12, 70), b.Input("w", shape...)
			out := []*node{b.MatMul(x, w, false, trans), b.MatMul(b.Reshape(x, 70, 36), w, true, trans)}
			leaves := []*node{x, w}
			m := newMachine(t, b, leaves, out, graph.Options{Varying: []*node{x}})
			if once, each := m.p.Steps(); once != 1 || each != 2 {
				t.Errorf("%d steps run once and %d in each run, expected 1 and 2", once, each)
			}
			rng := rngFor(t)
			for range 2 {
				in := normals(rng, leaves)
				m.p.Refresh()
				wantSame(t, "products", m.eval(t, in), evaluate(t, b, leaves, out, in), 0)
			}
		}
	}
}

func TestUnboundInputIsNamed(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, y := b.Input("temperature", 2), b.Input("pressure", 2, 3)
	out := []*node{b.Exp(x), b.Exp(y)}
	for _, o := range []graph.Options{{}, {Varying: []*node{x}}} {
		p, err := graph.Compile(b, out, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Bind(x, vector(1, 2)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the failed run leaves the program as it was
			if err := p.Run(); err == nil || !strings.Contains(err.Error(), `"pressure" of shape (2, 3)`) {
				t.Errorf("run without an input: %v", err)
			}
		}
	}
}

// TestBindErrors names what was expected and what was found.
func TestBindErrors(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2, 2)
	v := b.Input("v", 2)
	y := b.Exp(b.Add(x, v))
	p, err := graph.Compile(b, []*node{y}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	square := func() *tensor.Dense {
		return tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{1, 2, 3, 4}))
	}
	transposed := square()
	if err := transposed.T(); err != nil {
		t.Fatal(err)
	}
	columns := view(t, tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(make([]float64, 6))), nil, tensor.S(0, 2))
	colMajor := tensor.New(tensor.WithShape(2, 2), tensor.AsFortran(nil), tensor.WithBacking([]float64{1, 2, 3, 4}))
	for _, c := range []struct {
		name string
		leaf *node
		v    *tensor.Dense
		want []string
	}{
		{"shape", x, vector(1, 2), []string{`"x"`, "(2, 2)", "(2)"}},
		{"column for a vector", v, tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{1, 2})), []string{`"v"`, "(2, 1)"}},
		{"element type", v, tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 2})), []string{`"v"`, "float32", "float64"}},
		{"transposed", x, transposed, []string{`"x"`, "contiguous"}},
		{"some columns", x, columns, []string{`"x"`, "contiguous"}},
		{"column-major", x, colMajor, []string{`"x"`, "row-major"}},
		{"nothing", x, nil, []string{`"x"`, "nil"}},
		{"computed node", y, square(), []string{"computed"}},
	} {
		err := p.Bind(c.leaf, c.v)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q does not name %q", c.name, err, w)
			}
		}
	}
}

func view(t *testing.T, d *tensor.Dense, slices ...tensor.Slice) *tensor.Dense {
	t.Helper()
	v, err := d.Slice(slices...)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*tensor.Dense)
}

// TestBindByReference: the array is read in each run; some rows of a larger array
// are contiguous and may be bound; binding again replaces it, in outputs too.
func TestBindByReference(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, unused := b.Input("x", 2, 2), b.Input("unused", 1)
	y := b.Scale(x, 10)
	p, err := graph.Compile(b, []*node{y, x}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(v *tensor.Dense, want ...float64) {
		t.Helper()
		if err := errors.Join(p.Bind(x, v), p.Bind(unused, vector(1)), p.Run()); err != nil {
			t.Fatal(err)
		}
		ten := slices.Clone(want)
		for i := range ten {
			ten[i] *= 10
		}
		wantSame(t, "outputs", arrays{values(p.Value(y)), values(p.Value(x))}, arrays{ten, want}, 0)
	}
	data := tensor.New(tensor.WithShape(4, 2), tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6, 7, 8}))
	run(view(t, data, tensor.S(1, 3)), 3, 4, 5, 6)
	data.Float64s()[2] = -3
	run(view(t, data, tensor.S(1, 3)), -3, 4, 5, 6)
	run(view(t, data, tensor.S(2, 4)), 5, 6, 7, 8)
}

// TestOutputs: a leaf, a constant, a parameter, one node twice, a node with the
// reshaped form of it, and a scalar.
func TestOutputs(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 3)
	w := b.Param(&graph.Param{Name: "w", Value: vector(7)})
	y := b.Square(x)
	out := []*node{x, y, y, b.Reshape(y, 3, 1), b.Reshape(x, 1, 3), b.Sum(x), b.Fill(2, 2), w, x}
	noErr(t, b)
	m := newMachine(t, b, []*node{x}, out, graph.Options{})
	for _, s := range []float64{1, -2} {
		got := m.eval(t, arrays{{s, 2 * s, 3 * s}})
		lin, sq := []float64{s, 2 * s, 3 * s}, []float64{s * s, 4 * s * s, 9 * s * s}
		wantSame(t, "outputs", got, arrays{lin, sq, sq, sq, lin, {6 * s}, {2, 2}, {7}, lin}, 0)
	}
	for n, want := range map[*node]tensor.Shape{out[3]: {3, 1}, out[4]: {1, 3}, out[5]: {1}} {
		if got := m.p.Value(n).Shape(); !slices.Equal(got, want) {
			t.Errorf("value of shape %v, want %v", got, want)
		}
	}
	if got := m.p.Scalar(out[5]); got != -12 {
		t.Errorf("scalar %v, want −12", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("the value of a node that is no output did not panic")
		}
	}()
	m.p.Value(b.Exp(x))
}

// TestCompileErrors: the Builder's error, and outputs that it cannot compute.
func TestCompileErrors(t *testing.T) {
	b, other := graph.NewBuilder(tensor.Float64), graph.NewBuilder(tensor.Float32)
	b.Input("x", 1)
	for name, out := range map[string]*node{"nil": nil, "another graph": other.Input("x", 1)} {
		if _, err := graph.Compile(b, []*node{out}, graph.Options{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("an output that is %s: error %v", name, err)
		}
	}
	if b.Err() != nil {
		t.Errorf("compiling changed the builder's error to %v", b.Err())
	}
	w := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{1, 2, 3, 4}))
	if err := w.T(); err != nil {
		t.Fatal(err)
	}
	y := b.Exp(b.Param(&graph.Param{Name: "weights", Value: w}))
	if _, err := graph.Compile(b, []*node{y}, graph.Options{}); err == nil || !strings.Contains(err.Error(), `"weights"`) {
		t.Errorf("a parameter that is not contiguous: error %v", err)
	}
	b.Failf("the first error")
	if _, err := graph.Compile(b, nil, graph.Options{}); err != b.Err() {
		t.Errorf("error %v, want the builder's", err)
	}
}

// TestNotPositiveDefinite: the error tells the matrix and the pivot, and the program
// runs again when the matrix is mended, also where the factor is computed once only.
func TestNotPositiveDefinite(t *testing.T) {
	for _, varying := range [][]*node{nil, {}} {
		b := graph.NewBuilder(tensor.Float64)
		a := b.Input("a", 3, 3)
		m := newMachine(t, b, []*node{a}, []*node{b.Cholesky(a)}, graph.Options{Varying: varying})
		diag := func(d float64) { setValues(m.args[0], []float64{4, 0, 0, 0, 9, 0, 0, 0, d}) }
		for _, d := range []float64{-1, 0} {
			diag(d)
			err := m.p.Run()
			var indefinite *graph.NotPositiveDefiniteError
			if !errors.As(err, &indefinite) || indefinite.Order != 3 || indefinite.Pivot != 2 {
				t.Errorf("last diagonal element %v: error %v", d, err)
			}
		}
		diag(16)
		if err := m.p.Run(); err != nil {
			t.Fatal(err)
		}
		wantSame(t, "factor", arrays{values(m.p.Value(m.out[0]))}, arrays{{2, 0, 0, 0, 3, 0, 0, 0, 4}}, 0)
	}
}

// TestBytes: a chain of 500 functions of one element each needs one buffer.
func TestBytes(t *testing.T) {
	for dt, width := range map[tensor.Dtype]int{tensor.Float32: 4, tensor.Float64: 8} {
		b := graph.NewBuilder(dt)
		x := b.Input("x", 96)
		y := x
		for range 500 {
			y = b.Sin(y)
		}
		m := newMachine(t, b, []*node{x}, []*node{y}, graph.Options{})
		if got, want := m.p.Bytes(), 96*width; got != want {
			t.Errorf("%v: %d bytes, want %d", dt, got, want)
		}
		in := arrays{normals(rngFor(t), []*node{x})[0]}
		wantSame(t, "chain", m.eval(t, in), naiveRun(t, []*node{y}, []*node{x}, in), 0)
	}
}

// TestInPlace: an operand is overwritten only if nothing reads it later: not the
// other operand, not a reshaped view of it, not the caller, not the next run.
func TestInPlace(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, z := b.Input("x", 2, 3), b.Input("z", 2, 3)
	u, v, w := b.Sin(x), b.Exp(x), b.Cos(z)
	out := []*node{
		b.Mul(u, u), b.Sub(u, b.Reshape(b.Add(b.Reshape(u, 6), b.Fill(1, 6)), 2, 3)),
		v, b.Sub(b.Fill(1, 2, 3), v),
		b.Mul(b.Sub(b.SumAxis(x, 1), b.Tanh(x)), w),
	}
	m := newMachine(t, b, []*node{x, z}, out, graph.Options{Varying: []*node{x}})
	in := normals(rngFor(t), []*node{x, z})
	want := naiveRun(t, out, []*node{x, z}, in)
	for range 3 {
		wantSame(t, "outputs", m.eval(t, in), want, 0)
	}
}

// TestNoAllocations runs all operations and their gradients in one program.
func TestNoAllocations(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b := graph.NewBuilder(dt)
		rng := rngFor(t)
		var leaves []*node
		var in arrays
		total := b.Sum(b.Fill(0, 1))
		for i, c := range opCases() {
			noErr(t, b)
			x := inputs(b, fmt.Sprintf("%d %s ", i, c.Name), c.Shapes...)
			v := normals(rng, x)
			if c.Prepare != nil {
				c.Prepare(v)
			}
			total = b.Add(total, b.Sum(c.Build(b, x)))
			leaves, in = append(leaves, x...), append(in, v...)
		}
		out := append(graph.Grad(b, total, leaves...), total)
		noErr(t, b)
		m := newMachine(t, b, leaves, out, graph.Options{Varying: leaves[:len(leaves)/2]})
		wantSame(t, "all operations", m.eval(t, in), freshRun(t, graph.Options{}, out, leaves, in), 0)
		run := func() {
			if err := m.p.Run(); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("%v: a run allocates %v times, want 0", dt, n)
		}
	}
}
