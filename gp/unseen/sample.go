package unseen

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// sample is a part of the training rows, with the neighbours of each row.
type sample struct {
	d    int           // number of numbers in an input
	x    []float64     // inputs that may be neighbours [len(of),d]
	of   []int         // rows of these inputs
	rows []int         // rows of the sample, ascending; all rows if there are not too many
	near [][]neighbour // neighbours of each row of the sample, the nearest first
}

// neighbour is another row.
type neighbour struct {
	at       int     // index in sample.x
	distance float64 // squared distance
}

// newSample draws rows and finds their neighbours.
func newSample(ctx context.Context, p gp.Problem, rng *rand.Rand) (*sample, error) {
	n := p.Train.N()
	order := rng.Perm(n)
	s := &sample{rows: slices.Sorted(slices.Values(order[:min(n, mostRows)])), of: slices.Sorted(slices.Values(order[:min(n, mostNear)]))}
	s.x = graph.Floats(data.TakeRows(p.Train.X, s.of))
	s.d = len(s.x) / len(s.of)
	for some := range slices.Chunk(s.rows, searchedAtOnce) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := make([]int, len(some))
		for i, row := range some {
			at[i], _ = slices.BinarySearch(s.of, row)
		}
		s.near = append(s.near, s.neighbours(at, neighbours)...)
	}
	return s, nil
}

// searchedAtOnce is the number of rows whose neighbours are searched in one pass over all inputs, which may not fit into a cache.
const searchedAtOnce = 16

// neighbours returns the k nearest neighbours of each of some inputs.
func (s *sample) neighbours(at []int, k int) [][]neighbour {
	lists, room := make([][]neighbour, len(at)), make([]float64, kernel.DistanceRoom(s.d))
	for j := range s.of {
		for a, i := range at {
			if i != j {
				lists[a] = nearest(lists[a], neighbour{j, kernel.SquaredDistance(s.input(i), s.input(j), room)}, k)
			}
		}
	}
	return lists
}

// nearest returns a list of the k nearest with one more, the nearest first.
func nearest(list []neighbour, n neighbour, k int) []neighbour {
	if len(list) == k && n.distance >= list[k-1].distance {
		return list
	}
	i, _ := slices.BinarySearchFunc(list, n.distance, func(n neighbour, d float64) int { return cmp.Compare(n.distance, d) })
	return slices.Insert(list, i, n)[:min(k, len(list)+1)]
}

// input returns the numbers of the input at an index.
func (s *sample) input(at int) []float64 { return s.x[at*s.d : (at+1)*s.d] }

// reach is the distance of a pseudo-row from its row, as a fraction of the distance to the nearest neighbour. With
// 1/2, the NLL of LLA was up to 0.1 above the NLL with the best σ₀ on classifiers that have memorised wrong labels.
// With 3/4, LLA was a little worse on well-trained classifiers.
const reach = 2.0 / 3

// between returns the inputs [n,…] of the pseudo-rows, which lie between each row of the sample and its nearest
// neighbour at another place. A row without such a neighbour stays where it is.
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

// spread returns residuals [n,c] for all n rows: a row of the sample keeps its residuals, and another row gets the
// residuals of a row of the sample that is drawn at random.
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
