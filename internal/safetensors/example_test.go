package safetensors_test

import (
	"fmt"
	"log"

	"github.com/go-valla/valla/internal/safetensors"
)

// The weights of a perceptron that PyTorch has written.
func Example() {
	weights, err := safetensors.Read("../../layers/onnx/testdata/mlp_relu.safetensors")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range weights.Names {
		w, _ := weights.Get(name)
		fmt.Println(name, w.Shape(), w.Dtype())
	}
	// Output:
	// net.0.weight (16, 5) float32
	// net.0.bias (16) float32
	// net.2.weight (16, 16) float32
	// net.2.bias (16) float32
	// net.4.weight (2, 16) float32
	// net.4.bias (2) float32
}
