package gp

import (
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Picked is a network with one output: an output among Net's C outputs, chosen for each
// example. Picked's input is Net's input, made flat, followed by a one-hot vector of the outputs,
// [B, D+C]. One program thus serves examples with different outputs.
type Picked struct {
	Net     layers.Network // the network with C outputs
	Input   tensor.Shape   // of one example of Net
	Outputs int            // C
}

// Params implements layers.Network.
func (p Picked) Params() []*graph.Param { return p.Net.Params() }

// Forward implements layers.Network: [B, D+C] gives [B,1].
func (p Picked) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	d := p.Input.TotalSize()
	in := b.Slice(x, 1, 0, d)
	hot := b.Slice(x, 1, d, d+p.Outputs)
	if b.Err() != nil {
		return nil
	}
	out := p.Net.Forward(b, b.Reshape(in, append([]int{x.Shape()[0]}, p.Input...)...))
	return b.SumAxis(b.Mul(out, hot), 1)
}

// Inputs returns the inputs of Picked, [N, D+C] of an element type, for examples x [N,…] with
// the outputs output [N].
func (p Picked) Inputs(x *tensor.Dense, output []int, dt tensor.Dtype) *tensor.Dense {
	n, d := len(output), p.Input.TotalSize()
	in, v := graph.Floats(x), make([]float64, n*(d+p.Outputs))
	for i, c := range output {
		row := v[i*(d+p.Outputs):]
		copy(row, in[i*d:(i+1)*d])
		row[d+c] = 1
	}
	return graph.Convert(dense.Of(v, n, d+p.Outputs), dt)
}
