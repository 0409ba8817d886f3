package mfvi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-valla/valla/data/augment"
	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// curveVariable is the environment variable that asks for the learning curve of ResNet-20 on
// CIFAR-10, and names a folder for its checkpoints.
const curveVariable = "VALLA_CURVE"

// moved are the training images, cut and mirrored at random.
type moved struct {
	images *image.Set
	how    *augment.Augmenter[float32]
}

func (m moved) Shape() tensor.Shape { return tensor.Shape{m.images.N, 3, 32, 32} }
func (m moved) Identity() string    { return "CIFAR-10, moved and mirrored" }
func (m moved) Load(dst *tensor.Dense, rows []int, iteration int) error {
	m.how.Batch(dst.Float32s(), m.images.Pixels, 32, 32, rows, iteration)
	return nil
}

// TestCurve fine-tunes pretrained ResNets with the published settings on all training images of
// CIFAR-10, and logs the scores of 2 draws on the first 1,000 test images after each quarter of an epoch.
// It takes hours, may be interrupted, and goes on where it was.
func TestCurve(t *testing.T) {
	folder := os.Getenv(curveVariable)
	if folder == "" {
		t.Skipf("takes hours: set %s to run it", curveVariable)
	}
	for _, c := range []struct {
		name     string
		shortcut layers.Shortcut
		norm     image.Normalize
	}{{"chenyaofo", layers.Projection, cifar.Chenyaofo}, {"akamaster", layers.ZeroPad, cifar.Akamaster}} {
		for _, how := range []string{flipout, none} {
			t.Run(c.name+" "+how, func(t *testing.T) {
				form, err := layers.NewResNet(20, c.shortcut, 10)
				if err != nil {
					t.Fatal(err)
				}
				net, err := form.New(tensor.Float32, rand.New(rand.NewPCG(1, 1)))
				if err == nil {
					err = layers.Load(fixture.Shared(t, "weights", c.name+"_cifar10_resnet20.npz"), net, layers.LoadOptions{})
				}
				if err != nil {
					t.Fatal(err)
				}
				curve(t, net, c.norm, how, filepath.Join(folder, c.name+"-"+how))
			})
		}
	}
}

// curve trains one network.
func curve(t *testing.T, net layers.Network, norm image.Normalize, how, checkpoint string) {
	sets, err := cifar.CIFAR10(fixture.Shared(t, "data", "cifar10"))
	if err != nil {
		t.Fatal(err)
	}
	all := *sets.Train // with the images that other fits keep for validation
	all.N, all.Pixels, all.Labels = all.N+sets.Validation.N, slices.Concat(all.Pixels, sets.Validation.Pixels), slices.Concat(all.Labels, sets.Validation.Labels)
	n := all.N
	y := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(n, 10))
	for i, k := range all.Labels {
		y.Float32s()[i*10+int(k)] = 1
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(n, 3, 32, 32)), Y: y}}
	p.Augmented = moved{&all, augment.New[float32](1, norm, augment.CIFAR()...)}
	s, err := (&Settings{Estimator: how, Augment: true}).complete(p)
	if err != nil {
		t.Fatal(err)
	}
	f := newFitting(p, gp.Run{Seed: 1, Checkpoint: checkpoint, Resume: true}, s)
	obj, err := f.steps().Objective()
	if err != nil {
		t.Fatal(err)
	}
	test := sets.Test.Images
	test.N, test.Pixels = 1000, test.Pixels[:1000*3*32*32]
	x, start := cifar.Dense(&test, image.NewTable[float32](norm)), time.Now()
	f.s.Samples = 2
	log := func(ctx context.Context, after int) (float64, error) {
		q := fitted(t, f)
		g, err := gp.Predict(ctx, q.Posterior, x)
		if err != nil {
			return 0, err
		}
		var m metric.Classification
		if err := m.Add(g.Probs, sets.Test.Class()[:test.N]); err != nil {
			return 0, err
		}
		r, err := m.Result()
		fmt.Printf("%s: %4d of %d steps, %5.0f s: ACC %.4f NLL %.4f ECE %.4f Brier %.4f %+v\n",
			filepath.Base(checkpoint), after, f.s.Iterations, time.Since(start).Seconds(), r.ACC, r.NLL, r.ECE, r.Brier, q.Record.Facts)
		return r.NLL, err
	}
	if _, err := log(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	config, done := f.steps().Config(), 0
	config.ValidateEvery, config.CheckpointEvery = 49, 7
	config.OnProgress = func(r train.Progress) { done = r.Done }
	config.Validate = func(ctx context.Context) (float64, error) { return log(ctx, done) }
	if _, err := train.Run(t.Context(), obj, config); err != nil {
		t.Fatal(err)
	}
}
