package graph

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// SetFusing changes what is fused until the test ends, for tests outside the package.
func SetFusing(t testing.TB, from, block, share int) {
	before := fusing
	fusing.from, fusing.block, fusing.share = from, block, share
	t.Cleanup(func() { fusing = before })
}

// TestFuse: a chain of operations on a large array is one step. The chain holds nothing that it
// broadcasts or that cannot be run in blocks. The results equal the results of single steps.
func TestFuse(t *testing.T) {
	run := func(from int) (steps int, out []float64) {
		SetFusing(t, from, 64, 1<<10)
		b := NewBuilder(tensor.Float64)
		x, s, r := b.Input("x", 50, 40), b.Input("s", 1, 40), b.Input("r", 50, 1)
		y := b.Add(b.Mul(b.Tanh(x), s), r)   // three
		z := b.Sub(b.Square(y), b.Mul(y, x)) // three more
		sum := b.SumTo(z, 50, 1)             // not element by element
		w := b.Mul(b.Exp(b.Neg(z)), sum)     // three
		p, err := Compile(b, []*Node{w, y}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []*Node{x, s, r} {
			v := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n.Shape()...))
			for i := range v.Float64s() {
				v.Float64s()[i] = math.Sin(float64(i))
			}
			if err := p.Bind(n, v); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the second run finds the results of the first
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
		}
		return fusedSteps(p), append(Floats(p.Value(w)), Floats(p.Value(y))...)
	}
	single, want := run(1 << 20)
	fused, got := run(100)
	if single != 10 || fused > 4 {
		t.Errorf("%d steps, %d with chains; want 10 and at most 4", single, fused)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// TestFuseSums: sums of products of a large array are in the chain of what else reads it, although
// a small array that they need was written later. Sums of rows that end with no block are not in
// the chain. The results equal the results of single steps.
func TestFuseSums(t *testing.T) {
	for _, c := range []struct {
		row, block int
		to         tensor.Shape
		steps      int
	}{
		{48, 64, tensor.Shape{20, 6, 5, 1}, 2}, {64, 64, tensor.Shape{20, 6, 5, 1}, 2}, {7, 64, tensor.Shape{20, 6, 5, 1}, 2},
		{48, 300, tensor.Shape{20, 6, 1, 1}, 2}, {48, 64, tensor.Shape{20, 6, 1, 1}, 5}, {48, 64, tensor.Shape{20, 1, 5, 48}, 5},
	} {
		run := func(from int) (steps int, out []float64) {
			SetFusing(t, from, c.block, 100)
			b := NewBuilder(tensor.Float64)
			x, m := b.Input("x", 20, 6, 5, c.row), b.Input("m", 20, 1, 5, c.row)
			y := b.Tanh(x)
			first := b.SumTo(b.Mul(y, m), c.to...)
			other := b.Square(m)
			p, err := Compile(b, []*Node{first, b.SumTo(b.Mul(y, other), c.to...), b.Mul(y, other)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []*Node{x, m} {
				v := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n.Shape()...))
				for i := range v.Float64s() {
					v.Float64s()[i] = math.Sin(float64(i))
				}
				if err := p.Bind(n, v); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
			}
			for n := range p.outputs {
				out = append(out, 0)
				for i, v := range Floats(p.Value(n)) {
					out[len(out)-1] += v * math.Cos(float64(i))
				}
			}
			slices.Sort(out)
			return fusedSteps(p), out
		}
		single, want := run(1 << 20)
		fused, got := run(2000)
		if single != 5 || fused != c.steps {
			t.Errorf("%+v: %d steps, %d with chains, expected 5 and %d", c, single, fused, c.steps)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %v, expected %v", c, got, want)
		}
	}
}

// TestFuseConvolution: what works element by element on the result of a convolution, or sums it, is
// one step with it, for many images; a filter's derivative and a sum over images are not.
func TestFuseConvolution(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, c := range []struct{ images, steps int }{{20, 2}, {3, 3}} {
			run := func(from int) (steps int, out []float64) {
				SetFusing(t, from, 5000, 100)
				b := NewBuilder(dt)
				x, w, m := b.Input("x", c.images, 16, 8, 8), b.Input("w", 16, 16, 3, 3), b.Input("m", c.images, 16, 8, 8)
				y := b.Mul(b.Conv2D(x, w, 1, 1), m)
				z := b.ReLU(b.Add(y, x))
				outputs := []*Node{z, b.SumTo(b.Mul(z, m), c.images, 16, 1, 1), b.SumTo(z, 1, 16, 8, 8)}
				p, err := Compile(b, outputs, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range []*Node{x, w, m} {
					v := make([]float64, size(n.Shape()))
					for i := range v {
						v[i] = math.Sin(float64(i))
					}
					all := tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(v))
					if err := p.Bind(n, Convert(all, dt)); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if err := p.Run(); err != nil {
						t.Fatal(err)
					}
				}
				for _, n := range outputs {
					out = append(out, Floats(p.Value(n))...)
				}
				return fusedSteps(p), out
			}
			single, want := run(1 << 20)
			fused, got := run(1000)
			if single != 6 || fused != c.steps {
				t.Errorf("%d images: %d steps, %d with chains, expected 6 and %d", c.images, single, fused, c.steps)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d images, %v: other numbers than in single steps", c.images, dt)
			}
		}
	}
}

// TestFuseConvolutionSums: a sum over several results of a convolution, which threads may compute,
// is a step of its own.
func TestFuseConvolutionSums(t *testing.T) {
	for _, images := range []int{1, 2, 3, 6} { // in a sum
		run := func(from int) (int, []float32) {
			SetFusing(t, from, 12000, 100)
			b := NewBuilder(tensor.Float32)
			x, w, m := b.Input("x", 36, 16, 8, 8), b.Input("w", 16, 16, 3, 3), b.Input("m", 36, 16, 8, 8)
			to := []int{36 / images, images * 16 * 8 * 8}
			y := b.Reshape(b.Conv2D(x, w, 1, 1), to...)
			sum := b.SumTo(b.Mul(y, b.Reshape(m, to...)), to[0], 1)
			p, err := Compile(b, []*Node{y, sum}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []*Node{x, w, m} {
				v := make([]float32, size(n.Shape()))
				for i := range v {
					v[i] = float32(math.Sin(float64(i)))
				}
				if err := p.Bind(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(v))); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			return fusedSteps(p), slices.Clone(p.Value(sum).Float32s())
		}
		steps, got := run(1000)
		if _, want := run(1 << 20); !slices.Equal(got, want) {
			t.Errorf("sums over %d images: %v, expected %v", images, got, want)
		}
		if want := min(images, 2); steps != want {
			t.Errorf("sums over %d images: %d steps, expected %d", images, steps, want)
		}
	}
}

// fusedSteps is the number of steps of a run.
func fusedSteps(p *Program) int {
	if m, ok := p.m.(*code[float32]); ok {
		return len(m.fused)
	}
	return len(p.m.(*code[float64]).fused)
}

// TestOverlap: the conditions under which a step may join a chain.
func TestOverlap(t *testing.T) {
	v := make([]float64, 10)
	for _, c := range []struct {
		a, b          []float64
		overlap, same bool
	}{
		{v[:4], v[4:8], false, false}, {v[:5], v[4:8], true, false}, {v[2:6], v[2:6], true, true},
		{v[:8], v[:4], true, false}, {v[4:8], v[:5], true, false},
	} {
		if overlap(c.a, c.b) != c.overlap || c.overlap && same(c.a, c.b) != c.same {
			t.Errorf("slices of %d and %d elements: overlap %t, same %t", len(c.a), len(c.b), overlap(c.a, c.b), same(c.a, c.b))
		}
	}
	if overlap(nil, v) {
		t.Error("nothing overlaps with something")
	}
}
