package valla

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// spread is the scale of the targets of heavyTails around the network.
const spread = 0.2

// heavyTails is a regression on a network that is right: targets scatter with Student's t of three degrees of freedom,
// and every tenth one lies 5 away.
func heavyTails(t *testing.T, n int, seed uint64) (layers.Network, func(count int) gp.Examples) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 77))
	net, err := layers.MLP{Inputs: 1, Hidden: []int{10}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	law := likelihood.Each(likelihood.NewStudentT(3, spread, true, tensor.Float64))
	return net, func(count int) gp.Examples {
		x, y := make([]float64, count), make([]float64, count)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		mean, err := gp.Point{Net: net, Dtype: tensor.Float64}.Mean(t.Context(), dense.Of(x, count, 1))
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range graph.Floats(mean) {
			y[i] = law.Predict(0, f, 0).Draw(rng)
			if i%10 == 0 {
				y[i] += 5 * float64(1-2*(i/10%2))
			}
		}
		return gp.Examples{X: dense.Of(x, count, 1), Y: dense.Of(y, count, 1)}
	}
}

// student is Student's t of four degrees of freedom, which are learned.
func student(scale float64) likelihood.Likelihood {
	return likelihood.Each(likelihood.NewStudentT(4, scale, false, tensor.Float64))
}

// TestNegative: λ of Student's t is negative for a residual in the tails, and positive for a small one.
func TestNegative(t *testing.T) {
	for _, alpha := range []float64{0, 1} {
		l := student(spread)
		term, err := steps.NewDataTerm(l, alpha, 2, 1, tensor.Float64)
		if err == nil {
			err = term.Run(graph.Flat(l.Params()), []float64{5, 0.1}, []float64{0, 0}, []float64{0.01, 0.01}, []float64{1, 1})
		}
		if err != nil {
			t.Fatal(err)
		}
		if lambda := term.Lambda(2); !(lambda[0] < 0 && lambda[1] > 0) {
			t.Errorf("α = %g: λ %v, want a negative and a positive number", alpha, lambda)
		}
	}
}

// TestHeavyTails: natural steps with Student's t, whose λ has both signs, converge for each α on rows with outliers, from
// scales a hundred times too small and too large: the fits end within 0.08 of one NLL of the held-out rows, and the
// curve of the last fifth is flat. With Gaussian noise the fit ends above 1.8 even from the best scale.
func TestHeavyTails(t *testing.T) {
	net, draw := heavyTails(t, 300, 5)
	rows, held := draw(300), draw(100)
	for _, alpha := range []float64{0, 1} {
		for _, start := range []float64{spread / 100, 100 * spread} {
			p := gp.Problem{Net: net, Train: rows, Validation: &held, Likelihood: student(start)}
			f := fit(t, Settings{Inducing: 10, Alpha: &alpha, Iterations: 600, BatchSize: 40, KeepLast: true}, p, gp.Run{})
			h := f.Record.Result.History
			var curve []float64
			for _, v := range h {
				curve = append(curve, math.Round(1e3*v.Validation)/1e3)
			}
			last := len(h) - 1
			if v := h[last].Validation; !(v < 0.63+0.08) || math.Abs(v-h[last-last/5].Validation) > 0.03 || h[0].Validation < v {
				t.Errorf("α = %g from the scale %g: curve %v, want an end at 0.63 to 0.71", alpha, start, curve)
			}
		}
	}
}

// TestPriorStarts: without held-out rows natural steps find the same σ₀ and the same scale with outliers from each σ₀.
func TestPriorStarts(t *testing.T) {
	net, draw := heavyTails(t, 300, 6)
	p := gp.Problem{Net: net, Train: draw(300), Likelihood: student(spread)}
	held := draw(200)
	var all []float64
	for _, start := range []float64{0.01, 1, 100} {
		f := fit(t, Settings{Inducing: 10, PriorStd: start, Iterations: 250, BatchSize: 60}, p, gp.Run{})
		g := small.Predict(t, f.Posterior, held.X)
		all = append(all, gp.MeanNLL(f.Likelihood, graph.Floats(held.Y), g))
	}
	if slices.Max(all)-slices.Min(all) > 0.05 {
		t.Errorf("NLL %v of held-out rows from three σ₀, want one value", all)
	}
}

// TestCountsFromLargePriors: fits to counts begin with a σ₀ at which e^f overflows, and find a smaller one.
func TestCountsFromLargePriors(t *testing.T) {
	problems := small.Must(t, gptest.ModelProblems)
	for _, p := range problems {
		for _, alpha := range []float64{0, 1} {
			if p.Likelihood.Kind() != likelihood.Count {
				continue
			}
			p.Validation = nil
			f := fit(t, Settings{Inducing: 5, Iterations: 40, BatchSize: 12, PriorStd: 1000, Alpha: &alpha}, p.Problem, gp.Run{})
			if std := f.Record.PriorStds[0]; !(std < 10) {
				t.Errorf("%s, α = %g: σ₀ %g, want less than 10", p.Name, alpha, std)
			}
		}
	}
}
