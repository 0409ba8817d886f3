package fmgp

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// sample is a problem of the fixture, which has three problems.
type sample struct {
	fixture.Arrays
	prefix string
	dt     tensor.Dtype
	net    layers.Sequential
	lik    likelihood.Likelihood
	layer  *sparseGP
	class  []int
}

// samples are regression, classes with the inputs' kernel, and classes with the features' kernel.
var samples = []string{"reg_", "cls_", "emb_"}

// newSample loads a problem with the layer's parameters as the fixture gives them.
func newSample(t *testing.T, prefix string, dt tensor.Dtype) *sample {
	t.Helper()
	a := fixture.Load(t, "fmgp")
	s := &sample{Arrays: a.Part(prefix), prefix: prefix, dt: dt, net: small.Published(t, a.Part(prefix+"net."), dt), lik: likelihood.Softmax{}}
	z := a.Dense(t, prefix+"Z")
	outputs, features := s.net[len(s.net)-1].(layers.Dense).B.Value.Size(), 0
	if a.Has(prefix + "Zf") {
		f := a.Dense(t, prefix+"Zf")
		features = width(f)
		z = points{x: z, f: f, g: z}.wide(0, z.Shape()[0])
	}
	if a.Has(prefix + "inducing_class") {
		s.class = a.Ints(t, prefix+"inducing_class")
	} else {
		s.lik = likelihood.NewGaussian(1, dt)
	}
	var err error
	k := newCovariance(width(z)-features, features, outputs, 1, 1, dt)
	if s.layer, err = newSparseGP(k, graph.Convert(z, dt), s.class); err != nil {
		t.Fatal(err)
	}
	for name, p := range s.named() {
		if name != "Z" {
			s.set(t, p, name)
		}
	}
	return s
}

// named are the parameters by their names in the fixture; Z has the features beside it.
func (s *sample) named() map[string]*graph.Param {
	l := s.layer
	all := map[string]*graph.Param{"Z": l.Z, "L": l.L, "q_mu": l.Mean, "log_ls": l.Kernel.LogLength, "log_amp": l.Kernel.LogAmplitude}
	if l.Kernel.R != nil {
		all["R"] = l.Kernel.R
	}
	for _, p := range s.lik.Params() {
		all["log_noise"] = p
	}
	return all
}

// set overwrites a parameter by an array of the fixture.
func (s *sample) set(t *testing.T, p *graph.Param, key string) {
	t.Helper()
	for i, v := range s.Floats(t, key) {
		p.Set(i, v)
	}
}

// compare compares an array of the layer's form with the fixture's array, Z in two parts.
func (s *sample) compare(t *testing.T, name, key string, got []float64, tol float64) {
	t.Helper()
	if name != "Z" {
		fixture.Close(t, key, got, s.Floats(t, key), tol)
		return
	}
	k := s.layer.Kernel
	var x, f []float64
	for i := range s.layer.Inducing() {
		row := got[i*k.Width() : (i+1)*k.Width()]
		x, f = append(x, row[:k.Inputs]...), append(f, row[k.Inputs:]...)
	}
	fixture.Close(t, key, x, s.Floats(t, key), tol)
	if k.Features > 0 {
		key = strings.Replace(key, "Z", "Zf", 1)
		fixture.Close(t, key, f, s.Floats(t, key), tol)
	}
}

// points are what the network makes of an array of inputs.
func (s *sample) points(t *testing.T, key string) points {
	t.Helper()
	x := graph.Convert(s.Dense(t, key), s.dt)
	n, err := newNetwork(s.net, s.dt, x.Shape()[1:], s.layer.Kernel.Features > 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	at, err := n.points(t.Context(), x, 0, untold)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// targets are numbers, or labels as one-hot rows.
func (s *sample) targets(t *testing.T, key string) *tensor.Dense {
	t.Helper()
	if s.class == nil {
		return graph.Convert(s.Dense(t, key), s.dt)
	}
	return small.OneHot(s.Ints(t, key), s.layer.Kernel.Outputs, s.dt)
}

// loss writes the objective at a batch of the fixture.
func (s *sample) loss(t *testing.T, b *graph.Builder, alpha float64, plain bool) *lossNodes {
	t.Helper()
	at := s.points(t, "X")
	u := graph.Convert(at.wide(0, at.n()), s.dt)
	l := s.layer.Loss(b, small.Given(b, "u", u), small.Given(b, "y", s.targets(t, "y")), small.Given(b, "g", at.g), lossOptions{
		Likelihood: s.lik, Alpha: alpha, N: s.Int(t, "N"), Plain: plain,
	})
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	return l
}

// each runs a test for every sample and element type.
func each(t *testing.T, wide, narrow float64, f func(t *testing.T, s *sample, tol float64)) {
	for _, prefix := range samples {
		for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: wide, tensor.Float32: narrow} {
			t.Run(fmt.Sprint(prefix, dt), func(t *testing.T) { f(t, newSample(t, prefix, dt), tol) })
		}
	}
}

// TestFixtureTerms: what the network gives, and all blocks of the posterior.
func TestFixtureTerms(t *testing.T) {
	each(t, 1e-10, 2e-5, func(t *testing.T, s *sample, tol float64) {
		at := s.points(t, "X")
		fixture.Close(t, "g_X", graph.Floats(at.g), s.Floats(t, "g_X"), tol)
		if at.f != nil {
			fixture.Close(t, "F_X", graph.Floats(at.f), s.Floats(t, "F_X"), tol)
		}
		b := graph.NewBuilder(s.dt)
		l := s.loss(t, b, 1, false)
		own := b.Sub(b.Sub(l.Surrogate, l.KL), b.Sub(l.Loss, b.Add(b.Add(l.Data, l.KL), l.Surrogate))) // nll_s + KL_mu
		names := []string{"Kx", "Kxz", "Kz", "H", "Atilde", "Q", "KL", "mean_s"}
		got := small.Values(t, b, l.Kx, l.Kxz, l.Kz, l.H, b.MatMul(l.G, l.G, true, false), l.Q, l.KL, l.Mean, own)
		for i, name := range names {
			fixture.Close(t, name, got[i], s.Floats(t, name), tol)
		}
		want := s.Scalar(t, "nll_s_a1") + s.Scalar(t, "KL_mu")
		fixture.Close(t, "nll_s + KL_mu", got[len(names)], []float64{want}, tol)
	})
}

// TestFixtureLoss: the objective with the surrogate and without for every α, and all of its
// gradients.
func TestFixtureLoss(t *testing.T) {
	each(t, 1e-9, 3e-4, func(t *testing.T, s *sample, tol float64) {
		for suffix, alpha := range map[string]float64{"a1": 1, "a05": 0.5, "a0": 0} {
			if !s.Has("loss_" + suffix) {
				continue
			}
			for name, plain := range map[string]bool{"loss": false, "plain": true} {
				s.checkLoss(t, name, suffix, alpha, plain, tol)
			}
		}
	})
}

func (s *sample) checkLoss(t *testing.T, name, suffix string, alpha float64, plain bool, tol float64) {
	t.Helper()
	b := graph.NewBuilder(s.dt)
	l := s.loss(t, b, alpha, plain)
	nodes, names := []*graph.Node{l.Loss, l.Data}, []string{}
	for key, p := range s.named() {
		if !plain || key != "q_mu" {
			nodes, names = append(nodes, graph.Grad(b, l.Loss, b.Param(p))...), append(names, key)
		}
	}
	got := small.Values(t, b, nodes...)
	fixture.Close(t, name+"_"+suffix, got[0], s.Floats(t, name+"_"+suffix), tol)
	fixture.Close(t, "nll_"+suffix, got[1], s.Floats(t, "nll_"+suffix), tol)
	for i, key := range names {
		s.compare(t, key, fmt.Sprintf("grad_%s_%s_%s", key, name, suffix), got[2+i], tol)
	}
}

// TestFixturePrediction: means, covariances and class probabilities.
func TestFixturePrediction(t *testing.T) {
	each(t, 1e-10, 2e-5, func(t *testing.T, s *sample, tol float64) {
		x := graph.Convert(s.Dense(t, "Xt"), s.dt)
		p := &posterior{net: s.net, layer: s.layer, input: x.Shape()[1:].Clone(), limit: gp.Run{}.Limit() / 4}
		g := small.Predict(t, p, x)
		mean, cov := g.Mean, g.Cov
		fixture.Close(t, "mean", mean, s.Floats(t, "g_Xt"), tol)
		fixture.Close(t, "f_cov", cov, s.Floats(t, "f_cov"), tol)
		if s.class == nil {
			scale := s.Floats(t, "y_mean_std")
			variance := make([]float64, len(cov))
			for i, v := range cov {
				variance[i] = (v + likelihood.NoiseVariance(s.lik)) * scale[1] * scale[1]
				mean[i] = mean[i]*scale[1] + scale[0]
			}
			fixture.Close(t, "pred_mean", mean, s.Floats(t, "pred_mean"), tol)
			fixture.Close(t, "pred_var", variance, s.Floats(t, "pred_var"), tol)
			return
		}
		s.checkProbs(t, mean, cov, tol)
	})
}

// checkProbs compares the class probabilities by both links. Those that the authors' metrics
// compute, with samples of the covariance LᵀL, are others.
func (s *sample) checkProbs(t *testing.T, mean, cov []float64, tol float64) {
	t.Helper()
	c := s.layer.Kernel.Outputs
	n := len(mean) / c
	z, shape := s.F64(t, "mc_z")
	probit, sampled := make([]float64, n*c), make([]float64, n*c)
	for i := range n {
		q := cov[i*c*c : (i+1)*c*c]
		scaled := make([]float64, c)
		for j := range c {
			scaled[j] = mean[i*c+j] / math.Sqrt(1+math.Pi/8*q[j*c+j])
		}
		softmax(probit[i*c:(i+1)*c], scaled, 1)
		root := cholesky(t, q, c)
		for k := range shape[0] {
			f := append([]float64(nil), mean[i*c:(i+1)*c]...)
			for a := range c {
				for b := range a + 1 {
					f[a] += root[a*c+b] * z[(k*n+i)*c+b]
				}
			}
			softmax(sampled[i*c:(i+1)*c], f, 1/float64(shape[0]))
		}
	}
	fixture.Close(t, "probs_probit", probit, s.Floats(t, "probs_probit"), tol)
	fixture.Close(t, "probs_mc", sampled, s.Floats(t, "probs_mc"), tol)
	if e := fixture.RelErr(sampled, s.Floats(t, "wrong_probs_mc")); e < 1e-3 {
		t.Errorf("samples of the covariance LLᵀ are those of LᵀL up to %g", e)
	}
}

// softmax adds weight times softmax(f) to p.
func softmax(p, f []float64, weight float64) {
	total := likelihood.LogSumExp(f)
	for i, v := range f {
		p[i] += weight * math.Exp(v-total)
	}
}

func cholesky(t *testing.T, a []float64, n int) []float64 {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	return small.Values(t, b, b.Cholesky(small.Given(b, "a", dense.Of(a, n, n))))[0]
}

// TestFixtureTraining: 20 steps of Adam whose rate decays, from the published start.
func TestFixtureTraining(t *testing.T) {
	each(t, 1e-9, 1e-3, func(t *testing.T, s *sample, tol float64) {
		s.restart(t)
		var losses []float64
		_, err := train.Run(t.Context(), s.objective(t), train.Config{
			Iterations: s.Dense(t, "traj_batch").Shape()[0], Optimizer: &train.Adam{LR: s.rate(t, 0)},
			Schedule: train.StepDecay(int(s.rate(t, 2)), s.rate(t, 1)),
			OnStep: func(step train.Step) {
				if losses = append(losses, step.Loss); step.Iteration == 0 {
					s.compareAll(t, "traj1_", tol)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.compareAll(t, "traj_", tol)
		fixture.Close(t, "traj_loss", losses, s.Floats(t, "traj_loss"), tol)
	})
}

// rate is a number of the schedule: the learning rate, its factor, or the steps between decays.
func (s *sample) rate(t *testing.T, i int) float64 {
	return s.Floats(t, "traj_schedule")[i]
}

func (s *sample) compareAll(t *testing.T, when string, tol float64) {
	t.Helper()
	for name, p := range s.named() {
		s.compare(t, name, when+name, p.Floats(), tol)
	}
}

// restart sets the parameters, but for Z and the length scales, as a fit does.
func (s *sample) restart(t *testing.T) {
	t.Helper()
	l := s.layer
	fresh, err := newSparseGP(newCovariance(l.Kernel.Inputs, l.Kernel.Features, l.Kernel.Outputs, 1, 1, s.dt), l.Z.Value, s.class)
	if err != nil {
		t.Fatal(err)
	}
	if r := fresh.Kernel.R; r != nil {
		fixture.Close(t, "R_init", r.Floats(), s.Floats(t, "R_init"), 1e-6)
	}
	fresh.Kernel.LogLength = l.Kernel.LogLength
	s.layer = fresh
	if s.class == nil {
		s.lik = likelihood.NewGaussian(math.Exp(-5), s.dt)
	}
}

// objective is the objective of a fit on the fixture's mini-batches, with the fixture's N.
func (s *sample) objective(t *testing.T) *train.Graph {
	t.Helper()
	at, y := s.points(t, "pool_X"), s.targets(t, "pool_y")
	batch := s.Dense(t, "traj_batch").Shape()[1]
	f := &fitting{layer: s.layer, lik: s.lik, train: at}
	f.s.Alpha, f.p.Train.X = new(1.0), tensor.New(tensor.Of(s.dt), tensor.WithShape(s.Int(t, "N"), 1)) // only N counts
	b := graph.NewBuilder(s.dt)
	x, yb := tensor.New(tensor.Of(s.dt), tensor.WithShape(batch, at.Shape()[1])), tensor.New(tensor.Of(s.dt), tensor.WithShape(batch, width(y)))
	xn, yn := b.Input("x", x.Shape()...), b.Input("y", yb.Shape()...)
	rows := slices.Collect(slices.Chunk(s.Ints(t, "traj_batch"), batch))
	feed := small.Feed{In: map[*graph.Node]*tensor.Dense{xn: x, yn: yb}, Next: func(k int) error {
		dense.Put(yb, 0, data.TakeRows(y, rows[k]), 0, batch)
		return at.Load(x, rows[k], k)
	}}
	g, err := train.NewGraph(b, f.loss(b, xn, yn), f.params(), feed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// limit is the exact Gaussian process of the fixture: a layer at its first m training inputs.
func limit(t *testing.T, a fixture.Arrays, m int) (l *sparseGP, noise likelihood.Gaussian) {
	t.Helper()
	x := a.Dense(t, "lim_X")
	noise = likelihood.NewGaussian(a.Scalar(t, "lim_noise_var"), tensor.Float64)
	k := newCovariance(width(x), 0, 1, 1, math.Exp(a.Scalar(t, "lim_log_amp")), tensor.Float64)
	k.LogLength.Value = a.Dense(t, "lim_log_ls")
	l, err := newSparseGP(k, data.TakeRows(x, dense.Indices(m)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return l, noise
}

// TestFixtureLimits: with Z = X and L = I/σ the variance is the exact Gaussian process's variance.
// The same holds for the best A. The best A is a stationary point of the bound for any Z. The
// bound grows with M.
func TestFixtureLimits(t *testing.T) {
	a := fixture.Load(t, "fmgp")
	x, xt := a.Dense(t, "lim_X"), a.Dense(t, "lim_Xt")
	n := x.Shape()[0]
	l, noise := limit(t, a, n)
	for i := range n {
		l.L.Set(dense.Packed(i+1)-1, 1/math.Sqrt(noise.Variance()))
	}
	b := graph.NewBuilder(tensor.Float64)
	exact := a.Floats(t, "lim_exact_var")
	fixture.Close(t, "L = I/σ", small.Values(t, b, l.Terms(b, small.Given(b, "xt", xt)).Q)[0], exact, 1e-10)
	for i, m := range a.Ints(t, "lim_M") {
		l, _ := limit(t, a, m)
		setBest(t, l, x, noise.Variance())
		b := graph.NewBuilder(tensor.Float64)
		zero := b.Fill(0, n, 1)
		loss := l.Loss(b, small.Given(b, "x", x), zero, zero, lossOptions{Likelihood: noise, N: n, Plain: true}).Loss
		got := small.Values(t, b, l.Terms(b, small.Given(b, "xt", xt)).Q, loss, graph.Grad(b, loss, b.Param(l.L))[0])
		fixture.Close(t, fmt.Sprint("best A, M = ", m), got[0], a.Floats(t, "lim_optimal_var")[i*len(exact):(i+1)*len(exact)], 1e-8)
		fixture.Close(t, fmt.Sprint("bound, M = ", m), got[1], a.Floats(t, "lim_elbo_loss")[i:i+1], 1e-9)
		if top := slices.Max(got[2]) - slices.Min(got[2]); top > 1e-6 {
			t.Errorf("M = %d: the bound has the gradient %g in L at the best A", m, top)
		}
	}
}

// setBest sets L to the factor of the best A for a fixed mean: K_z A K_z = σ⁻² Σ_n K_zn K_nz.
func setBest(t *testing.T, l *sparseGP, x *tensor.Dense, noise float64) {
	t.Helper()
	b, m, n := graph.NewBuilder(tensor.Float64), l.Inducing(), x.Shape()[0]
	z := b.Param(l.Z)
	got := small.Values(t, b, l.Kernel.Gram(b, z, l.Class), l.Kernel.Cross(b, small.Given(b, "x", x), z, l.Class))
	var half, best mat.Dense
	if err := half.Solve(mat.NewDense(m, m, got[0]), mat.NewDense(n, m, got[1]).T()); err != nil {
		t.Fatal(err)
	}
	best.Mul(&half, half.T())
	best.Scale(1/noise, &best)
	root := cholesky(t, best.RawMatrix().Data, m)
	for i := range m {
		for j := range i + 1 {
			l.L.Set(dense.Packed(i)+j, root[i*m+j])
		}
	}
}

// TestFixtureLengthScale: the start of the length scale is once logged.
func TestFixtureLengthScale(t *testing.T) {
	a := fixture.Load(t, "fmgp")
	got := a.Scalar(t, "init_length_scale")
	fixture.Close(t, "init_log_length_scale", newCovariance(1, 0, 1, got, 1, tensor.Float64).LogLength.Floats(), a.Floats(t, "init_log_length_scale"), 1e-12)
	if code := a.Floats(t, "init_log_length_scale_code"); fixture.RelErr([]float64{math.Log(got)}, code) < 1e-6 {
		t.Errorf("the start of log ℓ is logged twice: %g", code)
	}
}
