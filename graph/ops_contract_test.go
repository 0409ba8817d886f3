package graph_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gorgonia.org/tensor"
)

// contractCases: sums of products of arrays of which one, the other, both or neither
// is repeated along an axis that is summed or kept.
func contractCases() []graphtest.Case {
	var cases []graphtest.Case
	for _, r := range []struct{ x, y, to []int }{
		{[]int{3, 4}, []int{3, 4}, []int{}},
		{[]int{3, 4}, []int{3, 4}, []int{3, 1}},
		{[]int{3, 4}, []int{3, 4}, []int{1, 4}},
		{[]int{3, 4}, []int{4}, []int{1, 1}},
		{[]int{3, 1}, []int{1, 4}, []int{1, 4}},
		{[]int{3, 1}, []int{1, 4}, []int{3, 1}},
		{[]int{2, 3, 4, 5}, []int{2, 1, 4, 5}, []int{2, 3, 4, 1}},
		{[]int{2, 3, 4, 5}, []int{1, 4, 1}, []int{2, 1, 4, 5}},
		{[]int{2, 1, 3}, []int{2, 4, 3}, []int{4, 1}},
		{[]int{1}, []int{1}, []int{1}},
	} {
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprintf("contract %v %v to %v", r.x, r.y, r.to), Shapes: [][]int{r.x, r.y},
			Build: func(b *builder, in []*node) *node { return b.SumTo(b.Mul(in[0], in[1]), r.to...) },
			Naive: func(in arrays) []float64 {
				full := make([]int, max(len(r.x), len(r.y)))
				for d := range full {
					full[d] = 1
					if k := d - len(full) + len(r.x); k >= 0 {
						full[d] = max(full[d], r.x[k])
					}
					if k := d - len(full) + len(r.y); k >= 0 {
						full[d] = max(full[d], r.y[k])
					}
				}
				out := make([]float64, tensor.Shape(r.to).TotalSize())
				for i := range tensor.Shape(full).TotalSize() {
					out[flat(i, full, r.to)] += in[0][flat(i, full, r.x)] * in[1][flat(i, full, r.y)]
				}
				return out
			},
		})
	}
	return cases
}

// TestContractForms: a sum over a product does not leave the product in the program,
// and small factors of a large array are multiplied with each other.
func TestContractForms(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, s, u := b.Input("x", 50, 8, 20), b.Input("s", 1, 8, 1), b.Input("u", 8, 1)
	p, err := graph.Compile(b, []*node{b.Sum(b.Mul(x, x)), b.Mul(b.Mul(x, s), u)}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// A scalar, the product of the factors and the scaled array, in cache lines.
	if got, want := p.Bytes(), 8*(16+16+50*8*20); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// every is a strided slice; its transpose, padding with gaps, is in its derivatives.
func every(name string, shape []int, axis, step int) graphtest.Case {
	return graphtest.Case{
		Name: name, Shapes: [][]int{shape},
		Build: func(b *builder, in []*node) *node { return b.Every(in[0], axis, step) },
		Naive: func(in arrays) []float64 {
			var out []float64
			width := tensor.Shape(shape[axis+1:]).TotalSize()
			for i, v := range in[0] {
				if i/width%shape[axis]%step == 0 {
					out = append(out, v)
				}
			}
			return out
		},
	}
}

// TestImageErrors: impossible shapes are named.
func TestImageErrors(t *testing.T) {
	image := func(f func(b *builder, x *node) *node) func(b *builder) *node {
		return func(b *builder) *node { return f(b, b.Input("x", 2, 3, 4, 5)) }
	}
	for _, c := range []struct {
		name string
		f    func(b *builder) *node
		want []string
	}{
		{"channels", image(func(b *builder, x *node) *node { return b.Conv2D(x, b.Input("w", 4, 2, 3, 3), 1, 1) }), []string{"(2, 3, 4, 5)", "(4, 2, 3, 3)"}},
		{"filters too large", image(func(b *builder, x *node) *node { return b.Conv2D(x, b.Input("w", 4, 3, 5, 5), 1, 0) }), []string{"larger than the image"}},
		{"stride", image(func(b *builder, x *node) *node { return b.Conv2D(x, b.Input("w", 4, 3, 3, 3), 0, 1) }), []string{"at least 1"}},
		{"image of three axes", func(b *builder) *node { return b.Conv2D(b.Input("x", 3, 4, 5), b.Input("w", 4, 3, 3, 3), 1, 1) }, []string{"(3, 4, 5)"}},
		{"window", image(func(b *builder, x *node) *node { return b.MaxPool(x, [2]int{5, 5}, [2]int{1, 1}) }), []string{"5×5", "(2, 3, 4, 5)"}},
		{"window without step", image(func(b *builder, x *node) *node { return b.AveragePool(x, [2]int{2, 2}, [2]int{0, 0}) }), []string{"every 0", "(2, 3, 4, 5)"}},
		{"pool of a matrix", func(b *builder) *node { return b.AveragePool(b.Input("x", 3, 4), [2]int{2, 2}, [2]int{2, 2}) }, []string{"(3, 4)"}},
		{"max pool of a matrix", func(b *builder) *node { return b.MaxPool(b.Input("x", 3, 4), [2]int{2, 2}, [2]int{2, 2}) }, []string{"(3, 4)"}},
		{"global pool of a matrix", func(b *builder) *node { return b.GlobalAveragePool(b.Input("x", 3, 4)) }, []string{"(3, 4)"}},
		{"every without step", image(func(b *builder, x *node) *node { return b.Every(x, 1, 0) }), []string{"step 0", "axis 1"}},
		{"every beyond", image(func(b *builder, x *node) *node { return b.Every(x, 4, 1) }), []string{"axis 4"}},
		{"contract", func(b *builder) *node {
			return b.SumTo(b.Mul(b.Input("x", 3, 4), b.Input("y", 4)), 2, 4)
		}, []string{"(2, 4)", "(3, 4)"}},
		{"every infinite", image(func(b *builder, x *node) *node { return b.Every(x, 1, math.MinInt) }), []string{"axis 1"}},
	} {
		wantFailure(t, c.name, c.f, c.want...)
	}
}
