package gapa

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// BenchmarkPredict predicts 1,000 inputs of a network 784-200-200-10 in float32 with 54,000
// rows that are kept, beside the network alone.
func BenchmarkPredict(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	net, err := layers.MLP{Inputs: 784, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}.New(tensor.Float32, rng)
	if err != nil {
		b.Fatal(err)
	}
	x := small.Normal(rng, tensor.Float32, 1000, 784)
	predict := func(name string, p gp.Posterior) {
		b.Run(name, func(b *testing.B) {
			e, err := gp.NewEngine(p, x.Shape()[1:], gp.EngineOptions{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.PredictAll(b.Context(), x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	predict("network", gp.Point{Net: net, Dtype: tensor.Float32})
	z := small.Normal(rng, tensor.Float32, 54_000, 784)
	for layer := 1; layer <= 2; layer++ {
		site := siteAt(b, net, x, layer)
		u, _ := valuesAt(b, site, z)
		for _, n := range []int{0, 500} {
			p := &posterior{net: net, site: site, layer: layer, input: x.Shape()[1:], factor: 1, limit: gp.Run{}.Limit(), scales: make([]float64, 200)}
			p.memory = &memory{index: newIndex(u), neighbours: 50, length: 2 * firstQuartile(data.TakeRows(u, dense.Indices(lengthRows))), noise: 1e-6}
			if err := p.memory.group(n); err != nil {
				b.Fatal(err)
			}
			predict(fmt.Sprintf("layer %d, %d centres", layer, n), p)
		}
	}
}
