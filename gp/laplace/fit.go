package laplace

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// fitOptions returns the LLA posterior of a trained network with the inputs x [N,…] and the
// targets y [N,W·C]. The element types of data and network may differ; what is summed
// over the examples is kept in float64.
//
// fitOptions passes over the examples once, in batches. Its memory does not grow with their
// number, except in function space. Fit returns ctx's error if ctx ends first, a *graph.MemoryError where
// the matrices do not fit, and a wrapped *graph.NotPositiveDefiniteError where σ²/σ₀²
// is too small for float64. The network's weights must not change while the posterior
// is in use.
func fitOptions(ctx context.Context, net layers.Network, x, y *tensor.Dense, o options) (*posterior, error) {
	o = o.filled()
	if err := o.check(); err != nil {
		return nil, err
	}
	d, err := newData(x, y, o)
	if err != nil {
		return nil, err
	}
	p, err := unfitted(net, d.X.Shape()[1:].Clone(), outputs(d, o.likelihood()), d.N(), o)
	if err != nil {
		return nil, err
	}
	if err := p.collect(ctx, d, o.Progress); err != nil {
		return nil, err
	}
	return p.at(ctx, o.PriorStd, o.NoiseStd)
}

// unfitted returns a posterior before it has seen the data, which are n inputs of the
// given shape.
func unfitted(net layers.Network, shape tensor.Shape, outputs, n int, o options) (*posterior, error) {
	p, d, err := planned(net, shape, outputs, n, o)
	if err != nil {
		return nil, err
	}
	return p, p.scan.compileDraft(d, p.scan.fitted())
}

// planned is unfitted before the network is compiled, of which it returns the draft. It compares the memory with the limit.
func planned(net layers.Network, shape tensor.Shape, outputs, n int, o options) (*posterior, *graph.Draft, error) {
	chosen, err := layers.Choose(net, o.Weights...)
	if err == nil && len(chosen) == 0 {
		err = errors.New("the network has no parameters")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("laplace: %w", err)
	}
	p := &posterior{
		evidence: evidence{likelihood: o.likelihood(), observations: float64(n) * float64(outputs), outputs: outputs},
		examples: n, priors: o.filled().Priors, ascent: o.Ascent, limit: gp.Run{Memory: o.MemoryLimit}.Limit(), choice: choiceOf(net, chosen),
		exact: o.Exact,
	}
	if p.scan, err = batched(layers.Part{Network: net, Chosen: chosen}, shape, outputs, n, o); err != nil {
		return nil, nil, err
	}
	p.structure = newStructure(p.scan, n, o)
	p.prior = o.Priors.partition(p.scan.blocks)
	d, err := p.scan.draft(p.scan.fitted())
	if err != nil {
		return nil, nil, err
	}
	p.cost = d.Cost()
	return p, d, p.plan().Check(p.limit)
}

// batched returns the scanner of a network for a batch whose memory suits the structure. This memory is known after the network was written
// for one example.
func batched(net layers.Network, shape tensor.Shape, outputs, n int, o options) (*scanner, error) {
	single, err := newScanner(net, shape, outputs, 1, o.Structure.keeping(), nil)
	if err != nil {
		return nil, err
	}
	if err := single.findUnit(); err != nil {
		return nil, err
	}
	elements := newStructure(single, n, o).elements()
	if single.unit != nil && !likelihood.IsClass(o.likelihood()) {
		elements += outputs * outputs // of the covariance
	}
	s, err := newScanner(net, shape, outputs, o.batch(n, elements), o.Structure.keeping(), nil)
	if err != nil {
		return nil, err
	}
	s.sameUnit(single)
	return s, nil
}

// newStructure returns the representation of H, of n examples, that the options
// ask for.
func newStructure(s *scanner, n int, o options) structure {
	single := s.float == tensor.Float32
	switch {
	case o.Structure == kindDiagonal && single:
		return newDiagonal[float32](s)
	case o.Structure == kindDiagonal:
		return newDiagonal[float64](s)
	case o.Structure == kindKFAC && single:
		return newKFAC[float32](s, n)
	case o.Structure == kindKFAC:
		return newKFAC[float64](s, n)
	case o.Structure == kindLowRank && o.stored:
		return &lowRank{functionSpace: functionSpace{scanner: s, gram: gram{n: o.Rank}}, rank: o.Rank}
	}
	space := o.Space
	if space == spaceSmaller && likelihood.ByRow(o.likelihood()) {
		space = spaceWeights // a file of the functions has no targets
	}
	full := newFull(s, space, n*s.outputs)
	if f, ok := full.(*functionSpace); ok {
		f.progress = o.Products
	}
	if _, ok := full.(*weightSpace); ok && s.isDense() && s.outputs > 1 {
		full = newDenseLayer(s)
	}
	if o.Structure == kindLowRank {
		return newLowRank(s, full, o.Rank)
	}
	return full
}

// collect sums up the data and the weights for the fit.
func (p *posterior) collect(ctx context.Context, d gp.Examples, progress func(done, total int)) error {
	if err := p.addWeights(); err != nil {
		return err
	}
	if p.evidence.keeps() {
		if err := p.fits("the posterior, with targets and outputs", p.structure.bytes()+p.evidence.bytes(d)); err != nil {
			return err
		}
		p.evidence.keep = true
	}
	p.structure.allocate()
	return p.take(ctx, d, progress)
}

// take adds the data to H and to the evidence, and ends the sums.
func (p *posterior) take(ctx context.Context, d gp.Examples, progress func(done, total int)) error {
	if err := p.add(ctx, d, progress); err != nil {
		return err
	}
	return p.finish(ctx)
}

// finish ends the sums.
func (p *posterior) finish(ctx context.Context) error {
	p.rooted, p.begun = nil, false
	return p.structure.finish(ctx)
}

// add is take without an end of the sums.
func (p *posterior) add(ctx context.Context, d gp.Examples, progress func(done, total int)) error {
	return p.sum(ctx, d, func(b batch, y []float64) {
		p.evidence.add(y, b.mean())
		if progress != nil {
			progress(b.first+b.count, d.N())
		}
	})
}

// sum adds up H over the examples d, and calls seen with the targets after each batch. The targets may be nil where H
// does not depend on these.
func (p *posterior) sum(ctx context.Context, d gp.Examples, seen func(b batch, y []float64)) error {
	if !p.begun {
		var err error
		if p.rooted, err = p.newRooted(); err != nil {
			return err
		}
		p.begun = true
	}
	if p.rooted != nil {
		return p.rooted.sum(ctx, d, seen)
	}
	return p.sumWhole(ctx, d, seen)
}

// sumWhole is sum with the whole Jacobian of each example.
func (p *posterior) sumWhole(ctx context.Context, d gp.Examples, seen func(b batch, y []float64)) error {
	at := targets{from: d}
	l, identity := likelihood.WithNoise(p.evidence.likelihood, 1), p.evidence.gaussian()
	return p.scan.each(ctx, d.X, func(b batch) error {
		y := at.of(b)
		if !identity {
			b.lambda = p.scan.lambdaOf(l, y, b.mean())
		}
		if err := p.structure.add(b); err != nil {
			return err
		}
		seen(b, y)
		return nil
	})
}

// addWeights sums up the squares of the weights.
func (p *posterior) addWeights() error {
	p.evidence.weights = make([]float64, len(p.prior.names))
	for i, k := range p.scan.blocks {
		sum := &p.evidence.weights[p.prior.of[i]]
		for _, v := range k.param.Floats() {
			*sum += v * v
		}
		if math.IsNaN(*sum) || math.IsInf(*sum, 0) {
			return fmt.Errorf("laplace: the network's weights are not finite: their squared norm in %q is %g", k.param.Name, *sum)
		}
	}
	return nil
}

// fits checks a number of bytes against the limit.
func (p *posterior) fits(what string, need int64) error {
	if need > p.limit {
		return &graph.MemoryError{What: "laplace: " + what, Need: need, Limit: p.limit}
	}
	return graph.CheckMemory("laplace: "+what, need)
}
