package valla

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// linearKernel is κ(x,x') = x·x', for which the choice can be made by hand.
type linearKernel struct{}

func (linearKernel) Diag(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Reshape(b.SumAxis(b.Square(x), 1), x.Shape()[0], 1, 1)
}

func (linearKernel) Cross(b *graph.Builder, x, z *graph.Node, _ []int) *graph.Node {
	return b.Reshape(b.MatMul(x, z, false, true), x.Shape()[0], 1, z.Shape()[0])
}

func (linearKernel) Gram(b *graph.Builder, z *graph.Node, _ []int) *graph.Node { return b.Gram(z) }

func TestGreedy(t *testing.T) {
	x := tensor.New(tensor.WithShape(4, 2), tensor.WithBacking([]float64{1, 0, 3, 0, 0, 2, 2.9, 1}))
	z, class, err := greedy(linearKernel{}, x, []int{7, 8, 9, 10}, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	// (2.9,1) has the largest norm; of what is left orthogonal to it, (0,2) has most:
	// 4·2.9²/9.41 = 3.57, against 9/9.41 for (3,0).
	if !slices.Equal(z.Float64s(), []float64{2.9, 1, 0, 2}) || !slices.Equal(class, []int{10, 9}) {
		t.Errorf("chose %v of classes %v", z, class)
	}
	if z, _, err = greedy(linearKernel{}, x, nil, 3, 0); err != nil || z.Shape()[0] != 2 {
		t.Errorf("a kernel of rank two gave points of shape %v, error %v", z.Shape(), err)
	}
	if _, _, err := greedy(linearKernel{}, x, nil, 5, 0); err == nil {
		t.Error("five of four candidates were chosen")
	}
}

// TestGramInParts: the kernel among the candidates is the same in parts that take little memory.
func TestGramInParts(t *testing.T) {
	x := tensor.New(tensor.WithShape(7, 2), tensor.WithBacking([]float64{1, 0, 3, 0, 0, 2, 2.9, 1, -1, 4, 2, 2, .5, .25}))
	class := make([]int, 7)
	want, err := gramOf(linearKernel{}, x, class, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, memory := range []int64{1, 16 * 8, 36 * 8, 1 << 20} {
		got, err := gramOf(linearKernel{}, x, class, memory)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v, want %v", memory, got, want)
		}
	}
	if size, err := gramSize(linearKernel{}, x, class, 1); err != nil || size != 1 {
		t.Errorf("parts of %d, error %v", size, err)
	}
}

// TestGreedyNothing: a kernel that is 0 everywhere is an error in one line.
func TestGreedyNothing(t *testing.T) {
	_, _, err := greedy(linearKernel{}, tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(4, 2)), nil, 2, 0)
	if err == nil || !strings.Contains(err.Error(), "do not depend on the uncertain weights") {
		t.Errorf("error %v", err)
	}
}
