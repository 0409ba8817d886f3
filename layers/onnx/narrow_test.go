package onnx

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
)

// TestSelectedToken compares transformers that end in one token with the same networks as their files have them: outputs,
// Jacobians and kernels are equal, with fewer operations. Networks that end in a mean are not changed.
func TestSelectedToken(t *testing.T) {
	for name, fewer := range map[string]bool{"first": true, "last": true, "vit": true, "text": false, "mixer": false, "einsum": false} {
		t.Run(name, func(t *testing.T) {
			f, whole := readGallery(t, name+".onnx", Options{})
			ref, err := npy.ReadArchive("testdata/gallery/" + name + ".npz")
			if err != nil {
				t.Fatal(err)
			}
			net := whole[0].(*network)
			x := galleryInputs(t, f, ref)
			asFile := *net
			asFile.Narrow = false
			var counts [2]int
			var values [2][][]float64
			for i, net := range []layers.Network{net, &asFile} {
				values[i] = compute(t, tensor.Float64, x, 3, func(b *graph.Builder, x *graph.Node) []*graph.Node {
					k := jacobian.NTK{Net: net}
					y := net.Forward(b, x)
					counts[i] = countOf(t, b, y)
					return append(k.Rows(b, x), y, k.Diag(b, x), k.Gram(b, x, []int{0, 1, 0}))
				})
			}
			for i, end := range []string{"Gram", "Diag", "outputs"} {
				k := len(values[0]) - 1 - i
				near(t, end, values[0][k], values[1][k], 1e-12)
			}
			rows := len(net.Params())
			near(t, "rows", slices.Concat(values[0][:rows]...), slices.Concat(values[1][:rows]...), 1e-12)
			if counts[0] < counts[1] != fewer || counts[0] > counts[1] {
				t.Errorf("%d operations, %d as the file has them, want fewer: %t", counts[0], counts[1], fewer)
			}
		})
	}
}

// countOf returns the number of operations of an output.
func countOf(t *testing.T, b *graph.Builder, y *graph.Node) int {
	t.Helper()
	p, err := graph.Compile(b, []*graph.Node{y}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, each := p.Flops()
	return each
}
