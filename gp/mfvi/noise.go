package mfvi

import (
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// noise is a leaf of the graph whose numbers are drawn anew for each mini-batch.
type noise struct {
	name   string        // says where the noise enters; random numbers depend on it
	node   *graph.Node   // the leaf
	value  *tensor.Dense // its numbers in the mini-batch
	signs  bool          // ±1, not N(0,1)
	shared bool          // by all parts of a mini-batch; others have a row for each example
}

// feed gives a graph the mini-batches and the noise.
type feed struct {
	train.Feed                                     // the mini-batches
	noises     []*noise                            // the leaves that fill overwrites
	fill       func(n *noise, iteration, part int) // draws the numbers of a leaf
}

// Inputs implements train.Feed.
func (f feed) Inputs() map[*graph.Node]*tensor.Dense {
	all := f.Feed.Inputs()
	for _, n := range f.noises {
		all[n.node] = n.value
	}
	return all
}

// Load implements train.Feed.
func (f feed) Load(iteration, part int) error {
	for _, n := range f.noises {
		f.fill(n, iteration, part)
	}
	return f.Feed.Load(iteration, part)
}

// Identity implements train.Identifier.
func (f feed) Identity() []string { return f.Feed.(train.Identifier).Identity() }

// Streams of random numbers that belong to a seed.
const (
	noiseStream = 0x6d66_7669 << 32 // of training
	startStream = noiseStream + 1   // of ψ at the start
	drawStream  = noiseStream + 2   // of the weights of predictions
)

// drawn returns a fill whose numbers depend on the seed, on the noise, on the iteration and,
// where parts have noise of their own, on the part.
func drawn(seed uint64) func(n *noise, iteration, part int) {
	var source rand.PCG
	rng := rand.New(&source)
	return func(n *noise, iteration, part int) {
		if n.shared {
			part = 0
		}
		source.Seed(seed^noiseStream^hash(n.name), uint64(iteration)<<20|uint64(part))
		if n.value.Dtype() == tensor.Float32 {
			fillRandom(n.value.Float32s(), n.signs, rng)
		} else {
			fillRandom(n.value.Float64s(), n.signs, rng)
		}
	}
}

// hash is FNV-1a of a name.
func hash(name string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

func fillRandom[T kernel.Float](v []T, signs bool, rng *rand.Rand) {
	if !signs {
		for i := range v {
			v[i] = T(rng.NormFloat64())
		}
		return
	}
	for i := range v {
		v[i] = T(1 - 2*int(rng.Uint64()>>63))
	}
}
