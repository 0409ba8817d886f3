package graph

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// Large arrays of which two sums are wanted are there one at a time, although all arrays were
// written first. The values equal the values of a program that keeps all arrays.
func TestSchedule(t *testing.T) {
	const n, arrays = 64, 6
	b := NewBuilder(tensor.Float64)
	x := b.Input("x", n, 1)
	var large, sums []*Node
	for i := range arrays {
		large = append(large, b.MatMul(x, b.Affine(x, float64(i+1), 1), false, true))
	}
	for _, a := range large {
		sums = append(sums, b.Sum(a))
	}
	for _, a := range large {
		sums = append(sums, b.Reshape(b.MatMul(x, b.MatMul(a, x, false, false), true, false), 1))
	}
	cost, err := CostOf(b, sums, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(3 * 8 * n * n); cost.Bytes > most {
		t.Errorf("%d bytes for %d arrays of %d, expected %d at most", cost.Bytes, arrays, 8*n*n, most)
	}
	data := tensor.New(tensor.WithBacking(tensor.Random(tensor.Float64, n)), tensor.WithShape(n, 1))
	if got, want := runAll(t, b, x, data, sums, sums), runAll(t, b, x, data, sums, append(slices.Clone(sums), large...)); !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}

// runAll returns the values of sums in a program that computes outputs.
func runAll(t *testing.T, b *Builder, x *Node, data *tensor.Dense, sums, outputs []*Node) []float64 {
	t.Helper()
	p, err := Compile(b, outputs, Options{})
	if err == nil {
		err = p.Bind(x, data)
	}
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, s := range sums {
		out = append(out, p.Scalar(s))
	}
	return out
}
