package layers_test

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// A perceptron is described, built with random weights and applied to two examples.
func ExampleMLP() {
	form := layers.MLP{Inputs: 3, Hidden: []int{50, 50}, Outputs: 2, Activation: "tanh"}
	net, err := layers.Build(form, tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(form)
	for _, p := range net.Params() {
		fmt.Println(p.Name, p.Value.Shape())
	}

	b := graph.NewBuilder(tensor.Float64)
	x := b.Const("x", []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	y := net.Forward(b, x)
	program, err := graph.Compile(b, []*graph.Node{y}, graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := program.Run(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("outputs", program.Value(y).Shape())
	// Output:
	// 3-50-50-2 tanh
	// dense1.weight (3, 50)
	// dense1.bias (50)
	// dense2.weight (50, 50)
	// dense2.bias (50)
	// dense3.weight (50, 2)
	// dense3.bias (2)
	// outputs (2, 2)
}

// The ResNet-20 for CIFAR-10. The parameters are counted without building the network.
func ExampleNewResNet() {
	form, err := layers.NewResNet(20, layers.Projection, 10)
	if err != nil {
		log.Fatal(err)
	}
	p, err := layers.Parameters(form)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(form)
	fmt.Println("inputs", form.InputShape(), "outputs", layers.OutputSize(form), "parameters", p)
	// Output:
	// ResNet-20, projection shortcuts, 10 outputs
	// inputs [3 32 32] outputs 10 parameters 272474
}

// A network of any layers is read from JSON.
func ExampleUnmarshalForm() {
	form, err := layers.UnmarshalForm([]byte(`{
		"kind": "sequential",
		"input": [1, 8, 8],
		"layers": [
			{"kind": "conv2d", "filters": 4, "kernel": 3, "padding": 1, "bias": true},
			{"kind": "relu"},
			{"kind": "residual", "inner": [{"kind": "conv2d", "filters": 4, "kernel": 3, "padding": 1}, {"kind": "tanh"}]},
			{"kind": "max-pool", "size": 2},
			{"kind": "flatten"},
			{"kind": "dense", "name": "head", "outputs": 3}
		]
	}`))
	if err != nil {
		log.Fatal(err)
	}
	net, err := layers.Build(form, tensor.Float32, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(form)
	for _, p := range net.Params() {
		fmt.Println(p.Name, p.Value.Shape())
	}
	// Output:
	// sequential 1×8×8: conv2d relu residual max-pool flatten dense, 3 outputs
	// conv1.weight (4, 1, 3, 3)
	// conv1.bias (4)
	// conv2.weight (4, 4, 3, 3)
	// head.weight (64, 3)
	// head.bias (3)
}

// A form that cannot be built is refused before memory is taken.
func ExampleCheck() {
	fmt.Println(layers.Check(layers.MLP{Inputs: 10, Hidden: []int{1_000_000_000}, Outputs: 1, Activation: "tanh"}))
	fmt.Println(layers.Check(layers.SequentialForm{Input: []int{3, 4, 4}, Layers: layers.Layers{layers.DenseLayer{Outputs: 2}}}))
	// Output:
	// layers: mlp: layer 1 (dense): with the array "dense1.weight" of shape [10 1000000000] the network has more than 536870912 numbers, 4 GiB in float64, which is the limit
	// layers: sequential: layer 1 (dense): inputs of shape [3 4 4], expected vectors [D] or sequences [T,D]; put the layer flatten before it
}

// Weights are saved, and loaded into another network of the same form. A perceptron's
// form can also be read off the weights.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "weights.npz")

	form := layers.MLP{Inputs: 1, Hidden: []int{20}, Outputs: 1, Activation: "tanh"}
	trained, err := layers.Build(form, tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		log.Fatal(err)
	}
	if err := layers.Save(path, trained); err != nil {
		log.Fatal(err)
	}

	form, err = layers.InferMLP(path, "tanh", layers.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	net, err := layers.Build(form, tensor.Float64, rand.New(rand.NewPCG(2, 2)))
	if err != nil {
		log.Fatal(err)
	}
	if err := layers.Load(path, net, layers.LoadOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(form, layers.Fingerprint(net) == layers.Fingerprint(trained))
	// Output: 1-20-1 tanh true
}

// A network that was put together in Go gets a form, to be written to a file.
func ExampleDescribe() {
	rng := rand.New(rand.NewPCG(1, 1))
	net := layers.Sequential{
		layers.NewConv2D("stem", 1, 4, 3, 1, 1, tensor.Float32, rng),
		layers.Activation("relu"),
		layers.GlobalAveragePool{},
		layers.NewDense("head", 4, 2, tensor.Float32, rng),
	}
	form, err := layers.Describe(net, 1, 8, 8)
	if err != nil {
		log.Fatal(err)
	}
	data, err := layers.MarshalForm(form)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data))
	// Output: {"kind":"sequential","input":[1,8,8],"layers":[{"kind":"conv2d","name":"stem","filters":4,"kernel":3,"stride":1,"padding":1},{"kind":"relu"},{"kind":"global-average-pool"},{"kind":"dense","name":"head","outputs":2}]}
}
