package graph_test

import (
	"errors"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// TestBatchedWithin: with less memory a pass takes fewer examples at a time and gives the same
// values; where one example needs more than the limit, or the graph is wrong, there is an error.
func TestBatchedWithin(t *testing.T) {
	const n, d = 7, 3
	v := make([]float64, n*d)
	for i := range v {
		v[i] = float64(i)
	}
	x := tensor.New(tensor.WithShape(n, d), tensor.WithBacking(v))
	var sizes []int
	write := func(size int) (graph.Pass, error) {
		sizes = append(sizes, size)
		b := graph.NewBuilder(tensor.Float64)
		in := b.Input("x", size, d)
		return graph.Pass{Builder: b, X: in, Outputs: []*graph.Node{b.Square(in)}, Beside: int64(size) * 1000}, b.Err()
	}
	for limit, want := range map[int64]int{1 << 20: 8, 5000: 4, 1500: 1} {
		sizes = nil
		f, err := graph.NewBatchedWithin("squares", 8, limit, write)
		if err != nil {
			t.Fatal(err)
		}
		if got := sizes[len(sizes)-1]; got != want {
			t.Errorf("%d bytes: %d examples at a time, want %d", limit, got, want)
		}
		err = f.Each(t.Context(), x, func(first, rows int, out []*tensor.Dense) error {
			for i := range rows * d {
				if at := first*d + i; out[0].Float64s()[i] != v[at]*v[at] {
					t.Errorf("%d bytes: element %d is %g", limit, at, out[0].Float64s()[i])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int64{0, -5, 900} {
		if _, err := graph.NewBatchedWithin("squares", 8, limit, write); !errors.As(err, new(*graph.MemoryError)) {
			t.Errorf("%d bytes: %v, want a *graph.MemoryError", limit, err)
		}
	}
	wrong := errors.New("wrong")
	if _, err := graph.NewBatchedWithin("squares", 8, 1<<20, func(int) (graph.Pass, error) { return graph.Pass{}, wrong }); !errors.Is(err, wrong) {
		t.Errorf("%v, want the error of write", err)
	}
}
