package sampled

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// BenchmarkMNIST fits the paper's network for handwritten digits, 784-200-200-10 with tanh in
// float32, to all training images, and reports the scores beside the time: the paper prints the
// NLL 0.087 and the AUC 0.954 of telling pictures of clothes from digits. It takes minutes.
func BenchmarkMNIST(b *testing.B) {
	s, err := idx.MNIST(fixture.Shared(b, "data", "mnist"))
	if err != nil {
		b.Fatal(err)
	}
	clothes, err := idx.FashionMNIST(fixture.Shared(b, "data", "fashion-mnist"))
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
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{
		X: idx.Dense[float32](&s.Train.Images), Y: image.OneHot[float32](s.Train),
	}}
	for b.Loop() {
		f, err := (&Settings{Samples: 32, EMSamples: 2, Rank: 256, Tolerance: 0.05}).Fit(b.Context(), p, gp.Run{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		in, out := probabilities(b, f.Posterior, &s.Test.Images), probabilities(b, f.Posterior, &clothes.Test.Images)
		var scores metric.Classification
		if err := scores.Add(in, s.Test.Class()); err != nil {
			b.Fatal(err)
		}
		got, err := scores.Result()
		if err != nil {
			b.Fatal(err)
		}
		auc, err := metric.OODAUC(entropies(in), entropies(out))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(got.NLL, "NLL")
		b.ReportMetric(auc, "OOD-AUC")
		b.StartTimer()
	}
}

// probabilities are those by the probit approximation.
func probabilities(b *testing.B, p gp.Posterior, images *image.Images) []float64 {
	b.Helper()
	g, err := gp.Predict(b.Context(), p, idx.Dense[float32](images))
	if err != nil {
		b.Fatal(err)
	}
	return gp.Probit(nil, g)
}

func entropies(probs []float64) (all []float64) {
	for row := range slices.Chunk(probs, 10) {
		all = append(all, metric.Entropy(row))
	}
	return all
}
