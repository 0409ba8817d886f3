package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
)

// weightsFile returns the file of a network's weights for a data set, "" for none. The file
// of the options must exist. The file of the experiment lies below the parent of the data
// folder and may be absent. Made rows have no weights.
func (o Options) weightsFile(n spec.Network, data string) (string, error) {
	path := strings.ReplaceAll(o.Weights, "*", data)
	if path == "" && n.Weights != "" {
		name := strings.NewReplacer("*", data, "NET", cmp.Or(n.Form, perceptron)).Replace(n.Weights)
		path = filepath.Join(filepath.Dir(o.Data), filepath.FromSlash(name))
	}
	if path == "" || o.Made {
		return "", nil
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && o.Weights == "" {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("weights: %w", err)
	}
	return path, nil
}

// checksum returns the CRC-32 of a file in hexadecimal.
func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("network: %w", err)
	}
	defer f.Close()
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("network: %w", err)
	}
	return fmt.Sprintf("%08x", h.Sum32()), nil
}

// build gives a problem its network. It reads the file of weights if there is one, and else
// trains the network.
func (r *runner) build(ctx context.Context, p *problem, g group) error {
	if g.weights == "" {
		return r.train(ctx, p, g)
	}
	var err error
	p.note = "weights read from a file"
	p.model, err = valla.FromWeights(ctx, g.weights, p.train, valla.WeightOptions{
		Network: r.spec.Network.Network, Standardize: !p.classes, Classes: p.classes,
	})
	return err
}

// train trains the network and keeps it in the work folder. A network that is there already
// is read instead, unless its files are damaged.
func (r *runner) train(ctx context.Context, p *problem, g group) error {
	work := r.folder.Work(fmt.Sprintf("%s-map-seed%d-%s", p.name, g.netSeed, g.hash))
	file, cost, checkpoint, spent := work+".valla", work+".json", work+".checkpoint", work+".partial.json"
	err := result.ReadJSON(cost, &p.cost)
	if err == nil {
		p.model, err = valla.Load(file)
	}
	if err == nil {
		return result.Remove(checkpoint, spent)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, result.ErrDamaged) && !errors.Is(err, valla.ErrFormat) {
		return err
	}
	meter := result.StartMeter()
	var before result.Cost
	p.model, before, err = resumed(checkpoint, spent, func() (*valla.Model, error) {
		o, err := r.trainOptions(p, g, checkpoint)
		if err != nil {
			return nil, err
		}
		return valla.Train(ctx, p.train, o)
	})
	p.cost = before.Add(meter.Cost())
	if err != nil {
		return errors.Join(fmt.Errorf("%s: MAP: %w", p.name, err), result.WriteJSON(spent, p.cost))
	}
	if err := p.model.Save(file); err != nil {
		return err
	}
	if err := result.WriteJSON(cost, p.cost); err != nil {
		return err
	}
	return result.Remove(checkpoint, spent)
}

func (r *runner) trainOptions(p *problem, g group, checkpoint string) (valla.TrainOptions, error) {
	model, err := observation(r.spec.MAP.Likelihood)
	o := valla.TrainOptions{
		Network: r.spec.Network.Network, Training: r.spec.MAP.Training, Classes: p.classes, Held: p.held, Seed: g.netSeed, Likelihood: model,
		Checkpoint: checkpoint, Resume: true, OnProgress: r.Progress("%s MAP", p.name),
	}
	if p.held == nil {
		o.Training.Validation = new(0.0)
	}
	return o, err
}
