package moe

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// reference is a task of the fixture's three.
type reference struct {
	fixture.Arrays
	prefix string
	p      gp.Problem
	xt     *tensor.Dense
	prior  float64 // σ₀
	noise  float64 // σ; 0 with classes
}

func references(t *testing.T) []reference {
	a := fixture.Load(t, "moe")
	var all []reference
	for _, prefix := range []string{"reg_", "cls_", "q1_"} {
		r := reference{Arrays: a.Part(prefix), prefix: prefix}
		r.xt, r.prior = r.Dense(t, "Xt"), math.Sqrt(r.Scalar(t, "sigma0_sq"))
		r.p = gp.Problem{Net: small.Published(t, r.Part("net."), tensor.Float64), Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: r.Dense(t, "X"), Y: r.Dense(t, "y")}}
		if prefix == "cls_" {
			_, s := r.F64(t, "g_X")
			r.p.Train.Y = small.OneHot(r.Ints(t, "y"), s[1], tensor.Float64)
		} else {
			variance := r.Scalar(t, "noise_var")
			r.p.Likelihood, r.noise = likelihood.NewGaussian(variance, tensor.Float64), math.Sqrt(variance)
		}
		all = append(all, r)
	}
	return all
}

// gate is the fixture's, with its centres.
func (r reference) gate(t *testing.T) *gate {
	t.Helper()
	if r.prefix == "q1_" {
		_, s := r.F64(t, "edges")
		return newCells(graph.Floats(r.p.Train.X), s[0]-1)
	}
	g := &gate{points: data.TakeRows(r.p.Train.X, r.Ints(t, "sub_idx")), centres: r.Floats(t, "centres")}
	if err := g.compile(r.p.Net, gp.Run{}.Limit()); err != nil {
		t.Fatal(err)
	}
	k, err := g.kernel(t.Context(), g.points)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.components(k, g.points.Shape()[0]); err != nil {
		t.Fatal(err)
	}
	// Scores are in units of σ₀, and their signs are arbitrary: we take the fixture's signs.
	m := len(g.means)
	vec := r.Floats(t, "kpca_vec")
	for j := range scores {
		sign := 0.0
		for i := range m {
			sign += vec[i*scores+j] * g.turn[i*scores+j]
		}
		for i := range m {
			g.turn[i*scores+j] *= r.prior * math.Copysign(1, sign)
		}
	}
	return g
}

// TestFixtureScores: the kernel of the points, its components and the scores of all inputs.
func TestFixtureScores(t *testing.T) {
	for _, r := range references(t) {
		if r.prefix == "q1_" {
			continue
		}
		g := r.gate(t)
		for key, x := range map[string]*tensor.Dense{"score_sub": g.points, "score_X": r.p.Train.X, "score_Xt": r.xt} {
			k, err := g.kernel(t.Context(), x)
			if err != nil {
				t.Fatal(err)
			}
			if key == "score_sub" {
				scaled, centred := slices.Clone(k), slices.Clone(k)
				kernel.Scale(scaled, r.prior*r.prior, scaled)
				fixture.Close(t, r.prefix+"K_sub", scaled, r.Floats(t, "K_sub"), 1e-10)
				g.centre(centred)
				kernel.Scale(centred, r.prior*r.prior, centred)
				fixture.Close(t, r.prefix+"K_sub_centred", centred, r.Floats(t, "K_sub_centred"), 1e-10)
			}
			fixture.Close(t, r.prefix+key, g.scoresOf(k), r.Floats(t, key), 1e-8)
		}
		at, label := r.Floats(t, "score_sub"), r.Ints(t, "label_sub")
		means, counts := make([]float64, len(g.centres)), make([]float64, g.experts())
		for i, k := range label {
			kernel.Axpy(1, at[i*scores:(i+1)*scores], means[k*scores:(k+1)*scores])
			counts[k]++
			if got, _ := nearest(g.centres, at[i*scores:(i+1)*scores]); got != k {
				t.Errorf("%s: point %d is in cluster %d, expected %d", r.prefix, i, got, k)
			}
		}
		for i := range means {
			means[i] /= counts[i/scores]
		}
		fixture.Close(t, r.prefix+"the means of the clusters", means, g.centres, 1e-8)
	}
}

// TestFixtureClusters: the cells, the experts of all inputs, neighbours and members.
func TestFixtureClusters(t *testing.T) {
	for _, r := range references(t) {
		g := r.gate(t)
		if r.prefix == "q1_" {
			edges := r.Floats(t, "edges")
			fixture.Close(t, "edges", g.edges, edges[1:len(edges)-1], 1e-12)
		}
		for key, x := range map[string]*tensor.Dense{"label_X": r.p.Train.X, "label_Xt": r.xt} {
			got, err := g.labels(t.Context(), x)
			if err != nil || !slices.Equal(got, r.Ints(t, key)) {
				t.Errorf("%s%s: %v, expected %v (%v)", r.prefix, key, got, r.Ints(t, key), err)
			}
		}
		near, pairs := g.neighbours(), r.Ints(t, "neighbours")
		count := 0
		for _, own := range near {
			count += len(own)
		}
		if count != len(pairs) {
			t.Errorf("%sneighbours: %v, expected the pairs %v", r.prefix, near, pairs)
		}
		for i := 0; i < len(pairs); i += 2 {
			if !slices.Contains(near[pairs[i]], pairs[i+1]) {
				t.Errorf("%s: %d and %d are no neighbours", r.prefix, pairs[i], pairs[i+1])
			}
		}
		n, want := r.p.Train.N(), r.Ints(t, "members")
		for e, own := range members(r.Ints(t, "label_X"), near) {
			for i := range n {
				if slices.Contains(own, i) != (want[e*n+i] == 1) {
					t.Errorf("%s: expert %d and row %d", r.prefix, e, i)
				}
			}
		}
	}
}

// TestFixtureCovariance: each expert, the expert that answers, with neighbours and alone, and LLA.
// No expert's variance is below LLA's variance.
func TestFixtureCovariance(t *testing.T) {
	for _, r := range references(t) {
		for key, alone := range map[string]bool{"f_cov": false, "local_f_cov": true} {
			g := r.gate(t)
			f := &fitting{p: r.p, s: Settings{Experts: g.experts(), Alone: alone}, limit: gp.Run{}.Limit(), prior: r.prior, noise: r.noise}
			out, err := f.fit(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			q := out.Posterior.(*posterior)
			mean, cov := small.Moments(t, q, r.xt)
			fixture.Close(t, r.prefix+"g_Xt", mean, r.Floats(t, "g_Xt"), 1e-12)
			fixture.Close(t, r.prefix+key, cov, r.Floats(t, key), 1e-9)
			if alone {
				continue
			}
			by := r.Floats(t, "cov_by_expert")
			for e, expert := range q.experts {
				_, cov := small.Moments(t, expert, r.xt)
				fixture.Close(t, fmt.Sprint(r.prefix, "cov_by_expert ", e), cov, by[e*len(cov):(e+1)*len(cov)], 1e-9)
				wider(t, cov, r.Floats(t, "lla_cov"), r.p.Outputs())
			}
			if r.noise == 0 {
				gaussian := small.Predict(t, q, r.xt)
				fixture.Close(t, "probs_probit", gp.Probit(nil, gaussian), r.Floats(t, "probs_probit"), 1e-9)
			} else {
				kernel.AddScalar(cov, out.NoiseVariance, cov)
				fixture.Close(t, r.prefix+"y_var", cov, r.Floats(t, "y_var"), 1e-9)
			}
		}
	}
}

// TestFixtureOneExpert: the method with one expert, and each expert with all rows, is LLA.
func TestFixtureOneExpert(t *testing.T) {
	for _, r := range references(t) {
		s := Settings{Experts: 1, PriorStd: r.prior, NoiseStd: r.noise}
		f := small.Fit(t, &s, r.p, gp.Run{Seed: 3})
		if got := f.Posterior.String(); got != s.Label() || (&Settings{}).Label() != "MoE LLA" {
			t.Errorf("the posterior is called %q, the settings %q", got, s.Label())
		}
		_, cov := small.Moments(t, f.Posterior, r.xt)
		fixture.Close(t, r.prefix+"lla_cov", cov, r.Floats(t, "lla_cov"), 1e-9)
	}
}

// TestOneExpertIsSubset: with one expert and standard deviations that are found, the method is
// LLA, here by way of the method gp-subset on all rows.
func TestOneExpertIsSubset(t *testing.T) {
	for _, r := range references(t) {
		if r.noise == 0 {
			continue // GP-subset finds the noise alone
		}
		moe := small.Fit(t, &Settings{Experts: 1, PriorStd: 0.2}, r.p, gp.Run{})
		subset := small.Fit(t, &laplace.SubsetSettings{Points: r.p.Train.N()}, r.p, gp.Run{})
		_, got := small.Moments(t, moe.Posterior, r.xt)
		_, want := small.Moments(t, subset.Posterior, r.xt)
		fixture.Close(t, r.prefix+"covariance", got, want, 1e-7)
		fixture.Close(t, r.prefix+"noise", []float64{moe.NoiseVariance}, []float64{subset.NoiseVariance}, 1e-7)
	}
}

// wider checks that wide − narrow is positive semi-definite for each input, [n,c,c].
func wider(t *testing.T, wide, narrow []float64, c int) {
	t.Helper()
	largest := slices.Max(wide)
	for at := 0; at < len(wide); at += c * c {
		gain := make([]float64, c*c)
		kernel.Sub(gain, wide[at:at+c*c], narrow[at:at+c*c])
		for i := range c {
			gain[i*c+i] += 1e-9 * largest
		}
		if kernel.Cholesky(c, gain, c) >= 0 {
			t.Errorf("input %d: an expert is narrower than LLA", at/(c*c))
		}
	}
}

// Experts returns E.
func (p *posterior) Experts() int { return len(p.experts) }
