package task

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Regression describes T targets, one for each output of the network. A target has W columns of the data, where W is
// the width of the observation model; it has the name of its first column.
type Regression struct {
	Names         []string         `json:"targets"`              // names of the columns [T·W]
	Mean          []float64        `json:"mean,omitempty"`       // means of the training targets [T]; nil: the network works with the targets as they are
	Std           []float64        `json:"std,omitempty"`        // their standard deviations [T]: the network works with (y − Mean)/Std
	Transforms    []Transform      `json:"transforms,omitempty"` // target transforms [T]: Mean and Std are those of T(y), and y above is T(y); nil: none
	Noise         []float64        `json:"noise,omitempty"`      // scale of the residuals of each of several targets in units of Std [T]: it divides targets and outputs; nil: 1
	NoiseVariance float64          `json:"noise_variance"`       // squared scale of the targets around the network alone, in the network's units; 0 for a model without noise
	Model         *likelihood.Spec `json:"likelihood,omitempty"` // observation model; nil: Gaussian noise
	Inside        bool             `json:"inside,omitempty"`     // Model is of a fit, see Observed: the network was trained with Gaussian noise
}

// leastStd and mostStd bound the standard deviations of targets, so that variances in the units of the targets
// have all their digits.
const leastStd, mostStd = 1e-140, 1e140

// StandardizedTargets returns the regression of a set's targets, with mean 0 and standard
// deviation 1 over the rows of the set. The noise variance is a preliminary 1.
func StandardizedTargets(s *data.Set) (*Regression, error) {
	scale, err := data.FitStandardizer(s.Y)
	if err != nil {
		return nil, err
	}
	return &Regression{Names: s.Targets, Mean: scale.Mean, Std: scale.Std, NoiseVariance: 1}, nil
}

// kinds are the kinds of tasks by the kinds of targets.
var kinds = map[likelihood.Kind]string{
	likelihood.Number: "regression", likelihood.Count: "counts", likelihood.Binary: "labels", likelihood.Ordered: "ordered classes",
}

func (r *Regression) kind() string { return kinds[r.model().Kind()] }

// width returns W, how many columns a target has.
func (r *Regression) width() int {
	if r.Model == nil {
		return 1
	}
	return r.model().Width()
}

func (r *Regression) size() int { return len(r.Names) / r.width() }

func (r *Regression) targets() []string { return r.Names }

// labels returns the names of the targets [T].
func (r *Regression) labels() []string {
	w := r.width()
	if w == 1 {
		return r.Names
	}
	var out []string
	for i := 0; i < len(r.Names); i += w {
		out = append(out, r.Names[i])
	}
	return out
}

// checkModel returns an error if the observation model or its noise is wrong.
func (r *Regression) checkModel() error {
	if r.Model == nil {
		if !positive(r.NoiseVariance) {
			return fmt.Errorf("noise variance %g, expected a positive number", r.NoiseVariance)
		}
		if r.Inside {
			return fmt.Errorf("no likelihood of a fit, expected one")
		}
		return nil
	}
	l, err := r.Model.Likelihood()
	switch {
	case err != nil:
		return err
	case likelihood.IsClass(l):
		return fmt.Errorf("the likelihood %v of a regression, expected a model of numbers, counts or labels", l)
	case len(r.Names)%l.Width() != 0:
		return fmt.Errorf("%d columns of targets, expected %d for each target of the likelihood %v", len(r.Names), l.Width(), l)
	case likelihood.Noisy(l) != positive(r.NoiseVariance):
		return fmt.Errorf("noise variance %g with the likelihood %v", r.NoiseVariance, l)
	case l.Kind() != likelihood.Number && r.Std != nil:
		return fmt.Errorf("targets of the likelihood %v are scaled, expected them as they are", l)
	}
	return nil
}

func (r *Regression) check() error {
	if len(r.Names) == 0 {
		return fmt.Errorf("a regression without targets, expected at least one")
	}
	if err := cmp.Or(r.checkModel(), r.checkTransforms()); err != nil {
		return err
	}
	t := r.size()
	if err := r.checkNoise(); err != nil {
		return err
	}
	switch {
	case r.Mean == nil && r.Std == nil:
		return nil
	case len(r.Mean) != t || len(r.Std) != t:
		return fmt.Errorf("targets: %d means and %d standard deviations, expected %d of each", len(r.Mean), len(r.Std), t)
	}
	for i := range t {
		if !kernel.Finite(r.Mean[i]) || !positive(r.Std[i]) {
			return fmt.Errorf("targets: %q: mean %g, standard deviation %g, expected finite values and a positive deviation", r.labels()[i], r.Mean[i], r.Std[i])
		}
		if r.Std[i] < leastStd || r.Std[i] > mostStd {
			return fmt.Errorf("targets: %q has the standard deviation %g, expected %g to %g: use another unit", r.labels()[i], r.Std[i], leastStd, mostStd)
		}
	}
	return nil
}

// checkNoise returns an error if the scales of the residuals are wrong.
func (r *Regression) checkNoise() error {
	switch {
	case r.Noise == nil:
		return nil
	case len(r.Noise) != r.size() || r.NoiseVariance == 0:
		return fmt.Errorf("targets: %d scales of residuals, expected one for each of %d targets with noise", len(r.Noise), r.size())
	}
	for t, v := range r.Noise {
		if !positive(v) {
			return fmt.Errorf("targets: the residuals of %q have the scale %g, expected a positive number", r.labels()[t], v)
		}
	}
	return nil
}

// model returns the observation model as its settings give it, without the noise of the network. check has found that
// the settings are valid.
func (r *Regression) model() likelihood.Likelihood {
	if r.Model != nil {
		if l, err := r.Model.Likelihood(); err == nil {
			return l
		}
	}
	return likelihood.NewGaussian(1, tensor.Float64)
}

// likelihood returns the observation model with the noise of the network alone.
func (r *Regression) likelihood() likelihood.Likelihood {
	return likelihood.WithNoise(r.model(), r.NoiseVariance)
}

func (r *Regression) loss() train.Loss {
	if r.Model == nil {
		return train.SquaredError
	}
	return func(b *graph.Builder, y, f *graph.Node) *graph.Node {
		return LikelihoodLoss(r.likelihood().Copy(b.Dtype()))(b, y, f)
	}
}

func (r *Regression) heldLoss(y, f []float64) float64 {
	if r.Model != nil {
		return -r.likelihood().LogDensity(y, f)
	}
	sum := 0.0
	for i := range y {
		sum += (y[i] - f[i]) * (y[i] - f[i])
	}
	return sum
}

// scale returns the mean of target t and the unit in which the network's units have it.
func (r *Regression) scale(t int) (mean, unit float64) {
	unit = 1
	if r.Std != nil {
		mean, unit = r.Mean[t], r.Std[t]
	}
	if r.Noise != nil {
		unit *= r.Noise[t]
	}
	return mean, unit
}

func (r *Regression) encode(y *tensor.Dense, dt tensor.Dtype) (*tensor.Dense, error) {
	if err := r.checkTargets(y); err != nil {
		return nil, err
	}
	out := graph.Floats(y)
	raw := slices.Clone(out)
	for i, v := range raw {
		if !kernel.Finite(v) {
			return nil, r.badTarget(i, fmt.Errorf("expected a finite number, found %g", v))
		}
	}
	if err := r.refuse(y); err != nil {
		return nil, err
	}
	r.rescale(out, func(t int, v float64) float64 {
		mean, std := r.scale(t)
		return (r.transform(t, v) - mean) / std
	})
	for i, v := range out {
		if !kernel.Finite(v) || dt == tensor.Float32 && !kernel.Finite(float64(float32(v))) {
			return nil, r.badTarget(i, fmt.Errorf("%g is out of range for a network in %v", raw[i], dt))
		}
	}
	return graph.Convert(tensor.New(tensor.WithShape(y.Shape()...), tensor.WithBacking(out)), dt), nil
}

// checkTargets returns an error unless y is [N,T], and the transforms take the targets.
func (r *Regression) checkTargets(y *tensor.Dense) error {
	if err := rowMajor("targets", y); err != nil {
		return err
	}
	if y.Dims() != 2 || y.Shape()[1] != len(r.Names) {
		return fmt.Errorf("targets of shape %v, expected [N,%d]", y.Shape(), len(r.Names))
	}
	return r.checkDomain(y)
}

// rescale replaces the numbers of targets y [N·T·W] that have the units of target t by f(t, number).
func (r *Regression) rescale(y []float64, f func(t int, v float64) float64) {
	l, w, t := r.model(), r.width(), r.size()
	if w == 1 {
		for i, v := range y {
			y[i] = f(i%t, v)
		}
		return
	}
	for i := 0; i < len(y); i += w {
		likelihood.Rescale(l, y[i:i+w], func(v float64) float64 { return f(i/w%t, v) })
	}
}

func (r *Regression) decode(y *tensor.Dense) *tensor.Dense {
	out := graph.Floats(y)
	back := func(t int, v float64) float64 {
		mean, std := r.scale(t)
		return r.invert(t, v*std+mean)
	}
	if y.Shape()[1] == len(r.Names) {
		r.rescale(out, back)
	} else { // values of the function, one for each target
		for i, v := range out {
			out[i] = back(i%r.size(), v)
		}
	}
	return tensor.New(tensor.WithShape(y.Shape()...), tensor.WithBacking(out))
}

// NoiseStds returns the standard deviation of the noise of each target, in the units of the target, or of the
// transformed target, for a noise variance in the network's units.
func (r *Regression) NoiseStds(variance float64) []float64 {
	out := make([]float64, r.size())
	for t := range out {
		_, std := r.scale(t)
		out[t] = math.Sqrt(variance) * std
	}
	return out
}

func (r *Regression) fill(_ context.Context, g gp.Gaussian, by Observation, o PredictOptions, p *Prediction) error {
	if r.Transforms == nil {
		return r.fillAdditive(g, by, o, p)
	}
	in := p.spread.under
	if in == nil {
		in = &Prediction{}
	}
	if err := r.fillAdditive(g, by, o, in); err != nil {
		return err
	}
	r.fillTransformed(in, p)
	return nil
}

// fillAdditive is fill in the units in which the noise adds to the function, see [Prediction.Additive].
func (r *Regression) fillAdditive(g gp.Gaussian, by Observation, o PredictOptions, p *Prediction) error {
	t, n := r.size(), len(g.Mean)
	g, err := settled(g, cmp.Or(by.NoiseVariance, 1), o.First) // without noise the unit is that of logits
	if err != nil {
		return err
	}
	*p = Prediction{
		Targets: r.labels(), Mean: dense.Resized(p.Mean, n), Variance: dense.Resized(p.Variance, n), Latent: dense.Resized(p.Latent, n),
		Epistemic: dense.Resized(p.Epistemic, n), Aleatoric: dense.Resized(p.Aleatoric, n), spread: p.spread,
	}
	p.spread.set(r, g, by)
	counts := by.Likelihood != nil && by.Likelihood.Kind() == likelihood.Count // far away their mean, an exponential, is beyond all numbers
	for i := range g.Mean {
		if by.Likelihood == nil {
			r.fillNumber(i, g, by, p)
		} else {
			r.fillModel(i, g, p)
		}
		if mean := p.Mean[i]; !kernel.Finite(mean) && !(counts && math.IsInf(mean, 1)) || !(p.Variance[i] > 0) {
			return fmt.Errorf("row %d (counting from 0), target %q: mean %g, variance %g, expected a finite mean and a positive variance",
				o.First+i/t, r.Names[i%t*r.width()], p.Mean[i], p.Variance[i])
		}
	}
	return nil
}

// fillNumber sets value i of a prediction with Gaussian noise, or with the law of a residual in its place.
func (r *Regression) fillNumber(i int, g gp.Gaussian, by Observation, p *Prediction) {
	t := r.size()
	shift, scale := p.spread.units(i)
	latent := g.Cov[i*t+i%t]
	total, known := latent+by.NoiseVariance, latent
	if len(g.Epistemic) > 0 {
		known = g.Epistemic[i] * total
	}
	p.Mean[i] = g.Mean[i]*scale + shift
	p.Latent[i], p.Variance[i] = latent*scale*scale, total*scale*scale
	p.Epistemic[i], p.Aleatoric[i] = known*scale*scale, max(latent-known+by.NoiseVariance, 0)*scale*scale
	if by.Laws == nil {
		return
	}
	std := math.Sqrt(p.Variance[i])
	if len(g.LogScale) > 0 {
		std *= math.Exp(g.LogScale[i])
	}
	p.spread.scale[i] = std
	factor := std * std * by.Laws[i%t].Variance() / p.Variance[i]
	p.Variance[i], p.Epistemic[i], p.Aleatoric[i] = factor*p.Variance[i], factor*p.Epistemic[i], factor*p.Aleatoric[i]
}

// fillModel sets value i of a prediction of another observation model.
func (r *Regression) fillModel(i int, g gp.Gaussian, p *Prediction) {
	t := r.size()
	_, scale := p.spread.units(i)
	latent, d := g.Cov[i*t+i%t], p.Distribution(i/t, i%t)
	p.Mean[i], p.Latent[i] = d.Mean(), latent*scale*scale
	p.Variance[i] = max(d.Variance(), math.SmallestNonzeroFloat64) // of a sure label it may be below all numbers
	p.Epistemic[i] = min(likelihood.Epistemic(p.spread.likelihood, g.Mean[i], latent)*scale*scale, p.Variance[i], math.MaxFloat64)
	p.Aleatoric[i] = p.Variance[i] - p.Epistemic[i]
}
