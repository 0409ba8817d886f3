package task

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// Regression describes T targets, one for each output of the network.
type Regression struct {
	Names         []string  `json:"targets"`        // names of the targets [T]
	Mean          []float64 `json:"mean,omitempty"` // means of the training targets [T]; nil: the network works with the targets as they are
	Std           []float64 `json:"std,omitempty"`  // their standard deviations [T]: the network works with (y − Mean)/Std
	NoiseVariance float64   `json:"noise_variance"` // variance of the targets around the network alone, in the network's units
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

func (*Regression) kind() string { return "regression" }

func (r *Regression) size() int { return len(r.Names) }

func (r *Regression) targets() []string { return r.Names }

func (r *Regression) check() error {
	t := len(r.Names)
	switch {
	case t == 0:
		return fmt.Errorf("a regression without targets, expected at least one")
	case !positive(r.NoiseVariance):
		return fmt.Errorf("noise variance %g, expected a positive number", r.NoiseVariance)
	case r.Mean == nil && r.Std == nil:
		return nil
	case len(r.Mean) != t || len(r.Std) != t:
		return fmt.Errorf("targets: %d means and %d standard deviations, expected %d of each", len(r.Mean), len(r.Std), t)
	}
	for i := range t {
		if !kernel.Finite(r.Mean[i]) || !positive(r.Std[i]) {
			return fmt.Errorf("targets: %q: mean %g, standard deviation %g, expected finite values and a positive deviation", r.Names[i], r.Mean[i], r.Std[i])
		}
		if r.Std[i] < leastStd || r.Std[i] > mostStd {
			return fmt.Errorf("targets: %q has the standard deviation %g, expected %g to %g: use another unit", r.Names[i], r.Std[i], leastStd, mostStd)
		}
	}
	return nil
}

func (r *Regression) likelihood() likelihood.Likelihood {
	return likelihood.NewGaussian(r.NoiseVariance, tensor.Float64)
}

func (*Regression) loss() train.Loss { return train.SquaredError }

func (*Regression) heldLoss(y, f []float64) float64 {
	sum := 0.0
	for i := range y {
		sum += (y[i] - f[i]) * (y[i] - f[i])
	}
	return sum
}

// scale returns the mean and the standard deviation of target t.
func (r *Regression) scale(t int) (mean, std float64) {
	if r.Std == nil {
		return 0, 1
	}
	return r.Mean[t], r.Std[t]
}

func (r *Regression) encode(y *tensor.Dense, dt tensor.Dtype) (*tensor.Dense, error) {
	if err := r.checkTargets(y); err != nil {
		return nil, err
	}
	t, out := r.size(), graph.Floats(y)
	for i, v := range out {
		if !kernel.Finite(v) {
			return nil, fmt.Errorf("row %d (counting from 0), target %q: expected a finite number, found %g", i/t, r.Names[i%t], v)
		}
		mean, std := r.scale(i % t)
		out[i] = (v - mean) / std
		if !kernel.Finite(out[i]) || dt == tensor.Float32 && !kernel.Finite(float64(float32(out[i]))) {
			return nil, fmt.Errorf("row %d (counting from 0), target %q: %g is out of range for a network in %v", i/t, r.Names[i%t], v, dt)
		}
	}
	return graph.Convert(tensor.New(tensor.WithShape(y.Shape()...), tensor.WithBacking(out)), dt), nil
}

// checkTargets returns an error unless y is [N,T].
func (r *Regression) checkTargets(y *tensor.Dense) error {
	if err := rowMajor("targets", y); err != nil {
		return err
	}
	if y.Dims() != 2 || y.Shape()[1] != r.size() {
		return fmt.Errorf("targets of shape %v, expected [N,%d]", y.Shape(), r.size())
	}
	return nil
}

func (r *Regression) decode(y *tensor.Dense) *tensor.Dense {
	out := graph.Floats(y)
	for i, v := range out {
		mean, std := r.scale(i % r.size())
		out[i] = v*std + mean
	}
	return tensor.New(tensor.WithShape(y.Shape()...), tensor.WithBacking(out))
}

// NoiseStds returns the standard deviation of the noise of each target, in the units of the target, for a noise
// variance in the network's units.
func (r *Regression) NoiseStds(variance float64) []float64 {
	out := make([]float64, r.size())
	for t := range out {
		_, std := r.scale(t)
		out[t] = math.Sqrt(variance) * std
	}
	return out
}

func (r *Regression) fill(_ context.Context, g gp.Gaussian, noiseVariance float64, o PredictOptions, p *Prediction) error {
	t, n := r.size(), len(g.Mean)
	g, err := settled(g, t, noiseVariance, o.First)
	if err != nil {
		return err
	}
	*p = Prediction{
		Targets: r.Names, Mean: resized(p.Mean, n), Variance: resized(p.Variance, n), Latent: resized(p.Latent, n),
		Epistemic: resized(p.Epistemic, n), Aleatoric: resized(p.Aleatoric, n),
	}
	for i, mean := range g.Mean {
		shift, scale := r.scale(i % t)
		latent := g.Cov[i*t+i%t]
		known := latent
		if len(g.Epistemic) > 0 {
			known = g.Epistemic[i] * (latent + noiseVariance)
		}
		p.Mean[i] = mean*scale + shift
		p.Latent[i], p.Variance[i] = latent*scale*scale, (latent+noiseVariance)*scale*scale
		p.Epistemic[i], p.Aleatoric[i] = known*scale*scale, max(latent-known+noiseVariance, 0)*scale*scale
		if !kernel.Finite(p.Mean[i]) || !positive(p.Variance[i]) {
			return fmt.Errorf("row %d (counting from 0), target %q: mean %g, variance %g, expected a finite mean and a positive variance",
				o.First+i/t, r.Names[i%t], p.Mean[i], p.Variance[i])
		}
	}
	return nil
}

func (r *Regression) scorer() Scorer {
	return &regressionScorer{of: r, targets: make([]metric.Regression, r.size())}
}

// regressionScorer is the Scorer of a regression.
type regressionScorer struct {
	of      *Regression         // has the names of the targets
	targets []metric.Regression // scores of each target [T]
	n       int                 // rows so far
}

// Add implements Scorer.
func (s *regressionScorer) Add(p *Prediction, y *tensor.Dense) error {
	if err := s.of.checkTargets(y); err != nil {
		return err
	}
	t, values := s.of.size(), graph.Floats(y)
	for k := range s.targets {
		if err := s.targets[k].Add(column(p.Mean, k, t), column(p.Variance, k, t), column(values, k, t)); err != nil {
			return err
		}
	}
	s.n += y.Shape()[0]
	return nil
}

// Scores implements Scorer.
func (s *regressionScorer) Scores() (Scores, error) {
	out := Scores{N: s.n, List: []Score{{"NLL", 0}}}
	for k, name := range s.of.Names {
		r, err := s.targets[k].Result()
		if err != nil {
			return Scores{}, err
		}
		suffix := ""
		if len(s.targets) > 1 {
			suffix = " " + name
		}
		out.List[0].Value += r.NLL
		out.List = append(out.List, Score{"RMSE" + suffix, r.RMSE}, Score{"CRPS" + suffix, r.CRPS}, Score{"CQM" + suffix, r.CQM})
		if len(s.targets) == 1 {
			out.Coverage = r.Coverage[:]
		}
	}
	return out, nil
}

// column returns column k of rows of width t.
func column(v []float64, k, t int) []float64 {
	if t == 1 {
		return v
	}
	out := make([]float64, 0, len(v)/t)
	for i := k; i < len(v); i += t {
		out = append(out, v[i])
	}
	return out
}
