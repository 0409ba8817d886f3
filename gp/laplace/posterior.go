package laplace

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Posterior is a fitted linearised Laplace approximation. Its mean is the network,
// its covariance is that of the latent function, without noise, in float64. It may be
// used by several goroutines; the network runs for one of them at a time.
type Posterior struct {
	scan      *scanner
	structure structure
	evidence  evidence
	limit     int64 // bytes

	hyper  hyper
	factor factor // of H + sI at these hyper-parameters
}

var _ gp.JointPosterior = (*Posterior)(nil)

// At returns the posterior for the same data at other hyper-parameters, where 0 again
// stands for the one that maximises the marginal likelihood given the other. It takes
// one factorisation, or some ten where there is something to maximise.
func (p *Posterior) At(ctx context.Context, priorStd, noiseStd float64) (*Posterior, error) {
	h := hyper{priorStd, noiseStd}
	if err := h.check(); err != nil {
		return nil, err
	}
	h, err := p.evidence.maximise(h, p.guess(), func(s float64) (float64, error) {
		f, err := p.solve(ctx, s)
		if err != nil {
			return 0, err
		}
		return f.effective(), nil
	})
	if err != nil {
		return nil, err
	}
	q := *p
	q.hyper = h
	if q.factor, err = p.solve(ctx, h.ratio()); err != nil {
		return nil, err
	}
	return &q, nil
}

// guess is an order of magnitude for γ: a tenth of its largest value.
func (p *Posterior) guess() float64 {
	return min(float64(p.scan.params), p.evidence.observations) / 10
}

// solve is the structure's factor, unless ctx has ended.
func (p *Posterior) solve(ctx context.Context, s float64) (factor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.structure.factor(s)
}

// PriorStd returns σ₀.
func (p *Posterior) PriorStd() float64 { return p.hyper.prior }

// NoiseStd returns σ.
func (p *Posterior) NoiseStd() float64 { return p.hyper.noise }

// LogMarginalLikelihood returns Laplace's approximation to log p(y | σ₀, σ),
//
//	−Σ(y−g)²/(2σ²) − N·C log(σ√(2π)) − ½ log det(I + σ₀² H/σ²) − ‖θ̂‖²/(2σ₀²).
func (p *Posterior) LogMarginalLikelihood() float64 {
	return p.evidence.value(p.hyper, p.factor.logDet())
}

// LogMarginalLikelihoodGradient returns the derivatives of LogMarginalLikelihood in
// log σ₀ and log σ. It costs about as much as a factorisation.
func (p *Posterior) LogMarginalLikelihoodGradient() (logPriorStd, logNoiseStd float64) {
	return p.evidence.gradient(p.hyper, p.factor.effective())
}

// EffectiveParameters returns γ = tr H (H + σ²/σ₀² I)⁻¹, how many weights the data
// determine: between 0 and min(P, N·C). It costs about as much as a factorisation.
func (p *Posterior) EffectiveParameters() float64 { return p.factor.effective() }

// Predict implements gp.Posterior: for x [N,…] the mean [N,C] and covariance [N,C,C].
func (p *Posterior) Predict(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	in, err := p.inputs(x)
	if err != nil {
		return gp.Gaussian{}, err
	}
	c, width := p.scan.outputs, p.factor.width()
	mean, cov := make([]float64, in.n*c), make([]float64, in.n*c*c)
	f := make([]float64, p.scan.batch*c*width)
	err = p.scan.each(ctx, in, func(b batch) error {
		if err := p.root(b, mean, f); err != nil {
			return err
		}
		for i := range b.count {
			p.gram(cov[(b.first+i)*c*c:], f[i*c*width:], c)
		}
		return nil
	})
	if err != nil {
		return gp.Gaussian{}, err
	}
	return gp.Gaussian{Mean: dense(mean, in.n, c), Cov: dense(cov, in.n, c, c)}, nil
}

// Joint implements gp.JointPosterior: for x [N,…] the mean [N·C] and the covariance
// [N·C, N·C]. It returns a *MemoryError where the covariance and the N·C rows that it
// is made of exceed the limit.
func (p *Posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	in, err := p.inputs(x)
	if err != nil {
		return nil, nil, err
	}
	c, width := p.scan.outputs, p.factor.width()
	n := in.n * c
	if err := p.fits("the joint covariance", 8*int64(n)*int64(n+width)); err != nil {
		return nil, nil, err
	}
	m, f, k := make([]float64, n), make([]float64, n*width), make([]float64, n*n)
	err = p.scan.each(ctx, in, func(b batch) error {
		return p.root(b, m, f[b.first*c*width:])
	})
	if err != nil {
		return nil, nil, err
	}
	p.gram(k, f, n)
	return dense(m, n), dense(k, n, n), nil
}

// inputs checks that x is a batch of inputs like those of the fit.
func (p *Posterior) inputs(x *tensor.Dense) (inputs, error) {
	in, err := newInputs("x", x)
	if want := p.scan.x.Shape()[1:]; err == nil && !in.shape.Eq(want) {
		return in, fmt.Errorf("laplace: x has shape %v, the posterior was fitted to inputs of shape %v each", x.Shape(), want)
	}
	return in, err
}

// root puts the batch's outputs in their place in mean, [N·C], and the factor F of
// its rows' covariance σ₀² F Fᵀ at the front of f.
func (p *Posterior) root(b batch, mean, f []float64) error {
	copy(mean[b.first*p.scan.outputs:], b.mean())
	if err := b.jacobian(f, p.factor.width()); err != nil {
		return err
	}
	p.factor.root(f, b.size())
	return nil
}

// gram writes σ₀² F Fᵀ for the first n rows of f to the front of cov, [n,n].
func (p *Posterior) gram(cov, f []float64, n int) {
	width := p.factor.width()
	kernel.Syrk(false, n, width, p.hyper.prior*p.hyper.prior, f, width, 0, cov, n)
}

func dense(v []float64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}
