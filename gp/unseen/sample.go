package unseen

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// sample is a part of the training rows, with the neighbours of each.
type sample struct {
	d    int           // numbers in an input
	x    []float64     // all inputs that may be neighbours, [len(of),d]
	of   []int         // their rows
	rows []int         // of the sample, ascending; all where there are not too many
	near [][]neighbour // of each row of the sample, the nearest first
}

// neighbour is another row.
type neighbour struct {
	at       int     // in sample.x
	distance float64 // squared
}

// newSample draws rows and finds their neighbours.
func newSample(ctx context.Context, p gp.Problem, rng *rand.Rand) (*sample, error) {
	n := p.Train.N()
	order := rng.Perm(n)
	s := &sample{rows: slices.Sorted(slices.Values(order[:min(n, mostRows)])), of: slices.Sorted(slices.Values(order[:min(n, mostNear)]))}
	s.x = graph.Floats(data.TakeRows(p.Train.X, s.of))
	s.d = len(s.x) / len(s.of)
	for _, row := range s.rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, _ := slices.BinarySearch(s.of, row)
		s.near = append(s.near, s.neighbours(at, neighbours))
	}
	return s, nil
}

// neighbours returns the k nearest others of an input.
func (s *sample) neighbours(at, k int) []neighbour {
	var list []neighbour
	from := s.input(at)
	for j := range s.of {
		if j == at {
			continue
		}
		d := squaredDistance(from, s.input(j))
		if len(list) == k && d >= list[k-1].distance {
			continue
		}
		i, _ := slices.BinarySearchFunc(list, d, func(n neighbour, d float64) int { return cmp.Compare(n.distance, d) })
		list = slices.Insert(list, i, neighbour{j, d})[:min(k, len(list)+1)]
	}
	return list
}

// input returns the numbers of an input.
func (s *sample) input(at int) []float64 { return s.x[at*s.d : (at+1)*s.d] }

func squaredDistance(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	return sum
}

// reach is how far from its row a pseudo-row lies, on the way to the nearest neighbour. At a
// half LLA was up to 0.1 worse than with the best σ₀ on classifiers that have memorised
// wrong labels; at three quarters it made well-trained ones a little worse.
const reach = 2.0 / 3

// between returns the inputs [n,…] on the way from each row of the sample to its nearest
// other input, as the network takes them. A row without another input stays where it is.
func (s *sample) between(p gp.Problem) *tensor.Dense {
	x := data.TakeRows(p.Train.X, s.rows)
	v := graph.Floats(x)
	for i, near := range s.near {
		for _, n := range near {
			if n.distance == 0 {
				continue
			}
			for k, other := range s.input(n.at) {
				v[i*s.d+k] += reach * (other - v[i*s.d+k])
			}
			break
		}
	}
	return like(x, v)
}

// spread returns residuals [n,c] of all n rows: those of the sample, and for each other row
// those of one of the sample, drawn at random.
func (s *sample) spread(residuals []float64, n, c int, rng *rand.Rand) []float64 {
	out := make([]float64, 0, n*c)
	for row := range n {
		i, found := slices.BinarySearch(s.rows, row)
		if !found {
			i = rng.IntN(len(s.rows))
		}
		out = append(out, residuals[i*c:(i+1)*c]...)
	}
	return out
}
