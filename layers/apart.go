package layers

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Apart returns an error if an output of a network depends on the other inputs of a batch or on the place in it, which
// [Network] rules out. It compares the outputs for a few inputs x [N,…] together with the outputs for each alone, N+1 forward
// passes in all.
func Apart(net Network, x *tensor.Dense) error {
	b, n := graph.NewBuilder(x.Dtype()), x.Shape()[0]
	rows := b.Const("rows", graph.Floats(x), x.Shape()...)
	nodes := []*graph.Node{net.Forward(b, rows)}
	for i := range n {
		nodes = append(nodes, net.Forward(b, b.Slice(rows, 0, i, i+1)))
	}
	values, err := graph.Evaluate(b, nodes...)
	if err != nil {
		return err
	}
	together, largest := values[0], 0.0
	for _, v := range together {
		largest = max(largest, math.Abs(v))
	}
	for i, alone := range values[1:] {
		for c, v := range alone {
			if beside := together[i*len(alone)+c]; math.Abs(v-beside) > apartTolerance*largest {
				return fmt.Errorf("layers: output %d of a row is %.4g alone and %.4g beside other rows, expected a network that treats each row by itself", c+1, v, beside)
			}
		}
	}
	return nil
}

// apartTolerance is a part of the largest output, far above the rounding of float32.
const apartTolerance = 1e-3
