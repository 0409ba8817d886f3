// Package steps holds what all fits by steps on mini-batches share: the plan of memory, the
// mini-batches, the checkpoint, the progress, the values of held-out rows, the early end and the
// record. A method names what it trains and writes its loss.
package steps

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// Fit is a fit of a method to a problem, in steps.
type Fit struct {
	Problem    gp.Problem            // network, likelihood and examples
	Run        gp.Run                // seed, memory, checkpoint and progress
	Settings   gp.Settings           // with all defaults filled in, for the record
	Likelihood likelihood.Likelihood // the observation model of the fit, whose parameters the steps may change
	Identity   []string              // what else must be equal in a run that goes on from a checkpoint

	// Loop says how the settings want the steps made. The fit adds the checkpoint, the progress
	// and, with Held, the validation.
	Loop train.Config
	// Held predicts the latent function at the held-out rows with the present parameters. It is not
	// called where the problem has no held-out rows. A fit whose Loop validates leaves it nil.
	Held func(ctx context.Context) (gp.Gaussian, error)
}

// Lines lists what must be equal in a run that goes on from a checkpoint.
func (f *Fit) Lines() []string {
	id := []string{
		"network with fingerprint " + layers.Fingerprint(f.Problem.Net),
		fmt.Sprintf("likelihood %v with the noise variance %v", f.Likelihood, likelihood.NoiseVariance(f.Likelihood)),
	}
	if theta := graph.Flat(f.Likelihood.Params()); len(theta) > 0 && !likelihood.IsGaussian(f.Likelihood) {
		id = append(id, fmt.Sprintf("parameters of the likelihood %v", theta))
	}
	if f.Problem.More > 0 {
		id = append(id, fmt.Sprintf("a sample of %d rows", f.Problem.All()))
	}
	id = append(id, f.Identity...)
	v := f.Problem.Validation
	if v == nil {
		return append(id, "no validation rows")
	}
	return append(id, "validation inputs "+train.Checksum(v.X), "validation targets "+train.Checksum(v.Y))
}

// Train makes the steps of an objective and returns what end makes of them, with an error that
// wraps ctx's where ctx ended early. end gets the record of the fit without what only the method
// knows, and a context that goes on. Where the steps fail, end is not called.
func (f *Fit) Train(ctx context.Context, obj train.Objective, end func(ctx context.Context, record gp.Record) (*gp.Fitted, error)) (*gp.Fitted, error) {
	res, err := train.Run(ctx, obj, f.Config())
	if err != nil && (res == nil || res.Stopped != train.Interrupted) {
		return nil, err
	}
	fitted, failed := end(context.WithoutCancel(ctx), f.record(res))
	if failed != nil {
		return nil, failed
	}
	return fitted, err
}

// Config returns the configuration of the training loop.
func (f *Fit) Config() train.Config {
	c := f.Loop
	c.Checkpoint, c.Resume, c.OnProgress = f.Run.Checkpoint, f.Run.Resume, f.Run.OnProgress
	if c.Checkpoint == "" {
		c.CheckpointEvery = 0
	}
	if f.Problem.Validation != nil && f.Held != nil {
		c.Validate = f.validate
	}
	return c
}

// validate returns the mean negative log predictive density of the held-out rows.
func (f *Fit) validate(ctx context.Context) (float64, error) {
	g, err := f.Held(ctx)
	if err != nil {
		return 0, err
	}
	return gp.MeanNLL(f.Likelihood, graph.Floats(f.Problem.Validation.Y), g), nil
}

// record describes the fit.
func (f *Fit) record(res *train.Result) gp.Record {
	return gp.Record{Rows: f.Problem.Train.N(), ValidationRows: f.Problem.Held(), Settings: settings.Map(f.Settings), Result: res}
}

// Start returns the observation model of a problem in its element type, as a fit starts with it: with the noise scale
// std, where std is not 0.
func Start(p gp.Problem, std float64) likelihood.Likelihood {
	l := p.Likelihood
	if std != 0 {
		l = likelihood.WithNoise(l, std*std)
	}
	return l.Copy(p.Dtype())
}
