package valla

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/sfr"
)

func drawn(t *testing.T, m *Model, x *tensor.Dense, o SampleOptions) []float64 {
	t.Helper()
	s, err := m.Sample(t.Context(), x, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := (tensor.Shape{o.Samples, x.Shape()[0], m.Task.Size()}); !s.Shape().Eq(want) {
		t.Fatalf("samples of shape %v, want %v", s.Shape(), want)
	}
	return s.Float64s()
}

// TestSample: samples have the predictions' means, variances and covariances between rows, without
// and with noise. There are two targets, each in its units.
func TestSample(t *testing.T) {
	const n, many = 5, 40_000
	two, err := Train(t.Context(), twins(200, 1), quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	m := fit(t, two, twins(200, 1), FitOptions{Settings: &laplace.Settings{Weights: []string{"last-layer"}}, Law: "gaussian"})
	set := twins(n, 8)
	p := predict(t, m, set.X)
	in, err := m.Task.Inputs.Apply(set.X, m.Dtype())
	if err != nil {
		t.Fatal(err)
	}
	_, cov, err := m.Posterior.Stored.(gp.JointPosterior).Joint(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for noise, variance := range map[bool][]float64{false: p.Latent, true: p.Variance} {
		f := drawn(t, m, set.X, SampleOptions{Samples: many, Noise: noise, Seed: 3})
		mean, square, product := make([]float64, 2*n), make([]float64, 2*n), 0.0
		for i, v := range f {
			k := i % (2 * n)
			mean[k] += (v - p.Mean[k]) / many
			square[k] += (v - p.Mean[k]) * (v - p.Mean[k]) / many
			if k == 3 { // the second target of row 1, and the first one of row 0
				product += (v - p.Mean[3]) * (f[i-3] - p.Mean[0]) / many
			}
		}
		for k, v := range variance {
			if math.Abs(mean[k]) > 4*math.Sqrt(v/many) || math.Abs(square[k]/v-1) > 4*math.Sqrt(2.0/many) {
				t.Errorf("noise %t, output %d: mean %g off, variance %g, want %g", noise, k, mean[k], square[k], v)
			}
		}
		units := m.NoiseStds()
		want := cov.Float64s()[3*2*n] * units[0] * units[1] / m.NoiseVariance()
		if math.Abs(product-want) > 4*math.Sqrt(2*variance[0]*variance[3]/many) {
			t.Errorf("noise %t: covariance %g, want %g", noise, product, want)
		}
	}
}

// TestSampleCalibrated: a temperature stretches samples around the mean; equal seeds give equal
// numbers, and others do not.
func TestSampleCalibrated(t *testing.T) {
	m, set := trained(t)
	m = fit(t, m, set, FitOptions{Settings: &sfr.Settings{Points: 20}})
	x, o := wave(4, 2).X, SampleOptions{Samples: 3, Seed: 1}
	wide := *m
	wide.Calibration = &Calibration{Temperature: 2}
	mean, a, b := predict(t, m, x).Mean, drawn(t, m, x, o), drawn(t, &wide, x, o)
	for i := range a {
		near(t, "deviation", b[i]-mean[i%4], 2*(a[i]-mean[i%4]), 1e-9)
	}
	if !slices.Equal(a, drawn(t, m, x, o)) || slices.Equal(a, drawn(t, m, x, SampleOptions{Samples: 3, Seed: 2})) {
		t.Error("samples do not depend on the seed alone")
	}
}

// TestSampleClasses: each function has probabilities, whose mean is near the mean of samples row by row.
func TestSampleClasses(t *testing.T) {
	classes := newTestClasses(t, tensor.Float32, 3)
	m := fit(t, classes, thirds(60, 3), FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 0.7}, Validation: new(0.0)})
	x := thirds(6, 4).X
	f, mean := drawn(t, m, x, SampleOptions{Samples: 4000}), make([]float64, 18)
	for i, v := range f {
		mean[i%18] += v / 4000
		if i%3 == 2 {
			near(t, "sum", f[i-2]+f[i-1]+v, 1, 1e-12)
		}
	}
	p, err := m.Predict(t.Context(), x, PredictOptions{Link: MonteCarlo})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range p.Probs {
		near(t, "probability", mean[i], v, 0.03)
	}
}

func TestSampleErrors(t *testing.T) {
	m, set := trained(t)
	sampled := func(m *Model, o SampleOptions) error {
		_, err := m.Sample(t.Context(), set.X, o)
		if !errors.Is(err, ErrSetting) {
			t.Errorf("error %v, want one of settings", err)
		}
		return err
	}
	const methods = "expected a posterior of one of the methods valla, lla, gp-subset, ella, sampled-lla, fmgp, sfr, mfvi, sngp"
	oneLine(t, sampled(m, SampleOptions{Samples: 1}), "sample: ", "a network without a posterior has no functions to draw: "+methods)
	distances := fit(t, m, set, FitOptions{Settings: &gapa.Settings{}})
	oneLine(t, sampled(distances, SampleOptions{Samples: 1}), "GAPA does not know the covariance between rows, which samples of functions need: "+methods)
	oneLine(t, sampled(m, SampleOptions{}), "0 samples, expected at least one")
	oneLine(t, sampled(newTestClasses(t, tensor.Float64, 3), SampleOptions{Samples: 1, Noise: true}), "samples with noise of classes")
}
