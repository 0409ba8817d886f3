package internal_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/figure"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// outliers is a problem with Student's t: each tenth target is far from the outputs of the network.
func outliers(t *testing.T) gp.Problem {
	t.Helper()
	const n = 40
	rng := rand.New(rand.NewPCG(1, 1))
	net := layers.Sequential{layers.NewDense("a", 1, 6, tensor.Float64, rng), layers.Activation("tanh"), layers.NewDense("b", 6, 1, tensor.Float64, rng)}
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 2*rng.Float64() - 1
		e := 0.2 * rng.NormFloat64()
		if i%10 == 0 {
			e *= 30
		}
		y[i] = e + 0.3*math.Sin(3*x[i])
	}
	b := graph.NewBuilder(tensor.Float64)
	out := net.Forward(b, b.Const("x", x, n, 1))
	p, err := graph.Compile(b, []*graph.Node{out}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range graph.Floats(p.Value(out)) {
		y[i] += v
	}
	return gp.Problem{Net: net, Train: gp.Examples{X: dense.Of(x, n, 1), Y: dense.Of(y, n, 1)}}
}

// approach returns the objective for each row before each step of a fit to all rows from a start of Student's t.
func approach(t *testing.T, s valla.Settings, nu, scale float64) figure.Series {
	t.Helper()
	p := outliers(t)
	p.Likelihood = likelihood.Each(likelihood.NewStudentT(nu, scale, false, tensor.Float64))
	s.Inducing, s.BatchSize, s.FixPrior, s.FixInducing, s.KeepLast, s.Schedule = 6, p.Train.N(), true, true, true, "cosine"
	curve := figure.Series{Name: map[string]string{"": "natural gradients", "adam": "Adam"}[s.Optimizer]}
	_, err := s.Fit(t.Context(), p, gp.Run{Seed: 1, OnProgress: func(at train.Progress) {
		curve.X, curve.Y = append(curve.X, float64(at.Done)), append(curve.Y, at.Loss/float64(p.Train.N()))
	}})
	if err != nil {
		t.Fatal(err)
	}
	return curve
}

// fallen returns the last value of a curve.
func fallen(s figure.Series) float64 { return s.Y[len(s.Y)-1] }

// starts are Student's t near the targets, and far from them.
var starts = []struct {
	name      string
	nu, scale float64
}{{"usual start", 4, 0.3}, {"scale 100 times too large", 2.1, 30}, {"scale 100 times too small", 2.1, 0.003}}

// TestNaturalStudentT: natural gradients with Student's t, which is not log-concave, fall to the same objective from every
// start, which is Adam's. With known noise 80 steps end where 200 end. With -update the test also draws the picture of
// docs/likelihoods.md.
func TestNaturalStudentT(t *testing.T) {
	var charts []figure.Chart
	var end float64 // of Adam from the usual start
	for i, at := range starts {
		learned := []figure.Series{approach(t, valla.Settings{Iterations: 400, LearningRate: 0.05}, at.nu, at.scale)}
		if i == 0 || *update || fixture.Long() {
			adam := approach(t, valla.Settings{Optimizer: "adam", Iterations: 1200, LearningRate: 0.05}, at.nu, at.scale)
			learned, end = append(learned, adam), cmp.Or(end, fallen(adam))
		}
		charts = append(charts, figure.Curves(figure.Axes{Title: at.name, X: "step", Y: "objective for each row", LogX: true}, learned))
		for _, c := range learned {
			if miss, fall := math.Abs(fallen(c)-end), c.Y[0]-end; !(fall > 0.5) || !(miss <= 0.01*fall+0.005) {
				t.Errorf("%s, %s: the objective falls from %.4f to %.4f, expected %.4f", at.name, c.Name, c.Y[0], fallen(c), end)
			}
		}
		known := valla.Settings{Iterations: 80, FixNoise: true}
		short := fallen(approach(t, known, at.nu, at.scale))
		known.Iterations = 200
		if long := fallen(approach(t, known, at.nu, at.scale)); !(math.Abs(short-long) < 1e-3) {
			t.Errorf("%s, known noise: the objective ends at %.5f after 80 steps and at %.5f after 200", at.name, short, long)
		}
	}
	if *update {
		if err := figure.SavePNG("../docs/natural.png", charts...); err != nil {
			t.Fatal(err)
		}
	}
}
