package laplace

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// posterior is a fitted linearized Laplace approximation. Its mean is the network,
// its covariance is the covariance of the latent function, without noise, in float64. Several
// goroutines may call Joint; the network runs for one goroutine at a time.
type posterior struct {
	scan      *scanner   // the network and its Jacobian
	cost      graph.Cost // of a run of scan
	structure structure  // H
	evidence  evidence   // the marginal likelihood
	examples  int        // number of examples in H
	priors    priorsKind // which weights share a σ₀
	prior     partition  // what priors is for these weights
	ascent    *ascent    // finds hyper-parameters; nil: the exact maximum
	limit     int64      // bytes
	choice    string     // of the weights, see choiceOf
	subset    bool       // SubsetMethod made the posterior
	exact     bool       // see Options

	rooted *rooted // while H is summed up, if it is from rows
	begun  bool    // rooted has been chosen or refused

	hyper     hyper     // σ₀ and σ
	factor    factor    // of THT + sI at these hyper-parameters
	predictor predictor // computes covariances from factor
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Updater        = (*posterior)(nil)
)

// At returns the posterior for the same data at other hyper-parameters. A 0 stands for the
// value that maximises the marginal likelihood for the other hyper-parameter; with a
// likelihood without noise noiseStd must be 0. At takes one factorisation, or about ten where it
// maximises.
func (p *posterior) At(ctx context.Context, priorStd, noiseStd float64) (gp.Stored, error) {
	return p.at(ctx, priorStd, noiseStd)
}

// at is At.
func (p *posterior) at(ctx context.Context, priorStd, noiseStd float64) (*posterior, error) {
	return p.AtEach(ctx, slices.Repeat([]float64{priorStd}, len(p.prior.names)), noiseStd)
}

// AtEach is At with a prior standard deviation for each of the groups that Priors names.
func (p *posterior) AtEach(ctx context.Context, priorStds []float64, noiseStd float64) (*posterior, error) {
	if len(priorStds) != len(p.prior.names) {
		return nil, fmt.Errorf("laplace: %d prior standard deviations, expected %d, for %q", len(priorStds), len(p.prior.names), p.prior.names)
	}
	h := hyper{slices.Clone(priorStds), noiseStd}
	if err := h.check(p.evidence.noisy()); err != nil {
		return nil, err
	}
	if !p.evidence.noisy() {
		h.noise = 1
	}
	h, err := p.maximise(ctx, h)
	if err != nil {
		return nil, err
	}
	return p.with(ctx, h)
}

// with returns the posterior at the given hyper-parameters, of which none is free.
func (p *posterior) with(ctx context.Context, h hyper) (*posterior, error) {
	q, err := *p, error(nil)
	q.hyper = h
	if q.factor, err = p.solve(ctx, h.scales(p.prior)); err != nil {
		return nil, err
	}
	q.predictor = q.factor.predictor()
	return &q, nil
}

// guess returns an order of magnitude for γ: a tenth of the largest value it can have.
func (p *posterior) guess() float64 {
	return min(float64(p.scan.params), p.evidence.observations) / 10
}

// solve returns the structure's factor, or ctx's error if ctx has ended.
func (p *posterior) solve(ctx context.Context, c scales) (factor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.structure.factor(ctx, c)
}

// PriorStd returns σ₀, the first of PriorStds where there are several.
func (p *posterior) PriorStd() float64 { return p.hyper.prior[0] }

// PriorStds returns σ₀ of each group that Priors names.
func (p *posterior) PriorStds() []float64 { return slices.Clone(p.hyper.prior) }

// priorsKind names the groups of weights that have a σ₀ of their own: a layer, a parameter,
// or "all".
func (p *posterior) Priors() []string { return slices.Clone(p.prior.names) }

// Parameters returns P, the number of uncertain weights.
func (p *posterior) Parameters() int { return p.scan.params }

// NoiseStd returns σ, or 0 with a likelihood without noise.
func (p *posterior) NoiseStd() float64 {
	if !p.evidence.noisy() {
		return 0
	}
	return p.hyper.noise
}

// LogMarginalLikelihood returns Laplace's approximation to log p(y | σ₀, σ),
//
//	log p(y | θ̂) − ½ log det(I + σ₀² H/σ²) − ‖θ̂‖²/(2σ₀²),
//
// with σ = 1 for a likelihood without noise. H and ‖θ̂‖² belong to the uncertain weights. Where σ₀ differs
// among these weights, σ₀²H is SHS with S the diagonal matrix of their σ₀, and ‖θ̂‖²/σ₀² a sum.
func (p *posterior) LogMarginalLikelihood() float64 {
	return p.evidence.value(p.hyper, p.factor.logDet())
}

// EffectiveParameters returns γ = tr H (H + σ²/σ₀² I)⁻¹, the number of weights that the data
// determine. It lies between 0 and P, and is at most N·C where H is not approximated. It
// costs about as much as a factorisation.
func (p *posterior) EffectiveParameters() float64 { return p.factor.effective(context.Background()) }

// predict writes the distributions at the examples of a batch, with variances alone if marginal says so and the predictor
// can.
func (p *posterior) predict(b batch, g *gp.Gaussian, marginal bool) error {
	if by, ok := p.predictor.(byVariance); ok && marginal {
		g.ResizeFor(b.count, b.outputs, false, true)
		if by.variances(b, g.Cov) {
			g.SetMean(b.program.Value(b.out))
			kernel.Scale(g.Cov, p.PriorStd()*p.PriorStd(), g.Cov)
			return b.checkVariances(g.Cov)
		}
	}
	g.Resize(b.count, b.outputs, false)
	g.SetMean(b.program.Value(b.out))
	err := p.predictor.marginals(b, g.Cov)
	kernel.Scale(g.Cov, p.PriorStd()*p.PriorStd(), g.Cov)
	return err
}

// Joint implements gp.JointPosterior: for x [N,…] the mean [N·C] and the covariance
// [N·C, N·C]. It returns a *graph.MemoryError where the covariance and the N·C rows that it
// is made of exceed the limit.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	if err := p.check(x); err != nil {
		return nil, nil, err
	}
	c, width := p.scan.outputs, p.predictor.width()
	n := x.Shape()[0] * c
	if err := p.fits("the joint covariance", 8*int64(n)*int64(n+width)); err != nil {
		return nil, nil, err
	}
	m, f, k := make([]float64, n), make([]float64, n*width), make([]float64, n*n)
	err = p.scan.each(ctx, x, func(b batch) error {
		copy(m[b.first*c:], b.mean())
		return p.predictor.root(b, f[b.first*c*width:])
	})
	if err != nil {
		return nil, nil, err
	}
	kernel.Syrk(false, n, width, p.PriorStd()*p.PriorStd(), f, width, 0, k, n)
	return dense.Of(m, n), dense.Of(k, n, n), nil
}

// check returns an error if x is not a batch of inputs like the inputs of the fit.
func (p *posterior) check(x *tensor.Dense) error {
	if err := dense.CheckRows(x); err != nil {
		return fmt.Errorf("laplace: %w", err)
	}
	if want := p.scan.x.Shape()[1:]; !x.Shape()[1:].Eq(want) {
		return fmt.Errorf("laplace: x has shape %v, the posterior was fitted to inputs of shape %v each", x.Shape(), want)
	}
	if i, v := graph.FirstNonFinite(x); i >= 0 {
		size := p.scan.inputSize()
		return fmt.Errorf("laplace: x: element %d of example %d is %v", i%size, i/size, v)
	}
	return nil
}
