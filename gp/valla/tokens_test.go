package valla

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// TestTokens: where all inputs are numbers of rows of a table, the kernel has no slope in the inducing inputs.
// These are training rows and stay, by natural gradients and by Adam, and a note says so. The same holds where the
// uncertain weights are biases of the outputs alone.
func TestTokens(t *testing.T) {
	g := onnx.Graph{Opset: 17, Input: "x", Output: "y", Arrays: []onnx.Array{{Name: "table", Shape: []int{4, 2}}, {Name: "w", Shape: []int{6, 2}}, {Name: "b", Shape: []int{2}}},
		Nodes: []onnx.Node{
			{Op: "Gather", Inputs: []string{"table", "x"}, Outputs: []string{"rows"}},
			{Op: "Flatten", Inputs: []string{"rows"}, Outputs: []string{"flat"}, Attributes: map[string]onnx.Attribute{"axis": {Int: 1}}},
			{Op: "Gemm", Inputs: []string{"flat", "w", "b"}, Outputs: []string{"y"}},
		}}
	rng := rand.New(rand.NewPCG(1, 2))
	net, err := layers.Build(layers.SequentialForm{Input: []int{3}, Layers: layers.Layers{g}}, tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float64, 3*30), make([]float64, 2*30)
	for i := range x {
		x[i] = float64(rng.IntN(4))
	}
	for i := range 30 {
		y[2*i+int(x[3*i])%2] = 1
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: dense.Of(x, 30, 3), Y: dense.Of(y, 30, 2)}}
	for _, s := range []Settings{{}, {Optimizer: optimizerAdam}, {Weights: []string{"b"}}} {
		s.Inducing, s.Iterations = 5, 3
		f, err := s.Fit(context.Background(), p, gp.Run{})
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if !strings.Contains(strings.Join(f.Record.Notes, " "), "inducing inputs are training rows") {
			t.Errorf("%+v: notes %q", s, f.Record.Notes)
		}
		for z := range slices.Chunk(f.Posterior.(*posterior).layer.Z.Value.Float64s(), 3) {
			if !slices.ContainsFunc(slices.Collect(slices.Chunk(x, 3)), func(row []float64) bool { return slices.Equal(row, z) }) {
				t.Errorf("%+v: the inducing input %v is no training row", s, z)
			}
		}
	}
}
