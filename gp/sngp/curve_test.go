package sngp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// curveVariable is the environment variable that asks for the learning curves of ResNet-20 on
// CIFAR-10, and names a folder for their checkpoints.
const curveVariable = "VALLA_CURVE"

// TestCurve fine-tunes a pretrained ResNet-20 on all 50,000 training images of CIFAR-10, as
// BayesiPy does and with the defaults, and logs the scores on the test images every now and then. It
// takes an hour of one core, may be interrupted, and goes on where it was.
func TestCurve(t *testing.T) {
	folder := os.Getenv(curveVariable)
	if folder == "" {
		t.Skipf("takes an hour: set %s to run it", curveVariable)
	}
	for name, s := range map[string]Settings{
		"published": {
			Spectral: spectralAlways, NormLayers: topLayers, NormGradient: gradThrough, Draws: drawsGaussian, LengthScale: 20, LayerNorm: true,
			Head: headRandom, Ridge: 1e-3, Precision: decaying, Probabilities: linkSamples, Samples: 50,
			Iterations: 5000, BatchSize: 50, LearningRate: 1e-5, WeightDecay: 0.1, Schedule: constant, KeepLast: true,
		},
		"defaults": {KeepLast: true},
	} {
		t.Run(name, func(t *testing.T) { curve(t, s, filepath.Join(folder, "sngp-"+name)) })
	}
}

// curve logs the scores of a fit that is interrupted after some of its steps, and resumed.
func curve(t *testing.T, s Settings, checkpoint string) {
	sets, err := cifar.CIFAR10(fixture.Shared(t, "data", "cifar10"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := layers.NewResNet(20, layers.ZeroPad, 10)
	if err != nil {
		t.Fatal(err)
	}
	net, err := form.New(tensor.Float32, newRand(1))
	if err == nil {
		err = layers.Load(fixture.Shared(t, "weights", "akamaster_cifar10_resnet20.npz"), net, layers.LoadOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	var x, y []float32
	table := image.NewTable[float32](cifar.Akamaster)
	for _, part := range []*image.Set{sets.Train, sets.Validation} {
		x, y = append(x, cifar.Dense(&part.Images, table).Float32s()...), append(y, image.OneHot[float32](part).Float32s()...)
	}
	n := len(y) / 10
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{
		X: tensor.New(tensor.WithShape(n, 3, 32, 32), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, 10), tensor.WithBacking(y)),
	}}
	test := cifar.Dense(&sets.Test.Images, table)
	for at, done := 250, 0; ; at *= 2 {
		ctx, cancel := context.WithCancel(t.Context())
		f, err := s.Fit(ctx, p, gp.Run{Checkpoint: checkpoint, Resume: true, OnProgress: func(r train.Progress) {
			if done = r.Done; done >= at {
				cancel()
			}
		}})
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		g := small.Predict(t, f.Posterior, test)
		var m metric.Classification
		if err := m.Add(g.Probs, sets.Test.Class()); err != nil {
			t.Fatal(err)
		}
		r, err := m.Result()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d steps: ACC %.4f NLL %.4f ECE %.4f Brier %.4f", f.Record.Result.Iterations, r.ACC, r.NLL, r.ECE, r.Brier)
		if f.Record.Result.Stopped == train.Finished {
			return
		}
	}
}
