package valla

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/systematic"
	"github.com/go-valla/valla/jacobian"
)

// picks chooses at each example of a mini-batch the outputs whose rows of the Jacobian a step
// computes. A classifier takes most of its many classes for nearly impossible, so that their λ
// are nearly 0, while each of their rows costs a pass back through the network.
//
// An output is chosen with a probability π in proportion to its size |λ| + Λ_cc, both without
// latent variance, or certainly where this would exceed 1. Its λ is then weighted by 1/π, which
// makes up for outputs that are not chosen.
type picks struct {
	outputs, each int             // C, and how many are chosen at each example
	term          *steps.DataTerm // the likelihood, by which outputs are chosen
	chosen        []int           // [b,K] outputs, in ascending order
	share         []float64       // their π, [b,K]
}

// fewOutputs is how many outputs of an example are chosen. On MNIST and Fashion-MNIST 2, 4 and all
// 10 gave the same scores.
const fewOutputs = 3

// evenOutputs is the share of an example's size that its outputs have evenly. λ grows with the
// latent variance, where the network takes a class for impossible without it. The value was not
// compared with others.
const evenOutputs = 0.05

// newPicks returns the choice of k outputs of each example; nil where these are all.
func (n *natural) newPicks(k int) *picks {
	if _, tangent := n.layer.Kernel.(jacobian.NTK); k >= n.outputs || !tangent {
		return nil
	}
	return &picks{outputs: n.outputs, each: k}
}

// sizes returns |λ| + Λ_cc [b,C] of outputs mean [b,C] with targets y [b,W·C], without latent
// variance. The sum over the outputs says how much an example counts, too.
func (n *natural) sizes(l *steps.DataTerm, mean, y []float64) ([]float64, error) {
	c := n.outputs
	rows := len(mean) / c
	ones := make([]float64, rows)
	for i := range ones {
		ones[i] = 1
	}
	if err := l.Run(graph.Flat(n.lik.Params()), y, mean, make([]float64, len(mean)), ones); err != nil {
		return nil, err
	}
	sizes, all, room := l.Lambda(rows), make([]float64, c), make([]float64, 2*c)
	width := len(y) / rows
	for at := 0; at < len(sizes); at += c {
		curvatures(n.lik, all, room, y[at/c*width:(at/c+1)*width], mean[at:at+c])
		for k, v := range all {
			sizes[at+k] = math.Abs(sizes[at+k]) + v
		}
	}
	return sizes, nil
}

// choose chooses K outputs of each example of the given sizes [b,C].
func (p *picks) choose(sizes []float64, rng *rand.Rand) {
	p.chosen, p.share = p.chosen[:0], p.share[:0]
	for all := range slices.Chunk(sizes, p.outputs) {
		chosen, share := systematic.Sample(withEven(all), p.each, rng.Float64())
		p.chosen, p.share = append(p.chosen, chosen...), append(p.share, share...)
	}
}

// withEven returns the sizes of an example's outputs with an even share beside them.
func withEven(sizes []float64) []float64 {
	even := evenOutputs * kernel.Sum(sizes) / float64(len(sizes))
	if !(even > 0) {
		even = 1 // all are 0
	}
	out := slices.Clone(sizes)
	kernel.AddScalar(out, even, out)
	return out
}

// seeds returns the vectors [b,K,C] that pick the chosen outputs' rows of a Jacobian.
func (p *picks) seeds() []float64 {
	v := make([]float64, len(p.chosen)*p.outputs)
	for i, c := range p.chosen {
		v[i*p.outputs+c] = 1
	}
	return v
}

// spread returns values of all outputs [b,C], given the values v [b,K] of the chosen outputs. An
// output that is not chosen gets the mean of its example's values.
func (p *picks) spread(v []float64) []float64 {
	k := p.each
	all := make([]float64, len(v)/k*p.outputs)
	for i := range len(v) / k {
		row := all[i*p.outputs : (i+1)*p.outputs]
		mean := kernel.Sum(v[i*k:(i+1)*k]) / float64(k)
		for c := range row {
			row[c] = mean
		}
		for j, c := range p.chosen[i*k : (i+1)*k] {
			row[c] = v[i*k+j]
		}
	}
	return all
}

// weighted returns λ/π [b,K] of the chosen outputs, of λ [b,C].
func (p *picks) weighted(lambda []float64) []float64 {
	out := make([]float64, len(p.chosen))
	for i, c := range p.chosen {
		out[i] = lambda[i/p.each*p.outputs+c] / p.share[i]
	}
	return out
}

// pick is called by the program with the network's outputs [b,C] and targets [b,W·C]. It chooses
// outputs and returns the seeds.
func (n *natural) pick(in [][]float64) ([]float64, error) {
	sizes, err := n.sizes(n.picks.term, in[0], in[1])
	if err != nil {
		return nil, err
	}
	n.picks.choose(sizes, n.inputs.ask.rng)
	return n.picks.seeds(), nil
}
