package experiments

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/model"
	"gorgonia.org/tensor"
)

// DemoOptions are the settings of [Demo].
type DemoOptions struct {
	Dir      string // where the pictures and the model go; made if it is missing
	Seed     uint64
	Progress io.Writer // see train.Config
}

// DemoResult is what the demonstration did.
type DemoResult struct {
	Points   int      `json:"points"` // for training, and again for the test
	Seed     uint64   `json:"seed"`
	PriorStd float64  `json:"prior_std"` // maximising LLA's marginal likelihood, in standardised units
	NoiseStd float64  `json:"noise_std"` // the same, in the data's units
	StdError float64  `json:"std_error"` // mean |difference| of VaLLA's and LLA's std on the grid, over LLA's mean
	Scores   []Score  `json:"scores"`
	Files    []string `json:"files"`
}

// demoInducing is M in the demonstration.
const demoInducing = 20

// Demo goes the whole way on synthetic data: a network trained to its MAP weights,
// exact LLA, VaLLA with 20 inducing points and LLA's hyper-parameters, their scores
// on fresh data, a picture of the three predictive bands, and a model file.
func Demo(ctx context.Context, o DemoOptions) (*DemoResult, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	set, test := data.Toy(o.Seed), data.Toy(o.Seed+1)
	opts := model.TrainDefaults()
	opts.Iterations, opts.Validation, opts.Seed, opts.Progress = 3000, 0, o.Seed, o.Progress
	r, err := trainMAP(ctx, "toy", set, opts)
	if err != nil {
		return nil, err
	}
	lla, exact, err := r.lla(ctx)
	if err != nil {
		return nil, err
	}
	vallaFit, layer, before, err := r.valla(ctx, vallaOptions{
		inducing: demoInducing, iterations: 2000, rate: 1e-2,
		prior: exact.PriorStd(), noise: lla.noise, fixed: true,
	})
	if err != nil {
		return nil, err
	}
	res := &DemoResult{Points: set.N(), Seed: o.Seed, PriorStd: exact.PriorStd(), NoiseStd: exact.NoiseStd() * r.m.Targets.Std[0]}
	if res.Scores, err = r.scores(ctx, test, lla, vallaFit); err != nil {
		return nil, err
	}
	if err := r.m.Attach(layer, r.m.Fingerprint(), vallaFit.noise); err != nil {
		return nil, err
	}
	file := filepath.Join(o.Dir, "demo.valla")
	if err := r.m.Save(file); err != nil {
		return nil, err
	}
	pictures, stdErr, err := r.picture(ctx, filepath.Join(o.Dir, "demo"), lla, vallaFit, before, layer.Z.Value)
	res.StdError, res.Files = stdErr, append(pictures, file)
	return res, err
}

// scores evaluates MAP and the fitted methods.
func (r *regression) scores(ctx context.Context, test *data.Set, methods ...fitted) ([]Score, error) {
	first, err := r.scoreMAP(ctx, test)
	if err != nil {
		return nil, err
	}
	rows := []Score{first}
	for _, f := range methods {
		s, err := r.score(ctx, f, test)
		if err != nil {
			return nil, err
		}
		rows = append(rows, s)
	}
	return rows, nil
}

// picture draws the bands of MAP, LLA and VaLLA and returns the files, and VaLLA's
// difference to LLA (see [DemoResult]).
func (r *regression) picture(ctx context.Context, path string, lla, vallaFit fitted, before, after *tensor.Dense) (files []string, stdErr float64, err error) {
	f := Bands{X: r.set.X.Float64s(), Y: r.set.Y.Float64s()}
	f.Grid = around(f.X, 0.2, 300)
	mapCurve, err := r.mapCurve(ctx, f.Grid)
	if err != nil {
		return nil, 0, err
	}
	exact, err := r.curve(ctx, lla, f.Grid)
	if err != nil {
		return nil, 0, err
	}
	sparse, err := r.curve(ctx, vallaFit, f.Grid)
	if err != nil {
		return nil, 0, err
	}
	f.Panels = []Panel{
		{Title: "MAP", Curve: mapCurve},
		{Title: "LLA, exact", Curve: exact},
		{Title: vallaFit.method, Curve: sparse, Reference: &exact, ReferenceName: "LLA", Before: r.units(before), After: r.units(after)},
	}
	if err := f.Save(path); err != nil {
		return nil, 0, err
	}
	stdErr, err = r.stdError(ctx, lla, vallaFit, f.Grid)
	return []string{path + ".png", path + ".svg"}, stdErr, err
}

// mapCurve is the band of the network with its residual noise alone.
func (r *regression) mapCurve(ctx context.Context, grid []float64) (Curve, error) {
	p, err := r.m.MAP().Predict(ctx, column(slices.Clone(grid)))
	if err != nil {
		return Curve{}, err
	}
	return Curve{Mean: p.Mean, Std: p.Std()}, nil
}
