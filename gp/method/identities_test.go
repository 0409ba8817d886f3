package method_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// The identities between methods hold for the same points, σ₀ and σ.
const priorStd, noiseStd = 0.8, 0.3

// regression draws n rows of two inputs for a tanh network of c outputs, and seven inputs to
// predict at.
func regression(t *testing.T, n, c int) (p gp.Problem, probe *tensor.Dense) {
	t.Helper()
	rng := rand.New(rand.NewPCG(6, uint64(c)))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{12}, Outputs: c, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	normal := func(rows, cols int) *tensor.Dense {
		v := make([]float64, rows*cols)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(v))
	}
	return gp.Problem{
		Net: net, Likelihood: likelihood.NewGaussian(noiseStd*noiseStd, tensor.Float64),
		Train: gp.Examples{X: normal(n, 2), Y: normal(n, c)},
	}, normal(7, 2)
}

// ellaPosterior is what the tests ask of a posterior of ELLA.
type ellaPosterior interface {
	gp.Stored
	Rank() int
	Points() (z *tensor.Dense, output []int)
}

// sfrPosterior is what the tests ask of a posterior of SFR.
type sfrPosterior interface {
	gp.Updater
	Points() *tensor.Dense
}

// fitElla fits ELLA with all directions of so many points.
func fitElla(t *testing.T, p gp.Problem, points int) ellaPosterior {
	t.Helper()
	s := ella.Settings{Points: points, Rank: points, PriorStd: priorStd, NoiseStd: noiseStd}
	f := small.Fit(t, &s, p, gp.Run{Seed: 4})
	q := f.Posterior.(ellaPosterior)
	if q.Rank() != points {
		t.Fatalf("%d directions of %d points", q.Rank(), points)
	}
	return q
}

// beyond is κ − K_xz K_z⁻¹ K_zx at each input, [N,C,C]: what points leave of the prior.
func beyond(t *testing.T, p gp.Problem, x, z *tensor.Dense, output []int) []float64 {
	t.Helper()
	b, k := graph.NewBuilder(tensor.Float64), jacobian.NTK{Net: p.Net}
	xn, zn := b.Param(&graph.Param{Name: "x", Value: x}), b.Param(&graph.Param{Name: "z", Value: z})
	nodes := []*graph.Node{k.Diag(b, xn), k.Cross(b, xn, zn, output), k.Gram(b, zn, output)}
	prog, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	c, m := p.Outputs(), len(output)
	out, cross := graph.Floats(prog.Value(nodes[0])), graph.Floats(prog.Value(nodes[1]))
	kz := mat.NewDense(m, m, graph.Floats(prog.Value(nodes[2])))
	for i := range x.Shape()[0] {
		var half, known mat.Dense
		kxz := mat.NewDense(c, m, cross[i*c*m:(i+1)*c*m])
		if err := half.Solve(kz, kxz.T()); err != nil {
			t.Fatal(err)
		}
		known.Mul(kxz, &half)
		for j, v := range known.RawMatrix().Data {
			out[i*c*c+j] = priorStd * priorStd * (out[i*c*c+j] - v)
		}
	}
	return out
}

// bestVaLLA is VaLLA at inducing inputs z [M,…], which carry outputs, with the best A for the
// training rows of a problem (paper, Prop. 2).
func bestVaLLA(t *testing.T, p gp.Problem, z *tensor.Dense, output []int) gp.Posterior {
	t.Helper()
	m, dt := z.Shape()[0], p.Dtype()
	size := m * (m + 1) / 2
	saved, err := gptest.Memory(gp.State{Header: map[string]any{"inducing": m, "class": output, "inputs": z.Shape()[1:]}, Arrays: []gp.Array{
		{Name: "valla.z", Value: z}, {Name: "valla.l", Value: graph.NewParam("", make([]float64, size), dt, size).Value},
		{Name: "valla.log_prior_std", Value: graph.NewParam("", []float64{math.Log(priorStd)}, dt, 1).Value},
	}})
	if err != nil {
		t.Fatal(err)
	}
	noise := likelihood.NewGaussian(noiseStd*noiseStd, dt)
	q, err := valla.Method.Restore(t.Context(), p.Net, noise, saved)
	if err != nil {
		t.Fatal(err)
	}
	f, err := gptest.Passes(t.Context(), q.(gp.Summed), noise, p.Train, p.Train.N(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, fact := range f.Record.Facts {
		if fact.Name == "jitter" && fact.Value > 1e-12 {
			t.Fatalf("jitter %g", fact.Value)
		}
	}
	return f.Posterior
}

// TestEllaAndVaLLA: ELLA with all directions of its points, and what these leave of the
// prior, is VaLLA at the same points with the best A.
func TestEllaAndVaLLA(t *testing.T) {
	for _, c := range []int{1, 2} {
		p, probe := regression(t, 30, c)
		q := fitElla(t, p, 8)
		z, output := q.Points()
		best := bestVaLLA(t, p, z, output)
		sum := small.Predict(t, q, probe).Cov
		for i, v := range beyond(t, p, probe, z, output) {
			sum[i] += v
		}
		fixture.Close(t, fmt.Sprint("outputs ", c), sum, small.Predict(t, best, probe).Cov, 1e-7)
	}
}

// TestEllaAndLLA: ELLA with all directions of all training rows is LLA at these rows, and
// LLA is wider elsewhere.
func TestEllaAndLLA(t *testing.T) {
	p, probe := regression(t, 12, 1)
	lla, err := (&laplace.Settings{PriorStd: priorStd, NoiseStd: noiseStd}).Posterior(t.Context(), p, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	q := fitElla(t, p, 12)
	fixture.Close(t, "at the training rows", small.Predict(t, q, p.Train.X).Cov, small.Predict(t, lla, p.Train.X).Cov, 1e-7)
	narrow, wide, missing := small.Predict(t, q, probe).Cov, small.Predict(t, lla, probe).Cov, 0.0
	for i := range wide {
		if narrow[i] > wide[i]*(1+1e-9) {
			t.Errorf("input %d: ELLA has the variance %g, LLA %g", i, narrow[i], wide[i])
		}
		missing = max(missing, 1-narrow[i]/wide[i])
	}
	if missing < 1e-3 {
		t.Errorf("ELLA lacks %g of LLA's variance: the test shows nothing", missing)
	}
	z, output := q.Points()
	for i, v := range beyond(t, p, probe, z, output) {
		narrow[i] += v
	}
	fixture.Close(t, "with the prior beyond the rows", narrow, wide, 1e-6)
}

// fitSFR fits SFR jointly with so many points.
func fitSFR(t *testing.T, p gp.Problem, points int) sfrPosterior {
	t.Helper()
	s := sfr.Settings{Points: points, Outputs: "joint", OwnMean: true, PriorStd: priorStd}
	if likelihood.Noisy(p.Likelihood) {
		s.NoiseStd = noiseStd
	}
	f := small.Fit(t, &s, p, gp.Run{Seed: 5})
	return f.Posterior.(sfrPosterior)
}

// everyOutput repeats points for each of c outputs.
func everyOutput(z *tensor.Dense, c int) (*tensor.Dense, []int) {
	var rows, output []int
	for i := range z.Shape()[0] {
		for k := range c {
			rows, output = append(rows, i), append(output, k)
		}
	}
	return data.TakeRows(z, rows), output
}

// TestSFRAndVaLLA: SFR of joint outputs is VaLLA with the best A at the same points with each
// output.
func TestSFRAndVaLLA(t *testing.T) {
	for _, c := range []int{1, 2} {
		p, probe := regression(t, 30, c)
		q := fitSFR(t, p, 5)
		z, output := everyOutput(q.Points(), c)
		best := bestVaLLA(t, p, z, output)
		want := small.Predict(t, best, probe).Cov
		fixture.Close(t, fmt.Sprint("outputs ", c), small.Predict(t, q, probe).Cov, want, 1e-7)
	}
}

// TestSFRAndElla: ELLA with all directions of SFR's points, and what these leave of the prior,
// is SFR. Both draw all rows of one output for points.
func TestSFRAndElla(t *testing.T) {
	p, probe := regression(t, 12, 1)
	q := fitElla(t, p, 12)
	z, output := q.Points()
	sum := small.Predict(t, q, probe).Cov
	for i, v := range beyond(t, p, probe, z, output) {
		sum[i] += v
	}
	fixture.Close(t, "covariance", sum, small.Predict(t, fitSFR(t, p, 12), probe).Cov, 1e-6)
}

// withModel returns a regression of c outputs with a model of the table, and targets that suit the model.
func withModel(t *testing.T, model string, rows, c int) (p gp.Problem, probe *tensor.Dense) {
	t.Helper()
	p, probe = regression(t, rows, c)
	m, err := likelihood.Lookup(model)
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.New().Start(c, []float64{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	p.Likelihood = likelihood.WithNoise(l, noiseStd*noiseStd)
	if y := p.Train.Y.Float64s(); l.Kind() != likelihood.Number {
		for i := range y {
			y[i] = float64((i/2 + i) % 2)
		}
	}
	if l.Width() == 2 {
		var pairs []float64
		for _, v := range p.Train.Y.Float64s() {
			pairs = append(pairs, v, max(v, 0))
		}
		p.Train.Y = tensor.New(tensor.WithShape(rows, 2*c), tensor.WithBacking(pairs))
	}
	return p, probe
}

// TestSFRAndLLA: with all rows for points SFR of joint outputs is exact LLA, for every observation model, and so
// it is after rows were added to both.
func TestSFRAndLLA(t *testing.T) {
	for _, model := range likelihood.Names() {
		p, probe := withModel(t, model, 12, 2)
		lla, err := llaSettings(p).Posterior(t.Context(), p, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		q := fitSFR(t, p, 12)
		fixture.Close(t, model, small.Predict(t, q, probe).Cov, small.Predict(t, lla, probe).Cov, 1e-6)
		more := p
		more.Train = p.Train.Rows([]int{1, 1, 3, 7})
		a, err := q.Update(t.Context(), more, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := lla.(gp.Updater).Update(t.Context(), more, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, model+", updated", small.Predict(t, a, probe).Cov, small.Predict(t, b, probe).Cov, 1e-6)
	}
}

// llaSettings are the settings of exact LLA at the standard deviations of the tests.
func llaSettings(p gp.Problem) *laplace.Settings {
	s := &laplace.Settings{PriorStd: priorStd}
	if likelihood.Noisy(p.Likelihood) {
		s.NoiseStd = noiseStd
	}
	return s
}

// TestEllaAndLLAOfModels: ELLA with all directions of all training rows is LLA at these rows, for every observation
// model of one output.
func TestEllaAndLLAOfModels(t *testing.T) {
	for _, model := range likelihood.Names() {
		if model == "softmax" {
			continue // which has two outputs and more
		}
		p, _ := withModel(t, model, 12, 1)
		lla, err := llaSettings(p).Posterior(t.Context(), p, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		s := ella.Settings{Points: 12, Rank: 12, PriorStd: priorStd, NoiseStd: llaSettings(p).NoiseStd}
		f := small.Fit(t, &s, p, gp.Run{Seed: 4})
		fixture.Close(t, model, small.Predict(t, f.Posterior, p.Train.X).Cov, small.Predict(t, lla, p.Train.X).Cov, 1e-7)
	}
}

// TestSFRAndExactGP: with all rows for points SFR's own mean is that of the exact Gaussian
// process with the prior N(0, κ) for the linearized network's targets, κ_xX (κ_XX + σ²I)⁻¹ y.
func TestSFRAndExactGP(t *testing.T) {
	p, probe := regression(t, 12, 1)
	b, k := graph.NewBuilder(tensor.Float64), jacobian.NTK{Net: p.Net}
	x, z := b.Param(&graph.Param{Name: "x", Value: probe}), b.Param(&graph.Param{Name: "z", Value: p.Train.X})
	nodes := []*graph.Node{k.Cross(b, x, z, make([]int, 12)), k.Gram(b, z, make([]int, 12))}
	prog, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	cross, gram := mat.NewDense(7, 12, graph.Floats(prog.Value(nodes[0]))), mat.NewDense(12, 12, graph.Floats(prog.Value(nodes[1])))
	for i := range 12 {
		gram.Set(i, i, gram.At(i, i)+noiseStd*noiseStd/(priorStd*priorStd))
	}
	var weights, mean mat.Dense
	if err := weights.Solve(gram, mat.NewDense(12, 1, p.Train.Y.Float64s())); err != nil {
		t.Fatal(err)
	}
	mean.Mul(cross, &weights)
	g := small.Predict(t, fitSFR(t, p, 12), probe)
	fixture.Close(t, "mean", g.Mean, mean.RawMatrix().Data, 1e-6)
}
