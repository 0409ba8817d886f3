package experiments

import (
	"context"
	"math/rand/v2"

	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/experiments/spec"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Problem is a data set with its trained network: what methods are fitted on.
type Problem struct {
	Data       string // name of the data set
	Net        layers.Network
	Dtype      tensor.Dtype
	Train      Examples
	Validation *Examples // nil where there is none
	// Augmented is Train with inputs that change at random in each iteration, nil where
	// there is no such thing.
	Augmented train.Source
	Task      Task
	MAP       Trained
}

// Examples are inputs [N,…] and targets [N,C] as the network takes them.
type Examples struct{ X, Y *tensor.Dense }

// N is the number of examples.
func (e Examples) N() int { return e.X.Shape()[0] }

// Task is the kind of a problem: regression or classification, with its test rows.
type Task interface {
	// Outputs is C.
	Outputs() int
	// Loss is what the network's training minimises.
	Loss() train.Loss
	// Laplace is the likelihood in the words of package laplace.
	Laplace() laplace.Likelihood
	// Likelihood is that of package valla; the noise variance is not used by classes.
	Likelihood(noise float64, dt tensor.Dtype) likelihood.Likelihood
	// Inducing returns m first inducing inputs and their outputs by k-means of the
	// training inputs.
	Inducing(train Examples, m int, rng *rand.Rand) (z *tensor.Dense, class []int, err error)
	// NLL is the mean negative log-likelihood, class probabilities by probit, of
	// examples under a posterior and a noise variance.
	NLL(g gp.Gaussian, noise float64, e Examples) (float64, error)
	// Score fills in the scores and curves of a cell.
	Score(ctx context.Context, p *Problem, f *Fitted, s spec.Scoring, c *result.Cell) error
}

// Trained says how the network came about.
type Trained struct {
	Noise   float64 // mean squared residual on the training rows, standardised; 0 for classes
	Facts   result.Facts
	History []result.Point
	Cost    result.Cost
}

// Fitted is a method's posterior with what was found on the way.
type Fitted struct {
	Posterior gp.Posterior
	Noise     float64 // variance of y around the latent function, standardised
	Facts     result.Facts
	History   []result.Point
	Layer     *valla.Layer  // of VaLLA; nil elsewhere
	Before    *tensor.Dense // its inducing inputs before the fit
}

// Job is the setting of one fit.
type Job struct {
	Seed       uint64
	Checkpoint string // a file; "" for none
	Meter      Progress
	Memory     int64 // bytes that a step may need; 0: as many as it takes
}

// posterior is that of a layer, whose predictions keep to the memory of the job.
func (j Job) posterior(p *Problem, l *valla.Layer) *valla.Posterior {
	post := valla.NewPosterior(p.Net, l)
	if j.Memory > 0 {
		post.LimitMemory(j.Memory / 4) // it lives beside the fit's step
	}
	return post
}

// point is the network itself, without variance.
func (p *Problem) point() gp.Point { return gp.Point{Net: p.Net, Dtype: p.Dtype} }

// validation returns a function for train.Config.Validate, nil where no rows are held out.
func (p *Problem) validation(post gp.Posterior, noise func() float64) func(context.Context) (float64, error) {
	if p.Validation == nil {
		return nil
	}
	return func(ctx context.Context) (float64, error) {
		if r, ok := post.(interface{ Refresh() }); ok {
			r.Refresh()
		}
		g, err := post.Predict(ctx, p.Validation.X)
		if err != nil {
			return 0, err
		}
		return p.Task.NLL(g, noise(), *p.Validation)
	}
}

// history turns the validations of a run into points.
func history(r *train.Result) []result.Point {
	if r == nil {
		return nil
	}
	var points []result.Point
	for _, h := range r.History {
		points = append(points, result.Point{Step: h.Iteration, Seconds: h.Seconds, Loss: result.Number(h.Loss), Validation: result.Number(h.Validation)})
	}
	return points
}

// facts are those of a run of package train.
func facts(r *train.Result) result.Facts {
	return result.Facts{Steps: r.Iterations, Best: r.BestIteration, Stopped: string(r.Stopped)}
}
