package jacobian_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The kernel of a linear network with a bias is x·x' + 1 whatever its weights. The
// derivative of κ(x,z) with respect to z is x: gradients flow through the kernel.
func ExampleNTK() {
	form := layers.MLP{Inputs: 2, Outputs: 1, Activation: "tanh"}
	net, err := form.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		log.Fatal(err)
	}
	b := graph.NewBuilder(tensor.Float64)
	x := b.Const("x", []float64{1, 2}, 1, 2)
	z := b.Const("z", []float64{3, 4, 5, 6}, 2, 2)

	kernel := jacobian.NTK{Net: net}
	cross := kernel.Cross(b, x, z, []int{0, 0}) // output 0 at both rows of z
	slope := graph.Grad(b, b.Sum(cross), z)[0]

	program, err := graph.Compile(b, []*graph.Node{cross, slope}, graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := program.Run(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("κ(x,z)", cross.Shape(), program.Value(cross).Float64s())
	fmt.Println("∂κ/∂z", slope.Shape(), program.Value(slope).Float64s())
	// Output:
	// κ(x,z) (1, 1, 2) [12 18]
	// ∂κ/∂z (2, 2) [1 2 1 2]
}
