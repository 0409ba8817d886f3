package sampled

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
	"gorgonia.org/tensor"
)

// reference is a task of the fixture's two: its network, data and draws. Its P-vectors
// are in PyTorch's order.
type reference struct {
	fixture.Arrays
	prefix string
	p      gp.Problem
	p0     int // P
}

func references(t *testing.T) []reference {
	a := fixture.Load(t, "sampled")
	var all []reference
	for _, prefix := range []string{"reg_", "cls_"} {
		r := reference{Arrays: a.Part(prefix), prefix: prefix}
		net := small.Published(t, r.Arrays, tensor.Float64)
		r.p = gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: r.Dense(t, "X"), Y: r.Dense(t, "y")}}
		if prefix == "cls_" {
			_, s := r.F64(t, "g_X")
			r.p.Train.Y = small.OneHot(r.Ints(t, "y"), s[1], tensor.Float64)
		} else {
			r.p.Likelihood = likelihood.NewGaussian(r.Scalar(t, "sigma2"), tensor.Float64)
		}
		r.p0 = layers.Count(net)
		all = append(all, r)
	}
	return all
}

// weights are P-vectors of the fixture in our order.
func (r reference) weights(t *testing.T, key string) []float64 {
	t.Helper()
	return layertest.Columns(t, r.p.Net, r.Floats(t, key))
}

// fitting is a fit at the fixture's prior precision, with its draws, before the first step.
func (r reference) fitting(t *testing.T, s Settings) *fitting {
	t.Helper()
	z := r.weights(t, "z0")
	s.Samples, s.PriorStd = len(z)/r.p0, 1/math.Sqrt(r.Scalar(t, "lam"))
	return r.drawn(t, s, z, r.Floats(t, "eps"))
}

// drawn is a fit with draws z [S,P] and ε [S,N·C].
func (r reference) drawn(t *testing.T, s Settings, z, eps []float64) *fitting {
	t.Helper()
	c, err := s.complete(r.p)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFitting(r.p, gp.Run{}, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.choose(t.Context()); err != nil {
		t.Fatal(err)
	}
	var noise []func() float64
	for row := range slices.Chunk(eps, len(f.all.y)) {
		noise = append(noise, func() float64 { v := row[0]; row = row[1:]; return v })
	}
	f.draws.z = z
	if f.draws.u, err = project(t.Context(), f.linear, f.curvature, f.all, noise); err == nil {
		err = f.prepare(t.Context())
	}
	if y := make([]float64, len(z)); err == nil && f.sketch != nil { // the fixture has the sketch of z
		if err = f.product(t.Context(), f.all, dense.Indices(len(z)/r.p0), z, y); err == nil {
			f.sketch, err = newSketch(f.size, z, y, tensor.Float64)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// solve takes conjugate gradients as far as they go.
func (f *fitting) solve(t *testing.T) {
	t.Helper()
	for k := range f.s.Iterations {
		if _, err := f.conjugate(t.Context(), f.s.Samples, k); err != nil {
			t.Fatal(err)
		}
	}
}

// posterior are the present samples.
func (f *fitting) posterior() *posterior {
	return newPosterior(f.p.Net, f.p.Train.X.Shape()[1:], dense.Of(f.zeta, f.s.Samples, f.size), gp.Run{}.Limit())
}

// exact are settings that solve to rounding.
var exact = Settings{Tolerance: 1e-13, Iterations: 300}

// TestFixtureDraws: the pass that makes u, the right-hand side and the root of Λ.
func TestFixtureDraws(t *testing.T) {
	for _, r := range references(t) {
		f := r.fitting(t, exact)
		fixture.Close(t, r.prefix+"u", f.u, r.weights(t, "u"), 1e-12)
		b, w0 := make([]float64, f.size), r.weights(t, "w0")
		for s := range f.s.Samples {
			f.target(b, s, f.numbers.Lambda)
			kernel.Scale(b, 1/f.numbers.Lambda, b)
			fixture.Close(t, r.prefix+"w0", b, f.row(w0, s), 1e-12)
		}
		n, c := r.p.Train.N(), f.c
		for i := range c { // a column of each Λ
			e := make([]float64, n*c)
			for k := i; k < len(e); k += c {
				e[k] = 1
			}
			got, lambda := f.times(f.all, 0, r.Floats(t, "g_X"), e), r.Floats(t, "Lambda")
			var want []float64
			for k := range n * c {
				want = append(want, lambda[k*c+i])
			}
			fixture.Close(t, r.prefix+"Lambda", got, want, 1e-12)
		}
	}
}

// residuals are the residuals of all samples, relative to the right-hand sides.
func (f *fitting) residuals() []float64 {
	b, out := make([]float64, f.size), make([]float64, f.s.Samples)
	for s := range out {
		f.target(b, s, f.numbers.Lambda)
		r := f.row(f.residual, s)
		out[s] = math.Sqrt(kernel.Dot(r, r) / kernel.Dot(b, b))
	}
	return out
}

// TestFixtureConjugate: the iterates and residuals of conjugate gradients, without and with the
// preconditioner, the preconditioner itself, and what they end with.
func TestFixtureConjugate(t *testing.T) {
	for _, r := range references(t) {
		for _, kind := range []string{"cg", "npcg"} {
			f := r.fitting(t, exact)
			if kind == "cg" {
				f.sketch = nil
			}
			traj, res := r.weights(t, kind+"_traj"), r.Floats(t, kind+"_res")
			for k := range len(traj) / len(f.zeta) {
				fixture.Close(t, fmt.Sprint(r.prefix, kind, "_res ", k), f.residuals(), res[k*f.s.Samples:(k+1)*f.s.Samples], 1e-8)
				if _, err := f.conjugate(t.Context(), f.s.Samples, k); err != nil {
					t.Fatal(err)
				}
				fixture.Close(t, fmt.Sprint(r.prefix, kind, "_traj ", k), f.zeta, traj[k*len(f.zeta):(k+1)*len(f.zeta)], 1e-8)
			}
		}
		f := r.fitting(t, exact)
		values := slices.Clone(f.sketch.values)
		slices.Reverse(values)
		fixture.Close(t, r.prefix+"nys_eig", values, r.Floats(t, "nys_eig"), 1e-10)
		got := make([]float64, len(f.zeta))
		for s := range f.s.Samples {
			f.sketch.solve(f.row(got, s), f.row(r.weights(t, "w0"), s), f.numbers.Lambda)
		}
		fixture.Close(t, r.prefix+"nys_apply", got, r.weights(t, "nys_apply"), 1e-9)

		f.solve(t)
		fixture.Close(t, r.prefix+"zeta", f.zeta, r.weights(t, "zeta"), 1e-9)
		gamma, err := f.effective(t.Context(), f.s.Samples)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, r.prefix+"gamma_fn", []float64{gamma}, r.Floats(t, "gamma_fn"), 1e-9)
		shifted := r.weights(t, "shift_zeta")
		for i, lambda := range r.Floats(t, "shift_lam") {
			f.move(lambda)
			f.solve(t)
			fixture.Close(t, fmt.Sprint(r.prefix, "shift_zeta ", i), f.zeta, shifted[i*len(f.zeta):(i+1)*len(f.zeta)], 1e-8)
		}
	}
}

// unit draws make the mean of ζζᵀ exactly the covariance: √(P + N·C) times the unit vectors.
func (r reference) unit() (z, eps []float64) {
	rows := r.p.Train.N() * r.p.Outputs()
	n := r.p0 + rows
	z, eps = make([]float64, n*r.p0), make([]float64, n*rows)
	for i := range r.p0 {
		z[i*r.p0+i] = math.Sqrt(float64(n))
	}
	for i := range rows {
		eps[(r.p0+i)*rows+i] = math.Sqrt(float64(n))
	}
	return z, eps
}

// TestFixtureCovariance: with unit draws the covariance is LLA's covariance, without a jitter of Λ,
// and γ is the exact number of effective parameters, for every prior.
func TestFixtureCovariance(t *testing.T) {
	for _, r := range references(t) {
		z, eps := r.unit()
		s := exact
		s.Samples, s.PriorStd = len(z)/r.p0, 1/math.Sqrt(r.Scalar(t, "lam"))
		f := r.drawn(t, s, z, eps)
		f.solve(t)
		g := small.Predict(t, f.posterior(), r.Dense(t, "Xt"))
		fixture.Close(t, r.prefix+"f_var", g.Cov, r.Floats(t, "f_var"), 1e-9)
		if r.Has("f_var_jitter") {
			if e := fixture.RelErr(g.Cov, r.Floats(t, "f_var_jitter")); e < 1e-8 {
				t.Errorf("%s: Λ has a jitter", r.prefix)
			}
			fixture.Close(t, "probit", gp.Probit(nil, g), r.Floats(t, "probit_exact"), 1e-9)
		} else {
			kernel.AddScalar(g.Cov, r.Scalar(t, "sigma2"), g.Cov)
			fixture.Close(t, "y_var", g.Cov, r.Floats(t, "y_var_exact"), 1e-9)
		}
		for i, lambda := range append([]float64{f.numbers.Lambda}, r.Floats(t, "shift_lam")...) {
			f.move(lambda)
			f.solve(t)
			gamma, err := f.effective(t.Context(), f.s.Samples)
			if err != nil {
				t.Fatal(err)
			}
			want := append(r.Floats(t, "gamma_exact"), r.Floats(t, "shift_gamma")...)[i]
			fixture.Close(t, fmt.Sprint(r.prefix, "gamma ", i), []float64{gamma}, []float64{want}, 1e-9)
		}
	}
}

// TestFixturePredictions: covariances, functions and probabilities of given samples.
func TestFixturePredictions(t *testing.T) {
	for _, r := range references(t) {
		f := r.fitting(t, exact)
		copy(f.zeta, r.weights(t, "zeta"))
		q, x := f.posterior(), r.Dense(t, "Xt")
		g := small.Predict(t, q, x)
		fixture.Close(t, r.prefix+"g_Xt", g.Mean, r.Floats(t, "g_Xt"), 1e-12)
		fixture.Close(t, r.prefix+"f_var_mc", g.Cov, r.Floats(t, "f_var_mc"), 1e-12)
		functions, err := q.Functions(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		values, mean := functions.Float64s(), g.Mean
		var probs = make([]float64, len(mean))
		centred := slices.Clone(values)
		for row := range slices.Chunk(centred, len(mean)) {
			kernel.Sub(row, row, mean)
		}
		fixture.Close(t, r.prefix+"f_samples", centred, r.Floats(t, "f_samples"), 1e-12)
		if r.prefix == "reg_" {
			continue
		}
		fixture.Close(t, "probit", gp.Probit(nil, g), r.Floats(t, "probit"), 1e-12)
		for logits := range slices.Chunk(values, f.c) {
			top := likelihood.LogSumExp(logits)
			for c := range logits {
				logits[c] = math.Exp(logits[c] - top)
			}
		}
		for row := range slices.Chunk(values, len(mean)) {
			kernel.Axpy(1/float64(q.Rank()), row, probs)
		}
		fixture.Close(t, "mc", probs, r.Floats(t, "mc"), 1e-12)
	}
}

// TestFixtureMaximise: the best weights of the linear model, and eight steps of expectation and
// maximisation.
func TestFixtureMaximise(t *testing.T) {
	for _, r := range references(t) {
		f := r.fitting(t, exact)
		mode, err := f.bestWeights(t.Context(), make([]float64, f.size))
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, r.prefix+"thetabar", mode, r.weights(t, "thetabar"), 1e-8)
		lambdas := r.Floats(t, "em_lam")
		f.move(lambdas[0])
		copy(f.mode, mode)
		for i, lambda := range lambdas {
			fixture.Close(t, fmt.Sprint(r.prefix, "em_lam ", i), []float64{f.numbers.Lambda}, []float64{lambda}, 1e-7)
			if i == len(lambdas)-1 {
				break
			}
			f.solve(t)
			if err := f.maximise(t.Context(), f.s.Samples); err != nil {
				t.Fatal(err)
			}
			fixture.Close(t, fmt.Sprint(r.prefix, "em_gamma ", i), []float64{f.numbers.Gamma}, r.Floats(t, "em_gamma")[i:i+1], 1e-7)
			fixture.Close(t, fmt.Sprint(r.prefix, "em_thetabar_sq ", i), []float64{kernel.Dot(f.mode, f.mode)}, r.Floats(t, "em_thetabar_sq")[i:i+1], 1e-7)
		}
	}
}

// TestFixtureDescend: the published stochastic gradients, plain with a running average, and
// clipped with a falling learning rate.
func TestFixtureDescend(t *testing.T) {
	for _, r := range references(t) {
		batches := r.Dense(t, "sgd_batches").Shape()
		steps, size := batches[0], batches[1]
		perEpoch := r.p.Train.N() / size
		if steps%perEpoch != 0 || r.Int(t, "sgdc_T") != int(math.Round(fallShare*float64(steps))) {
			t.Logf("%s: %d steps of %d, schedule over %d", r.prefix, steps, size, r.Int(t, "sgdc_T"))
		}
		plain := Settings{Solver: solverSGD, BatchSize: size, Epochs: steps / perEpoch, LearningRate: r.Scalar(t, "sgd_lr"), Average: 0.01}
		clipped := plain
		clipped.Average, clipped.Schedule, clipped.Clip = 0, scheduleLinear, r.Scalar(t, "sgdc_clip")
		for key, s := range map[string]Settings{"sgd": plain, "sgdc": clipped} {
			f := r.fitting(t, s)
			f.batch = func(k int) []int { return r.Ints(t, "sgd_batches")[k*size : (k+1)*size] }
			traj, averages := r.weights(t, key+"_traj"), r.weights(t, "sgd_avg")
			for k := range steps {
				if _, err := f.descend(t.Context(), f.s.Samples, k); err != nil {
					t.Fatal(err)
				}
				if k < f.solves()-1 || key == "sgdc" {
					fixture.Close(t, fmt.Sprint(r.prefix, key, "_traj ", k), f.zeta, traj[k*len(f.zeta):(k+1)*len(f.zeta)], 1e-10)
				}
				if at := slices.Index([]int{0, 9, 19}, k); key == "sgd" && at >= 0 {
					fixture.Close(t, fmt.Sprint(r.prefix, "sgd_avg ", k), f.direction, averages[at*len(f.zeta):(at+1)*len(f.zeta)], 1e-10)
				}
			}
		}
		f := r.fitting(t, plain)
		f.restart(f.s.Samples)
		g := make([]float64, len(f.zeta))
		if err := f.product(t.Context(), f.all, dense.Indices(f.s.Samples), f.zeta, g); err != nil {
			t.Fatal(err)
		}
		loss := f.gradient(g, f.s.Samples, float64(r.p.Train.N()))
		fixture.Close(t, r.prefix+"sgd_loss0", []float64{loss}, r.Floats(t, "sgd_loss0"), 1e-12)
		kernel.Scale(g, float64(len(f.all.y)), g)
		fixture.Close(t, r.prefix+"grad_theta0", g, r.weights(t, "grad_theta0"), 1e-11)
	}
}
