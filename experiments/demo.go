package experiments

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/experiments/figure"
	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/gp/model"
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

// demoMethods are the rows of the demonstration: VaLLA has 20 inducing points and exact
// LLA's hyper-parameters.
func demoMethods() []Method {
	v := newVaLLA()
	v.Inducing, v.Alpha, v.Inputs, v.Hyper, v.OptimalA, v.Fixed = []int{20}, 0, "greedy", "lla", true, true
	v.Iterations, v.Rate, v.Schedule = 2000, 1e-2, "cosine"
	return []Method{&mapMethod{}, newLLA(), v}
}

// Demo goes the whole way on synthetic data: a network trained to its MAP weights,
// exact LLA, VaLLA with 20 inducing points and LLA's hyper-parameters, their scores
// on fresh data, a picture of the three predictive bands, and a model file.
func Demo(ctx context.Context, o DemoOptions) (*DemoResult, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	set, test := data.Toy(o.Seed), data.Toy(o.Seed+1)
	p, m, err := demoProblem(ctx, set, o)
	if err != nil {
		return nil, err
	}
	res := &DemoResult{Points: set.N(), Seed: o.Seed}
	var bands []*result.Band
	var last *Fitted
	for _, method := range demoMethods() {
		name, inducing := method.Name()
		if inducing > 0 {
			name = fmt.Sprintf("VaLLA M=%d", inducing)
		}
		meter := result.StartMeter()
		f, err := method.Fit(ctx, p, Job{Seed: o.Seed, Meter: Progress{o.Progress, name}})
		if err != nil {
			return nil, fmt.Errorf("demo: %s: %w", name, err)
		}
		s, err := score(ctx, p, name, f, test)
		if err != nil {
			return nil, err
		}
		if s.Seconds = meter.Cost().Wall; name == "MAP" {
			s.Seconds = p.MAP.Cost.Wall
		}
		b, err := p.Task.(*regression).band(ctx, p, f)
		if err != nil {
			return nil, err
		}
		res.Scores, bands, last = append(res.Scores, s), append(bands, b), f
		if _, ok := method.(*lla); ok {
			res.PriorStd, res.NoiseStd = float64(f.Facts.PriorStd), p.Task.(*regression).noiseStd(f)
		}
	}
	res.StdError = result.StdError(bands[1], bands[2])
	return res, demoFiles(res, m, last, bands, o.Dir)
}

// demoProblem trains the network.
func demoProblem(ctx context.Context, set *data.Set, o DemoOptions) (*Problem, *model.Model, error) {
	opts := model.TrainDefaults()
	opts.Iterations, opts.Validation, opts.Seed, opts.Progress = 3000, 0, o.Seed, o.Progress
	meter := result.StartMeter()
	m, _, err := model.Train(ctx, opts, set)
	if err != nil {
		return nil, nil, fmt.Errorf("demo: %w", err)
	}
	r := &regression{inputs: m.Inputs, targets: m.Targets, sets: parts{train: set}}
	p := &Problem{Data: "demo", Net: m.Net, Dtype: m.Dtype(), Task: r, MAP: Trained{Noise: m.MAPNoise, Cost: meter.Cost()}}
	p.Train, err = r.examples(set, p.Dtype)
	return p, m, err
}

// demoFiles writes the model and the picture.
func demoFiles(res *DemoResult, m *model.Model, f *Fitted, bands []*result.Band, dir string) error {
	if err := m.Attach(f.Layer, m.Fingerprint(), f.Noise); err != nil {
		return err
	}
	file, picture := filepath.Join(dir, "demo.valla"), filepath.Join(dir, "demo")
	if err := m.Save(file); err != nil {
		return err
	}
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
	res.Files = []string{picture + ".png", picture + ".svg", file}
	return figure.Save(picture, charts...)
}
