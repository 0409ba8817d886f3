package valla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// evenShare is the share of a mini-batch that is drawn evenly. It bounds the weight of an
// example by 1/evenShare times the mean weight.
const evenShare = 0.3

// draws makes mini-batches in which the probability of an example grows with its score. Most
// examples are well classified and have a λ near 0, so that a mini-batch drawn evenly would
// contain little information about T.
type draws struct {
	n, size int
	seed    uint64
	upTo    []float64 // sums of probabilities, the last of which is 1; nil: all examples in order
	rows    []int
	weights []float64 // 1/(size·probability): Σ_b weight_b ℓ_b estimates Σ_n ℓ_n
}

// newDraws returns mini-batches of size out of len(scores) examples: all of them, each
// once, if size is not below that.
func newDraws(scores []float64, size int, seed uint64) (*draws, error) {
	n := len(scores)
	d := &draws{n: n, size: min(size, n), seed: seed}
	d.rows, d.weights = make([]int, d.size), make([]float64, d.size)
	if size >= n {
		for i := range d.rows {
			d.rows[i], d.weights[i] = i, 1
		}
		return d, nil
	}
	total := 0.0
	for i, v := range scores {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("valla: example %d has the score %g, expected a finite number that is not negative", i, v)
		}
		total += v
	}
	d.upTo = make([]float64, n)
	sum := 0.0
	for i, v := range scores {
		share := 1.0
		if total > 0 {
			share = evenShare + (1-evenShare)*v/total*float64(n)
		}
		sum += share / float64(n)
		d.upTo[i] = sum
	}
	return d, nil
}

// load draws the mini-batch of an iteration into rows and weights. It cuts the probabilities
// into as many equal parts as the mini-batch has examples and draws one from each. The result
// depends on seed and iteration alone, and so does what the source that it returns gives next.
func (d *draws) load(iteration int) *rand.Rand {
	rng := rand.New(rand.NewPCG(d.seed, uint64(iteration)))
	if d.upTo == nil {
		return rng
	}
	for i := range d.rows {
		at := (float64(i) + rng.Float64()) / float64(d.size) * d.upTo[d.n-1]
		row := min(sort.SearchFloat64s(d.upTo, at), d.n-1)
		p := d.upTo[row]
		if row > 0 {
			p -= d.upTo[row-1]
		}
		d.rows[i], d.weights[i] = row, d.upTo[d.n-1]/(p*float64(d.size))
	}
	return rng
}
