package graph_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// tolDiff is for central differences of fourth order with step 1e-4 on graphs whose
// values are of order 1: rounding leaves about 1e-11, truncation less on all but the
// most curved graphs.
const tolDiff = 1e-6

// TestRandomDerivatives compares, on random graphs with two outputs, first
// derivatives with differences of values, second derivatives with differences of
// first ones, and JVP with VJP.
func TestRandomDerivatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := graph.NewBuilder(tensor.Float64)
		e := drawExpression(t, b, rapid.IntRange(1, 7).Draw(t, "steps"))
		y := e.outputs()
		ctLeaves, cts := cotangents(b, y)
		dirs := inputs(b, "d", shapesOf(e.in)...)
		grads := graph.VJP(b, y, cts, e.in)
		hess := graph.VJP(b, grads, dirs, append(e.in[:3:3], ctLeaves...))
		jvp := graph.JVP(b, y, e.in, dirs)
		noErr(t, b)

		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		in, ct := e.values(rng), normals(rng, ctLeaves)
		dir, dir2 := normals(rng, e.in), normals(rng, e.in)
		value := newMachine(t, b, e.in, y, graph.Options{})
		first := newMachine(t, b, append(e.in[:3:3], ctLeaves...), grads, graph.Options{})
		all := append(append(e.in[:3:3], ctLeaves...), dirs...)
		second := newMachine(t, b, all, append(hess, jvp...), graph.Options{})

		wantClose(t, "first derivative along a direction", inner(first.eval(t, join(in, ct)), dir),
			slope(func(h float64) float64 { return inner(value.eval(t, moved(in, dir, h)), ct) }), tolDiff)
		got := second.eval(t, join(in, ct, dir))
		wantClose(t, "second derivative along two directions", inner(got[:3], dir2),
			slope(func(h float64) float64 { return inner(first.eval(t, join(moved(in, dir2, h), ct)), dir) }), tolDiff)
		// ⟨Jᵀu, d⟩ is linear in u with gradient J·d, which is the JVP.
		wantClose(t, "⟨J d, u⟩ against ⟨d, Jᵀu⟩", inner(got[5:], ct), inner(first.eval(t, join(in, ct)), dir), 1e-10)
		wantSame(t, "derivative in the cotangents against JVP", got[3:5], got[5:], 1e-10)
	})
}

// TestThirdDerivative: (sin x²)”' = −12x sin x² − 8x³ cos x², (tanh x)”' = (1−y²)(6y²−2),
// (1/x)”' = −6/x⁴, (x³)”' = 6.
func TestThirdDerivative(t *testing.T) {
	table := []struct {
		name string
		f    func(b *builder, x *node) *node
		d3   func(x float64) float64
	}{
		{"sin x²", func(b *builder, x *node) *node { return b.Sin(b.Square(x)) },
			func(x float64) float64 { return -12*x*math.Sin(x*x) - 8*x*x*x*math.Cos(x*x) }},
		{"tanh x", func(b *builder, x *node) *node { return b.Tanh(x) },
			func(x float64) float64 { y := math.Tanh(x); return (1 - y*y) * (6*y*y - 2) }},
		{"1/x", func(b *builder, x *node) *node { return b.Div(b.Fill(1, 1), x) },
			func(x float64) float64 { return -6 / (x * x * x * x) }},
		{"x³", func(b *builder, x *node) *node { return b.Mul(b.Mul(x, x), x) },
			func(float64) float64 { return 6 }},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			b := graph.NewBuilder(tensor.Float64)
			x := b.Input("x", 4)
			y := c.f(b, x)
			for range 3 {
				y = graph.Grad(b, b.Sum(y), x)[0]
			}
			noErr(t, b)
			in := []float64{-1.3, 0.2, 0.9, 2.1}
			want := make([]float64, len(in))
			for i, v := range in {
				want[i] = c.d3(v)
			}
			wantSame(t, "third derivative", evaluate(t, b, []*node{x}, []*node{y}, arrays{in}), arrays{want}, 1e-12)
		})
	}
}

// TestVJPTwice: VJP keeps no state, so a second call adds nothing to the first.
func TestVJPTwice(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2, 3)
	y := b.Sum(b.Mul(b.Tanh(x), b.Square(x)))
	once := graph.Grad(b, y, x)
	size := b.Graph().AllNodes().Len()
	twice := graph.Grad(b, y, x)
	noErr(t, b)
	if once[0] != twice[0] || b.Graph().AllNodes().Len() != size {
		t.Error("the second call made new nodes of the same formula")
	}
	graph.Grad(b, once[0], x) // refused: the gradient has six elements
	if b.Err() == nil {
		t.Fatal("Grad accepted a node of shape (2, 3)")
	}
}

func TestVJPOfUnrelatedNodeIsZero(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b := graph.NewBuilder(dt)
		x, z := b.Input("x", 3), b.Input("z", 2, 2)
		s := b.Sum(z)
		y := b.Sum(b.Square(x))
		g := graph.Grad(b, y, z, s, x)
		noErr(t, b)
		if !g[0].Shape().Eq(tensor.Shape{2, 2}) || g[1].Dims() != 0 {
			t.Fatalf("zeros of shapes %v and %v, want (2, 2) and ()", g[0].Shape(), g[1].Shape())
		}
		got := evaluate(t, b, []*node{x}, g, arrays{{1, -2, 3}})
		wantSame(t, "gradients", got, arrays{{0, 0, 0, 0}, {0}, {2, -4, 6}}, 0)
	}
}

// TestVJPOfInteriorNodes: a derivative with respect to an intermediate h holds h's
// inputs fixed; one with respect to x counts the way through h too.
func TestVJPOfInteriorNodes(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 3)
	h := b.Square(x)
	y := b.Sum(b.Mul(h, x)) // Σ x³
	g := graph.Grad(b, y, h, x, y)
	noErr(t, b)
	got := evaluate(t, b, []*node{x}, g, arrays{{1, -2, 3}})
	wantSame(t, "d/dh, d/dx, d/dy", got, arrays{{1, -2, 3}, {3, 12, 27}, {1}}, 1e-15)
}

// TestVJPSumsOverOutputsAndUses: y₁ = x∘x, y₂ = x + x, and y₁ given twice.
func TestVJPSumsOverOutputsAndUses(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2)
	y1, y2 := b.Mul(x, x), b.Add(x, x)
	c := inputs(b, "c", []int{2}, []int{2}, []int{2})
	g := graph.VJP(b, []*node{y1, y2, y1}, c, []*node{x, x})
	noErr(t, b)
	in := arrays{{3, -5}, {1, 2}, {10, 20}, {100, 200}}
	want := []float64{2*3*(1+100) + 2*10, 2*-5*(2+200) + 2*20}
	wantSame(t, "gradient", evaluate(t, b, append([]*node{x}, c...), g, in), arrays{want, want}, 1e-15)
}

// TestJVPOfFewTangents: a product along one input only, and of an output that does
// not depend on it.
func TestJVPOfFewTangents(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, z := b.Input("x", 2), b.Input("z", 2)
	d := b.Input("d", 2)
	out := []*node{b.Mul(x, z), b.Exp(z), b.Sum(b.Mul(x, x)), x}
	p := graph.JVP(b, out, []*node{x}, []*node{d})
	noErr(t, b)
	got := evaluate(t, b, []*node{x, z, d}, p, arrays{{2, 3}, {5, 7}, {10, 100}})
	wantSame(t, "JVP", got, arrays{{50, 700}, {0, 0}, {2*2*10 + 2*3*100}, {10, 100}}, 1e-15)
}

// TestJVPOfJVP: the second derivative of Σx³ along d and d is 6 Σ x d².
func TestJVPOfJVP(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, d := b.Input("x", 2), b.Input("d", 2)
	y := b.Sum(b.Mul(b.Square(x), x))
	wrt, dirs := []*node{x}, []*node{d}
	p := graph.JVP(b, graph.JVP(b, []*node{y}, wrt, dirs), wrt, dirs)
	noErr(t, b)
	got := evaluate(t, b, []*node{x, d}, p, arrays{{2, -3}, {1, 10}})
	wantSame(t, "second derivative", got, arrays{{6 * (2*1 - 3*100)}}, 1e-15)
}

// TestCholeskyGradient: the gradient in the matrix itself is symmetric, though the
// factor is computed from one triangle. The log-determinant's gradient is the inverse.
func TestCholeskyGradient(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	a, w := b.Input("a", 2, 2), b.Input("w", 2, 2)
	r := b.Cholesky(a)
	g := append(graph.Grad(b, b.LogDet(r), a), graph.Grad(b, b.Sum(b.Mul(w, r)), a)...)
	noErr(t, b)
	got := evaluate(t, b, []*node{a, w}, g, arrays{{4, 2, 2, 5}, {3, 0, 7, 11}})
	// R = [[2, 0], [1, 2]]. With A = [[p, q], [q, s]]: R₁₁ = √p, R₂₁ = q/√p and
	// R₂₂ = √(s − q²/p), whence ∂/∂p = 3/4 − 7/8 + 11/16, ∂/∂q = 7/2 − 11/4, shared by the
	// two elements that hold q, and ∂/∂s = 11/4, at p = 4, q = 2, s = 5.
	want := arrays{{5. / 16, -2. / 16, -2. / 16, 4. / 16}, {9. / 16, 3. / 8, 3. / 8, 11. / 4}}
	wantSame(t, "gradients", got, want, 1e-14)
}

// TestVJPErrors: what does not fit is the Builder's error, and gives nil nodes.
func TestVJPErrors(t *testing.T) {
	other := graph.NewBuilder(tensor.Float64)
	alien := other.Input("x", 3)
	table := []struct {
		name string
		call func(b *builder, x, y *node) []*node // x [3], y [3,1]
		want string
	}{
		{"fewer cotangents", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{x, y}, []*node{x}, []*node{x})
		}, "2 outputs, 1 cotangents"},
		{"nil cotangent", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{y}, []*node{nil}, []*node{x})
		}, "cotangent"},
		{"nil output", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{nil}, []*node{x}, []*node{x})
		}, "outputs: input 0 is nil"},
		{"other shape", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{x}, []*node{b.Fill(1, 4)}, []*node{x})
		}, "(4)"},
		{"vector for a column", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{y}, []*node{b.Fill(1, 3)}, []*node{x})
		}, "(3, 1)"},
		{"scalar for one element", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{b.Sum(x)}, []*node{b.Fill(1, 1)}, []*node{x})
		}, "shape"},
		{"nil wrt", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{x}, []*node{x}, []*node{nil})
		}, "wrt: input 0 is nil"},
		{"no wrt", func(b *builder, x, y *node) []*node {
			return append(graph.VJP(b, []*node{x}, []*node{x}, nil), nil)
		}, "respect"},
		{"cotangent of another graph", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{b.Tanh(x)}, []*node{alien}, []*node{x})
		}, "another graph"},
		{"cotangent of another graph, returned as it is", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{x}, []*node{alien}, []*node{x})
		}, "another graph"},
		{"wrt of another graph", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{x}, []*node{x}, []*node{alien})
		}, "another graph"},
		{"output of another graph", func(b *builder, x, y *node) []*node {
			return graph.VJP(b, []*node{other.Tanh(alien)}, []*node{x}, []*node{alien})
		}, "another graph"},
		{"gradient of an array", func(b *builder, x, y *node) []*node {
			return graph.Grad(b, y, x)
		}, "(3, 1)"},
		{"gradient of nil", func(b *builder, x, y *node) []*node {
			return graph.Grad(b, nil, x)
		}, "nil"},
		{"jvp of nil", func(b *builder, x, y *node) []*node {
			return graph.JVP(b, []*node{nil}, []*node{x}, []*node{x})
		}, "nil"},
		{"jvp of fewer tangents", func(b *builder, x, y *node) []*node {
			return graph.JVP(b, []*node{y}, []*node{x, b.Square(x)}, []*node{x})
		}, "jvp: 2 nodes, 1 tangents"},
		{"jvp of another shape", func(b *builder, x, y *node) []*node {
			return graph.JVP(b, []*node{y}, []*node{x}, []*node{y})
		}, "jvp: node 0 has shape (3), its tangent (3, 1)"},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			b := graph.NewBuilder(tensor.Float64)
			x := b.Input("x", 3)
			y := b.Reshape(b.Square(x), 3, 1)
			got := c.call(b, x, y)
			if b.Err() == nil || !strings.Contains(b.Err().Error(), c.want) {
				t.Fatalf("error %v, want one with %q", b.Err(), c.want)
			}
			if len(got) != 1 || got[0] != nil {
				t.Errorf("returned %v, want one nil node", got)
			}
		})
	}
}
