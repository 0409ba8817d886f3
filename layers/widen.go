package layers

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// Widened returns the form f with another number of outputs. A network that does not end in a dense layer is an error.
func Widened(f Form, outputs int) (SequentialForm, error) {
	list, err := f.Structure()
	if err != nil {
		return SequentialForm{}, err
	}
	last := len(list) - 1
	if last < 0 {
		return SequentialForm{}, fmt.Errorf("layers: a network without layers, expected a dense layer at its end")
	}
	d, ok := list[last].(DenseLayer)
	if !ok {
		return SequentialForm{}, fmt.Errorf("layers: the network ends in %s, expected a dense layer, which can get more outputs", KindOf(list[last]))
	}
	d.Outputs = outputs
	wide := SequentialForm{Input: slices.Clone(f.InputShape()), Layers: append(slices.Clone(list[:last]), d)}
	return wide, Check(wide)
}

// Narrowed returns a network of the form f whose outputs are those of wide from the number first on. wide is a network of a form
// that [Widened] has made of f. The network has copies of the arrays of wide.
func Narrowed(wide Sequential, f Form, first int) (Sequential, error) {
	from := Arrays(wide)
	net, err := Build(f, from[0].Value.Dtype(), rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, err
	}
	for i, p := range Arrays(net) {
		p.Value = part(from[i].Value, p.Value.Shape(), first)
	}
	return net, nil
}

// part returns the array of a shape [..., C] whose last axis is that of v from the number first on.
func part(v *tensor.Dense, shape tensor.Shape, first int) *tensor.Dense {
	if slices.Equal(v.Shape(), shape) {
		return v.Clone().(*tensor.Dense)
	}
	all, width, c := graph.Floats(v), v.Shape()[v.Dims()-1], shape[shape.Dims()-1]
	var out []float64
	for row := range slices.Chunk(all, width) {
		out = append(out, row[first:first+c]...)
	}
	return graph.NewParam("", out, v.Dtype(), shape...).Value
}
