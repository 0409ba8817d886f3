package ella

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// imageProblem is the first 10,000 images of MNIST with the network that the paper used,
// 784-200-200-10 with tanh in float32, and the first 1,000 images of the test set.
func imageProblem(b *testing.B) (gp.Problem, *tensor.Dense) {
	s, err := idx.MNIST(fixture.Shared(b, "data", "mnist"))
	if err != nil {
		b.Fatal(err)
	}
	net, err := layers.MLP{Inputs: 784, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}.New(tensor.Float32, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		b.Fatal(err)
	}
	if err := layers.Load(fixture.Shared(b, "weights", "ludvins_mlp_mnist.npz"), net, layers.LoadOptions{}); err != nil {
		b.Fatal(err)
	}
	first := func(t *tensor.Dense, rows, cols int) *tensor.Dense {
		return tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(t.Float32s()[:rows*cols]))
	}
	const n = 10_000
	train := gp.Examples{X: first(idx.Dense[float32](&s.Train.Images), n, 784), Y: first(image.OneHot[float32](s.Train), n, 10)}
	return gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: train}, first(idx.Dense[float32](&s.Test.Images), 1000, 784)
}

// BenchmarkFitImages is a fit with the published M = 2000 and K = 20, in parts: the kernel of
// the points, its eigenvectors, the directions, and all of it with the pass over the data.
func BenchmarkFitImages(b *testing.B) {
	p, _ := imageProblem(b)
	ctx, s := context.Background(), &Settings{PriorStd: 0.2}
	c, err := s.complete(p)
	if err != nil {
		b.Fatal(err)
	}
	at := c.draw(p, 1)
	k, err := kernelOf(ctx, p.Net, at, gp.Run{}.Limit(), untold)
	if err != nil {
		b.Fatal(err)
	}
	e, err := leading(k, at.n(), c.Rank, tensor.Float32)
	if err != nil {
		b.Fatal(err)
	}
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"kernel", func() error { _, err := kernelOf(ctx, p.Net, at, gp.Run{}.Limit(), untold); return err }},
		{"eigenvectors", func() error { _, err := leading(k, at.n(), c.Rank, tensor.Float32); return err }},
		{"directions", func() error { _, err := directions(ctx, p.Net, at, e, gp.Run{}.Limit(), untold); return err }},
		{"all", func() error { _, err := s.Fit(ctx, p, gp.Run{Seed: 1}); return err }},
	} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() {
				if err := part.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPredictImages is the mean and the covariance [10,10] of 1,000 images.
func BenchmarkPredictImages(b *testing.B) {
	p, x := imageProblem(b)
	f, err := (&Settings{PriorStd: 0.2}).Fit(b.Context(), p, gp.Run{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	e, err := gp.NewEngine(f.Posterior, x.Shape()[1:], gp.EngineOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := e.PredictAll(b.Context(), x); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResNet20 is a fit on 400 images of noise with K = 20 directions of 100 points, in
// parts, and a prediction of 100 images.
func BenchmarkResNet20(b *testing.B) {
	form, err := layers.NewResNet(20, layers.Projection, 10)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	net, err := form.New(tensor.Float32, rng)
	if err != nil {
		b.Fatal(err)
	}
	const n = 400
	labels := make([]int, n)
	for i := range labels {
		labels[i] = i % 10
	}
	y := small.OneHot(labels, 10, tensor.Float32)
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: small.Normal(rng, tensor.Float32, n, 3, 32, 32), Y: y}}
	s := Settings{Points: 100, PriorStd: 0.2, PointOutput: "random", Rank: 20}
	at := s.draw(p, 1)
	b.Run("kernel", func(b *testing.B) {
		for b.Loop() {
			if _, err := kernelOf(b.Context(), net, at, gp.Run{}.Limit(), untold); err != nil {
				b.Fatal(err)
			}
		}
	})
	var q *posterior
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			q = fitPoints(b, p, s, at)
		}
	})
	x := data.TakeRows(p.Train.X, at100())
	b.Run("predict", func(b *testing.B) {
		for b.Loop() {
			small.Predict(b, q, x)
		}
	})
}

func at100() []int {
	rows := make([]int, 100)
	for i := range rows {
		rows[i] = i
	}
	return rows
}
