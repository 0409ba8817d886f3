package laplace

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// The moments of patches are the moments of patches that are formed, for images of any size, also
// of one row or pixel, and for more images than are turned at a time.
func TestPatches(t *testing.T) {
	for _, of := range [][]int{{3, 1, 5, 4}, {2, 2, 1, 1}, {2, 3, 1, 4}, {4, 2, 2, 7}, {70, 5, 6, 6}, {2, 16, 32, 32}} {
		t.Run(fmt.Sprint(of), func(t *testing.T) {
			b := graph.NewBuilder(tensor.Float64)
			x := b.Input("x", of...)
			u := b.Transpose(b.Unfold(x, 3, 1, 1), 0, 2, 1)
			p, err := graph.Compile(b, []*graph.Node{u}, graph.Options{})
			if err != nil {
				t.Fatal(err)
			}
			values := tensor.New(tensor.WithShape(of...), tensor.Of(tensor.Float64))
			rng := newRand(1)
			for i := range values.Float64s() {
				values.Float64s()[i] = rng.NormFloat64()
			}
			if err := p.Bind(x, values); err != nil {
				t.Fatal(err)
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			n, v := 9*of[1], p.Value(u).Float64s()
			want := make([]float64, n*n)
			kernel.Syrk(true, n, len(v)/n, 1, v, n, 0, want, n)
			m := newMoments[float64](factorOf{k: block{a: u, images: x}, n: u, width: n})
			half := len(values.Float64s()) / of[0] * (of[0] / 2)
			m.patches.add(values.Float64s()[:half], m.recent)
			m.flush()
			m.patches.add(values.Float64s()[half:], m.recent)
			got := m.all()
			kernel.CopyLower(n, got, n)
			fixture.Close(t, "moments", got, want, 1e-12)
		})
	}
}
