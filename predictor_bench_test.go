package valla

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// service is a model as a service has it: a multilayer perceptron with inducing inputs, or
// LLA by Kronecker factors where there are none.
type service struct {
	inputs, outputs, inducing int
	hidden                    []int
	dt                        tensor.Dtype
}

func (s service) String() string {
	method := fmt.Sprintf("VaLLA-%d", s.inducing)
	if s.inducing == 0 {
		method = "KFAC"
	}
	return fmt.Sprintf("%d-%v-%d/%s/%v", s.inputs, s.hidden, s.outputs, method, s.dt)
}

// flops counts the multiplications and additions of one row with VaLLA, at least: the
// network, the pullbacks of its outputs, the two inner products of each layer with each
// inducing input, and w = k Λ. bytes are the numbers that these read.
func (s service) flops() (flops, bytes float64) {
	widths := append(append([]int{s.inputs}, s.hidden...), s.outputs)
	size := 8.0
	if s.dt == tensor.Float32 {
		size = 4
	}
	m, c := float64(s.inducing), float64(s.outputs)
	for l := range len(widths) - 1 {
		in, out := float64(widths[l]), float64(widths[l+1])
		flops += 2*in*out + 2*m*(in+1) + 2*m*c*out
		bytes += size * (in*out + m*(in+out))
		if l > 0 {
			flops += 2 * c * in * out
			bytes += size * in * out
		}
	}
	return flops + c*m*m, bytes + 4*m*m // Λ is lower triangular, in float64
}

// model returns the model with random weights and a posterior.
func (s service) model(b testing.TB) *Model {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	form := layers.MLP{Inputs: s.inputs, Hidden: s.hidden, Outputs: s.outputs, Activation: "tanh"}
	net, err := form.New(s.dt, rng)
	if err != nil {
		b.Fatal(err)
	}
	m := &Model{Form: form, Net: net, Task: task.Task{Inputs: task.Inputs{Shape: []int{s.inputs}}}}
	m.Task.Outputs = &task.Regression{Names: []string{"y"}, NoiseVariance: 0.1}
	if s.outputs > 1 {
		classes := &task.Classification{Name: "y"}
		for k := range s.outputs {
			classes.Classes = append(classes.Classes, float64(k))
		}
		m.Task.Outputs = classes
	}
	x := graph.NewParam("x", fixture.Normal(rng, 200*s.inputs), s.dt, 200, s.inputs).Value
	if s.inducing == 0 {
		y := graph.NewParam("y", fixture.Normal(rng, 200), s.dt, 200, 1).Value
		of := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(1, s.dt), Train: gp.Examples{X: x, Y: y}}
		p, err := (&laplace.Settings{Structure: "kfac", PriorStd: 1, NoiseStd: 0.3}).Posterior(b.Context(), of, gp.Run{})
		if err != nil {
			b.Fatal(err)
		}
		m.Posterior = &Posterior{Stored: p, Method: "lla", NoiseVariance: 0.09}
		return m
	}
	class := make([]int, s.inducing)
	for i := range class {
		class[i] = i % s.outputs
	}
	stored := storedVaLLA(b, net, fixture.Normal(rng, s.inducing*s.inputs), []int{s.inputs}, class, func() float64 { return 0 }, 0)
	m.Posterior = &Posterior{Stored: stored, Method: "valla", NoiseVariance: 0.1}
	return m
}

// BenchmarkPredictor measures single rows, one goroutine, with percentiles, beside what a row
// takes at least; and 1,000 rows at once.
func BenchmarkPredictor(b *testing.B) {
	for _, s := range []service{
		{inputs: 90, hidden: []int{200, 200, 200}, outputs: 1, inducing: 100},
		{inputs: 784, hidden: []int{200, 200}, outputs: 10, inducing: 100},
		{inputs: 11, hidden: []int{50, 50}, outputs: 1, inducing: 20},
		{inputs: 11, hidden: []int{50, 50}, outputs: 1},
	} {
		for _, s.dt = range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			b.Run(s.String()+"/1", func(b *testing.B) { s.benchmark(b, 1) })
			b.Run(s.String()+"/1000", func(b *testing.B) { s.benchmark(b, 1000) })
		}
	}
}

func (s service) benchmark(b *testing.B, n int) {
	p, err := s.model(b).Predictor(PredictorOptions{})
	if err != nil {
		b.Fatal(err)
	}
	x := fixture.Normal(rand.New(rand.NewPCG(2, 2)), n*s.inputs)
	var out Prediction
	var times []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if err := p.Predict(b.Context(), x, &out); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	for percent, name := range map[int]string{50: "p50-µs", 99: "p99-µs"} {
		b.ReportMetric(float64(times[len(times)*percent/100].Nanoseconds())/1e3, name)
	}
	if n == 1 && s.inducing > 0 {
		flops, bytes := s.flops()
		b.ReportMetric(flops/1e3, "kflop")
		b.ReportMetric(bytes/1024, "KiB-read")
	}
}
