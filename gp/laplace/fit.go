package laplace

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Options say how a posterior is fitted. The zero value chooses everything.
type Options struct {
	PriorStd float64 // σ₀ of each weight; 0: maximises the marginal likelihood
	NoiseStd float64 // σ of each target; 0: maximises the marginal likelihood

	Space       Space
	BatchSize   int   // examples in one run of the network; 0: as many as suit the cache
	MemoryLimit int64 // bytes; 0: 4 GiB

	// Progress, if not nil, is called after each batch with the number of examples
	// seen so far and of all.
	Progress func(done, total int)
}

// Space says in which space the posterior is represented. It changes time and
// memory, not the result.
type Space int

const (
	Smaller       Space = iota // of the two below
	WeightSpace                // a [P,P] system
	FunctionSpace              // an [N·C, N·C] system, and all Jacobian rows [N·C, P]
)

const (
	defaultMemory = 4 << 30
	batchBytes    = 8 << 20 // of Jacobian rows in a batch of the default size
	maxBatch      = 256
)

// MemoryError says that a computation would need more than Options.MemoryLimit.
type MemoryError struct {
	What        string
	Need, Limit int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("laplace: %s needs %d bytes, more than the limit of %d", e.What, e.Need, e.Limit)
}

// Fit returns the exact LLA posterior of a trained regression network with the
// inputs x [N,…] and targets y [N,C], whose noise is Gaussian, independent and of
// one variance for all outputs. The element types of data and network may differ;
// what follows the network is computed in float64.
//
// It returns ctx's error if ctx ends first, a *MemoryError where the matrices do not
// fit, and a wrapped *graph.NotPositiveDefiniteError where σ²/σ₀² is too small for
// float64. The network's weights must not change while the posterior is in use.
func Fit(ctx context.Context, net layers.Network, x, y *tensor.Dense, o Options) (*Posterior, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d, err := newData(x, y)
	if err != nil {
		return nil, err
	}
	p, err := newPosterior(net, d, o)
	if err != nil {
		return nil, err
	}
	if err := p.collect(ctx, d, o.Progress); err != nil {
		return nil, err
	}
	return p.At(ctx, o.PriorStd, o.NoiseStd)
}

func (o Options) check() error {
	switch {
	case o.Space < Smaller || o.Space > FunctionSpace:
		return fmt.Errorf("laplace: unknown space %d", o.Space)
	case o.BatchSize < 0 || o.MemoryLimit < 0:
		return fmt.Errorf("laplace: batch size %d and memory limit %d: expected positive numbers, or 0 for the default", o.BatchSize, o.MemoryLimit)
	}
	return hyper{o.PriorStd, o.NoiseStd}.check()
}

// newPosterior returns a posterior that has not seen the data yet. Memory is checked
// before the network is compiled, and again when it is known what that took.
func newPosterior(net layers.Network, d data, o Options) (*Posterior, error) {
	params := layers.Count(net)
	batch := o.batch(d.n, d.outputs*params)
	p := &Posterior{
		structure: newFull(o.Space, params, len(d.y), batch*d.outputs),
		evidence:  evidence{observations: float64(len(d.y))},
		limit:     o.MemoryLimit,
	}
	if p.limit == 0 {
		p.limit = defaultMemory
	}
	err := p.fits("the posterior", p.structure.bytes())
	if err != nil {
		return nil, err
	}
	if p.scan, err = newScanner(net, d.x.shape, d.outputs, batch); err != nil {
		return nil, err
	}
	return p, p.fits("the posterior", p.structure.bytes()+int64(p.scan.program.Bytes()))
}

// batch returns the number of examples in a batch, where each has so many elements
// of Jacobian rows.
func (o Options) batch(n, elements int) int {
	if o.BatchSize > 0 {
		return min(n, o.BatchSize)
	}
	return max(1, min(n, maxBatch, batchBytes/(8*max(1, elements))))
}

// collect sums up what the fit needs of the data and the weights.
func (p *Posterior) collect(ctx context.Context, d data, progress func(done, total int)) error {
	for _, w := range p.scan.weights {
		for _, v := range w.Floats() {
			p.evidence.weights += v * v
		}
	}
	if math.IsNaN(p.evidence.weights) || math.IsInf(p.evidence.weights, 0) {
		return fmt.Errorf("laplace: the network's weights are not finite: their squared norm is %g", p.evidence.weights)
	}
	p.structure.allocate()
	err := p.scan.each(ctx, d.x, func(b batch) error {
		for i, g := range b.mean() {
			r := d.y[b.first*d.outputs+i] - g
			p.evidence.residuals += r * r
		}
		if err := p.structure.add(b); err != nil {
			return err
		}
		if progress != nil {
			progress(b.first+b.count, d.n)
		}
		return nil
	})
	if err == nil {
		p.structure.finish()
	}
	return err
}

// fits checks a number of bytes against the limit.
func (p *Posterior) fits(what string, need int64) error {
	if need > p.limit {
		return &MemoryError{What: what, Need: need, Limit: p.limit}
	}
	return nil
}
