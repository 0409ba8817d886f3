package valla

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
)

// mapped returns the set with f of each target.
func mapped(set *data.Set, f func(float64) float64) *data.Set {
	out, y := *set, graph.Floats(set.Y)
	for i, v := range y {
		y[i] = f(v)
	}
	out.Y = denseOf(y, set.Y.Shape()...)
	return &out
}

// sales returns n rows of a lognormal target with the standard deviation 0.5 of its logarithm, and the mean negative log
// density of the targets under the distribution from which they are drawn.
func sales(n int, seed uint64) (*data.Set, float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y, nll := make([]float64, n), make([]float64, n), 0.0
	for i := range y {
		x[i] = 4*rng.Float64() - 2
		z := rng.NormFloat64()
		y[i] = math.Exp(3 + math.Sin(2*x[i]) + 0.5*z)
		nll += (0.5*z*z + math.Log(0.5*math.Sqrt(2*math.Pi)) + math.Log(y[i])) / float64(n)
	}
	return &data.Set{Features: []string{"x"}, Targets: []string{"sales"}, X: denseOf(x, n, 1), Y: denseOf(y, n, 1)}, nll
}

// salesModel returns a model of sales with a posterior.
func salesModel(t testing.TB, set *data.Set, transform string, s gp.Settings, law string) *Model {
	t.Helper()
	o := quickTrain()
	o.TargetTransform, o.Training.Iterations = transform, 1500
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return fit(t, m, set, FitOptions{Settings: s, Law: law})
}

// TestTargetTransform: a model of log y is a model of the logarithms whose quantiles, intervals, draws and scores are in
// the units of y, through files and calibrations.
func TestTargetTransform(t *testing.T) {
	set, _ := sales(300, 1)
	logs := mapped(set, math.Log)
	m, twin := salesModel(t, set, task.Log, &laplace.Settings{}, law.Gaussian), salesModel(t, logs, "", &laplace.Settings{}, law.Gaussian)
	fresh, _ := sales(200, 2)
	freshLogs := mapped(fresh, math.Log)
	slope := kernel.Mean(freshLogs.Y.Float64s())
	modelled{}.throughFile(t, m, fresh)
	for _, method := range []string{"", CalibrateTemperature, CalibrateConformal} {
		if method != "" {
			var err, other error
			m, err = m.Calibrate(t.Context(), fresh, CalibrateOptions{Method: method})
			twin, other = twin.Calibrate(t.Context(), freshLogs, CalibrateOptions{Method: method})
			if err != nil || other != nil {
				t.Fatal(err, other)
			}
		}
		p, q := predict(t, m, fresh.X), predict(t, twin, fresh.X)
		a, b, err := p.Interval(0.9)
		c, d, other := q.Interval(0.9)
		if err != nil || other != nil {
			t.Fatal(err, other)
		}
		for i := range a {
			near(t, method+" lower bound", math.Log(a[i]), c[i], 1e-12)
			near(t, method+" upper bound", math.Log(b[i]), d[i], 1e-12)
			near(t, method+" quantile", math.Log(p.Quantiles(0.3)[i]), q.Quantiles(0.3)[i], 1e-12)
			near(t, method+" mean", math.Log(p.Mean[i]), q.Mean[i]+0.5*q.Variance[i], 1e-12)
			near(t, method+" parts", p.Epistemic[i]+p.Aleatoric[i], p.Variance[i], 1e-12)
		}
		near(t, method+" NLL", evaluated(t, m, fresh), evaluated(t, twin, freshLogs)+slope, 1e-12)
	}
	for _, noise := range []bool{false, true} {
		o := SampleOptions{Samples: 2, Seed: 3, Noise: noise}
		drawn, err := m.Sample(t.Context(), fresh.X, o)
		of, other := twin.Sample(t.Context(), fresh.X, o)
		if err != nil || other != nil {
			t.Fatal(err, other)
		}
		for i, v := range drawn.Float64s() {
			near(t, "draw", math.Log(v), of.Float64s()[i], 1e-9)
		}
	}
}

// evaluated returns the NLL of a model on a set.
func evaluated(t testing.TB, m *Model, set *data.Set) float64 {
	t.Helper()
	return modelled{}.nll(t, m, set)
}

// TestTargetTransformTruth: on a lognormal target the NLL on fresh rows is nearly that of the true distribution, far
// below the NLL without a transform. The verdict has the numbers of an evaluation, and a refused law changes nothing.
func TestTargetTransformTruth(t *testing.T) {
	set, _ := sales(2000, 1)
	fresh, truth := sales(1000, 2)
	m := salesModel(t, set, task.Log, &laplace.Settings{}, "")
	if nll := evaluated(t, m, fresh); math.Abs(nll-truth) > 0.03 || m.Laws != nil {
		t.Errorf("NLL %g, that of the true distribution is %g; laws %v", nll, truth, m.Laws)
	}
	if nll := evaluated(t, salesModel(t, set, "", &laplace.Settings{}, ""), fresh); nll < truth+0.1 {
		t.Errorf("NLL %g without the transform", nll)
	}
	f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{}, Judge: fresh})
	v := f.History[1].Verdict
	near(t, "NLL of the verdict", v.NLL, evaluated(t, m, fresh), 1e-12)
	near(t, "NLL of the network in the verdict", v.MAPNLL, evaluated(t, f.Alone(), fresh), 1e-12)
	p := predict(t, m, fresh.X)
	square, truly := 0.0, 0.0 // squared errors of the mean, and of the true mean
	for i, y := range fresh.Y.Float64s() {
		mean := math.Exp(3 + math.Sin(2*fresh.X.Float64s()[i]) + 0.125)
		square, truly = square+(y-p.Mean[i])*(y-p.Mean[i]), truly+(y-mean)*(y-mean)
	}
	if math.Abs(square/truly-1) > 0.1 {
		t.Errorf("the squared error is %g times that of the true mean", square/truly)
	}
}

// transformedProblems are models of real numbers with target transforms.
var transformedProblems = []struct {
	transform string
	modelled
}{
	{task.Log, modelled{name: "student-t", settings: []string{"nu=3"}, columns: []string{"y"}, draw: func(x float64, rng *rand.Rand) []float64 {
		return []float64{math.Exp(x + rng.NormFloat64())}
	}}},
	{task.Log1p, modelled{name: "mixture", columns: []string{"y", "z"}, draw: func(x float64, rng *rand.Rand) []float64 {
		return []float64{math.Expm1(x + 0.3*rng.NormFloat64()), 100 * math.Exp(0.5*rng.NormFloat64())}
	}}},
	{task.YeoJohnson, modelled{name: "gaussian", columns: []string{"y", "z"}, draw: func(x float64, rng *rand.Rand) []float64 {
		return []float64{math.Sinh(x + rng.NormFloat64()), math.Exp(2 + rng.NormFloat64())}
	}}},
	{task.Log, modelled{name: "censored", columns: []string{"from", "to"}, draw: func(x float64, rng *rand.Rand) []float64 {
		y := math.Exp(x + 0.5*rng.NormFloat64())
		if y > 2 {
			return []float64{2, likelihood.Open}
		}
		return []float64{y, y}
	}}},
	{task.YeoJohnson, modelled{name: "heteroscedastic", columns: []string{"y", "h"}, draw: func(x float64, rng *rand.Rand) []float64 {
		h := rng.NormFloat64()
		return []float64{math.Exp(x + 0.2*math.Exp(h)*rng.NormFloat64()), h}
	}}},
}

// TestTargetTransformModels: every model of real numbers takes a transform, with several targets too, in both element
// types. The posterior comes through a file unchanged.
func TestTargetTransformModels(t *testing.T) {
	for i, p := range transformedProblems {
		set, fresh := p.set(80, 1), p.set(15, 2)
		o := p.options(t, []string{"float64", "float32"}[i%2])
		o.TargetTransform, o.Training.Iterations = p.transform, 100
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatalf("%s, %s: %v", p.name, p.transform, err)
		}
		f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 0.5}})
		p.throughFile(t, f, fresh)
		got := predict(t, f, fresh.X)
		for k, v := range got.Variance {
			if heavy := p.name == "student-t"; math.IsInf(v, 1) != heavy || got.Mean[k]-got.Mean[k] != 0 || got.Latent[k]-got.Latent[k] != 0 || got.Epistemic[k]-got.Epistemic[k] != 0 {
				t.Fatalf("%s, %s: mean %g, variance %g, parts %g, %g, %g", p.name, p.transform, got.Mean[k], v, got.Latent[k], got.Epistemic[k], got.Aleatoric[k])
			}
		}
		if n := got.Medians(); n != 0 && (n != got.N() || p.name != "student-t" || got.Mean[0] != got.Quantiles(0.5)[0]) || n == 0 && p.name == "student-t" {
			t.Errorf("%s, %s: %d means are medians", p.name, p.transform, n)
		}
		notes := strings.Join(f.History[1].Notes, " ")
		if strings.Contains(notes, "no mean") != (p.name == "student-t") {
			t.Errorf("%s, %s: notes %q", p.name, p.transform, notes)
		}
	}
}

// TestTargetTransformRefusals: classes, counts, unknown transforms, and targets that a transform does not take are errors
// of one line, which names the row of the set.
func TestTargetTransformRefusals(t *testing.T) {
	set, _ := sales(60, 1)
	train := func(transform string, change func(o *TrainOptions)) error {
		o := quickTrain()
		o.TargetTransform = transform
		if change != nil {
			change(&o)
		}
		_, err := Train(t.Context(), set, o)
		return err
	}
	oneLine(t, train("sqrt", nil), `target transform "sqrt", expected log, log1p, yeo-johnson`)
	oneLine(t, train(task.Log, func(o *TrainOptions) { o.Classes = true }), `target transform "log" of classes, expected targets that are real numbers`)
	counts := modelledProblems[0]
	_, err := Train(t.Context(), counts.set(60, 1), func() TrainOptions { o := counts.options(t, "float64"); o.TargetTransform = task.Log1p; return o }())
	oneLine(t, err, `target transform "log1p" of counts of the likelihood poisson, expected targets that are real numbers`)
	m := salesModel(t, set, task.Log, &laplace.Settings{}, "")
	for _, bad := range []float64{0, -3, math.NaN()} {
		set.Y.Float64s()[17] = bad
		want := []string{`row 17 (counting from 0), target "sales": expected a number above 0 for the target transform log, found`}
		if bad == bad {
			oneLine(t, train(task.Log, nil), want...)
		}
		_, err = m.MAP().Fit(t.Context(), set, FitOptions{Settings: &laplace.Settings{}})
		oneLine(t, err, want...)
		_, err = m.Evaluate(t.Context(), set, PredictOptions{})
		oneLine(t, err, want...)
		_, err = m.Calibrate(t.Context(), set, CalibrateOptions{Method: CalibrateConformal})
		oneLine(t, err, want...)
	}
	set.Y.Float64s()[17] = -1
	oneLine(t, train(task.Log1p, nil), "expected a number above -1 for the target transform log1p, found -1")
	r := m.Task.Outputs.(*task.Regression)
	for _, wrong := range [][]task.Transform{{}, {{Name: "sqrt"}}, {{Name: task.Log, Exponent: 1}}, {{Name: task.YeoJohnson, Exponent: 2.1}}, {{Name: task.Log}, {Name: task.Log}}} {
		own := *r
		own.Transforms = wrong
		broken := *m
		broken.Task.Outputs = &own
		if err := broken.Save(t.TempDir() + "/m.valla"); err == nil {
			t.Errorf("the transforms %v were written", wrong)
		}
	}
}

// TestTargetTransformElsewhere: weights that were trained elsewhere on the logarithms make the same predictions as a model
// that was trained here.
func TestTargetTransformElsewhere(t *testing.T) {
	set, _ := sales(60, 1)
	o := quickTrain()
	o.TargetTransform, o.Training.Validation = task.Log, new(0.0)
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/net.npz"
	if err := layers.Save(path, m.Net); err != nil {
		t.Fatal(err)
	}
	other, err := FromWeights(t.Context(), path, set, WeightOptions{Network: Network{Activation: "tanh"}, Standardize: true, TargetTransform: task.Log})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(numbers(predict(t, m, set.X)), numbers(predict(t, other, set.X))) {
		t.Error("other predictions")
	}
}

// TestTailNotes: a training names long tails of a target and the transform that shortens them, and is silent about other
// targets. An outlier in a hundred rows is no tail.
func TestTailNotes(t *testing.T) {
	set, _ := sales(400, 1)
	for name, c := range map[string]struct {
		f    func(z float64) float64 // target of a standard Gaussian
		want string                  // part of the note; "" for none
	}{
		"Gaussian":      {func(z float64) float64 { return 5 + z }, ""},
		"exponential":   {func(z float64) float64 { return -math.Log(0.5 * math.Erfc(z/math.Sqrt2)) }, ""},
		"outlier":       {func(z float64) float64 { return z + 1e6*math.Floor(math.Abs(z)/2.9) }, ""},
		"constant":      {func(float64) float64 { return 3 }, ""},
		"lognormal":     {func(z float64) float64 { return math.Exp(1.4 * z) }, `The target "sales" has a long tail`},
		"with 0":        {func(z float64) float64 { return math.Max(0, math.Exp(1.5*z)-0.01) }, "try target-transform=log1p or likelihood=student-t"},
		"below 0":       {func(z float64) float64 { return math.Exp(2*z) - 20 }, "try target-transform=yeo-johnson or likelihood=student-t"},
		"two-sided":     {func(z float64) float64 { return z * z * z * z * z }, "try likelihood=student-t"},
		"log lognormal": {func(z float64) float64 { return math.Exp(1.4 * z) }, "try target-transform=log or likelihood=student-t"},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		own := mapped(set, func(float64) float64 { return c.f(rng.NormFloat64()) })
		m := &Model{Task: task.Task{Outputs: &task.Regression{Names: own.Targets, NoiseVariance: 1}}}
		notes := strings.Join(m.tailNotes(own), "\n")
		if (notes == "") != (c.want == "") || !strings.Contains(notes, c.want) || strings.Contains(notes, "\n") {
			t.Errorf("%s: notes %q, want %q", name, notes, c.want)
		}
		m.Task.Outputs = &task.Regression{Names: own.Targets, NoiseVariance: 1, Transforms: []task.Transform{{Name: task.Log1p}}}
		if notes := m.tailNotes(own); notes != nil {
			t.Errorf("%s: notes %q on a transformed target", name, notes)
		}
	}
}

// revenue returns n rows with a median of 129 and a heavy tail.
func revenue(n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 5))
	x, y := make([]float64, 2*n), make([]float64, n)
	for i := range y {
		a, b := 2*rng.Float64()-1, 2*rng.Float64()-1
		x[2*i], x[2*i+1] = a, b
		y[i] = 129 * math.Exp(0.9*math.Sin(2*a)+0.6*a*b+1.4*rng.NormFloat64())
	}
	return &data.Set{Features: []string{"a", "b"}, Targets: []string{"revenue"}, X: denseOf(x, n, 2), Y: denseOf(y, n, 1)}
}

// TestRevenue: the training names the tail of a revenue. With the transform that it names, fresh rows confirm the verdict,
// and the NLL falls by more than one nat in comparison with Gaussian noise of the revenue itself.
func TestRevenue(t *testing.T) {
	set, fresh := revenue(800, 1), revenue(2000, 2)
	plain := salesModel(t, set, "", &laplace.Settings{}, law.Gaussian)
	if notes := strings.Join(plain.History[0].Notes, " "); !strings.Contains(notes, `The target "revenue" has a long tail`) || !strings.Contains(notes, "target-transform=log") {
		t.Errorf("notes %q", notes)
	}
	m := salesModel(t, set, task.Log, &laplace.Settings{}, "")
	v := m.History[1].Verdict
	nll, before := evaluated(t, m, fresh), evaluated(t, m.MAP(), fresh)
	if math.Abs((nll-before)-(v.NLL-v.MAPNLL)) > 3*v.StandardError+0.01 || math.Abs(nll-v.NLL) > 0.4 || !(evaluated(t, plain, fresh) > nll+1) {
		t.Errorf("verdict %v; on fresh rows %g instead of %g, without the transform %g", v, nll, before, evaluated(t, plain, fresh))
	}
	s, err := m.Evaluate(t.Context(), fresh, PredictOptions{})
	if cqm, ok := s.Get("CQM"); err != nil || !ok || cqm > 0.03 {
		t.Errorf("CQM %g, error %v", cqm, err)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

// transformedModels are models with transforms for single rows.
func transformedModels(t testing.TB) map[string]*Model {
	t.Helper()
	set, _ := sales(300, 1)
	s := &vallagp.Settings{Inducing: 12, Iterations: 5}
	all := map[string]*Model{"none": salesModel(t, set, "", s, law.Gaussian)}
	for _, name := range task.Transforms() {
		all[name] = salesModel(t, set, name, s, law.Gaussian)
	}
	mixed := *all[task.Log]
	mixed.Laws = []law.Law{{Family: law.Mixture, Weights: []float64{0.5, 0.5}, Shifts: []float64{-0.2, 0.2}, Scales: []float64{0.5, 1.2}}}
	mixed.Laws[0] = mixed.Laws[0].Remembering()
	all["log with a mixture"] = &mixed
	return all
}

// TestTargetTransformPredictor: a row of a Predictor with its interval has the bits of the row among others, and allocates
// nothing.
func TestTargetTransformPredictor(t *testing.T) {
	set, _ := sales(20, 2)
	for name, m := range transformedModels(t) {
		p, err := m.Predictor(PredictorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out Prediction
		var lower, upper []float64
		row := func(i int) {
			if err = p.Predict(t.Context(), set.X.Float64s()[i:i+1], &out); err == nil {
				lower, upper, err = out.AppendInterval(lower[:0], upper[:0], 0.9)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		all := predict(t, m, set.X)
		low, high, err := all.Interval(0.9)
		for i := range 20 {
			if row(i); err != nil || out.Mean[0] != all.Mean[i] || out.Variance[0] != all.Variance[i] || lower[0] != low[i] || upper[0] != high[i] {
				t.Errorf("%s: row %d has other bits alone, error %v", name, i, err)
			}
		}
		if n := testing.AllocsPerRun(50, func() { row(7) }); n > 0 {
			t.Errorf("%s: %g allocations for a row", name, n)
		}
	}
}

// BenchmarkTransform measures a row with mean, standard deviation and interval.
func BenchmarkTransform(b *testing.B) { benchmarkIntervals(b, transformedModels(b)) }
