package onnx_test

import (
	"fmt"
	"log"

	"github.com/go-valla/valla/layers/onnx"
	"gorgonia.org/tensor"
)

// A perceptron as PyTorch exports it: its parameters have the names of the file.
func ExampleRead() {
	f, err := onnx.Read("testdata/mlp_relu.onnx", onnx.Options{})
	if err != nil {
		log.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range net.Params() {
		fmt.Println(p.Name, p.Value.Shape())
	}
	// Output:
	// net.0.weight (16, 5)
	// net.0.bias (16)
	// net.2.weight (16, 16)
	// net.2.bias (16)
	// net.4.weight (2, 16)
	// net.4.bias (2)
}
