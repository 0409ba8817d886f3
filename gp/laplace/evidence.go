package laplace

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
)

// evidence is what the marginal likelihood needs besides the spectrum of H.
type evidence struct {
	likelihood   likelihood.Likelihood // of the targets
	residuals    float64               // with Gaussian noise: Σ (y − g)²
	logLik       float64               // with other likelihoods: Σ log p(y | g)
	weights      []float64             // ‖θ̂‖² by part of the prior
	observations float64               // N·C
	outputs      int                   // C

	keep bool      // a fit may move a noise that is not Gaussian, which takes y and g
	y, g []float64 // targets [N·W·C] and outputs [N·C]; nil where the noise of likelihood stays
}

func (e evidence) noisy() bool { return noisy(e.likelihood) }

func (e evidence) gaussian() bool { return likelihood.IsGaussian(e.likelihood) }

// add takes in targets and outputs, [·W·C] and [·C].
func (e *evidence) add(y, g []float64) {
	switch {
	case e.gaussian():
		for i := range y {
			e.residuals += (y[i] - g[i]) * (y[i] - g[i])
		}
	case e.keep:
		e.y, e.g = append(e.y, y...), append(e.g, g...)
	default:
		e.logLik = e.densities(e.logLik, e.likelihood, y, g)
	}
}

// densities adds log p(y | g) of examples to sum, for a likelihood l.
func (e evidence) densities(sum float64, l likelihood.Likelihood, y, g []float64) float64 {
	c, w := e.outputs, e.outputs*l.Width()
	for i := range len(g) / c {
		sum += l.LogDensity(y[i*w:(i+1)*w], g[i*c:(i+1)*c])
	}
	return sum
}

// value is the log marginal likelihood of Laplace's approximation,
//
//	log p(y | θ̂) − ½ log det(I + THT/s) − ½ Σ_l ‖θ̂_l‖²/σ_l²,
//
// with log p(y | θ̂) = −Σ(y−g)²/(2σ²) − NC log(σ√(2π)) for Gaussian noise. With other likelihoods H is that of
// the mean curvature Λ.
func (e evidence) value(h hyper, logDet float64) float64 {
	posterior := logDet
	for l, prior := range h.prior {
		posterior += e.weights[l] / (prior * prior)
	}
	if e.gaussian() {
		return -0.5*posterior - 0.5*e.residuals/(h.noise*h.noise) - e.observations*(math.Log(h.noise)+0.5*math.Log(2*math.Pi))
	}
	return e.logLikelihood(h.noise) - 0.5*posterior
}

// gradient is the derivative of value in each log σ_l and in log σ, where the data
// determine γ_l weights of part l: with H̃ = THT and tr_l the sum over the diagonal
// there, γ_l = tr_l H̃ (H̃ + sI)⁻¹ and d log det(I + H̃/s) / d log σ_l = 2 γ_l.
func (e evidence) gradient(h hyper, effective []float64) (prior []float64, noise float64) {
	for l, sigma := range h.prior {
		prior = append(prior, e.weights[l]/(sigma*sigma)-effective[l])
	}
	if e.noisy() {
		noise = e.noiseSlope(h.noise) + kernel.Sum(effective)
	}
	return prior, noise
}

// update returns the hyper-parameters at which the gradient for this γ vanishes:
// σ₀² = ‖θ̂‖²/γ, and with Gaussian noise σ² = Σ(y−g)²/(NC − γ) (MacKay 1992). It keeps those that h, which has one
// prior standard deviation, fixes. A γ outside its bounds is moved to the nearer bound.
func (e evidence) update(h hyper, effective float64) hyper {
	lo, hi := e.bounds()
	out := hyper{[]float64{h.prior[0]}, h.noise}
	if h.prior[0] == 0 {
		out.prior[0] = math.Sqrt(kernel.Sum(e.weights) / max(effective, lo))
	}
	if h.noise == 0 {
		out.noise = e.bestNoise(min(effective, hi))
	}
	return out
}

// bounds are an interval for γ a little inside (0, N·C), in which it lies at a maximum in σ.
// Away from the maximum an approximate H, whose rank N·C does not bound, may give a γ above.
func (e evidence) bounds() (lo, hi float64) {
	const tiny = 1e-14
	return tiny * e.observations, (1 - tiny) * e.observations
}

// settledRatio is how far log s may be from log update(γ(s)) where s was found to the last
// digits that it has. Beyond, γ is so near to N·C that NC − γ has no digits left, while s
// has, and the noise follows from s.
const settledRatio = 1e-6

// maximise returns the hyper-parameters that maximise the marginal likelihood. It keeps
// those that h, which has one prior standard deviation, fixes. effective is γ as a function
// of s.
//
// The update maps s to a new s, and the maximum is where they are equal. γ falls
// with s and the update rises with γ, so log s − log update(γ(s)) rises with s, with
// a slope of at least 1: there is one maximum, s and its update enclose it, and the
// distance to it is at most the difference.
func (e evidence) maximise(h hyper, guess float64, effective func(s float64) (float64, error)) (hyper, error) {
	if err := e.solvable(h); err != nil || !h.free() {
		return h, err
	}
	var best hyper
	var gamma, at, off float64
	err := findZero(func(logS float64) (float64, error) {
		var err error
		gamma, err = effective(math.Exp(logS))
		best = e.update(h, gamma)
		at, off = logS, logS-math.Log(best.ratio())
		return off, err
	}, math.Log(e.update(h, guess).ratio()), 1e-9)
	if math.Abs(off) > settledRatio && h.noise == 0 {
		best.noise = best.prior[0] * math.Exp(at/2)
	}
	if lo, hi := e.bounds(); err == nil && (gamma < lo || h.noise == 0 && gamma > hi) {
		err = fmt.Errorf("laplace: the marginal likelihood has no maximum: the data determine %g weights, expected more than 0 and less than the %g targets", gamma, e.observations)
	}
	return best, err
}

// solvable returns an error where the marginal likelihood cannot have a maximum.
func (e evidence) solvable(h hyper) error {
	switch {
	case h.prior[0] == 0 && kernel.Sum(e.weights) == 0:
		return fmt.Errorf("laplace: all weights are 0, so the marginal likelihood has no maximum in the prior variance")
	case h.noise == 0 && e.keeps() && e.y == nil:
		return fmt.Errorf("laplace: the noise of the likelihood %v is found by a fit alone", e.likelihood)
	case h.noise == 0 && !e.keeps() && e.residuals == 0:
		return fmt.Errorf("laplace: all residuals are 0, so the marginal likelihood has no maximum in the noise variance")
	}
	return nil
}

// findZero looks for the zero of f, which rises with a slope of at least 1, by regula falsi
// as modified by Anderson and Björck (1973). It evaluates f first at a, and last at a point
// within tol of the zero, or as near to it as rounding allows.
func findZero(f func(float64) (float64, error), a, tol float64) error {
	fa, err := f(a)
	if err != nil || math.Abs(fa) <= tol {
		return err
	}
	b := a - fa // not on this side of the zero
	fb, err := f(b)
	if err != nil {
		return err
	}
	_, err = enclosedZero(f, a, fa, b, fb, tol)
	return err
}

// enclosedZero is findZero where a and b, with the values fa and fb of f, enclose the zero. It returns
// the last point.
func enclosedZero(f func(float64) (float64, error), a, fa, b, fb, tol float64) (float64, error) {
	var err error
	for range 100 {
		if err != nil || math.Abs(fb) <= tol || math.Abs(b-a) <= tol {
			return b, err
		}
		c := b - fb*(b-a)/(fb-fa)
		fc, failed := f(c)
		if fc*fb < 0 {
			a, fa = b, fb
		} else if m := 1 - fc/fb; m > 0 {
			fa *= m // without this a could stay where it is
		} else {
			fa /= 2
		}
		b, fb, err = c, fc, failed
	}
	return b, fmt.Errorf("laplace: no maximum of the marginal likelihood found near log σ²/σ₀² = %g: off by %g", b, fb)
}
