package sfr

import (
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// part is a problem of the fixture: one output, several outputs, classes.
type part struct {
	fixture.Arrays
	prefix string
	p      gp.Problem
	points *tensor.Dense
	s      Settings
}

func loadPart(t *testing.T, a fixture.Arrays, prefix string) part {
	f := part{Arrays: a.Part(prefix), prefix: prefix}
	f.p.Net, f.p.Likelihood = small.Published(t, f.Part("net."), tensor.Float64), likelihood.Softmax{}
	if prefix != "cls_" {
		v := f.Scalar(t, "noise_var")
		f.p.Likelihood, f.s.NoiseStd = likelihood.NewGaussian(v, tensor.Float64), math.Sqrt(v)
	}
	f.p.Train = f.examples(t, "X", "y")
	held := f.examples(t, "Xv", "yv")
	f.p.Validation = &held
	f.points = data.TakeRows(f.p.Train.X, f.Ints(t, "Z_idx"))
	f.s.Delta = f.Scalar(t, "delta")
	return f
}

func (f part) examples(t *testing.T, x, y string) gp.Examples {
	if f.prefix != "cls_" {
		return gp.Examples{X: f.Dense(t, x), Y: f.Dense(t, y)}
	}
	return gp.Examples{X: f.Dense(t, x), Y: small.OneHot(f.Ints(t, y), f.Dense(t, "g_X").Shape()[1], tensor.Float64)}
}

// with fits with changed settings.
func (f part) with(t *testing.T, change func(s *Settings)) *posterior {
	s := f.s
	change(&s)
	return fitted(t, f.p, s, f.points)
}

func own(s *Settings)       { s.OwnMean = true }
func jointOwn(s *Settings)  { s.OwnMean, s.Outputs = true, outputsJoint }
func asPublished(*Settings) {}

// eachPart runs a test for each part of the fixture.
func eachPart(t *testing.T, test func(t *testing.T, f part)) {
	a := fixture.Load(t, "sfr")
	for _, prefix := range []string{"reg1_", "reg_", "cls_"} {
		t.Run(strings.TrimSuffix(prefix, "_"), func(t *testing.T) { test(t, loadPart(t, a, prefix)) })
	}
}

// TestFixtureDuals: α + β g and β of each row.
func TestFixtureDuals(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		d, err := newDuals(t.Context(), f.p, f.p.Likelihood, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, "beta", d.beta, f.Floats(t, "beta"), 1e-12)
		fixture.Close(t, "y_tilde", d.linear, f.Floats(t, "y_tilde"), 1e-12)
	})
}

// TestFixtureSums: K_z, B_u, ỹ_u and α_u of each output, from what a posterior keeps.
func TestFixtureSums(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		q, s2 := f.with(t, own), f.Scalar(t, "sigma0_sq")
		if math.Abs(q.prior*q.prior/s2-1) > 1e-12 {
			t.Errorf("σ₀² %g, want %g", q.prior*q.prior, s2)
		}
		var kz, bu, yu, au []float64
		for _, s := range q.systems {
			m := s.m
			k, half, b, y := make([]float64, m*m), make([]float64, m*m), make([]float64, m*m), make([]float64, m)
			kernel.Gemm(false, true, m, m, m, s2, s.r, m, s.r, m, 0, k, m)
			kernel.Gemm(false, false, m, m, m, s2*s2, s.r, m, s.t, m, 0, half, m)
			kernel.Gemm(false, true, m, m, m, 1, half, m, s.r, m, 0, b, m)
			kernel.Gemm(false, true, 1, m, m, s2, s.b, m, s.r, m, 0, y, m)
			kz, bu, yu = append(kz, k...), append(bu, b...), append(yu, y...)
			a := append([]float64(nil), s.a...) // k̂ R⁻ᵀ a is σ₀² k̂ α_u over σ₀²
			kernel.Trsm(false, true, m, 1, s.r, m, a, 1)
			kernel.Scale(a, 1/s2, a)
			au = append(au, a...)
		}
		fixture.Close(t, "Kzz", kz, f.Floats(t, "Kzz"), 1e-11)
		fixture.Close(t, "B_u", bu, f.Floats(t, "B_u"), 1e-11)
		fixture.Close(t, "y_tilde_u", yu, f.Floats(t, "y_tilde_u"), 1e-11)
		fixture.Close(t, "alpha_u", au, f.Floats(t, "alpha_u"), 1e-7)
	})
}

// TestFixturePredictions: both means and the variances, as published and jointly.
func TestFixturePredictions(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		x, c := f.Dense(t, "Xt"), f.p.Outputs()
		mean, cov := small.Moments(t, f.with(t, own), x)
		fixture.Close(t, "gp_mean", mean, f.Floats(t, "gp_mean"), 1e-8)
		fixture.Close(t, "f_var", diagonal(cov, c), f.Floats(t, "f_var"), 1e-8)
		mean, cov = small.Moments(t, f.with(t, asPublished), x)
		fixture.Close(t, "f_var beside the network", diagonal(cov, c), f.Floats(t, "f_var"), 1e-8)
		if f.Has("g_Xt") {
			fixture.Close(t, "g_Xt", mean, f.Floats(t, "g_Xt"), 1e-12)
		}
		mean, cov = small.Moments(t, f.with(t, jointOwn), x)
		fixture.Close(t, "full_mean", mean, f.Floats(t, "full_mean"), 1e-8)
		fixture.Close(t, "full_cov", cov, f.Floats(t, "full_cov"), 1e-8)
	})
}

// TestFixtureUpdate: rows that arrive later.
func TestFixtureUpdate(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		later := f.p
		later.Train = f.examples(t, "X2", "y2")
		q, err := f.with(t, own).Update(t.Context(), later, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		mean, cov := small.Moments(t, q, f.Dense(t, "Xt"))
		fixture.Close(t, "upd_mean", mean, f.Floats(t, "upd_mean"), 1e-8)
		fixture.Close(t, "upd_var", diagonal(cov, f.p.Outputs()), f.Floats(t, "upd_var"), 1e-8)
	})
}

// TestFixtureAllPoints: with all rows for points each output is an exact Gaussian process,
// and the joint form is LLA.
func TestFixtureAllPoints(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		f.points = f.p.Train.X
		x, c := f.Dense(t, "Xt"), f.p.Outputs()
		mean, cov := small.Moments(t, f.with(t, own), x)
		fixture.Close(t, "lim_gp_mean", mean, f.Floats(t, "lim_gp_mean"), 1e-6)
		fixture.Close(t, "lim_gp_var", diagonal(cov, c), f.Floats(t, "lim_gp_var"), 1e-6)
		_, cov = small.Moments(t, f.with(t, jointOwn), x)
		fixture.Close(t, "lla_cov", cov, f.Floats(t, "lla_cov"), 1e-6)
	})
}

// compared are the predictions for the validation rows that a fit with this grid compares.
func (f part) compared(t *testing.T, own bool, grid []float64) *trial {
	s := f.s
	s.OwnMean, s.Delta, s.PriorGrid = own, 0, grid
	c, err := s.complete(f.p)
	if err != nil {
		t.Fatal(err)
	}
	g := &fitting{p: f.p, s: c, candidates: c.candidates(f.p)}
	if err := g.start(f.points); err != nil {
		t.Fatal(err)
	}
	d, err := newDuals(t.Context(), f.p, likelihood.WithNoise(f.p.Likelihood, 1), false, 0)
	if err == nil {
		err = g.sum(t.Context(), d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g.trial
}

// TestFixtureGrid: the negative log density of the validation rows for several δ. One pass over the
// data serves all δ. The published density of classes is by samples.
func TestFixtureGrid(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		n, c := float64(f.p.Train.N()), float64(f.p.Outputs())
		var grid []float64
		for _, delta := range f.Floats(t, "grid_delta") {
			grid = append(grid, 1/math.Sqrt(delta*n))
		}
		for name, own := range map[string]bool{"grid_nlpd_gp": true, "grid_nlpd_nn": false} {
			tr := f.compared(t, own, grid)
			var got []float64
			for i := range grid {
				if f.prefix == "cls_" {
					means := tr.mean
					if tr.own {
						means = tr.means[i]
					}
					got = append(got, nllOf(tr.e, f.sampled(t, "mc_zv", means, tr.variances[i])))
				} else {
					got = append(got, tr.nll(f.p.Likelihood, i)/c)
				}
			}
			fixture.Close(t, name, got, f.Floats(t, name), 1e-7)
		}
	})
}

// sampled are class probabilities [n,C], the mean of softmax over published samples with
// independent outputs.
func (f part) sampled(t *testing.T, samples string, mean, variance []float64) []float64 {
	z, c, n := f.Floats(t, samples), f.p.Outputs(), len(mean)
	out, p := make([]float64, n), make([]float64, c)
	for at := 0; at < len(z); at += c {
		sum := 0.0
		for j := range c {
			i := at%n + j
			p[j] = math.Exp(mean[i] + math.Sqrt(variance[i])*z[at+j])
			sum += p[j]
		}
		for j := range c {
			out[at%n+j] += p[j] / sum / float64(len(z)/n)
		}
	}
	return out
}

// nllOf is the mean negative log of the probabilities [n,C] of the right classes.
func nllOf(e gp.Examples, p []float64) (sum float64) {
	for i, k := range e.Labels() {
		sum -= math.Log(p[i*len(p)/e.N()+k]) / float64(e.N())
	}
	return sum
}

// TestFixtureClasses: probabilities by samples and by the probit approximation, and
// probabilities that are clipped in the curvature.
func TestFixtureClasses(t *testing.T) {
	f := loadPart(t, fixture.Load(t, "sfr"), "cls_")
	x, c := f.Dense(t, "Xt"), f.p.Outputs()
	mean, cov := small.Moments(t, f.with(t, own), x)
	fixture.Close(t, "probs_gp", f.sampled(t, "mc_z", mean, diagonal(cov, c)), f.Floats(t, "probs_gp"), 1e-8)
	g := small.Predict(t, f.with(t, asPublished), x)
	fixture.Close(t, "probs_nn", f.sampled(t, "mc_z", g.Mean, diagonal(g.Cov, c)), f.Floats(t, "probs_nn"), 1e-8)
	fixture.Close(t, "probs_nn_probit", gp.Probit(nil, g), f.Floats(t, "probs_nn_probit"), 1e-8)
	mean, cov = small.Moments(t, f.with(t, func(s *Settings) { s.OwnMean, s.Clip = true, f.Scalar(t, "eps") }), x)
	fixture.Close(t, "eps_mean", mean, f.Floats(t, "eps_mean"), 1e-8)
	fixture.Close(t, "eps_var", diagonal(cov, c), f.Floats(t, "eps_var"), 1e-8)
}

// TestFixtureJitter: the mean with the jitter of the published code, which is in units of the
// kernel without σ₀².
func TestFixtureJitter(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		q := f.with(t, own)
		d, err := newDuals(t.Context(), f.p, f.p.Likelihood, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		for part := range q.systems {
			gram, err := q.kernels.gram(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			for i := range q.kernels.size() {
				gram[i*(q.kernels.size()+1)] += f.Scalar(t, "jitter")
			}
			if q.systems[part], err = newSystem(q.kernels.size(), gram); err != nil {
				t.Fatal(err)
			}
			if err := d.addTo(t.Context(), q.kernels, part, q.systems[part], func(int) {}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := q.solve(); err != nil {
			t.Fatal(err)
		}
		mean, _ := small.Moments(t, q, f.Dense(t, "Xt"))
		fixture.Close(t, "jit_mean", mean, f.Floats(t, "jit_mean"), 1e-8)
	})
}
