package jacobian

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestWritesNoArrays: a kernel is written into a graph, for a plan or a program, without arrays as large as the values of a batch.
func TestWritesNoArrays(t *testing.T) {
	net, err := layers.Build(layers.CNN{Channels: 1, Height: 16, Width: 16, Filters: []int{8, 8}, Outputs: 3, Activation: "relu"}, tensor.Float32, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	written := func(rows int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b := graph.NewBuilder(tensor.Float32)
		x := b.Input("x", rows, 1, 16, 16)
		NTK{Net: net}.Variances(b, x)
		NTK{Net: net}.Gram(b, x, make([]int, rows))
		if b.Err() != nil {
			t.Fatal(b.Err())
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	written(2) // what is made once
	if few, many := written(2), written(2000); many > 2*few {
		t.Errorf("writing the kernel at 2,000 rows allocates %d bytes, and at 2 rows %d", many, few)
	}
}
