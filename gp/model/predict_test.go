package model

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/train/metric"
)

// linear returns what a model without hidden layers predicts, in plain formulas: its
// Jacobian at z is (z, 1), so that κ = σ₀² (z·z' + 1).
func linear(m *Model, a, b float64) (mean, latent float64) {
	w, bias := m.Net.Params()[0].Floats(), m.Net.Params()[1].Floats()
	z := []float64{(a - m.Inputs.Mean[0]) / m.Inputs.Std[0], (b - m.Inputs.Mean[1]) / m.Inputs.Std[1]}
	mean = (w[0]*z[0]+w[1]*z[1]+bias[0])*m.Targets.Std[0] + m.Targets.Mean[0]
	if m.Posterior == nil {
		return mean, 0
	}
	sigma2 := layerOf(m).PriorStd() * layerOf(m).PriorStd()
	kappa := func(p, q []float64) float64 { return sigma2 * (p[0]*q[0] + p[1]*q[1] + 1) }
	k := layerOf(m).Inducing()
	points, packed := layerOf(m).Z.Floats(), layerOf(m).L.Floats()
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
		panic(err)
	}
	inner.Add(&inner, kz)
	if err := u.Solve(&inner, kxz); err != nil {
		panic(err)
	}
	q := kappa(z, z) - mat.Dot(kxz, u.ColView(0))
	return mean, q * m.Targets.Std[0] * m.Targets.Std[0]
}

func TestPredictAgainstFormulas(t *testing.T) {
	x := matrix([]float64{0, 0, 1, -2, -5, 3.5, 40, 1}, 4, 2)
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-10, tensor.Float32: 2e-4} {
		for _, inducing := range []int{0, 3} {
			m := newTestModel(t, dt, inducing)
			p := predict(t, m, x)
			for i := range 4 {
				mean, latent := linear(m, x.Float64s()[2*i], x.Float64s()[2*i+1])
				near(t, "mean", p.Mean[i], mean, tol)
				near(t, "latent variance", p.Latent[i], latent, tol)
				near(t, "variance", p.Variance[i], latent+16*m.Noise, tol) // Targets.Std² = 16
				near(t, "std", p.Std()[i], math.Sqrt(latent+16*m.Noise), tol)
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
	if m.Posterior == nil {
		t.Error("MAP changed its receiver")
	}
}

func TestInterval(t *testing.T) {
	p := &Prediction{Mean: []float64{1}, Variance: []float64{4}}
	lower, upper, err := p.Interval(0.95)
	if err != nil {
		t.Fatal(err)
	}
	const z = 1.959963984540054 // Φ⁻¹(0.975), any table of the normal distribution
	near(t, "lower", lower[0], 1-2*z, 1e-12)
	near(t, "upper", upper[0], 1+2*z, 1e-12)
	for _, level := range []float64{0, 1, -1, 2, math.NaN()} {
		if _, _, err := p.Interval(level); !errors.Is(err, ErrOption) {
			t.Errorf("level %g: error %v", level, err)
		}
	}
}

func TestPredictErrors(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 3, 4)
	_, err := m.Predict(context.Background(), matrix([]float64{1, 2, 3}, 1, 3))
	oneLine(t, err, "expected 2 columns, found 3")
	_, err = m.Predict(context.Background(), matrix([]float64{1, 2, 3, math.NaN()}, 2, 2))
	oneLine(t, err, "row 1", `feature "b"`, "found NaN")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, m := range []*Model{m, m.MAP()} {
		if _, err := m.Predict(ctx, matrix([]float64{1, 2}, 1, 2)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: error %v", err)
		}
	}
}

func TestEvaluate(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 3, 4), wave(30, 3)
	got, err := m.Evaluate(context.Background(), set)
	if err != nil {
		t.Fatal(err)
	}
	p, nll := predict(t, m, set.X), 0.0
	for i, y := range set.Y.Float64s() {
		nll += metric.GaussianNLL(p.Mean[i], p.Variance[i], y) / 30
	}
	near(t, "NLL", got.NLL, nll, 1e-12)
	set.Features = []string{"b", "a"}
	_, err = m.Evaluate(context.Background(), set)
	oneLine(t, err, `expected the features "a", "b", found "b", "a"`)
}
