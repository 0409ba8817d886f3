package valla

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/train"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// natural is a fit of a toy's layer, whose σ₀, Z and noise stay.
func (p *toy) natural(iterations int) naturalFit {
	return naturalFit{
		Net: p.net, Layer: p.layer, Likelihood: p.lik, Alpha: new(1.0), FixInducing: true, FixPrior: true, FixLikelihood: true,
		Config: train.Config{Iterations: iterations},
	}
}

// TestFixtureNaturalIsExact: with all points inducing, one natural-gradient step over
// all of the data gives exact LLA's variances. With few points it gives the optimal A's variances.
func TestFixtureNaturalIsExact(t *testing.T) {
	a := fixture.Load(t, "lla_exact")
	for _, c := range []struct {
		z, want string
		tol     float64
	}{
		{"X", "var_exact", 1e-6}, // cancellation, see TestFixtureExactAtAllPoints
		{"prop2_Z", "prop2_var", 1e-6},
	} {
		l, net, noise := exactLayer(t, a, c.z)
		fit := naturalFit{
			Net: net, Layer: l, Likelihood: likelihood.NewGaussian(noise, tensor.Float64), Alpha: new(0.0),
			FixInducing: true, FixPrior: true, FixLikelihood: true, BatchSize: math.MaxInt, Config: train.Config{Iterations: 1},
		}
		res, err := fit.Run(ctx, a.Dense(t, "X"), a.Dense(t, "y"))
		if err != nil {
			t.Fatal(err)
		}
		got, want := variances(t, net, l, a.Dense(t, "grid")), a.Floats(t, c.want)
		fixture.Close(t, "variance with Z = "+c.z, got, want, c.tol)
		t.Logf("Z = %s: relative error %.2g with jitter %g", c.z, fixture.RelErr(got, want), res.Jitter)
	}
}

// TestNaturalIsOptimalA: one step over all of the data, α = 0, is OptimalA.
func TestNaturalIsOptimalA(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 5e-3} {
		for seed := range uint64(3) {
			p, _ := optimal(t, seed, dt, size{2, 4})
			want := variances(t, p.net, p.layer, p.x)
			f := p.natural(1)
			f.Alpha = new(0.0)
			if _, err := f.Run(ctx, p.x, p.y); err != nil {
				t.Fatal(err)
			}
			fixture.Close(t, "variance", variances(t, p.net, p.layer, p.x), want, tol)
		}
	}
}

// TestNaturalFixedPoint: in classification the fit converges to Prop. 2 extended with a
// diagonal Λ of λ_c = (π/8) (y_c − p_c) g_c (1 + πQ_cc/8)^(−3/2), with
// A's negative part left out: Q of that A, computed densely from the λ of the fit's own
// Q, is Q again. After n steps the average still remembers of order 1/n of the way.
func TestNaturalFixedPoint(t *testing.T) {
	p := newToy(t, 2, tensor.Float64, size{3, 5})
	p.classify()
	if _, err := p.natural(2000).Run(ctx, p.x, p.y); err != nil {
		t.Fatal(err)
	}
	s, y := p.state(t), p.y.Float64s()
	mean := graph.Floats(p.outputs(t))
	whiten := mat.NewTriDense(5, mat.Lower, nil)
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(5, s.kz.RawMatrix().Data)) {
		t.Fatal("K_z has no Cholesky factor")
	}
	chol.LTo(whiten)
	inv := inverse(t, whiten)
	sum := mat.NewDense(5, 5, nil)
	for i := range toyBatch {
		for c, l := range probitLambda(mean[3*i:3*i+3], y[3*i:3*i+3], s.q[i]) {
			row := mat.NewDense(1, 5, append([]float64(nil), s.kxz[i].RawRowView(c)...))
			g := product(row.T(), row)
			g.Scale(l, g)
			sum.Add(sum, g)
		}
	}
	var eig mat.EigenSym
	white := product(inv, sum, inv.T())
	if !eig.Factorize(mat.NewSymDense(5, white.RawMatrix().Data), true) {
		t.Fatal("no eigenvalues")
	}
	var u mat.Dense
	eig.VectorsTo(&u)
	shrink := mat.NewDiagDense(5, nil)
	for j, g := range eig.Values(nil) {
		shrink.SetDiag(j, max(g, 0)/(1+max(g, 0)))
	}
	middle := product(inv.T(), &u, shrink, u.T(), inv)
	for i, k := range s.kxz {
		want := product(k, middle, k.T())
		want.Sub(s.kx[i], want)
		fixture.Close(t, "Q", mat.DenseCopyOf(s.q[i]).RawMatrix().Data, want.RawMatrix().Data, 1e-4)
	}
}

// outputs are the network's at the examples.
func (p *toy) outputs(t *testing.T) *tensor.Dense {
	t.Helper()
	b, x, _ := p.inputs()
	out := p.net.Forward(b, x)
	v := compile(t, b, out).values(t)[0]
	return tensor.New(tensor.WithShape(out.Shape()...), tensor.WithBacking(v))
}

// probitLambda is λ = −2 ∂ log softmax(F)_y / ∂Q_cc by hand.
func probitLambda(g, y []float64, q *mat.SymDense) []float64 {
	f := make([]float64, len(g))
	sum := 0.0
	for c := range g {
		f[c] = math.Exp(g[c] / math.Sqrt(1+math.Pi/8*q.At(c, c)))
		sum += f[c]
	}
	for c := range f {
		f[c] = math.Pi / 8 * (y[c] - f[c]/sum) * g[c] * math.Pow(1+math.Pi/8*q.At(c, c), -1.5)
	}
	return f
}

// TestNaturalBeatsAdam: for fixed Z and σ₀ fifty steps reach a lower objective than a
// thousand of Adam.
func TestNaturalBeatsAdam(t *testing.T) {
	for _, classify := range []bool{false, true} {
		objective := func(fit func(p *toy) error) float64 {
			p := newToy(t, 7, tensor.Float64, size{3, 5})
			p.lik = likelihood.NewGaussian(0.05, tensor.Float64)
			if classify {
				p.classify()
			}
			for i := range p.layer.L.Floats() {
				p.layer.L.Set(i, 0)
			}
			for i := range 5 {
				p.layer.L.Set(i*(i+3)/2, 1)
			}
			if err := fit(p); err != nil {
				t.Fatal(err)
			}
			return p.loss(t, 1, toyBatch).values(t)[0][0]
		}
		natural := objective(func(p *toy) error { _, err := p.natural(50).Run(ctx, p.x, p.y); return err })
		adam := objective(func(p *toy) error {
			f := p.fit(1000)
			f.Alpha, f.FixPrior, f.FixLikelihood = new(1.0), true, true
			z := p.layer.Z.Value.Clone().(*tensor.Dense) // Fit moves Z, which may only help it
			_, err := f.Run(ctx, p.x, p.y)
			copy(p.layer.Z.Value.Float64s(), z.Float64s())
			return err
		})
		if !(natural < adam) {
			t.Errorf("classification %t: objective %g after 50 steps, %g after 1,000 of Adam", classify, natural, adam)
		}
	}
}

// curveFit is a regression fit with everything free, on points of the curve.
func curveFit(t *testing.T, dt tensor.Dtype) (f naturalFit, x, y *tensor.Dense) {
	t.Helper()
	x, y, f.ValidationX, f.ValidationY = curve(60, dt)
	f.Net = mapNetwork(t, x, y)
	rng := rand.New(rand.NewPCG(3, 3))
	var err error
	if f.Layer, err = NewLayer(jacobian.NTK{Net: f.Net}, small.Normal(rng, dt, 10, 1), nil); err != nil {
		t.Fatal(err)
	}
	f.Likelihood, f.Alpha, f.BatchSize, f.Seed = likelihood.NewGaussian(0.05, dt), new(1.0), 20, 3
	f.Config.Iterations = 60
	return f, x, y
}

// TestNaturalState: the layer, with the noise, is the state that was validated: its NLL
// is the best value. The noise of K_z in float32 is multiplied by the condition that
// jitter bounds.
func TestNaturalState(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-7, tensor.Float32: 1e-3} {
		f, x, y := curveFit(t, dt)
		f.FixPrior = true
		f.Layer.LogPriorStd.Set(0, math.Log(0.5))
		res, err := f.Run(ctx, x, y)
		if err != nil {
			t.Fatal(err)
		}
		lik := f.Likelihood.(likelihood.Gaussian)
		post := newPosterior(f.Net, f.Layer)
		own := validationNLL(t, post, lik, f.ValidationX, f.ValidationY)
		if math.Abs(own-res.BestValue) > tol {
			t.Errorf("%v: the layer's NLL is %.8g, the best validation value %.8g", dt, own, res.BestValue)
		}
		if g, err := gp.Predict(ctx, post, x); err != nil || mean(g.Cov) < 1e-3 {
			t.Errorf("%v: mean variance %g, which shows nothing; error %v", dt, mean(g.Cov), err)
		}
		if len(res.History) != 20 || math.Abs(f.Layer.PriorStd()-0.5) > 1e-6 {
			t.Errorf("%v: %d validations, σ₀ %g", dt, len(res.History), f.Layer.PriorStd())
		}
	}
}

// TestNaturalPrior: σ₀ follows the rows held out. Where the network's outputs are off by 0.3 and
// the noise is known to be less, the variance makes up for it; where they are as good as they
// can be, it is a small part of that, but σ₀ does not fall without end.
func TestNaturalPrior(t *testing.T) {
	const off, noise = 0.3, 0.05
	variance := func(shift float64, fixed bool) (float64, float64) {
		f, x, y := curveFit(t, tensor.Float64)
		rng := rand.New(rand.NewPCG(8, 8))
		for _, v := range [][]float64{y.Float64s(), f.ValidationY.Float64s()} {
			for i := range v {
				v[i] += shift * rng.NormFloat64()
			}
		}
		f.FixLikelihood = fixed
		if _, err := f.Run(ctx, x, y); err != nil {
			t.Fatal(err)
		}
		return mean(variances(t, f.Net, f.Layer, x)), f.Layer.PriorStd()
	}
	good, std := variance(0, false)
	bad, _ := variance(off, true)
	t.Logf("mean variance %.4g and %.4g; σ₀ of the good network %.3g", good, bad, std)
	if want := off*off - noise; !(bad > want/2 && bad < 2*want && good < want/5 && std > 1e-5) {
		t.Errorf("mean variance %g of a good network with σ₀ = %g, %g of one that is off by more than the noise, which leaves %g", good, std, bad, want)
	}
}

// TestNaturalResumes: a fit that was cancelled and gone on with ends where an
// uninterrupted one does, bit for bit.
func TestNaturalResumes(t *testing.T) {
	for _, validated := range []bool{true, false} {
		run := func(stopAt int, path string) (*Layer, error) {
			f, x, y := curveFit(t, tensor.Float64)
			if !validated {
				f.ValidationX, f.ValidationY = nil, nil
			}
			stopped, cancel := context.WithCancel(ctx)
			defer cancel()
			f.Config.Checkpoint, f.Config.Resume = path, true
			f.Config.OnStep = func(s train.Step) {
				if s.Iteration == stopAt {
					cancel()
				}
			}
			_, err := f.Run(stopped, x, y)
			return f.Layer, err
		}
		dir := t.TempDir()
		whole, err := run(-1, filepath.Join(dir, "whole"))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{1, 32, 35} { // among others where a search and a validation are due
			if _, err := run(at, filepath.Join(dir, "parts")); !errors.Is(err, context.Canceled) {
				t.Fatalf("cancelled: error %v", err)
			}
		}
		resumed, err := run(-1, filepath.Join(dir, "parts"))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range whole.Params() {
			fixture.Close(t, p.Name+" after a resume", resumed.Params()[i].Floats(), p.Floats(), 0)
		}
	}
}

// TestNaturalErrors: data that do not suit, one line that names both.
func TestNaturalErrors(t *testing.T) {
	for what, c := range map[string]struct {
		change func(p *toy, f *naturalFit)
		want   []string
	}{
		"rows":       {func(p *toy, _ *naturalFit) { p.y = small.Normal(rand.New(rand.NewPCG(1, 1)), p.dt, 5, 2) }, []string{"(6, 2)", "(5, 2)", "bad problem: "}},
		"outputs":    {func(p *toy, _ *naturalFit) { p.y = small.Normal(rand.New(rand.NewPCG(1, 1)), p.dt, 6, 3) }, []string{"(6, 2)", "(6, 3)", "valla: "}},
		"type":       {func(p *toy, _ *naturalFit) { p.y = small.Normal(rand.New(rand.NewPCG(1, 1)), tensor.Float32, 6, 2) }, []string{"float32", "float64", "bad problem: "}},
		"validation": {func(p *toy, f *naturalFit) { f.ValidationX = p.x }, []string{"inputs or targets are nil", "bad problem: "}},
		"alpha":      {func(_ *toy, f *naturalFit) { f.Alpha = new(2.0) }, []string{"α = 2 is out of range", "valla: "}},
		"class":      {func(p *toy, _ *naturalFit) { p.layer.Class[1] = 7 }, []string{"class[1] is 7", "2 outputs", "valla: "}},
	} {
		p := newToy(t, 1, tensor.Float64, size{2, 3})
		f := p.natural(1)
		c.change(p, &f)
		_, err := f.Run(ctx, p.x, p.y)
		wants(t, what, err, c.want...)
	}
	p := newToy(t, 1, tensor.Float64, size{2, 3})
	f := p.natural(1)
	f.Layer.Kernel = signed{jacobian.NTK{Net: p.net}, graph.NewParam("factor", []float64{-1}, tensor.Float64, 1)}
	if _, err := f.Run(ctx, p.x, p.y); !errors.Is(err, gp.ErrJitter) {
		t.Errorf("a negative kernel: error %v, want gp.ErrJitter", err)
	}
}

// TestNaturalManyRows: where there are many rows, whose noise depends on the input, the
// prior hardly counts and λ of both signs cancel. From wherever σ₀ starts, natural
// gradients end where twenty times as many steps of Adam do: in the mean of several fits, since one
// differs from another by 0.002, even where only rounding differs. Without the bound on steps
// they do not.
func TestNaturalManyRows(t *testing.T) {
	const n = 5000
	noise := func(x float64) float64 { return 0.03 + 0.4*x*x }
	rng := rand.New(rand.NewPCG(12, 1))
	draw := func() (x, y *tensor.Dense) {
		xs, ys := make([]float64, n), make([]float64, n)
		for i := range xs {
			xs[i] = 3*rng.Float64() - 1.5
			ys[i] = math.Sin(3*xs[i]) + noise(xs[i])*rng.NormFloat64()
		}
		return graph.NewParam("", xs, tensor.Float64, n, 1).Value, graph.NewParam("", ys, tensor.Float64, n, 1).Value
	}
	x, y := draw()
	testX, testY := draw()
	net := mapNetwork(t, x, y)
	fitted := func(prior float64, fit func(*Layer, likelihood.Gaussian) error) float64 {
		layer := greedyLayer(t, net, data.TakeRows(x, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}), 12)
		layer.LogPriorStd.Set(0, math.Log(prior))
		lik := likelihood.NewGaussian(math.Exp(-5), tensor.Float64)
		if err := fit(layer, lik); err != nil {
			t.Fatal(err)
		}
		return validationNLL(t, newPosterior(net, layer), lik, testX, testY)
	}
	adam := fitted(1, func(l *Layer, lik likelihood.Gaussian) error {
		f := adamFit{Net: net, Layer: l, Likelihood: lik, Alpha: new(1.0), BatchSize: 100, Seed: 1,
			Config: train.Config{Iterations: 4000, Optimizer: &train.Adam{LR: 1e-2}, Schedule: train.Cosine(0)}}
		_, err := f.Run(ctx, x, y)
		return err
	})
	const fits = 21
	got, priors := 0.0, []float64{0.1, 1, 10}
	for seed := range uint64(fits) {
		got += fitted(priors[seed%3], func(l *Layer, lik likelihood.Gaussian) error {
			f := naturalFit{Net: net, Layer: l, Likelihood: lik, Alpha: new(1.0), BatchSize: 100, Seed: seed,
				ValidationX: testX, ValidationY: testY, Config: train.Config{Iterations: 200}}
			_, err := f.Run(ctx, x, y)
			return err
		}) / fits
	}
	t.Logf("mean NLL %.4f, of Adam %.4f", got, adam)
	if !(got < adam+0.005) {
		t.Errorf("mean NLL %.4f, of Adam %.4f", got, adam)
	}
}
