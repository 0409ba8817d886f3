package ella

import (
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The random streams of a seed.
const (
	pointStream = 31
	orderStream = 32
)

// points are inputs z [M,…] that carry one of C outputs each.
type points struct {
	z       *tensor.Dense
	output  []int
	outputs int // C
}

// n is M.
func (p points) n() int { return len(p.output) }

// draw returns points for a problem, as the settings say.
func (s *Settings) draw(p gp.Problem, seed uint64) points {
	rng := rand.New(rand.NewPCG(seed, pointStream))
	rows := s.rows(p, rng)
	out := points{z: data.TakeRows(p.Train.X, rows), outputs: p.Outputs()}
	var labels []int
	if s.PointOutput == outputLabel {
		labels = p.Train.Labels()
	}
	for _, r := range rows {
		c := rng.IntN(out.outputs)
		if labels != nil {
			c = labels[r]
		}
		out.output = append(out.output, c)
	}
	return out
}

// rows returns different rows of the training examples in random order, with Balanced as
// many of each class, as far as there are so many.
func (s *Settings) rows(p gp.Problem, rng *rand.Rand) []int {
	order := rng.Perm(p.Train.N())
	if !s.Balanced {
		return order[:min(s.Points, len(order))]
	}
	c, labels := p.Outputs(), p.Train.Labels()
	taken := make([]int, c)
	return slices.DeleteFunc(order, func(r int) bool {
		k := labels[r]
		taken[k]++
		return taken[k] > (s.Points+c-1-k)/c // shares that add up to Points
	})
}

// picked is a network with one output, which is chosen for each example: an input is that
// of the network followed by a one-hot vector of its outputs. So one program serves points
// with any outputs.
type picked struct {
	net     layers.Network
	input   tensor.Shape // of one example of the network
	outputs int
}

// Params implements layers.Network.
func (p picked) Params() []*graph.Param { return p.net.Params() }

// Forward implements layers.Network: [B, D+C] gives [B,1].
func (p picked) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	d := p.input.TotalSize()
	in := b.Slice(x, 1, 0, d)
	hot := b.Slice(x, 1, d, d+p.outputs)
	if b.Err() != nil {
		return nil
	}
	out := p.net.Forward(b, b.Reshape(in, append([]int{x.Shape()[0]}, p.input...)...))
	return b.SumAxis(b.Mul(out, hot), 1)
}

// inputs returns the inputs of picked for the points, [M, D+C].
func (p points) inputs() *tensor.Dense {
	m := p.n()
	d := p.z.Shape().TotalSize() / m
	z, v := graph.Floats(p.z), make([]float64, m*(d+p.outputs))
	for i, c := range p.output {
		row := v[i*(d+p.outputs):]
		copy(row, z[i*d:(i+1)*d])
		row[d+c] = 1
	}
	return graph.Convert(tensor.New(tensor.WithShape(m, d+p.outputs), tensor.WithBacking(v)), p.z.Dtype())
}
