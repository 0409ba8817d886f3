package laplace

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// member is a member of the family, under its name in the fixtures.
type member struct {
	name string
	o    options
}

var family = []member{
	{"full", options{}},
	{"diag", options{Structure: kindDiagonal}},
	{"kfac", options{Structure: kindKFAC}},
	{"ll_full", options{Weights: []string{layers.LastLayerWeights}}},
	{"ll_diag", options{Weights: []string{layers.LastLayerWeights}, Structure: kindDiagonal}},
	{"ll_kfac", options{Weights: []string{layers.LastLayerWeights}, Structure: kindKFAC}},
}

func one(v float64) []float64 { return []float64{v} }

// Regression: marginal likelihoods at given hyper-parameters, their maximum, and the
// variances at the maximum of full LLA. The reference's own two computations of the
// variances differ by up to 1e-10, of the marginal likelihoods by 5e-12.
func TestFixtureRegressionFamily(t *testing.T) {
	a := fixture.Load(t, "lla_exact")
	prob := fixtureProblem(t, a)
	for _, m := range family[1:] { // full is TestFixture's
		p := prob.fit(t, m.o)
		best := a.Floats(t, "opt_"+m.name)
		fixture.Close(t, m.name+": maximum", []float64{p.PriorStd(), p.NoiseStd()}, best, 1e-7)
		fixture.Close(t, m.name+": lml there", one(p.LogMarginalLikelihood()), a.Floats(t, "optlml_"+m.name), 1e-9)
		rows, want := a.Floats(t, "hp_sigma0_sigma"), a.Floats(t, "lml_"+m.name)
		for i := range want {
			got := at(t, p, rows[2*i], rows[2*i+1]).LogMarginalLikelihood()
			fixture.Close(t, label(m.name, ": lml at row ", i), one(got), want[i:i+1], 1e-9)
		}
		_, cov := small.Moments(t, at(t, p, a.Scalar(t, "opt_sigma0"), a.Scalar(t, "opt_sigma")), prob.probe)
		for i, v := range a.Floats(t, "var_"+m.name) { // they differ by orders of magnitude
			fixture.Close(t, label(m.name, ": variance ", i), cov[i:i+1], one(v), 1e-7)
		}
	}
}

func TestFixtureClassificationFamily(t *testing.T) {
	a := fixture.Load(t, "lla_cls")
	prob := classificationProblem(t, a)
	for _, m := range family {
		m.o.Likelihood = likelihood.Softmax{}
		p := prob.fit(t, m.o)
		fixture.Close(t, m.name+": maximum", one(p.PriorStd()), a.Floats(t, "opt_"+m.name), 1e-7)
		fixture.Close(t, m.name+": lml there", one(p.LogMarginalLikelihood()), a.Floats(t, "optlml_"+m.name), 1e-9)
		want := a.Floats(t, "lml_"+m.name)
		for i, prior := range a.Floats(t, "hp_sigma0") {
			fixture.Close(t, label(m.name, ": lml at ", prior), one(at(t, p, prior, 0).LogMarginalLikelihood()), want[i:i+1], 1e-9)
		}
		p = at(t, p, a.Scalar(t, "sigma0"), 0)
		mean, cov := small.Moments(t, p, prob.probe)
		fixture.Close(t, m.name+": mean", mean, a.Floats(t, "g_Xt"), 1e-12)
		fixture.Close(t, m.name+": covariance", cov, a.Floats(t, "f_var_"+m.name), 1e-9)
		g := small.Predict(t, p, prob.probe)
		fixture.Close(t, m.name+": probit", gp.Probit(nil, g), a.Floats(t, "probit_"+m.name), 1e-9)
	}
	testBridge(t, a)
}

// testBridge: the probabilities of the Laplace bridge, from the fixture's own Gaussians.
func testBridge(t *testing.T, a fixture.Arrays) {
	t.Helper()
	want := a.Floats(t, "bridge_full")
	got := make([]float64, len(want))
	g := gp.Gaussian{Mean: a.Floats(t, "g_Xt"), Cov: a.Floats(t, "f_var_full")}
	if err := gp.Bridge(got, g, 0); err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "bridge", got, want, 1e-12)
}

func classificationProblem(t testing.TB, a fixture.Arrays) problem {
	y := small.OneHot(a.Ints(t, "y"), a.Dense(t, "Lambda").Shape()[1], tensor.Float64)
	return problem{net: small.Numbered(t, a, "tanh", tensor.Float64), x: a.Dense(t, "X"), y: y, probe: a.Dense(t, "Xt")}
}

// The parts: GGN matrices, their diagonals, Kronecker factors, log likelihood, norm.
func TestFixtureParts(t *testing.T) {
	reg, cls := fixture.Load(t, "lla_exact"), fixture.Load(t, "lla_cls")
	r, c := fixtureProblem(t, reg), classificationProblem(t, cls)
	checkDiagonal(t, "regression", r.fit(t, options{Structure: kindDiagonal, PriorStd: 1, NoiseStd: 1}), reg.Floats(t, "diag_ggn"))
	checkDiagonal(t, "softmax", c.fit(t, options{Structure: kindDiagonal, Likelihood: likelihood.Softmax{}, PriorStd: 1}), cls.Floats(t, "diag_ggn"))
	checkMoments(t, reg, r, options{Structure: kindKFAC})
	checkMoments(t, cls, c, options{Structure: kindKFAC, Likelihood: likelihood.Softmax{}})

	full := c.fit(t, options{Likelihood: likelihood.Softmax{}, PriorStd: 1, Space: spaceWeights})
	fixture.Close(t, "GGN", full.structure.(*weightSpace).a, cls.Floats(t, "ggn_full"), 1e-12)
	fixture.Close(t, "log likelihood", one(full.evidence.logLik), cls.Floats(t, "loglik"), 1e-12)
	fixture.Close(t, "‖θ‖²", full.evidence.weights, cls.Floats(t, "theta_sq"), 1e-12)
	last := c.fit(t, options{Likelihood: likelihood.Softmax{}, PriorStd: 1, Weights: []string{layers.LastLayerWeights}, Space: spaceWeights})
	n, all := full.scan.params, cls.Floats(t, "ggn_full")
	var corner []float64 // the last layer's weights come last
	for i := n - last.scan.params; i < n; i++ {
		corner = append(corner, all[i*n+n-last.scan.params:(i+1)*n]...)
	}
	fixture.Close(t, "GGN of the last layer", last.structure.(*denseLayer).a, corner, 1e-12)
}

func checkDiagonal(t *testing.T, what string, p *posterior, want []float64) {
	t.Helper()
	h, got := p.structure.(*diagonal[float64]), make([]float64, len(want))
	for l, k := range h.blocks {
		for i, v := range h.h[l] {
			got[k.at(i/k.q, i%k.q)] = v
		}
	}
	fixture.Close(t, what+": diagonal of the GGN", got, want, 1e-12)
}

// checkMoments looks at the Kronecker factors before their eigenvectors are found.
func checkMoments(t *testing.T, a fixture.Arrays, prob problem, o options) {
	t.Helper()
	d, err := newData(prob.x, prob.y, o)
	if err != nil {
		t.Fatal(err)
	}
	p := prob.unfitted(t, d, o)
	h := p.structure.(*kfac[float64])
	p.structure = unfinished{h}
	if err := p.collect(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	for i, k := range h.blocks {
		layer := fmt.Sprint(i/2 + 1)
		if k.a != nil {
			m := h.moments[k.a].all()
			kernel.CopyLower(k.p, m, k.p)
			for j := range m {
				m[j] /= float64(d.N())
			}
			fixture.Close(t, "A"+layer, m, a.Floats(t, "kfac_A"+layer), 1e-12)
		}
		m := h.moments[k.d].all()
		kernel.CopyLower(k.q, m, k.q)
		fixture.Close(t, "B"+layer, m, a.Floats(t, "kfac_B"+layer), 1e-12)
	}
}

// unfinished is a structure whose sums are left as they are.
type unfinished struct{ structure }

func (unfinished) finish(context.Context) error { return nil }
