// Package small has small problems, networks and data sets for tests, and short ways to fit, to
// predict and to compute. They fail the test where there is an error.
package small

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// Normal draws an array of independent standard normal numbers, the same for each element type.
func Normal(rng *rand.Rand, dt tensor.Dtype, shape ...int) *tensor.Dense {
	return graph.Convert(dense.Of(fixture.Normal(rng, tensor.Shape(shape).TotalSize()), shape...), dt)
}

// OneHot returns the rows [N,C] of N labels below C = classes.
func OneHot(labels []int, classes int, dt tensor.Dtype) *tensor.Dense {
	v := make([]float64, len(labels)*classes)
	for i, k := range labels {
		v[i*classes+k] = 1
	}
	return graph.Convert(dense.Of(v, len(labels), classes), dt)
}

// Given returns a leaf that holds v.
func Given(b *graph.Builder, name string, v *tensor.Dense) *graph.Node {
	return b.Param(&graph.Param{Name: name, Value: v})
}

// Values runs a graph once and returns the values of nodes, row-major.
func Values(t testing.TB, b *graph.Builder, nodes ...*graph.Node) [][]float64 {
	t.Helper()
	prog, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, len(nodes))
	for i, n := range nodes {
		if n.Dims() == 0 {
			out[i] = []float64{prog.Scalar(n)}
		} else {
			out[i] = graph.Floats(prog.Value(n))
		}
	}
	return out
}

// A Feed gives a training graph the inputs In at each step, after Next has filled them.
type Feed struct {
	In   map[*graph.Node]*tensor.Dense // by leaf
	Next func(iteration int) error     // fills the arrays of In
}

// Inputs returns In.
func (f Feed) Inputs() map[*graph.Node]*tensor.Dense { return f.In }

// Parts returns 1: a step has one part.
func (f Feed) Parts() int { return 1 }

// Load calls Next.
func (f Feed) Load(iteration, _ int) error { return f.Next(iteration) }

// Leaves returns the leaves "x" and "y" of a mini-batch of n rows of e.
func Leaves(b *graph.Builder, e gp.Examples, n int) (x, y *graph.Node) {
	return b.Input("x", sized(e.X, n)...), b.Input("y", sized(e.Y, n)...)
}

// sized returns the shape of t with n rows.
func sized(t *tensor.Dense, n int) tensor.Shape {
	s := t.Shape().Clone()
	s[0] = n
	return s
}

// Batches feeds the rows of a mini-batch of e at each iteration to the leaves x and y.
func Batches(e gp.Examples, x, y *graph.Node, rows [][]int) Feed {
	part := func(n *graph.Node, of *tensor.Dense) *tensor.Dense {
		return tensor.New(tensor.Of(of.Dtype()), tensor.WithShape(n.Shape()...))
	}
	f := Feed{In: map[*graph.Node]*tensor.Dense{x: part(x, e.X), y: part(y, e.Y)}}
	f.Next = func(iteration int) error {
		batch := e.Rows(rows[iteration])
		return errors.Join(tensor.Copy(f.In[x], batch.X), tensor.Copy(f.In[y], batch.Y))
	}
	return f
}

// Must returns what make returns, which must not be an error.
func Must[T any](t testing.TB, make func() (T, error)) T {
	t.Helper()
	v, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// LiveHeap returns the bytes of the heap that are in use.
func LiveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
