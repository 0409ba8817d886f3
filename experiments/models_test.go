package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// modelTable is a made table whose targets have an observation model.
type modelTable struct {
	likelihood string
	about      string                                               // what the target is
	target     func(r *rand.Rand, f float64, x []float64) []float64 // target of a row with the function f and the inputs x
}

// modelTables are the tables of the comparison of observation models.
var modelTables = []modelTable{
	{"poisson", "a count with the mean exp(0.8 + f)", func(r *rand.Rand, f float64, _ []float64) []float64 {
		return []float64{poissonCount(r, math.Exp(0.8+f))}
	}},
	{"bernoulli", "two labels with the logits 2f and b − 1.5 f", func(r *rand.Rand, f float64, x []float64) []float64 {
		return []float64{label(r, 2*f), label(r, x[1]-1.5*f)}
	}},
	{"ordinal", "1.5 f + 0.7 times logistic noise, in five classes", func(r *rand.Rand, f float64, _ []float64) []float64 {
		return []float64{math.Floor(min(max(1.5*f+0.7*logistic(r)+2.5, 0), 4))}
	}},
	{"censored", "f + 0.4 times Gaussian noise, censored above 0.8", func(r *rand.Rand, f float64, _ []float64) []float64 {
		if y := f + 0.4*r.NormFloat64(); y < 0.8 {
			return []float64{y, y}
		}
		return []float64{0.8, likelihood.Open}
	}},
}

// poissonCount returns a draw of a Poisson count: the number of exponential times that fit into the mean.
func poissonCount(r *rand.Rand, mean float64) float64 {
	n := -1.0
	for at := 0.0; at < mean; at += r.ExpFloat64() {
		n++
	}
	return n
}

// logistic returns a draw of the standard logistic distribution.
func logistic(r *rand.Rand) float64 {
	u := r.Float64()
	return math.Log(u / (1 - u))
}

// label returns 1 with the probability of a logit, and 0 otherwise.
func label(r *rand.Rand, logit float64) float64 {
	if logistic(r) < logit {
		return 1
	}
	return 0
}

// made returns n rows of the table.
func (l modelTable) made(r *rand.Rand, n int) *data.Set {
	const inputs = 4
	x, y := make([]float64, n*inputs), []float64(nil)
	for i := range n {
		row := x[i*inputs : (i+1)*inputs]
		for j := range row {
			row[j] = r.NormFloat64()
		}
		f := math.Sin(2*row[0]) + row[1]*row[2]/2 + 0.3*row[3]
		y = append(y, l.target(r, f, row)...)
	}
	return &data.Set{Features: []string{"a", "b", "c", "d"}, Targets: []string{"y", "z"}[:len(y)/n],
		X: tensor.New(tensor.WithShape(n, inputs), tensor.WithBacking(x)),
		Y: tensor.New(tensor.WithShape(n, len(y)/n), tensor.WithBacking(y))}
}

// nlls returns the NLL of each row.
func nlls(t *testing.T, m *valla.Model, set *data.Set) []float64 {
	t.Helper()
	p, err := m.Predict(t.Context(), set.X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Task.NLLs(p, set.Y)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// draws is the number of draws of each table, with a network each.
const draws = 12

// measure trains networks with the table's observation model, and returns the NLLs of fresh rows for the networks alone,
// for VaLLA and for LLA.
func (l modelTable) measure(t *testing.T) (alone, variational, laplaces []float64) {
	t.Helper()
	s, err := likelihood.Named(l.likelihood)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(draws) {
		r := rand.New(rand.NewPCG(1+seed, 11))
		train, fresh := l.made(r, 400), l.made(r, 3000)
		net, err := valla.Train(t.Context(), train, valla.TrainOptions{Likelihood: s, Seed: seed, Training: valla.Training{Iterations: 5000}})
		if err != nil {
			t.Fatal(err)
		}
		fitted := func(s gp.Settings) []float64 {
			m, err := net.Fit(t.Context(), train, valla.FitOptions{Settings: s, Run: gp.Run{Seed: seed}})
			if err != nil {
				t.Fatal(err)
			}
			return nlls(t, m, fresh)
		}
		alone = append(alone, nlls(t, net, fresh)...)
		variational = append(variational, fitted(nil)...)
		laplaces = append(laplaces, fitted(&laplace.Settings{})...)
	}
	return alone, variational, laplaces
}

// TestModels: on made counts, labels, ordered classes and bounds the better posterior has a smaller NLL than the network alone, by two
// standard errors over rows. The test prints the table in docs/likelihoods.md, and runs with VALLA_LONG.
func TestModels(t *testing.T) {
	if !fixture.Long() {
		t.Skipf("skipped without %s", fixture.LongVariable)
	}
	fmt.Println("| likelihood | target | network alone | VaLLA | LLA | difference |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, l := range modelTables {
		t.Run(l.likelihood, l.compare)
	}
}

// compare prints a row of the table, and checks the difference.
func (l modelTable) compare(t *testing.T) {
	alone, variational, laplaces := l.measure(t)
	a, v, k := kernel.Mean(alone), kernel.Mean(variational), kernel.Mean(laplaces)
	better := variational
	if k < v {
		better = laplaces
	}
	kernel.Sub(better, better, alone)
	gain, err := kernel.Mean(better), kernel.StandardError(better)
	fmt.Printf("| %s | %s | %.3f | %.3f | %.3f | %.3f ± %.3f |\n", l.likelihood, l.about, a, v, k, gain, err)
	if !(gain < -2*err) {
		t.Errorf("%g ± %g, expected two standard errors below 0", gain, err)
	}
}
