package onnx

import (
	"fmt"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
)

// TestExamplesBehind compares PyTorch's attention with PyTorch: outputs and tangent kernels. For any number of examples, also for one and
// for as many as there are steps, all operations treat the examples one by one, and rows are those of the network as its file has it.
func TestExamplesBehind(t *testing.T) {
	for _, name := range []string{"attention", "masked", "encoder", "steps"} {
		t.Run(name, func(t *testing.T) {
			f, whole := readGallery(t, "../attention/"+name+".onnx", Options{})
			ref, err := npy.ReadArchive("testdata/attention/" + name + ".npz")
			if err != nil {
				t.Fatal(err)
			}
			checkGallery(t, f, ref)
			net := whole[0].(*network)
			asFile := *net
			asFile.ExamplesFirst = false
			x := galleryInputs(t, f, ref)
			for _, n := range []int{1, 2, 3, 5} {
				var rows [2][]float64
				for i, net := range []layers.Network{net, &asFile} {
					rows[i] = slices.Concat(compute(t, tensor.Float64, x, n, func(b *graph.Builder, x *graph.Node) []*graph.Node {
						if found := (jacobian.NTK{Net: net}).FormedDensely(b, x); i == 0 && len(found) > 0 {
							t.Errorf("%d examples: the rows of %s are formed densely", n, found[0].Name)
						}
						return jacobian.NTK{Net: net}.Rows(b, x)
					})...)
				}
				near(t, fmt.Sprint("rows of ", n), rows[0], rows[1], 1e-12)
			}
		})
	}
}
