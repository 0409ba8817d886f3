package experiments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
)

// validateImages is how many iterations lie between two validations, of 5,000 images.
const validateImages = 500

// imagesCheckpoint is how many iterations lie between two checkpoints.
const imagesCheckpoint = 1000

// imagesBatch is the paper's size of a mini-batch.
const imagesBatch = 100

// fitVaLLA fits VaLLA with the paper's settings; an unfinished fit of the same
// settings in o.Dir is gone on with.
func (o ImagesOptions) fitVaLLA(ctx context.Context, p *imageProblem, m int, seed uint64) (*valla.Posterior, *train.Result, *valla.Layer, error) {
	z, class, err := p.inducing(m, newRand(seed, 2))
	if err != nil {
		return nil, nil, nil, err
	}
	layer, err := valla.New(jacobian.NTK{Net: p.net}, graph.Convert(z, p.dt), class)
	if err != nil {
		return nil, nil, nil, err
	}
	post := valla.NewPosterior(p.net, layer)
	fit := valla.Fit{
		Net: p.net, Layer: layer, Likelihood: likelihood.Softmax{}, Alpha: 1, BatchSize: imagesBatch, Seed: seed,
		Config: train.Config{
			Iterations: o.Iterations, Optimizer: &train.Adam{LR: 1e-3},
			Validate: p.validation(post), ValidateEvery: validateImages, Patience: o.Patience,
			Checkpoint:      filepath.Join(o.Dir, fmt.Sprintf("%s-valla-m%d-seed%d.checkpoint", o.Name, m, seed)),
			CheckpointEvery: imagesCheckpoint, Resume: true,
			Progress: o.Progress, Label: fmt.Sprintf("%s VaLLA M=%d seed %d", o.Name, m, seed),
		},
	}
	res, err := fit.Run(ctx, p.inputs(p.train), p.targets(p.train))
	post.Refresh()
	return post, res, layer, err
}

// validation returns a function for the NLL of the probit probabilities on the
// validation images.
func (p *imageProblem) validation(post *valla.Posterior) func(context.Context) (float64, error) {
	x := p.inputs(p.val)
	return func(ctx context.Context) (float64, error) {
		post.Refresh()
		g, err := post.Predict(ctx, x)
		if err != nil {
			return 0, err
		}
		var c metric.Classification
		if err := c.Add(gp.ProbitProbs(g).Float64s(), p.val.Class()); err != nil {
			return 0, err
		}
		s, err := c.Result()
		return s.NLL, err
	}
}

// trainNetwork trains the network by cross-entropy; the weights of the smallest
// validation loss are kept.
func (o ImagesOptions) trainNetwork(ctx context.Context, p *imageProblem) (*train.Result, error) {
	m := train.MAP{
		Net: p.net, Loss: train.CrossEntropy, BatchSize: imagesBatch, Seed: o.Seeds[0],
		Config: train.Config{
			Iterations: o.MAPIterations, Optimizer: &train.Adam{LR: 1e-3, WeightDecay: 1e-5}, Schedule: train.Cosine(0),
			Validate: func(ctx context.Context) (float64, error) {
				g, err := p.point().Predict(ctx, p.inputs(p.val))
				if err != nil {
					return 0, err
				}
				s, err := classification(newPrediction(gp.ProbitProbs(g)), p.val)
				return s.NLL, err
			},
			ValidateEvery: validateImages,
			Progress:      o.Progress, Label: o.Name + " MAP",
		},
	}
	return m.Train(ctx, p.inputs(p.train), p.targets(p.train))
}

// point is the network itself, without variance.
func (p *imageProblem) point() gp.Point { return gp.Point{Net: p.net, Dtype: p.dt} }

// ImagesResult is what [Images] found.
type ImagesResult struct {
	Dataset   string          `json:"dataset"`
	Scores    []ImageScore    `json:"scores"`
	Rotations []RotationScore `json:"rotations,omitempty"` // of the first seeds
	Pictures  []string        `json:"pictures"`
}

// Images runs the paper's image classification experiment: the network's own
// predictions and VaLLA's, on the test images and, for the detection of
// out-of-distribution inputs, on those of the other data set.
func Images(ctx context.Context, o ImagesOptions) (*ImagesResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p, err := o.load()
	if err != nil {
		return nil, err
	}
	res := &ImagesResult{Dataset: o.Name}
	keep := func(rows []ImageScore, err error) error {
		for _, r := range rows {
			res.Scores = append(res.Scores, r)
			if o.OnScore != nil {
				o.OnScore(r)
			}
		}
		return err
	}
	row := ImageScore{Dataset: o.Name, Method: "MAP", Seed: o.Seeds[0]}
	if o.Weights == "" {
		start := time.Now()
		r, err := o.trainNetwork(ctx, p)
		if err != nil {
			return nil, err
		}
		row.Steps, row.Best, row.Seconds = r.Iterations, r.BestIteration, time.Since(start).Seconds()
	}
	var kept []picked
	if slices.Contains(o.Methods, "map") {
		k, rows, err := o.finish(ctx, p, p.point(), row, 0)
		if err := keep(rows, err); err != nil {
			return nil, err
		}
		kept = append(kept, k)
	}
	for _, m := range o.Inducing {
		for _, seed := range o.Seeds {
			if !slices.Contains(o.Methods, "valla") {
				continue
			}
			k, rows, err := o.runVaLLA(ctx, p, m, seed)
			if err := keep(rows, err); err != nil {
				return nil, err
			}
			if seed == o.Seeds[0] {
				kept = append(kept, k)
			}
		}
	}
	for _, k := range kept {
		res.Rotations = append(res.Rotations, k.turned...)
	}
	if res.Pictures, err = figures(o.Dir, o.Name, kept, res.Scores); err != nil {
		return nil, err
	}
	return res, res.write(o.Dir)
}

// finish predicts with a posterior, scores the predictions and keeps what pictures need.
func (o ImagesOptions) finish(ctx context.Context, p *imageProblem, post gp.Posterior, row ImageScore, samples int) (picked, []ImageScore, error) {
	out, err := p.predict(ctx, post)
	if err != nil {
		return picked{}, nil, err
	}
	rows, err := p.rows(row, out, samples)
	if err != nil {
		return picked{}, nil, err
	}
	k := picked{method: row.Method, in: newPrediction(gp.ProbitProbs(out.in)), out: newPrediction(gp.ProbitProbs(out.out)), labels: p.test.Class()}
	if o.Rotations && row.Seed == o.Seeds[0] {
		if k.turned, err = p.rotations(ctx, row.Method, post); err != nil {
			return picked{}, nil, err
		}
	}
	return k, rows, nil
}

// write leaves NAME.json, NAME.csv and NAME.md in dir.
func (r *ImagesResult) write(dir string) error {
	md := fmt.Sprintf("# %s\n\nMeasured here, printed in the paper, and in its authors' released runs.\n\n%s\n", r.Dataset, r.table().RenderMarkdown())
	for _, file := range r.Pictures {
		md += fmt.Sprintf("\n![%s](%s)\n", strings.TrimSuffix(file, ".png"), file)
	}
	if err := writeResult(dir, r.Dataset, r, md); err != nil {
		return err
	}
	return writeText(filepath.Join(dir, r.Dataset+".csv"), r.csv())
}

// check refuses unknown methods and makes the folder.
func (o ImagesOptions) check() error {
	for _, m := range o.Methods {
		if !slices.Contains(ImageMethods, m) {
			return fmt.Errorf("experiments: unknown method %q, expected some of %q", m, ImageMethods)
		}
	}
	if len(o.Seeds) == 0 {
		return errors.New("experiments: no seed")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	return nil
}

// runVaLLA fits and scores one cell.
func (o ImagesOptions) runVaLLA(ctx context.Context, p *imageProblem, m int, seed uint64) (picked, []ImageScore, error) {
	post, r, layer, err := o.fitVaLLA(ctx, p, m, seed)
	if err != nil {
		return picked{}, nil, err
	}
	row := ImageScore{Dataset: o.Name, Method: fmt.Sprintf("VaLLA %d", layer.Inducing()), Inducing: layer.Inducing(), Seed: seed,
		PriorStd: layer.PriorStd(), Steps: r.Iterations, Best: r.BestIteration, Seconds: r.Seconds}
	return o.finish(ctx, p, post, row, o.MonteCarlo)
}
