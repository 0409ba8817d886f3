package experiments

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/runner"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/figure"
	"github.com/go-valla/valla/train"
)

// DemoResult describes the outcome of the demonstration.
type DemoResult struct {
	Points   int      `json:"points"`    // of the training set, and of the test set
	Seed     uint64   `json:"seed"`      // the seed of the options
	PriorStd float64  `json:"prior_std"` // maximises the marginal likelihood of LLA
	NoiseStd float64  `json:"noise_std"` // the same, in the data's units
	StdError float64  `json:"std_error"` // mean |difference| of VaLLA's and LLA's std on the grid, over LLA's mean
	Scores   []Score  `json:"scores"`    // of MAP, LLA and VaLLA, in this order
	Files    []string `json:"files"`     // paths of the files that were written
}

// Score is one row of the demonstration's table: the scores of a method on the test set.
type Score struct {
	Method  string       `json:"method"`  // the model, in words
	Scores  valla.Scores `json:"scores"`  // in the data's units
	Seconds float64      `json:"seconds"` // to fit the method; for MAP, to train the network
}

// demoMethods returns the settings of exact LLA and of VaLLA with 20 inducing points, which
// takes over the hyper-parameters of LLA.
func demoMethods() []gp.Settings {
	return []gp.Settings{&laplace.Settings{Hyper: "marglik"}, &gpvalla.Settings{
		Optimizer: "adam", Inducing: 20, Alpha: new(0.0), Init: "greedy", OptimalA: true, FixPrior: true, FixNoise: true,
		Iterations: 2000, LearningRate: 1e-2, Schedule: "cosine",
	}}
}

// Demo shows the whole program on synthetic data. It trains a network to its MAP weights, and
// fits exact LLA and VaLLA with 20 inducing points and LLA's hyper-parameters. It scores all
// three on fresh data, draws their predictive bands, and saves the model. The pictures and the
// model go to the folder dir, which is made if it is missing. The seed chooses all random numbers.
// onProgress is called with the work that is done and its progress, unless it is nil.
func Demo(ctx context.Context, dir string, seed uint64, onProgress func(what string, p train.Progress)) (*DemoResult, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	d := &demo{dir: dir, options: runner.Options{OnProgress: onProgress}, train: data.Toy(seed), test: data.Toy(seed + 1)}
	d.res = DemoResult{Points: d.train.N(), Seed: seed}
	if err := d.run(ctx); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	return &d.res, nil
}

// demo is a running demonstration.
type demo struct {
	dir         string         // folder for the pictures and the model
	options     runner.Options // with the callback
	train, test *data.Set      // training and test rows
	res         DemoResult     // the outcome so far
	bands       []*result.Band // one for each model
}

func (d *demo) run(ctx context.Context) error {
	none, start := new(0.0), time.Now()
	m, err := valla.Train(ctx, d.train, valla.TrainOptions{
		Training: valla.Training{Iterations: 3000, Validation: none}, Seed: d.res.Seed, OnProgress: d.options.Progress("MAP"),
	})
	if err != nil {
		return err
	}
	if err := d.add(ctx, m, start); err != nil {
		return err
	}
	for _, s := range demoMethods() {
		if v, ok := s.(*gpvalla.Settings); ok {
			v.PriorStd, v.NoiseStd = d.res.PriorStd, math.Sqrt(m.NoiseVariance())
		}
		start = time.Now()
		if m, err = m.Fit(ctx, d.train, valla.FitOptions{Settings: s, Validation: none, Law: law.Gaussian, Run: gp.Run{Seed: d.res.Seed, OnProgress: d.options.Progress("%s", s.Label())}}); err != nil {
			return err
		}
		if err := d.add(ctx, m, start); err != nil {
			return err
		}
		if _, exact := s.(*laplace.Settings); exact {
			d.res.PriorStd, d.res.NoiseStd = m.History[len(m.History)-1].PriorStds[0], m.NoiseStds()[0]
		}
	}
	d.res.StdError = result.StdError(d.bands[1], d.bands[2])
	return d.files(m)
}

// add scores a model whose making began at start, and keeps its band.
func (d *demo) add(ctx context.Context, m *valla.Model, start time.Time) error {
	seconds := time.Since(start).Seconds()
	s, err := m.Evaluate(ctx, d.test, valla.PredictOptions{})
	if err != nil {
		return err
	}
	b, err := runner.Band(ctx, m, d.train, nil)
	d.res.Scores, d.bands = append(d.res.Scores, Score{m.String(), s, seconds}), append(d.bands, b)
	return err
}

// files writes the model and the picture.
func (d *demo) files(m *valla.Model) error {
	file, picture := filepath.Join(d.dir, "demo.valla"), filepath.Join(d.dir, "demo")
	if err := m.Save(file); err != nil {
		return err
	}
	bands := d.bands
	b := figure.Bands{Grid: bands[0].Grid, X: bands[0].X, Y: bands[0].Y}
	for i, title := range []string{"MAP", "LLA, exact", "VaLLA, M = 20"} {
		b.Panels = append(b.Panels, figure.Panel{Title: title, Curve: figure.Curve{Mean: bands[i].Mean, Std: bands[i].Std}})
	}
	v, exact := &b.Panels[2], b.Panels[1].Curve
	v.Reference, v.ReferenceName, v.Before, v.After = &exact, "LLA", bands[2].Before, bands[2].After
	charts, err := b.Charts()
	if err != nil {
		return err
	}
	d.res.Files = []string{picture + ".png", picture + ".svg", file}
	return figure.Save(picture, charts...)
}
