package gapa

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// drawn is a sample of random numbers.
func drawn(rng *rand.Rand, n, c, d int, classes bool) *sample {
	s := &sample{c: c, d: d}
	s.y, s.mean = small.Normal(rng, tensor.Float64, n*c).Float64s(), small.Normal(rng, tensor.Float64, n*c).Float64s()
	if classes {
		clear(s.y)
	}
	for i := range n {
		s.r = append(s.r, rng.Float64())
		if classes {
			s.y[i*c+rng.IntN(c)] = 1
		}
	}
	for range n * c * d {
		s.squares = append(s.squares, rng.Float32())
	}
	return s
}

// TestLoss: the loss is the likelihood's with a diagonal covariance, and its derivatives are
// those by differences.
func TestLoss(t *testing.T) {
	const c = 3
	for _, classes := range []bool{false, true} {
		s := drawn(rand.New(rand.NewPCG(1, 1)), 20, c, 2, classes)
		l, by := loss{classes: classes}, mixture{factor: 1.3, noise: 0.4}
		var lik likelihood.Likelihood = likelihood.NewGaussian(by.noise, tensor.Float64)
		if classes {
			lik = likelihood.Softmax{}
		}
		own := s.variances([]float64{0.5, 2})
		got, grad, _ := s.loss(l, own, by)
		want := 0.0
		for i := range s.n() {
			cov := make([]float64, c*c)
			for k := range c {
				cov[k*c+k] = by.factor * own[i*c+k]
			}
			want -= lik.LogPredictive(s.y[i*c:(i+1)*c], s.mean[i*c:(i+1)*c], cov) / float64(s.n())
		}
		fixture.Close(t, "loss", []float64{got}, []float64{want}, 1e-12)
		const step = 1e-5
		for i := range grad {
			moved := make([]float64, len(own))
			copy(moved, own)
			moved[i] += step / by.factor
			up, _, _ := s.loss(l, moved, by)
			moved[i] -= 2 * step / by.factor
			down, _, _ := s.loss(l, moved, by)
			if slope := (up - down) / (2 * step); math.Abs(slope-grad[i]) > 1e-7*(1+math.Abs(slope)) {
				t.Errorf("classes %t, variance %d: derivative %g, by differences %g", classes, i, grad[i], slope)
			}
		}
	}
}

// TestGradient: the derivatives by the logarithms of the variances and of the noise are
// those by differences. The sample is in float32.
func TestGradient(t *testing.T) {
	for _, classes := range []bool{false, true} {
		s := drawn(rand.New(rand.NewPCG(2, 1)), 30, 2, 4, classes)
		l := newLearning(loss{classes: classes}, s, nil, mixture{factor: 1, noise: 0.3}, !classes)
		for j := range l.logs.Float64s() {
			l.logs.Float64s()[j] = 0.2*float64(j) - 0.4
		}
		value := func() float64 {
			scales, by := l.state()
			v, _, _ := s.loss(l.loss, s.variances(scales), by)
			return v
		}
		l.differentiate(0)
		for j, got := range append([]float64(nil), l.grad.Float64s()...) {
			if j == l.d && classes {
				continue
			}
			at := func(move float64) float64 {
				logs := l.logs.Float64s()
				logs[j] += move
				defer func() { logs[j] -= move }()
				return value()
			}
			const step = 2e-2
			if want := (8*(at(step)-at(-step)) - (at(2*step) - at(-2*step))) / (12 * step); math.Abs(got-want) > 1e-4*(1e-3+math.Abs(want)) {
				t.Errorf("classes %t, number %d: derivative %g, by differences %g", classes, j, got, want)
			}
		}
	}
}

// TestLearning: where targets scatter with variances that the activations explain, these and
// the noise are found, and a known noise stays.
func TestLearning(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	s := drawn(rng, 8000, 1, 2, false)
	want := []float64{3, 0.2}
	for i, v := range s.variances(want) {
		s.y[i] = s.mean[i] + math.Sqrt(v+0.1)*rng.NormFloat64()
	}
	for _, known := range []bool{false, true} {
		start := mixture{factor: 1, noise: 0.5}
		if known {
			start.noise = 0.1
		}
		scales, noise, err := newLearning(loss{}, s, s, start, !known).run(t.Context(), 300)
		if err != nil {
			t.Fatal(err)
		}
		if known && noise != 0.1 || math.Abs(noise-0.1) > 0.03 || math.Abs(scales[0]-3) > 0.5 || math.Abs(scales[1]-0.2) > 0.15 {
			t.Errorf("noise known %t: variances %g with the noise %g, want %g with 0.1", known, scales, noise, want)
		}
		found, _, _ := s.best(loss{}, s.variances(scales), mixtures(gp.LogSpaced(1./4, 4, 5), []float64{0.02, 0.1, 0.5}))
		if found.factor != 1 || found.noise != 0.1 {
			t.Errorf("the best mixture is %+v", found)
		}
	}
}

// TestLaw: the loss of any observation model is the mean of its predictive densities, its derivatives are its central
// differences.
func TestLaw(t *testing.T) {
	problems := small.Must(t, gptest.ModelProblems)
	for _, p := range problems {
		l, err := newLoss(p.Problem, 0)
		if err != nil {
			t.Fatal(err)
		}
		if l.law == nil {
			t.Fatalf("%s has no law", p.Name)
		}
		mean, err := gp.Point{Net: p.Net, Dtype: p.Dtype()}.Mean(t.Context(), p.Train.X)
		if err != nil {
			t.Fatal(err)
		}
		s := &sample{y: graph.Floats(p.Train.Y), mean: mean.Float64s(), r: make([]float64, p.Train.N()), c: 2, d: 1, squares: make([]float32, 2*p.Train.N())}
		v, by := slices.Repeat([]float64{0.4}, len(s.mean)), mixture{factor: 1.5, noise: likelihood.NoiseVariance(l.law.lik)}
		got, grad, err := s.loss(l, v, by)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := s.value(l, v, by); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: loss %g, want %g", p.Name, got, want)
		}
		const h = 1e-4
		for i := range 4 {
			moved := slices.Clone(v)
			moved[i] += h / by.factor
			up, _ := s.value(l, moved, by)
			moved[i] -= 2 * h / by.factor
			down, _ := s.value(l, moved, by)
			if want := (up - down) / (2 * h); math.Abs(grad[i]-want) > 1e-5 {
				t.Errorf("%s: derivative %g by variance %d, want %g", p.Name, grad[i], i, want)
			}
		}
	}
}

// TestLawLearned: learning finds the scale and the degrees of freedom of Student's t from a start ten times too large.
func TestLawLearned(t *testing.T) {
	const n, nu, scale = 2000, 3.0, 0.3
	rng := rand.New(rand.NewPCG(8, 1))
	truth := likelihood.Each(likelihood.NewStudentT(nu, scale, true, tensor.Float64))
	s := &sample{y: make([]float64, n), mean: make([]float64, n), r: make([]float64, n), squares: make([]float32, n), c: 1, d: 1}
	for i := range s.y {
		s.y[i] = truth.Predict(0, 0, 0).Draw(rng)
	}
	p := gp.Problem{Likelihood: likelihood.Each(likelihood.NewStudentT(20, 10*scale, false, tensor.Float64))}
	p.Train.X, p.Train.Y = small.Normal(rng, tensor.Float64, n, 1), dense.Of(s.y, n, 1)
	l, err := newLoss(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, noise, err := newLearning(l, s, nil, mixture{factor: 1, noise: likelihood.NoiseVariance(p.Likelihood)}, true).run(t.Context(), 150)
	if err != nil {
		t.Fatal(err)
	}
	found := l.law.lik.Params()[1].At(0)
	if math.Abs(math.Sqrt(noise)-scale) > 0.03 || math.Abs(found-math.Log(nu)) > 0.3 {
		t.Errorf("scale %g and log ν %g, want %g and %g", math.Sqrt(noise), found, scale, math.Log(nu))
	}
}

// TestBatches: steps take all rows in turn, also the rows behind the last whole batch.
func TestBatches(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {7, 7}, {7, 4}, {8, 4}, {9, 4}, {11, 4}} {
		n, size := c[0], c[1]
		seen := make([]int, n)
		for step := range (n + size - 1) / size {
			from := batchAt(step, n, size)
			for i := from; i < from+size; i++ {
				seen[i]++
			}
		}
		if slices.Contains(seen, 0) {
			t.Errorf("%d rows in batches of %d: a turn takes %v", n, size, seen)
		}
	}
}
