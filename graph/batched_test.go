package graph

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Batches give what the whole gives, in order, however many threads there are.
func TestBatched(t *testing.T) {
	defer kernel.SetThreads(kernel.Threads())
	b := NewBuilder(tensor.Float64)
	x := b.Input("x", 3, 2)
	w := &Param{Name: "w", Value: tensor.New(tensor.WithShape(2, 4), tensor.WithBacking([]float64{1, -2, 3, 0.5, 0.25, 1, -1, 2}))}
	fixed := b.Exp(b.Param(w)) // does not depend on x
	f, err := NewBatched(b, x, b.Tanh(b.MatMul(x, fixed, false, false)), b.Square(x))
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{1, 2, 3} {
		kernel.SetThreads(threads)
		for _, n := range []int{1, 2, 3, 4, 6, 7, 20} {
			checkBatched(t, f, w, n)
			w.Value.Float64s()[0] += 0.5
			f.Refresh()
		}
	}
}

// checkBatched compares f with one program for all n examples.
func checkBatched(t *testing.T, f *Batched, w *Param, n int) {
	t.Helper()
	data := tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(tensor.Random(tensor.Float64, 2*n)))
	var first []int
	var got, squares []float64
	err := f.Each(context.Background(), data, func(at, rows int, out []*tensor.Dense) error {
		first = append(first, at)
		got = append(got, out[0].Float64s()[:4*rows]...)
		squares = append(squares, out[1].Float64s()[:2*rows]...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(tensor.Float64)
	x := b.Input("x", n, 2)
	y, square := b.Tanh(b.MatMul(x, b.Exp(b.Param(w)), false, false)), b.Square(x)
	p, err := Compile(b, []*Node{y, square}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Bind(x, data), p.Run()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, p.Value(y).Float64s()) || !slices.Equal(squares, p.Value(square).Float64s()) {
		t.Errorf("%d examples, %d threads: the batches give something else than the whole", n, kernel.Threads())
	}
	if !slices.IsSorted(first) || first[0] != 0 || len(first) != (n+2)/3 {
		t.Errorf("%d examples, %d threads: batches from %v", n, kernel.Threads(), first)
	}
}

// There is a copy for each thread where the limit allows that, and one otherwise.
func TestBatchedLimit(t *testing.T) {
	defer kernel.SetThreads(kernel.Threads())
	kernel.SetThreads(4)
	b := NewBuilder(tensor.Float32)
	x := b.Input("x", 10, 30)
	w := &Param{Name: "w", Value: tensor.New(tensor.WithShape(30, 20), tensor.WithBacking(make([]float32, 600)))}
	data := tensor.New(tensor.WithShape(100, 30), tensor.WithBacking(make([]float32, 3000)))
	for parts, want := range map[int64]int{0: 1, 1: 1, 3: 1, 4: 4, 100: 4} {
		f, err := NewBatched(b, x, b.MatMul(x, b.Param(w), false, false))
		if err != nil {
			t.Fatal(err)
		}
		f.Limit(parts * int64(f.copies[0].Bytes()))
		if err := f.Each(context.Background(), data, func(int, int, []*tensor.Dense) error { return nil }); err != nil || len(f.copies) != want {
			t.Errorf("memory for %d copies: there are %d, want %d; error %v", parts, len(f.copies), want, err)
		}
	}
}

// A twin computes what the program does, at other inputs and at the same time. What is computed once
// is there once, and again after a refresh of either.
func TestTwin(t *testing.T) {
	const size = 50
	b := NewBuilder(tensor.Float64)
	x, w := b.Input("x", 2, size), &Param{Name: "w", Value: tensor.New(tensor.WithShape(size, size), tensor.WithBacking(make([]float64, size*size)))}
	square := b.Tanh(b.MatMul(b.Param(w), b.Param(w), false, true))
	y := b.MatMul(x, square, false, false)
	leaf := b.Reshape(b.Param(w), size*size)
	first, err := Compile(b, []*Node{y, square, leaf}, Options{Varying: []*Node{x}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := first.Twin()
	if err != nil {
		t.Fatal(err)
	}
	third, err := second.Twin()
	if err != nil {
		t.Fatal(err)
	}
	// Of the twins' own are y and the copy of a leaf, but not what the square is made of.
	once := 8 * size * size
	own, err := first.TwinBytes()
	if err != nil {
		t.Fatal(err)
	}
	if all := first.Bytes(); all-own < once || own < 8*(2*size+size*size) || own > 8*(3*size+size*size) || second.Bytes() != own || third.Bytes() != own {
		t.Errorf("%d bytes, twins %d and %d, of which %d are their own", all, second.Bytes(), third.Bytes(), own)
	}
	if err := second.Run(); err == nil {
		t.Error("a twin runs on the inputs of another program")
	}
	programs := []*Program{second, first, third}
	for k, p := range programs {
		v := tensor.New(tensor.WithShape(2, size), tensor.WithBacking(slices.Repeat([]float64{float64(k + 1)}, 2*size)))
		if err := p.Bind(x, v); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		for i := range w.Value.Float64s() {
			w.Value.Float64s()[i] = float64(round+1) / 100
		}
		programs[2*round].Refresh() // a twin's
		if err := first.Prime(); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, p := range programs {
			all.Go(func() {
				if err := p.Run(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for k, p := range programs {
			want := float64(size*(k+1)) * math.Tanh(size*math.Pow(float64(round+1)/100, 2))
			if got := p.Value(y).Float64s()[0]; math.Abs(got-want) > 1e-12 || p.Value(square).Float64s()[0] != first.Value(square).Float64s()[0] || p.Value(leaf).Float64s()[1] != w.Value.Float64s()[1] {
				t.Errorf("round %d, program %d: %v, expected %v", round, k, got, want)
			}
		}
	}
}

// Neither errors of the visitor nor of a program are lost, and none is visited after.
func TestBatchedErrors(t *testing.T) {
	defer kernel.SetThreads(kernel.Threads())
	kernel.SetThreads(2)
	b := NewBuilder(tensor.Float64)
	x := b.Input("x", 2, 2)
	f, err := NewBatched(b, x, b.Cholesky(x))
	if err != nil {
		t.Fatal(err)
	}
	matrices := slices.Repeat([]float64{1, 0, 0, 1}, 4)
	data, visited, stop := tensor.New(tensor.WithShape(8, 2), tensor.WithBacking(matrices)), 0, errors.New("enough")
	visit := func(int, int, []*tensor.Dense) error { visited++; return nil }
	if err := f.Each(context.Background(), data, visit); err != nil || visited != 4 {
		t.Fatalf("error %v after %d batches", err, visited)
	}
	if err := f.Each(context.Background(), data, func(first, _ int, _ []*tensor.Dense) error {
		if first > 2 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Errorf("error %v, want the visitor's", err)
	}
	matrices[3*4], visited = -1, 0
	var singular *NotPositiveDefiniteError
	if err := f.Each(context.Background(), data, visit); !errors.As(err, &singular) || visited != 3 {
		t.Errorf("error %v after %d batches, want one after 3 for a matrix that is not positive definite", err, visited)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Each(ended, data, visit); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
