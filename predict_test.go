package valla

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/train/metric"
)

// linear returns what a model without hidden layers predicts, in plain formulas: its
// Jacobian at z is (z, 1), so that κ = σ₀² (z·z' + 1).
func linear(t *testing.T, m *Model, a, b float64) (mean, latent float64) {
	w, bias := m.Net.Params()[0].Floats(), m.Net.Params()[1].Floats()
	in, out := m.Task.Inputs, m.Task.Outputs.(*task.Regression)
	z := []float64{(a - in.Mean[0]) / in.Std[0], (b - in.Mean[1]) / in.Std[1]}
	mean = (w[0]*z[0]+w[1]*z[1]+bias[0])*out.Std[0] + out.Mean[0]
	if m.Posterior == nil {
		return mean, 0
	}
	floats := func(name string) []float64 {
		var v []float64
		switch a := array(t, m, name).Data().(type) {
		case []float64:
			v = a
		case []float32:
			for _, x := range a {
				v = append(v, float64(x))
			}
		}
		return v
	}
	points, packed := floats("valla.z"), floats("valla.l")
	sigma2 := math.Exp(2 * floats("valla.log_prior_std")[0])
	kappa := func(p, q []float64) float64 { return sigma2 * (p[0]*q[0] + p[1]*q[1] + 1) }
	k := len(points) / 2
	kz, l, kxz := mat.NewDense(k, k, nil), mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
	for i, at := 0, 0; i < k; i++ {
		kxz.SetVec(i, kappa(z, points[2*i:2*i+2]))
		for j := range k {
			kz.Set(i, j, kappa(points[2*i:2*i+2], points[2*j:2*j+2]))
			if j <= i {
				l.Set(i, j, packed[at])
				at++
			}
		}
	}
	// Q = κ − k (A⁻¹ + K_z)⁻¹ kᵀ with A = LLᵀ, by explicit inverses.
	var av, inner, u mat.Dense
	av.Mul(l, l.T())
	if err := inner.Inverse(&av); err != nil {
		t.Fatal(err)
	}
	inner.Add(&inner, kz)
	if err := u.Solve(&inner, kxz); err != nil {
		t.Fatal(err)
	}
	q := kappa(z, z) - mat.Dot(kxz, u.ColView(0))
	return mean, q * out.Std[0] * out.Std[0]
}

func TestPredictAgainstFormulas(t *testing.T) {
	x := denseOf([]float64{0, 0, 1, -2, -5, 3.5, 40, 1}, 4, 2)
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-10, tensor.Float32: 2e-4} {
		for _, inducing := range []int{0, 3} {
			m := newTestModel(t, dt, inducing)
			p := predict(t, m, x)
			for i := range 4 {
				mean, latent := linear(t, m, x.Float64s()[2*i], x.Float64s()[2*i+1])
				near(t, "mean", p.Mean[i], mean, tol)
				near(t, "latent variance", p.Latent[i], latent, tol)
				near(t, "variance", p.Variance[i], latent+16*m.NoiseVariance(), tol) // the target's Std² is 16
				near(t, "std", p.Std()[i], math.Sqrt(latent+16*m.NoiseVariance()), tol)
				near(t, "latent std", p.LatentStd()[i], math.Sqrt(latent), math.Sqrt(tol))
			}
			if inducing == 0 && p.Latent[0] != 0 {
				t.Errorf("the MAP network has latent variance %g", p.Latent[0])
			}
		}
	}
}

func TestMAPKeepsMeanAndItsOwnNoise(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 3, 4)
	x := wave(300, 2).X // more than one batch of predictions
	with, without := predict(t, m, x), predict(t, m.MAP(), x)
	for i := range with.Mean {
		near(t, "mean", with.Mean[i], without.Mean[i], 1e-12)
		near(t, "variance", without.Variance[i], 0.25*16, 1e-12)
		if with.Variance[i] <= 0.125*16 {
			t.Errorf("row %d: variance %g is not above the noise", i, with.Variance[i])
		}
	}
}

// Two targets in different units go through the whole chain: training, both methods of
// fitting, files, predictions and scores. The units are checked by hand.
func TestTwoTargets(t *testing.T) {
	set, fresh := twins(200, 1), twins(50, 2)
	for _, dt := range bothTypes {
		o := quickTrain()
		o.Network.Dtype = dt.String()
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []gp.Settings{
			&vallagp.Settings{Inducing: 12, Iterations: 40}, &laplace.Settings{Structure: "kfac"}, &laplace.Settings{Weights: []string{"last-layer"}},
		} {
			f := loaded(t, written(t, fit(t, m, set, FitOptions{Settings: s, Law: "gaussian"})))
			twoTargets(t, f, fresh)
		}
	}
}

func twoTargets(t *testing.T, f *Model, set *data.Set) {
	t.Helper()
	p, r, n := predict(t, f, set.X), f.Task.Outputs.(*task.Regression), set.N()
	if !slices.Equal(p.Targets, []string{"y", "z"}) || p.N() != n || len(p.Mean) != 2*n || len(p.Variance) != 2*n || len(p.Latent) != 2*n {
		t.Fatalf("%v: %d rows of %q", f, p.N(), p.Targets)
	}
	in, err := f.Task.Inputs.Apply(set.X, f.Dtype())
	if err != nil {
		t.Fatal(err)
	}
	g := small.Predict(t, f.Posterior, in)
	y, nll, square := set.Y.Float64s(), 0.0, [2]float64{}
	for i := range n {
		for k := range 2 {
			at, std := 2*i+k, r.Std[k]*r.Noise[k]
			latent := g.Cov[4*i+3*k] // entries 0 and 3 of [2,2] are the diagonal
			near(t, "mean", p.Mean[at], g.Mean[at]*std+r.Mean[k], 1e-12)
			near(t, "latent variance", p.Latent[at], latent*std*std, 1e-12)
			near(t, "variance", p.Variance[at], (latent+f.NoiseVariance())*std*std, 1e-12)
			nll += metric.GaussianNLL(p.Mean[at], p.Variance[at], y[at]) / float64(n)
			square[k] += (p.Mean[at] - y[at]) * (p.Mean[at] - y[at]) / float64(n)
		}
	}
	near(t, "noise std of z in its units", f.NoiseStds()[1], math.Sqrt(f.NoiseVariance())*r.Std[1]*r.Noise[1], 1e-12)
	s, err := f.Evaluate(t.Context(), set, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "NLL", s.NLL(), nll, 1e-9)
	var names []string
	for _, v := range s.List {
		names = append(names, v.Name)
	}
	if !slices.Equal(names, []string{"NLL", "RMSE y", "CRPS y", "CQM y", "RMSE z", "CRPS z", "CQM z"}) {
		t.Errorf("scores %q", names)
	}
	for k, name := range []string{"RMSE y", "RMSE z"} {
		rmse, _ := s.Get(name)
		near(t, name, rmse, math.Sqrt(square[k]), 1e-9)
	}
	// z scatters by 100 around a function of y that reaches −30,000: guessing is off by 5,000.
	if rmse, _ := s.Get("RMSE z"); rmse > 2500 {
		t.Errorf("RMSE of z %g", rmse)
	}
}

// Probabilities follow from the latent Gaussian, by either link.
func TestPredictProbs(t *testing.T) {
	m := fit(t, newTestClasses(t, tensor.Float64, 3), thirds(40, 1), FitOptions{Settings: &laplace.Settings{Structure: "kfac", Hyper: "marglik"}})
	x := wave(20, 4).X
	in, err := m.Task.Inputs.Apply(x, m.Dtype())
	if err != nil {
		t.Fatal(err)
	}
	g := small.Predict(t, m.Posterior, in)
	p := predict(t, m, x)
	if !slices.Equal(p.Probs, gp.Probit(nil, g)) || p.Link != Probit || p.N() != 20 || p.Mean != nil {
		t.Errorf("probabilities %v by %s", p.Probs, p.Link)
	}
	for i, best := range p.Best() {
		for k := range 3 {
			if p.Probs[3*i+k] > p.Probs[3*i+best] {
				t.Errorf("row %d: class %d is more probable than %d", i, k, best)
			}
		}
	}
	mc, err := m.Predict(t.Context(), x, PredictOptions{Link: MonteCarlo, Samples: 4000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range mc.Probs {
		if math.Abs(v-p.Probs[i]) > 0.1 || v == p.Probs[i] {
			t.Errorf("probability %d: %g by samples, %g by probit", i, v, p.Probs[i])
		}
	}
	again, err := m.Predict(t.Context(), x, PredictOptions{Link: MonteCarlo, Samples: 4000, Seed: 1})
	if err != nil || !slices.Equal(again.Probs, mc.Probs) || again.Link != MonteCarlo {
		t.Errorf("another prediction from the same seed, error %v", err)
	}
	for want, o := range map[string]PredictOptions{`link "logit"`: {Link: "logit"}, "samples": {Link: MonteCarlo, Samples: -1}} {
		_, err = m.Predict(t.Context(), x, o)
		if oneLine(t, err, "predict: ", want); !errors.Is(err, ErrSetting) {
			t.Errorf("error %v, want an ErrSetting", err)
		}
	}
}

func TestPredictErrors(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 3, 4)
	_, err := m.Predict(t.Context(), denseOf([]float64{1, 2}, 1, 2), PredictOptions{Link: MonteCarlo})
	if oneLine(t, err, "predict: ", `link "mc" of predictions without classes`); !errors.Is(err, ErrSetting) {
		t.Errorf("error %v, want an ErrSetting", err)
	}
	for _, c := range []struct {
		x    *tensor.Dense
		want []string
	}{
		{denseOf([]float64{1, 2, 3}, 1, 3), []string{"inputs of shape (1, 3), expected [N] examples of shape [2]"}},
		{denseOf([]float64{1, 2}, 2), []string{"inputs of shape (2)"}},
		{denseOf([]float64{1, 2, 3, math.NaN()}, 2, 2), []string{"row 1", `feature "b"`, "found NaN"}},
		{tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]int{1, 2})), []string{"inputs are int, expected float64, float32 or uint8"}},
		{nil, []string{"inputs: expected an array"}},
		{tensor.New(tensor.FromScalar(1.0)), []string{"inputs: expected an array"}},
	} {
		p, err := m.Predict(t.Context(), c.x, PredictOptions{})
		if oneLine(t, err, append(c.want, "predict: ")...); p != nil {
			t.Errorf("a prediction came with the error %v", err)
		}
	}
	x := denseOf([]float64{1, 2, 3, 4}, 2, 2)
	if err := x.T(); err != nil {
		t.Fatal(err)
	}
	_, err = m.Predict(t.Context(), x, PredictOptions{})
	oneLine(t, err, "row-major")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, m := range []*Model{m, m.MAP()} {
		if _, err := m.Predict(ctx, denseOf([]float64{1, 2}, 1, 2), PredictOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: error %v", err)
		}
	}
	m.Net.Params()[0].Set(0, math.MaxFloat64)
	m.Net.Params()[2].Set(0, math.MaxFloat64)
	m.Net.Params()[2].Set(1, math.MaxFloat64)
	_, err = m.MAP().Predict(t.Context(), denseOf([]float64{50, 2}, 1, 2), PredictOptions{})
	oneLine(t, err, "predict: row 0", `target "y"`)
}

// TestRowsOfErrors: an error that the network finds names rows of the whole set, of which the inputs may be a part.
func TestRowsOfErrors(t *testing.T) {
	net := filepath.Join("layers", "onnx", "testdata", "gallery", "embeddings.onnx")
	form, err := Network{Form: net}.Describe(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, features := InputNames(form)
	of := func(n int) *data.Set {
		return &data.Set{Features: features, Targets: []string{"y"}, X: denseOf(make([]float64, 6*n), n, 6), Y: denseOf(make([]float64, n), n, 1)}
	}
	m, err := FromWeights(t.Context(), net, of(20), WeightOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x := of(1500).X
	x.Float64s()[6*1400+4] = 1e6 // there are fewer days
	for first, want := range map[int]string{0: "row 1400 (counting from 0): ", 10_000: "row 11400 (counting from 0): "} {
		_, err = m.Predict(t.Context(), x, PredictOptions{First: first})
		oneLine(t, err, "predict: "+want, "1e+06")
	}
}

// TestWholeInputs: a number that is not whole is an error where the network takes whole numbers, also in a model that was read from a file
// and in single rows, and not where it takes others.
func TestWholeInputs(t *testing.T) {
	net := filepath.Join("layers", "onnx", "testdata", "gallery", "embeddings.onnx")
	form, err := Network{Form: net}.Describe(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, features := InputNames(form)
	set := &data.Set{Features: features, Targets: []string{"y"}, X: denseOf(make([]float64, 6*20), 20, 6), Y: denseOf(make([]float64, 20), 20, 1)}
	m, err := FromWeights(t.Context(), net, set, WeightOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.valla")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Model{m, again} {
		for j, name := range features {
			x := denseOf(make([]float64, 12), 2, 6)
			x.Float64s()[6+j] = 0.4
			_, err := m.Predict(t.Context(), x, PredictOptions{First: 100})
			if whole := name == "day" || name == "shop"; whole != (err != nil) {
				t.Errorf("0.4 of %s: error %v", name, err)
			} else if whole {
				oneLine(t, err, "predict: row 101 (counting from 0), feature "+strconv.Quote(name)+": expected a whole number", "found 0.4")
			}
		}
		p, err := m.Predictor(PredictorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var g gp.Gaussian
		oneLine(t, p.Latent(t.Context(), []float64{0, 0, 0, 0, 0.4, 0}, &g), "expected a whole number", "found 0.4")
	}
}

// TestOnRows: a prediction of many rows reports parts of the rows.
func TestOnRows(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 3, 4)
	set := wave(1000*runtime.GOMAXPROCS(0), 3)
	var w watched
	p, err := m.Predict(t.Context(), set.X, PredictOptions{OnRows: w.rows})
	if err != nil {
		t.Fatal(err)
	}
	if w.complete(t); w.times != 2 || w.total != set.N() || p.N() != set.N() {
		t.Errorf("told %d times, of %d rows", w.times, w.total)
	}
}

func TestEvaluate(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 3, 4), wave(30, 3)
	got, err := m.Evaluate(t.Context(), set, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, nll := predict(t, m, set.X), 0.0
	for i, y := range set.Y.Float64s() {
		nll += metric.GaussianNLL(p.Mean[i], p.Variance[i], y) / 30
	}
	near(t, "NLL", got.NLL(), nll, 1e-12)
	if got.N != 30 || len(got.Coverage) != 9 {
		t.Errorf("%d rows, coverage %v", got.N, got.Coverage)
	}
	swapped := *set
	swapped.Features = []string{"b", "a"}
	_, err = m.Evaluate(t.Context(), &swapped, PredictOptions{})
	oneLine(t, err, `evaluate: expected the features ["a" "b"], found ["b" "a"]`)
	_, err = newTestClasses(t, tensor.Float64, 3).Evaluate(t.Context(), set, PredictOptions{})
	oneLine(t, err, "evaluate: row 0", `target "y": `, "none of the 3 classes")
	short := *set
	short.Y = denseOf([]float64{1, 2}, 2, 1)
	_, err = m.Evaluate(t.Context(), &short, PredictOptions{})
	oneLine(t, err, "evaluate: 30 inputs and 2 targets, expected as many of each")
	short.X = denseOf([]float64{1, 2}, 2, 1)
	_, err = m.Evaluate(t.Context(), &short, PredictOptions{})
	oneLine(t, err, "evaluate: ", "inputs of shape")
}
