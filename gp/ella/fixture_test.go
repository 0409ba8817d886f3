package ella

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
	"gorgonia.org/tensor"
)

// parts are the parts of the fixture ella_reg: one output, several outputs, classes.
var parts = []string{"reg1_", "reg_", "cls_"}

// part is a part of the fixture: its problem, its points and settings with its σ₀ and K.
type part struct {
	fixture.Arrays
	prefix string
	p      gp.Problem
	at     points
	s      Settings
}

func loadPart(t *testing.T, a fixture.Arrays, prefix string) part {
	f := part{Arrays: a.Part(prefix), prefix: prefix}
	f.p.Net = small.Published(t, f.Part("net."), tensor.Float64)
	f.p.Train = f.examples(t, "X", "y")
	held := f.examples(t, "Xv", "yv")
	f.p.Validation = &held
	f.p.Likelihood = likelihood.Softmax{}
	if prefix != "cls_" {
		f.p.Likelihood = likelihood.NewGaussian(f.Scalar(t, "noise_var"), tensor.Float64)
		f.s.NoiseStd = math.Sqrt(f.Scalar(t, "noise_var"))
	}
	f.s.PriorStd, f.s.Rank = f.Scalar(t, "sigma0"), f.Int(t, "K")
	f.at = pointsAt(f.p, f.Ints(t, "idx"), f.Ints(t, "idx_class"))
	return f
}

func (f part) examples(t *testing.T, x, y string) gp.Examples {
	if f.prefix != "cls_" {
		return gp.Examples{X: f.Dense(t, x), Y: f.Dense(t, y)}
	}
	return gp.Examples{X: f.Dense(t, x), Y: small.OneHot(f.Ints(t, y), f.Dense(t, "g_X").Shape()[1], tensor.Float64)}
}

// eachPart runs a test for each part of ella_reg.
func eachPart(t *testing.T, test func(t *testing.T, f part)) {
	a := fixture.Load(t, "ella_reg")
	for _, prefix := range parts {
		t.Run(strings.TrimSuffix(prefix, "_"), func(t *testing.T) { test(t, loadPart(t, a, prefix)) })
	}
}

// signs are ±1 for each column of u [m,k]: the entry of largest magnitude becomes positive.
func signs(u []float64, k int) []float64 {
	out := make([]float64, k)
	largest := make([]float64, k)
	for i, v := range u {
		if math.Abs(v) > largest[i%k] {
			largest[i%k], out[i%k] = math.Abs(v), math.Copysign(1, v)
		}
	}
	return out
}

// signed multiplies the columns of v [·,k] by signs.
func signed(v, s []float64) []float64 {
	out := slices.Clone(v)
	for i := range out {
		out[i] *= s[i%len(s)]
	}
	return out
}

// TestFixtureNystroem: the kernel of the points, its eigenpairs, the directions and the
// features. The condition number of the eigenvalues that are kept, some 1e5, is allowed for.
func TestFixtureNystroem(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		b := begun(t, f.p, f.s, f.at)
		kz, err := kernelOf(t.Context(), f.p.Net, f.at, gp.Run{}.Limit(), untold)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, "Kz", kz, f.Floats(t, "Kz"), 1e-12)
		k := f.s.Rank
		fixture.Close(t, "eig", b.spectrum.values, f.Floats(t, "eig")[:k], 1e-12)
		s := signs(b.spectrum.u, k)
		const tol = 1e-7
		fixture.Close(t, "U", signed(b.spectrum.u, s), f.Floats(t, "U"), tol)
		fixture.Close(t, "phi_X", signed(featuresOf(t, b.features, f.p.Train.X), s), f.Floats(t, "phi_X"), tol)
		fixture.Close(t, "phi_Xt", signed(featuresOf(t, b.features, f.Dense(t, "Xt")), s), f.Floats(t, "phi_Xt"), tol)
		want := make([]float64, k*layers.Count(f.p.Net)) // v of the fixture is [P,K]
		for i, v := range f.Floats(t, "v") {
			want[i%k*layers.Count(f.p.Net)+i/k] = v * s[i%k]
		}
		fixture.Close(t, "v", b.v.Float64s(), layertest.Columns(t, f.p.Net, want), tol)
	})
}

// TestFixturePosterior: G, the mean and the covariance. A G without σ², as in a published
// port, gives something else.
func TestFixturePosterior(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		b := begun(t, f.p, f.s, f.at)
		if err := b.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		fit, err := b.fitted()
		if err != nil {
			t.Fatal(err)
		}
		q := fit.Posterior.(*posterior)
		s := signs(b.spectrum.u, f.s.Rank)
		g := signed(q.g, s)
		for i := range g {
			g[i] *= s[i/len(s)]
		}
		fixture.Close(t, "G", g, f.Floats(t, "G"), 1e-7)
		mean, cov := small.Moments(t, q, f.Dense(t, "Xt"))
		fixture.Close(t, "g_Xt", mean, f.Floats(t, "g_Xt"), 1e-12)
		fixture.Close(t, "f_cov", cov, f.Floats(t, "f_cov"), 1e-9)
		if f.Has("pred_var") {
			var variances []float64
			c := f.p.Outputs()
			for i := range mean {
				variances = append(variances, cov[i*c+i%c]+fit.NoiseVariance)
			}
			fixture.Close(t, "pred_var", variances, f.Floats(t, "pred_var"), 1e-9)
		}
		if f.Has("wrong_f_cov_noise_ignored") {
			if e := fixture.RelErr(cov, f.Floats(t, "wrong_f_cov_noise_ignored")); e < 0.01 {
				t.Errorf("the covariance is that without σ² in G, up to %g", e)
			}
		}
	})
}

// TestFixtureClasses: class probabilities by the probit approximation.
func TestFixtureClasses(t *testing.T) {
	f := loadPart(t, fixture.Load(t, "ella_reg"), "cls_")
	g := small.Predict(t, fitPoints(t, f.p, f.s, f.at), f.Dense(t, "Xt"))
	fixture.Close(t, "probs_probit", gp.Probit(nil, g), f.Floats(t, "probs_probit"), 1e-9)
}

// TestFixtureEarlyStopping: G after each mini-batch, the validation NLL with the prior in
// proportion to the rows seen, and the state that is kept.
func TestFixtureEarlyStopping(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		b := begun(t, f.p, f.s, f.at)
		k, s := f.s.Rank, signs(b.spectrum.u, f.s.Rank)
		var sums, nll, full []float64
		for rows := range slices.Chunk(f.Ints(t, "es_order"), f.Int(t, "es_batch")) {
			if err := b.add(t.Context(), f.p.Train.Rows(rows)); err != nil {
				t.Fatal(err)
			}
			if err := b.consider(); err != nil {
				t.Fatal(err)
			}
			p, err := newPrecision(k, b.sums.g)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range signed(b.sums.g, s) {
				sums = append(sums, v*s[i/k]/(b.candidates[0].Noise*b.candidates[0].Noise))
			}
			_, v, _ := b.held.best(p, b.share(b.seen), b.candidates)
			_, w, _ := b.held.best(p, 1, b.candidates)
			nll, full = append(nll, v), append(full, w)
		}
		fixture.Close(t, "es_G", sums, f.Floats(t, "es_G"), 1e-7)
		fixture.Close(t, "es_val_nll", nll, f.Floats(t, "es_val_nll"), 1e-9)
		fixture.Close(t, "es_val_nll_full_prior", full, f.Floats(t, "es_val_nll_full_prior"), 1e-9)
		best := f.Int(t, "es_best")
		if want := min((best+1)*f.Int(t, "es_batch"), f.p.Train.N()); b.best.seen != want {
			t.Errorf("the state after %d rows is kept, want that after %d", b.best.seen, want)
		}
		fit, err := b.fitted()
		if err != nil {
			t.Fatal(err)
		}
		_, cov := small.Moments(t, fit.Posterior, f.Dense(t, "Xt"))
		fixture.Close(t, "es_f_cov", cov, f.Floats(t, "es_f_cov"), 1e-9)
	})
}

// TestFixtureGrid: the validation NLL of each prior variance from one pass, of which the
// smallest is chosen.
func TestFixtureGrid(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		var nll []float64
		s := f.s
		s.PriorStd, s.PriorGrid = 0, nil
		for _, v := range f.Floats(t, "grid_sigma0_sq") {
			s.PriorGrid = append(s.PriorGrid, math.Sqrt(v))
		}
		b := begun(t, f.p, s, f.at)
		if err := b.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, err := newPrecision(f.s.Rank, b.sums.g)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range b.candidates {
			_, v, _ := b.held.best(p, 1, []gp.Candidate{c})
			nll = append(nll, v)
		}
		want := f.Floats(t, "grid_val_nll")
		fixture.Close(t, "grid_val_nll", nll, want, 1e-9)
		least := slices.Index(want, slices.Min(want))
		if b.best.Prior != s.PriorGrid[least] || math.Abs(b.best.nll-want[least]) > 1e-9*math.Abs(want[least]) {
			t.Errorf("σ₀ = %g with the NLL %g, want %g with %g", b.best.Prior, b.best.nll, s.PriorGrid[least], want[least])
		}
	})
}

// TestFixtureLimits: with all pairs of a row and an output, and as many directions as
// their Jacobians have, ELLA is LLA at the training inputs. Elsewhere LLA has in addition the
// prior variance orthogonal to the directions.
func TestFixtureLimits(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		s := f.s
		s.Rank = f.Int(t, "lim_rank")
		q := fitPoints(t, f.p, s, allPairs(f.p))
		if q.Rank() != s.Rank {
			t.Fatalf("%d directions, want %d", q.Rank(), s.Rank)
		}
		const tol = 1e-6 // of directions with eigenvalues of 1e-9 of the largest
		_, cov := small.Moments(t, q, f.p.Train.X)
		fixture.Close(t, "lla_f_cov_X", cov, f.Floats(t, "lla_f_cov_X"), tol)
		x := f.Dense(t, "Xt")
		_, cov = small.Moments(t, q, x)
		fixture.Close(t, "lim_f_cov_Xt", cov, f.Floats(t, "lim_f_cov_Xt"), tol)
		sum := slices.Clone(cov)
		for i, v := range missing(t, f.p, q, x) {
			sum[i] += v
		}
		largest := slices.Max(f.Floats(t, "lla_f_cov_Xt"))
		for i, v := range f.Floats(t, "lim_missing_Xt") { // which is 0 up to rounding where the rank is P
			if got := sum[i] - cov[i]; math.Abs(got-v) > tol*largest {
				t.Errorf("lim_missing_Xt: [%d] = %g, want %g", i, got, v)
			}
		}
		fixture.Close(t, "lla_f_cov_Xt", sum, f.Floats(t, "lla_f_cov_Xt"), tol)
	})
}

// missing is σ₀² (J Jᵀ − φ φᵀ) at each input, [N,C,C].
func missing(t *testing.T, p gp.Problem, q *posterior, x *tensor.Dense) []float64 {
	c, j, phi := p.Outputs(), jacobianOf(t, p.Net, x), featuresOf(t, q.Features, x)
	n := x.Shape()[0] * c
	all := product(n, n, layers.Count(p.Net), j, j)
	for i, v := range product(n, n, q.Rank(), phi, phi) {
		all[i] = q.prior * q.prior * (all[i] - v)
	}
	return blocksOf(all, n, c)
}

// TestFixtureKernelForm: with K = M the covariance is K_xz (K_z + Σ K_zn Λ K_nz)⁻¹ K_zx.
func TestFixtureKernelForm(t *testing.T) {
	eachPart(t, func(t *testing.T, f part) {
		s := f.s
		s.Rank = f.at.n()
		q := fitPoints(t, f.p, s, f.at)
		if q.Rank() != s.Rank {
			t.Fatalf("%d directions, want %d", q.Rank(), s.Rank)
		}
		_, cov := small.Moments(t, q, f.Dense(t, "Xt"))
		fixture.Close(t, "nocut_f_cov", cov, f.Floats(t, "nocut_f_cov"), 1e-7)
	})
}

// TestFixtureElla: the fixture ella, of which the regression has a badly conditioned kernel,
// with the eigenvalues in reg_eig.
func TestFixtureElla(t *testing.T) {
	a := fixture.Load(t, "ella")
	noise := a.Scalar(t, "reg_sigma")
	p := gp.Problem{
		Net: small.Numbered(t, a.Part("reg_"), "tanh", tensor.Float64), Train: gp.Examples{X: a.Dense(t, "reg_X"), Y: a.Dense(t, "reg_y")},
		Likelihood: likelihood.NewGaussian(noise*noise, tensor.Float64),
	}
	rows := a.Ints(t, "reg_idx")
	s := Settings{Rank: a.Int(t, "reg_K"), PriorStd: a.Scalar(t, "reg_sigma0"), NoiseStd: noise}
	checkElla(t, a, "reg_", p, s, pointsAt(p, rows, make([]int, len(rows))), a.Dense(t, "reg_grid"), "")
}

// TestFixtureEllaClasses: points with their labels, with random classes, and a pass over the
// first rows only, with the prior in proportion.
func TestFixtureEllaClasses(t *testing.T) {
	a := fixture.Load(t, "ella")
	labels := a.Ints(t, "cls_y")
	c := len(a.Floats(t, fmt.Sprint("cls_b", 3)))
	p := gp.Problem{
		Net: small.Numbered(t, a.Part("cls_"), "tanh", tensor.Float64), Train: gp.Examples{X: a.Dense(t, "cls_X"), Y: small.OneHot(labels, c, tensor.Float64)}, Likelihood: likelihood.Softmax{},
	}
	rows := a.Ints(t, "cls_idx")
	var own []int
	for _, r := range rows {
		own = append(own, labels[r])
	}
	s, x := Settings{Rank: a.Int(t, "cls_K"), PriorStd: a.Scalar(t, "cls_sigma0")}, a.Dense(t, "cls_Xt")
	checkElla(t, a, "cls_", p, s, pointsAt(p, rows, own), x, "")
	random := pointsAt(p, rows, a.Ints(t, "cls_rand_class"))
	checkElla(t, a, "cls_", p, s, random, x, "_randcls")

	b := begun(t, p, s, random)
	if err := b.add(t.Context(), p.Train.Rows(dense.Indices(a.Int(t, "cls_nseen")))); err != nil {
		t.Fatal(err)
	}
	if err := b.consider(); err != nil {
		t.Fatal(err)
	}
	fit, err := b.fitted()
	if err != nil {
		t.Fatal(err)
	}
	_, cov := small.Moments(t, fit.Posterior, x)
	fixture.Close(t, "cls_f_var_partial_scaledprior", cov, a.Floats(t, "cls_f_var_partial_scaledprior"), 1e-9)
	if e := fixture.RelErr(cov, a.Floats(t, "cls_f_var_partial_fullprior")); e < 1e-3 {
		t.Errorf("the covariance is that with the whole prior, up to %g", e)
	}
}

// checkElla compares the eigenvalues of the kernel, the eigenvalues of G and covariances.
func checkElla(t *testing.T, a fixture.Arrays, prefix string, p gp.Problem, s Settings, at points, x *tensor.Dense, suffix string) {
	t.Helper()
	b := begun(t, p, s, at)
	if err := b.pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	fit, err := b.fitted()
	if err != nil {
		t.Fatal(err)
	}
	eig := a.Floats(t, prefix+"eig"+suffix)
	tol := max(1e-10, 1e-14*eig[0]/eig[len(eig)-1])
	fixture.Close(t, prefix+"eig"+suffix, b.spectrum.values, eig, 1e-12)
	_, cov := small.Moments(t, fit.Posterior, x)
	fixture.Close(t, prefix+"f_var"+suffix, cov, a.Floats(t, prefix+"f_var"+suffix), tol)
	if suffix == "" {
		d := slices.Clone(fit.Posterior.(*posterior).precision.d)
		slices.Reverse(d)
		fixture.Close(t, prefix+"G_eig", d, a.Floats(t, prefix+"G_eig"), tol)
	}
}
