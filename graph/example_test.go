package graph_test

import (
	"fmt"
	"log"
	"math"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// evaluated compiles nodes, binds values to leaves, runs once and returns the nodes'
// values.
func evaluated(b *graph.Builder, values map[*graph.Node][]float64, out ...*graph.Node) [][]float64 {
	p, err := graph.Compile(b, out, graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for leaf, v := range values {
		if err := p.Bind(leaf, tensor.New(tensor.WithShape(leaf.Shape()...), tensor.WithBacking(v))); err != nil {
			log.Fatal(err)
		}
	}
	if err := p.Run(); err != nil {
		log.Fatal(err)
	}
	results := make([][]float64, len(out))
	for i, n := range out {
		results[i] = graph.Floats(p.Value(n))
	}
	return results
}

// A formula is built, differentiated, compiled and run.
func Example() {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 3)
	y := b.Sum(b.Mul(x, b.Exp(x))) // Σ x·eˣ
	slope := graph.Grad(b, y, x)[0]

	p, err := graph.Compile(b, []*graph.Node{y, slope}, graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	values := tensor.New(tensor.WithShape(3), tensor.WithBacking([]float64{0, 1, -1}))
	if err := p.Bind(x, values); err != nil {
		log.Fatal(err)
	}
	if err := p.Run(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", p.Scalar(y))
	fmt.Printf("%.4f\n", p.Value(slope).Float64s()) // (1 + x)·eˣ
	// Output:
	// 2.3504
	// [1.0000 5.4366 0.0000]
}

// Gradients with respect to a node in the middle of a formula are those with respect to
// its value, whatever it was computed from.
func ExampleGrad() {
	b := graph.NewBuilder(tensor.Float64)
	x, w := b.Input("x", 1, 2), b.Input("w", 2, 2)
	hidden := b.MatMul(x, w, false, false)
	flat := b.Reshape(b.Scale(hidden, 2), 2)
	loss := b.Sum(b.Square(flat))

	g := graph.Grad(b, loss, flat, hidden, w)
	if b.Err() != nil {
		log.Fatal(b.Err())
	}
	values := map[*graph.Node][]float64{x: {1, 2}, w: {1, 0, 0, 1}}
	for _, v := range evaluated(b, values, g...) {
		fmt.Println(v)
	}
	// Output:
	// [4 8]
	// [8 16]
	// [8 16 16 32]
}

// x·sigmoid(x), defined outside of package graph.
func ExamplePointwise() {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	swish := graph.Pointwise{
		Name: "swish",
		F32: func(dst, src []float32) {
			for i, x := range src {
				dst[i] = x * float32(sigmoid(float64(x)))
			}
		},
		F64: func(dst, src []float64) {
			for i, x := range src {
				dst[i] = x * sigmoid(x)
			}
		},
		// s + y·(1 − s), where s is the sigmoid: a graph, so it can be differentiated again.
		Grad: func(b *graph.Builder, x, y, ct *graph.Node) *graph.Node {
			s := b.Sigmoid(x)
			return b.Mul(ct, b.Add(s, b.Mul(y, b.Affine(s, -1, 1))))
		},
	}

	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 3)
	y := b.Apply(swish.Op(), x)
	first := graph.Grad(b, b.Sum(y), x)[0]
	second := graph.Grad(b, b.Sum(first), x)[0]
	for _, v := range evaluated(b, map[*graph.Node][]float64{x: {-1, 0, 2}}, y, first, second) {
		fmt.Printf("%.4f\n", v)
	}
	// Output:
	// [-0.2689 0.0000 1.7616]
	// [0.0723 0.5000 1.0908]
	// [0.3024 0.5000 0.0501]
}

// clippedSquare is min(x², limit²), an operation of its own type.
type clippedSquare struct{ limit float64 }

// Key names the limit: two operations with different limits are different ones.
func (c clippedSquare) Key() string { return fmt.Sprintf("clipped square %g", c.limit) }

func (clippedSquare) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("%d operands, expected one", len(in))
	}
	return in[0], nil
}

// Pullback is ct·2x inside the limits and 0 outside.
func (c clippedSquare) Pullback(b *graph.Builder, _ int, in []*graph.Node, out, ct *graph.Node) *graph.Node {
	inside := b.Step(b.Affine(out, -1, c.limit*c.limit))
	return b.Mul(ct, b.Mul(b.Scale(in[0], 2), inside))
}

// RowWise: each element is computed by itself, and so is each row.
func (clippedSquare) RowWise(_ []bool, in []tensor.Shape) bool { return len(in[0]) > 0 }

func (c clippedSquare) Forward([]tensor.Shape, tensor.Shape) graph.Loops {
	return graph.Loops{F32: clippedLoop(float32(c.limit)), F64: clippedLoop(c.limit)}
}

func clippedLoop[T float32 | float64](limit T) func(y []T, x [][]T) error {
	return func(y []T, x [][]T) error {
		for i, v := range x[0] {
			y[i] = min(v*v, limit*limit)
		}
		return nil
	}
}

// An operation is a type with the methods of Op. graphtest.Run checks such a type as it
// checks the operations of this package.
func ExampleBuilder_Apply() {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 4)
	y := b.Apply(clippedSquare{limit: 2}, x)
	g := graph.Grad(b, b.Sum(y), x)[0]
	for _, v := range evaluated(b, map[*graph.Node][]float64{x: {3, -1, 1.5, 2.5}}, y, g) {
		fmt.Println(v)
	}
	// Output:
	// [4 1 2.25 4]
	// [0 -2 3 0]
}

// A Go function computes a node in the middle of a program.
func ExampleBuilder_Call() {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 3)
	largest := b.Call("index of the largest", []int{1}, func(in [][]float64) ([]float64, error) {
		best := 0
		for i, v := range in[0] {
			if v > in[0][best] {
				best = i
			}
		}
		return []float64{float64(best)}, nil
	}, b.Square(x))
	fmt.Println(evaluated(b, map[*graph.Node][]float64{x: {1, -3, 2}}, largest))
	// Output: [[1]]
}
