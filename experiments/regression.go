package experiments

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/model"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// regression is a trained network with the rows that it was trained on, in
// standardised units, on which post-hoc methods are fitted.
type regression struct {
	name       string
	m          *model.Model
	set        *data.Set     // the training rows
	x, y       *tensor.Dense // the same, standardised, in the network's element type
	validation *data.Set     // rows held out from training; may be nil
	seed       uint64
	progress   io.Writer
	took       time.Duration // to train
}

// trainMAP trains the network.
func trainMAP(ctx context.Context, name string, set *data.Set, o model.TrainOptions) (*regression, error) {
	start := time.Now()
	m, _, err := model.Train(ctx, o, set)
	if err != nil {
		return nil, fmt.Errorf("%s: MAP: %w", name, err)
	}
	r := &regression{name: name, m: m, seed: o.Seed, progress: o.Progress, took: time.Since(start)}
	if r.set, r.validation, err = model.Holdout(set, o.Validation, o.Seed); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.x, r.y, err = r.standardized(r.set)
	return r, err
}

// standardized returns a set's inputs and targets as the network sees them.
func (r *regression) standardized(s *data.Set) (x, y *tensor.Dense, err error) {
	if x, err = r.m.Inputs.Apply(s.X); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.name, err)
	}
	if y, err = r.m.Targets.Apply(s.Y); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return graph.Convert(x, r.m.Dtype()), graph.Convert(y, r.m.Dtype()), nil
}

// fitted is one method's posterior over the standardised latent function.
type fitted struct {
	method    string
	posterior gp.Posterior
	noise     float64 // variance of y around it, standardised
	took      time.Duration
}

// lla fits exact LLA with the hyper-parameters that maximise its marginal likelihood.
func (r *regression) lla(ctx context.Context) (fitted, *laplace.Posterior, error) {
	start := time.Now()
	p, err := laplace.Fit(ctx, r.m.Net, r.x, r.y, laplace.Options{})
	if err != nil {
		return fitted{}, nil, fmt.Errorf("%s: LLA: %w", r.name, err)
	}
	return fitted{"LLA", p, p.NoiseStd() * p.NoiseStd(), time.Since(start)}, p, nil
}

// vallaOptions are the settings of a VaLLA fit in an experiment.
type vallaOptions struct {
	inducing   int
	alpha      float64
	iterations int
	rate       float64 // of Adam, along half a cosine to 0
	prior      float64 // σ₀ to start from
	noise      float64 // σ² to start from, standardised
	fixed      bool    // keep σ₀ and σ²
}

// maxCandidates bounds the training points among which inducing points are chosen.
const maxCandidates = 2000

// patience is how many validations without improvement, one every 100 iterations,
// end a fit.
const patience = 20

// valla fits VaLLA. Z starts at the greedy choice, L at its optimum for that Z. Where
// rows are held out, the state of their smallest NLL is kept.
func (r *regression) valla(ctx context.Context, o vallaOptions) (f fitted, layer *valla.Layer, before *tensor.Dense, err error) {
	start := time.Now()
	fail := func(err error) (fitted, *valla.Layer, *tensor.Dense, error) {
		return fitted{}, nil, nil, fmt.Errorf("%s: VaLLA: %w", r.name, err)
	}
	kernel := jacobian.NTK{Net: r.m.Net}
	candidates := r.candidates()
	z, class, err := valla.Greedy(kernel, candidates, nil, min(o.inducing, candidates.Shape()[0]))
	if err != nil {
		return fail(err)
	}
	before = graph.Convert(z, tensor.Float64)
	if layer, err = valla.New(kernel, z, class); err != nil {
		return fail(err)
	}
	layer.LogPriorStd.Set(0, math.Log(o.prior))
	if _, err := layer.OptimalA(ctx, r.x, o.noise); err != nil {
		return fail(err)
	}
	lik := likelihood.NewGaussian(o.noise, r.m.Dtype())
	fit := valla.Fit{
		Net: r.m.Net, Layer: layer, Likelihood: lik, Alpha: o.alpha,
		FixPrior: o.fixed, FixLikelihood: o.fixed, Seed: r.seed,
		Config: train.Config{
			Iterations: o.iterations, Optimizer: &train.Adam{LR: o.rate}, Schedule: train.Cosine(0),
			Progress: r.progress, Label: fmt.Sprintf("VaLLA M=%d", layer.Inducing()),
		},
	}
	if r.validation != nil {
		x, y, err := r.standardized(r.validation)
		if err != nil {
			return fail(err)
		}
		fit.Config.Patience = patience
		fit.Config.Validate = valla.NewPosterior(r.m.Net, layer).ValidateNLL(lik, x, y)
	}
	if _, err := fit.Run(ctx, r.x, r.y); err != nil {
		return fail(err)
	}
	method := fmt.Sprintf("VaLLA M=%d", layer.Inducing())
	return fitted{method, valla.NewPosterior(r.m.Net, layer), lik.Variance(), time.Since(start)}, layer, before, nil
}

// candidates returns the training inputs, or a random part of them.
func (r *regression) candidates() *tensor.Dense {
	if r.set.N() <= maxCandidates {
		return r.x
	}
	rows, _ := data.Split(r.set.N(), 1-float64(maxCandidates)/float64(r.set.N()), newRand(r.seed, 7))
	return data.TakeRows(r.x, rows)
}

// predict returns the mean and variance of y at raw inputs, in the data's units.
func (r *regression) predict(ctx context.Context, f fitted, x *tensor.Dense) (mean, variance []float64, err error) {
	z, err := r.m.Inputs.Apply(x)
	if err != nil {
		return nil, nil, err
	}
	g, err := f.posterior.Predict(ctx, graph.Convert(z, r.m.Dtype()))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %s: %w", r.name, f.method, err)
	}
	shift, scale := r.m.Targets.Mean[0], r.m.Targets.Std[0]
	mean, variance = graph.Floats(g.Mean), graph.Floats(g.Cov)
	for i := range mean {
		mean[i] = mean[i]*scale + shift
		variance[i] = (variance[i] + f.noise) * scale * scale
	}
	return mean, variance, nil
}

// scoreMAP evaluates the network with its residual noise alone.
func (r *regression) scoreMAP(ctx context.Context, test *data.Set) (Score, error) {
	p, err := r.m.MAP().Predict(ctx, test.X)
	if err != nil {
		return Score{}, fmt.Errorf("%s: MAP: %w", r.name, err)
	}
	return score(r.name, "MAP", p.Mean, p.Variance, test.Y.Float64s(), r.took)
}

// score evaluates a fitted method.
func (r *regression) score(ctx context.Context, f fitted, test *data.Set) (Score, error) {
	mean, variance, err := r.predict(ctx, f, test.X)
	if err != nil {
		return Score{}, err
	}
	return score(r.name, f.method, mean, variance, test.Y.Float64s(), f.took)
}

// curve is the predictive distribution of y along a one-dimensional grid.
func (r *regression) curve(ctx context.Context, f fitted, grid []float64) (Curve, error) {
	mean, variance, err := r.predict(ctx, f, column(grid))
	if err != nil {
		return Curve{}, err
	}
	std := make([]float64, len(variance))
	for i, v := range variance {
		std[i] = math.Sqrt(v)
	}
	return Curve{Mean: mean, Std: std}, nil
}

// units turns standardised one-dimensional inputs back into the data's.
func (r *regression) units(z *tensor.Dense) []float64 {
	out := graph.Floats(z)
	for i := range out {
		out[i] = out[i]*r.m.Inputs.Std[0] + r.m.Inputs.Mean[0]
	}
	return out
}
