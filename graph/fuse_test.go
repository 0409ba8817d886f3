package graph

import (
	"math"
	"testing"

	"gorgonia.org/tensor"
)

// SetFusing changes what is fused until the test ends, for tests outside the package.
func SetFusing(t testing.TB, from, block, share int) {
	before := fusing
	fusing.from, fusing.block, fusing.share = from, block, share
	t.Cleanup(func() { fusing = before })
}

// TestFuse: a chain of operations on a large array is one step, what it broadcasts or
// cannot be run in blocks is not in it, and the results are those of single steps.
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
		return len(p.m.(*code[float64]).fused), append(Floats(p.Value(w)), Floats(p.Value(y))...)
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
