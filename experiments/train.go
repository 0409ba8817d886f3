package experiments

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/experiments/spec"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// weightsFile is the file of a network's weights for a data set, "" for none. A file that
// was asked for on the command line must be there; one that the experiment names, below the
// parent of the data folder, need not.
func (o Options) weightsFile(s spec.Network, data string) (string, error) {
	path := o.Weights
	if path == "" && s.Weights != "" {
		path = filepath.Join(filepath.Dir(o.Data), filepath.FromSlash(s.Weights))
	}
	path = strings.ReplaceAll(strings.ReplaceAll(path, "NET", s.Form), "*", data)
	if path == "" {
		return "", nil
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && o.Weights == "" {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("experiments: weights: %w", err)
	}
	return path, nil
}

// checksum identifies a file's content.
func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("experiments: weights: %w", err)
	}
	defer f.Close()
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("experiments: weights: %w", err)
	}
	return fmt.Sprintf("%08x", h.Sum32()), nil
}

// build gives a problem its network: read from a file, read from the folder of results
// where an earlier cell left it, or trained.
func (r *runner) build(ctx context.Context, p *Problem, g group) error {
	form := networks[r.spec.Network.Form]
	var err error
	if p.Net, err = form(r.spec.Network, p.Train.X.Shape()[1:], p.Task.Outputs(), p.Dtype, newRand(g.netSeed, 1)); err != nil {
		return fmt.Errorf("%s: %w", p.Data, err)
	}
	if g.weights != "" {
		if err := layers.Load(g.weights, p.Net, layers.LoadOptions{}); err != nil {
			return err
		}
		p.MAP.Facts.Note = "weights read from a file"
	} else if err := r.train(ctx, p, g); err != nil {
		return err
	}
	return p.estimateNoise(ctx)
}

// train trains the network, unless it lies in the work folder.
func (r *runner) train(ctx context.Context, p *Problem, g group) error {
	name := fmt.Sprintf("%s-map-seed%d-%s", p.Data, g.netSeed, g.hash)
	weights, record := r.folder.Work(name+".npz"), r.folder.Work(name+".json")
	err := result.ReadJSON(record, &p.MAP)
	if err == nil {
		return layers.Load(weights, p.Net, layers.LoadOptions{})
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	meter, spent := result.StartMeter(), r.folder.Work(name+".partial.json")
	var before result.Cost
	if err := result.ReadJSON(spent, &before); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	res, err := r.mapTraining(p, g, r.folder.Work(name+".checkpoint")).TrainOn(ctx, r.inputs(p), p.Train.Y)
	p.MAP.Cost = before.Add(meter.Cost())
	if err != nil {
		return errors.Join(fmt.Errorf("%s: MAP: %w", p.Data, err), result.WriteJSON(spent, p.MAP.Cost))
	}
	p.MAP.Facts, p.MAP.History = facts(res), history(res)
	if err := layers.Save(weights, p.Net); err != nil {
		return err
	}
	if err := result.WriteJSON(record, p.MAP); err != nil {
		return err
	}
	return remove(r.folder.Work(name+".checkpoint"), spent)
}

func (r *runner) mapTraining(p *Problem, g group, checkpoint string) train.MAP {
	s := r.spec.MAP
	c := train.Config{
		Iterations: s.Iterations, Schedule: schedules[s.Schedule], ValidateEvery: s.Every,
		Optimizer:  optimizer(s),
		Checkpoint: checkpoint, CheckpointEvery: checkpointEvery, Resume: true,
		Progress: r.Progress, Label: p.Data + " MAP",
	}
	if s.Every > 0 {
		c.Validate = p.validation(p.point(), func() float64 { return 1 })
	}
	return train.MAP{Net: p.Net, Loss: p.Task.Loss(), BatchSize: min(s.Batch, p.Train.N()), Seed: g.netSeed, Config: c}
}

// inputs are what the network is trained on.
func (r *runner) inputs(p *Problem) train.Source {
	if r.spec.MAP.Augment && p.Augmented != nil {
		return p.Augmented
	}
	return train.Rows{All: p.Train.X}
}

func optimizer(s spec.Training) train.Optimizer {
	if s.Optimizer == "sgd" {
		return &train.SGD{LR: s.Rate, Momentum: s.Momentum, WeightDecay: s.WeightDecay}
	}
	return &train.Adam{LR: s.Rate, WeightDecay: s.WeightDecay}
}

// estimateNoise sets the noise of MAP to the mean squared residual on the training rows.
func (p *Problem) estimateNoise(ctx context.Context) error {
	r, ok := p.Task.(*regression)
	if !ok {
		return nil
	}
	g, err := p.point().Predict(ctx, p.Train.X)
	if err != nil {
		return err
	}
	p.MAP.Noise = r.meanSquared(g, p.Train)
	if !(p.MAP.Noise > 0) {
		return fmt.Errorf("%s: the mean squared residual is %g, expected a positive number to take for the noise variance", p.Data, p.MAP.Noise)
	}
	return nil
}

// remove removes files that may be there.
func remove(paths ...string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("experiments: %w", err)
		}
	}
	return nil
}
