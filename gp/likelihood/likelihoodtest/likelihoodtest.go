// Package likelihoodtest checks observation models: their densities as nodes against the densities as numbers,
// derivatives of first and second order against finite differences, data terms and predictive distributions
// against plain quadrature, curvatures against expectations, and their files. Every model of package
// likelihood has a row in the table of its own test; a model of another package is checked in the same way.
package likelihoodtest

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Case is an observation model with what its checks need to know.
type Case struct {
	Name       string                // of the subtest
	Settings   likelihood.Settings   // the settings of which Likelihood was made; nil where its file is not checked
	Likelihood likelihood.Likelihood // in float64, with parameters away from special values
	// Target makes a target [W] of one output of a value, such as a count and its exposure 1; nil for W = 1.
	Target func(y float64) []float64
	More   [][]float64 // further targets [W] of one output
	Wrong  [][]float64 // targets that Check must refuse
}

// Run checks every case in a subtest of its own.
func Run(t *testing.T, cases []Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { Check(t, c) })
	}
}

// Check runs every check on c.
func Check(t *testing.T, c Case) {
	t.Helper()
	if c.Target == nil {
		c.Target = func(y float64) []float64 { return []float64{y} }
	}
	s := newSample(c)
	for name, check := range map[string]func(*testing.T, Case, *sample){
		"targets": checkTargets, "density": checkDensity, "slope": checkSlope, "curvature": checkCurvature,
		"root": checkRoot, "copy": checkCopy, "file": checkFile, "noise": checkNoise, "gradients": checkGradients,
		"zero variance": checkZero, "objective": checkObjective, "predictive": checkPredictive, "draws": checkDraws,
	} {
		t.Run(name, func(t *testing.T) { check(t, c, s) })
	}
}

// sample are targets, means and covariances of several rows.
type sample struct {
	n, c    int       // rows and outputs
	y       []float64 // targets [n,W·c]
	f       []float64 // means [n,c]
	cov     []float64 // covariances [n,c,c]
	weights []float64 // of the rows, in sums whose derivatives are checked [n]
	alphas  []float64 // of the objective
}

// row returns the targets, the means and the covariance of row i.
func (s *sample) row(i int) (y, f, cov []float64) {
	w := len(s.y) / s.n
	return s.y[i*w : (i+1)*w], s.f[i*s.c : (i+1)*s.c], s.cov[i*s.c*s.c : (i+1)*s.c*s.c]
}

// newSample draws two outputs of each row, for classes three.
func newSample(c Case) *sample {
	rng := rand.New(rand.NewPCG(1, 2))
	s := &sample{n: 6, c: 2, alphas: []float64{0, 0.5, 1}}
	if likelihood.IsClass(c.Likelihood) {
		s.c, s.alphas = 3, []float64{0.5, 1}
	}
	for i := range s.n {
		s.weights = append(s.weights, rng.NormFloat64())
		for k := range s.c {
			f, v := 0.8*rng.NormFloat64(), 0.1+rng.Float64()
			s.f = append(s.f, f)
			for j := range s.c {
				if j == k {
					s.cov = append(s.cov, v)
				} else {
					s.cov = append(s.cov, 0.05)
				}
			}
			s.y = append(s.y, c.target(rng, i*s.c+k, f, s.c)...)
		}
	}
	return s
}

// target is a target of one output: one of More while there are some, then a draw given f.
func (c Case) target(rng *rand.Rand, i int, f float64, outputs int) []float64 {
	if likelihood.IsClass(c.Likelihood) {
		if i%outputs == i/outputs%outputs {
			return []float64{1}
		}
		return []float64{0}
	}
	if i < len(c.More) {
		return c.More[i]
	}
	return c.Target(c.Likelihood.Predict(0, f, 0).Draw(rng))
}

// checkTargets: drawn targets are targets, and wrong ones are not.
func checkTargets(t *testing.T, c Case, s *sample) {
	for i := range s.n {
		y, _, _ := s.row(i)
		if err := c.Likelihood.Check(y); err != nil {
			t.Errorf("%v: %v", y, err)
		}
	}
	for _, y := range c.Wrong {
		if err := c.Likelihood.Check(y); err == nil {
			t.Errorf("%v is a target, expected an error", y)
		}
	}
}

// checkDensity: the node equals the number, in both element types.
func checkDensity(t *testing.T, c Case, s *sample) {
	want := s.each(func(y, f, _ []float64) float64 { return c.Likelihood.LogDensity(y, f) })
	for dt, tol := range tolerances {
		b := graph.NewBuilder(dt)
		out := c.Likelihood.Copy(dt).LogDensityNode(b, s.targets(b), b.Const("f", s.f, s.n, s.c))
		near(t, "log density as a node, "+dt.String(), compute(t, b, out)[0], want, tol)
	}
}

// checkSlope: Gradient is the slope of LogDensity.
func checkSlope(t *testing.T, c Case, s *sample) {
	for i := range s.n {
		y, f, _ := s.row(i)
		got, want := make([]float64, s.c), make([]float64, s.c)
		c.Likelihood.Gradient(got, y, f)
		for k := range f {
			want[k] = difference(func(h float64) float64 { return c.Likelihood.LogDensity(y, moved(f, k, h)) })
		}
		near(t, "gradient", got, want, 1e-6)
	}
}

// checkRoot: Σ_c w_c (e_c − m)(e_c − m)ᵀ is the curvature.
func checkRoot(t *testing.T, c Case, s *sample) {
	n := s.c
	for i := range s.n {
		_, f, _ := s.row(i)
		want, got, w, m := make([]float64, n*n), make([]float64, n*n), make([]float64, n), make([]float64, n)
		c.Likelihood.Curvature(want, f)
		c.Likelihood.Root(w, m, f)
		for k := range n {
			e := slices.Clone(m)
			e[k]--
			for a := range n {
				for b := range n {
					got[a*n+b] += w[k] * e[a] * e[b]
				}
			}
		}
		near(t, "Λ of its root", got, want, 1e-12)
	}
}

// checkCopy: a copy has the same numbers and other parameters, and float32 rounds them.
func checkCopy(t *testing.T, c Case, s *sample) {
	same, single := c.Likelihood.Copy(tensor.Float64), c.Likelihood.Copy(tensor.Float32)
	for i, p := range c.Likelihood.Params() {
		q, r := same.Params()[i], single.Params()[i]
		if q == p || q.Value == p.Value || q.Name != p.Name || !slices.Equal(q.Floats(), p.Floats()) {
			t.Errorf("copy of %s: %s with %v, want %v", p.Name, q.Name, q.Floats(), p.Floats())
		}
		if r.Value.Dtype() != tensor.Float32 {
			t.Errorf("copy of %s in float32 has the type %v", p.Name, r.Value.Dtype())
		}
		near(t, p.Name+" in float32", r.Floats(), p.Floats(), 1e-6)
		before := p.At(0)
		q.Set(0, before+1)
		if p.At(0) != before {
			t.Errorf("%s changes with its copy", p.Name)
		}
		q.Set(0, before)
	}
	y, f, _ := s.row(0)
	if got, want := same.LogDensity(y, f), c.Likelihood.LogDensity(y, f); got != want {
		t.Errorf("log density of the copy %g, want %g", got, want)
	}
}

// checkFile: a file keeps the model.
func checkFile(t *testing.T, c Case, s *sample) {
	if c.Settings == nil {
		t.Skip("the case has no settings")
	}
	spec, err := likelihood.NewSpec(c.Likelihood, c.Settings)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var read likelihood.Spec
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	got, err := read.Likelihood()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if got.String() != c.Likelihood.String() || got.Kind() != c.Likelihood.Kind() || got.Width() != c.Likelihood.Width() {
		t.Errorf("%v, %v, width %d from a file, want %v", got, got.Kind(), got.Width(), c.Likelihood)
	}
	for i := range s.n {
		y, f, _ := s.row(i)
		if a, b := got.LogDensity(y, f), c.Likelihood.LogDensity(y, f); a != b {
			t.Errorf("log density %g of the model from a file, want %g", a, b)
		}
	}
	if params := c.Likelihood.Params(); len(params) > 0 {
		lacking := likelihood.Spec{Name: read.Name, Settings: read.Settings, Params: maps.Clone(read.Params)}
		delete(lacking.Params, params[0].Name)
		if _, err := lacking.Likelihood(); err == nil {
			t.Errorf("no error for a file without %s", params[0].Name)
		}
	}
}

// checkNoise: another scale of the noise is the distribution at another scale.
func checkNoise(t *testing.T, c Case, _ *sample) {
	if !likelihood.Noisy(c.Likelihood) {
		if got := likelihood.WithNoise(c.Likelihood, 2); got.String() != c.Likelihood.String() {
			t.Errorf("%v with another noise, want the model itself", got)
		}
		return
	}
	before := likelihood.NoiseVariance(c.Likelihood)
	other := likelihood.WithNoise(c.Likelihood, 4*before)
	near(t, "s²", []float64{likelihood.NoiseVariance(other)}, []float64{4 * before}, 1e-12)
	near(t, "s² of the model itself", []float64{likelihood.NoiseVariance(c.Likelihood)}, []float64{before}, 1e-15)
	for _, p := range []float64{0.1, 0.4, 0.9} {
		got, want := other.Predict(0, 0, 0).Quantile(p), 2*c.Likelihood.Predict(0, 0, 0).Quantile(p)
		near(t, "quantile at twice the scale", []float64{got}, []float64{want}, 1e-9)
	}
}

// each returns the numbers of(row) of all rows.
func (s *sample) each(of func(y, f, cov []float64) float64) []float64 {
	out := make([]float64, s.n)
	for i := range out {
		y, f, cov := s.row(i)
		out[i] = of(y, f, cov)
	}
	return out
}

// targets are the targets as a node.
func (s *sample) targets(b *graph.Builder) *graph.Node {
	return b.Const("y", s.y, s.n, len(s.y)/s.n)
}

// compute compiles and runs the nodes.
func compute(t *testing.T, b *graph.Builder, nodes ...*graph.Node) (out [][]float64) {
	t.Helper()
	p, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		out = append(out, graph.Floats(p.Value(n)))
	}
	return out
}

// tolerances of nodes, relative to the largest number.
var tolerances = map[tensor.Dtype]float64{tensor.Float64: 1e-11, tensor.Float32: 2e-4}

// near fails the test where numbers differ by more than tol, relative to the largest number, and where
// a number is not finite.
func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	scale := 1.0
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= tol*scale) || math.IsInf(v, 0) {
			t.Errorf("%s: [%d] = %.12g, want %.12g", what, i, got[i], v)
			return
		}
	}
}

// moved returns a copy of v whose element k is larger by h.
func moved(v []float64, k int, h float64) []float64 {
	out := slices.Clone(v)
	out[k] += h
	return out
}

// difference is the slope of g at 0, by differences of fourth order.
func difference(g func(h float64) float64) float64 {
	const h = 1e-3
	return (8*(g(h)-g(-h)) - (g(2*h) - g(-2*h))) / (12 * h)
}
