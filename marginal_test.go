package valla

import (
	"fmt"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
)

// TestCostlyClasses: probabilities of many classes come from variances alone. They are those of covariances, up to rounding,
// for the network alone, for methods, and with a temperature; a Predictor has the same bits, and [Predictor.Latent] covariances.
func TestCostlyClasses(t *testing.T) {
	const classes = gp.CostlyClasses + 5
	set := &data.Set{Features: []string{"a", "b"}, Targets: []string{"k"}, X: denseOf(make([]float64, 8*classes), 4*classes, 2), Y: denseOf(make([]float64, 4*classes), 4*classes, 1)}
	for i := range 4 * classes {
		set.Y.Float64s()[i] = float64(i % classes)
		set.X.Float64s()[2*i], set.X.Float64s()[2*i+1] = float64(i%classes%11)/5+float64(i)/classes/10, float64(i%classes/11)/5
	}
	net, err := Train(t.Context(), set, TrainOptions{Classes: true, Network: Network{Hidden: []int{8}}, Training: Training{Iterations: 50}})
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]*Model{"network": net, "temperature": calibrated(t, net, set, "temperature")}
	for _, name := range []string{"lla", "fmgp", "ella"} {
		m, err := method.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		models[name] = fit(t, net, set, FitOptions{Settings: quickSettings(t, m)})
	}
	for name, m := range models {
		t.Run(name, func(t *testing.T) { checkCostly(t, m, set.Rows([]int{0, 7, 200}).X) })
	}
}

// checkCostly compares predictions of a model of many classes at x [3,…] with the probabilities of its covariances.
func checkCostly(t *testing.T, m *Model, x *tensor.Dense) {
	g, err := m.Latent(t.Context(), x)
	if err != nil || g.Marginal > 0 || g.N() != 3 {
		t.Fatalf("%d inputs, error %v", g.N(), err)
	}
	p := predict(t, m, x)
	for i, want := range gp.Probit(nil, g) {
		near(t, fmt.Sprint("probability ", i), p.Probs[i], want, 1e-9)
	}
	of, err := m.Predictor(PredictorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got Prediction
	var latent gp.Gaussian
	if err := of.Predict(t.Context(), x.Float64s(), &got); err != nil || !slices.Equal(got.Probs, p.Probs) {
		t.Errorf("a predictor has other probabilities, error %v", err)
	}
	if err := of.Latent(t.Context(), x.Float64s(), &latent); err != nil || !slices.Equal(latent.Cov, g.Cov) {
		t.Errorf("a predictor has %d other covariances, error %v", len(latent.Cov), err)
	}
	by := PredictOptions{Link: MonteCarlo, Samples: 10}
	if _, err := m.Predict(t.Context(), x, by); err != nil {
		t.Error(fmt.Errorf("by samples: %w", err))
	}
}
