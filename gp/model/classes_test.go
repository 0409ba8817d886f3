package model

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
)

func trainClasses(t testing.TB) (*Model, *data.Set) {
	t.Helper()
	set, o := thirds(200, 1), quickTrain()
	o.Classes = true
	m, _, err := Train(t.Context(), o, set)
	if err != nil {
		t.Fatal(err)
	}
	return m, set
}

// A network learns the three thirds, and every posterior keeps its accuracy about and
// comes back from its file.
func TestClasses(t *testing.T) {
	m, _ := trainClasses(t)
	if !slices.Equal(m.Classes, []float64{1, 2, 4}) || m.Network.Outputs != 3 || m.NoiseStd() != 0 {
		t.Errorf("classes %v, network %+v", m.Classes, m.Network)
	}
	fresh := thirds(200, 2)
	vallaFit, _, err := Fit(t.Context(), m, thirds(200, 1), quickFit())
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*Model{
		"MAP": m, "VaLLA": vallaFit,
		"KFAC": fitLLA(t, m, LLAOptions{Hyper: MarginalLikelihood, Structure: laplace.KFAC}),
		"grid": fitLLA(t, m, LLAOptions{Hyper: GridSearch, Structure: laplace.Diagonal, Validation: 0.1}),
	} {
		for _, link := range []Link{Probit, MonteCarlo} {
			s, err := f.EvaluateClasses(t.Context(), fresh, link)
			if err != nil {
				t.Fatal(err)
			}
			// The thirds of other data lie a little elsewhere. Guessing gives 1/3 and log 3 = 1.1.
			if s.ACC < 0.75 || s.NLL > 0.6 || s.N != 200 {
				t.Errorf("%s, %s: %+v", name, link, s)
			}
		}
		again, err := Load(saved(t, f))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(latent(t, again, fresh.X), latent(t, f, fresh.X)) {
			t.Errorf("%s: the loaded model predicts other numbers", name)
		}
	}
	if c := layerOf(vallaFit).Class; !slices.Equal(c, []int{0, 0, 0, 1, 1, 1, 2, 2}) {
		t.Errorf("classes of the inducing points %v", c)
	}
}

// Probabilities are those of the latent Gaussian, named as in the file.
func TestPredictProbs(t *testing.T) {
	m, x := everyPosterior(t, tensor.Float64)["classes, LLA kfac"], wave(20, 4).X
	g, err := m.latent(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.PredictProbs(t.Context(), x, Probit)
	if err != nil || !slices.Equal(p.P, gp.ProbitProbs(g).Float64s()) {
		t.Errorf("probit: %v", err)
	}
	for i, best := range p.Best() {
		for k := range 3 {
			if p.P[3*i+k] > p.P[3*i+best] {
				t.Errorf("row %d: class %d is more probable than %d", i, k, best)
			}
		}
	}
	mc, err := m.PredictProbs(t.Context(), x, MonteCarlo)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range mc.P {
		if math.Abs(v-p.P[i]) > 0.1 || v == p.P[i] {
			t.Errorf("probability %d: %g by samples, %g by probit", i, v, p.P[i])
		}
	}
	_, err = m.PredictProbs(t.Context(), x, "logit")
	oneLine(t, err, `link "logit"`)
	if !errors.Is(err, ErrOption) {
		t.Errorf("error %v, want an ErrOption", err)
	}
	if name := ClassName(4); name != "4" || ClassName(0.5) != "0.5" {
		t.Errorf("name %q", name)
	}
}

func TestClassErrors(t *testing.T) {
	m, x := newTestClasses(t, tensor.Float64, 3), wave(5, 1)
	_, err := m.Predict(t.Context(), x.X)
	oneLine(t, err, `the target "y" has classes`)
	_, err = m.EvaluateClasses(t.Context(), x, Probit)
	oneLine(t, err, "row 0", `the target "y" is`, "none of the 3 classes")
	_, err = newTestModel(t, tensor.Float64, 0).PredictProbs(t.Context(), x.X, Probit)
	oneLine(t, err, `the target "y" has no classes`)
	o := quickTrain()
	o.Classes = true
	_, _, err = Train(t.Context(), o, &data.Set{Features: x.Features, Target: "y", X: x.X, Y: matrix(make([]float64, 5), 5, 1)})
	oneLine(t, err, `the target "y" has 1 different values, expected 2 to 1000 classes`)
	for want, spoil := range map[string]func(*Model){
		"4 classes":             func(m *Model) { m.Classes = []float64{1, 2, 4, 5} },
		"ascending":             func(m *Model) { m.Classes = []float64{1, 4, 2} },
		"of classes, expected":  func(m *Model) { m.Noise = 1 },
		"a scaling of classes":  func(m *Model) { m.Targets = identity(1) },
		"3 outputs, expected 1": func(m *Model) { m.Classes = nil },
	} {
		c := *m
		spoil(&c)
		if want == "4 classes" {
			want = "3 outputs, expected 4"
		}
		oneLine(t, c.checkAll(), want)
	}
	for want, spoil := range map[string]func(*FitOptions){
		"which have none":      func(o *FitOptions) { o.NoiseStd = 1 },
		"alpha 0 with classes": func(o *FitOptions) { o.Alpha = 0 },
	} {
		o := quickFit()
		spoil(&o)
		_, _, err := Fit(t.Context(), m, thirds(30, 1), o)
		oneLine(t, err, want)
	}
}
