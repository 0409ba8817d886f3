package ella

import (
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The random streams of a seed.
const (
	pointStream = 31
	orderStream = 32
)

// points are inputs z [M,…]. Each input carries one output of C outputs.
type points struct {
	z       *tensor.Dense // the inputs [M,…]
	output  []int         // the output of each point [M]
	outputs int           // C
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

// rows returns different rows of the training examples in random order. With Balanced every class
// has the same number of rows, or all of its rows where it has fewer.
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

// picked is the network with the outputs that points carry.
func (p points) picked(net layers.Network) gp.Picked {
	return gp.Picked{Net: net, Input: p.z.Shape()[1:].Clone(), Outputs: p.outputs}
}

// inputs returns the inputs of picked for the points, [M, D+C].
func (p points) inputs(of gp.Picked) *tensor.Dense { return of.Inputs(p.z, p.output, p.z.Dtype()) }
