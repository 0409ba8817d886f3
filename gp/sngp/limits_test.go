package sngp

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// problem returns the problem of this name from package gptest.
func problem(t *testing.T, name string) gptest.Problem {
	t.Helper()
	all := small.Must(t, gptest.Problems)
	for _, p := range all {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no problem %s", name)
	return gptest.Problem{}
}

// features returns φ [n,m] and f [n,C] of a posterior.
func features(t *testing.T, p *posterior, x *tensor.Dense) (phi *mat.Dense, f []float64) {
	t.Helper()
	var v []float64
	err := p.each(t.Context(), x, func(_ int, more, values []float64) error {
		v, f = append(v, more...), append(f, values...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return mat.NewDense(len(v)/p.cov.Features, p.cov.Features, v), f
}

func times(a, b mat.Matrix) *mat.Dense {
	var c mat.Dense
	c.Mul(a, b)
	return &c
}

// TestGaussianProcess: with numbers the posterior is a Gaussian process's posterior with the kernel
// φφ'ᵀ and the noise variance s, mean and covariance.
func TestGaussianProcess(t *testing.T) {
	p := problem(t, "MLP, 2 outputs, float64")
	f, post := fit(t, Settings{Features: 30, Iterations: 20}, p.Problem, gp.Run{Seed: 1})
	rows, _ := features(t, post, p.Train.X)
	test, _ := features(t, post, p.Probe)
	k, cross := times(rows, rows.T()), times(test, rows.T())
	for i := range p.Train.N() {
		k.Set(i, i, k.At(i, i)+f.NoiseVariance)
	}
	var gain mat.Dense
	if err := gain.Solve(k, cross.T()); err != nil {
		t.Fatal(err)
	}
	mean, cov, err := post.Joint(t.Context(), p.Probe)
	if err != nil {
		t.Fatal(err)
	}
	y := mat.NewDense(p.Train.N(), 2, graph.Floats(p.Train.Y))
	fixture.Close(t, "mean", mean.Float64s(), times(gain.T(), y).RawMatrix().Data, 1e-9)
	var want mat.Dense
	want.Sub(times(test, test.T()), times(cross, &gain))
	n := p.Probe.Shape()[0]
	for i := range n {
		for j := range n {
			if got := cov.Float64s()[2*i*2*n+2*j]; math.Abs(got-want.At(i, j)) > 1e-9 {
				t.Errorf("covariance %d %d: %g, want %g", i, j, got, want.At(i, j))
			}
		}
	}
}

// TestJointLaplace: the covariance of all classes together is the covariance of linearised Laplace
// with the kernel φφ'ᵀ/s for each class, in its dual form.
func TestJointLaplace(t *testing.T) {
	p := problem(t, "MLP, 3 classes, float64")
	_, post := fit(t, Settings{Features: 9, Iterations: 10, Covariance: formJoint, Ridge: 0.7}, p.Problem, gp.Run{Seed: 1})
	const c = 3
	known, f := features(t, post, p.Train.X)
	test, _ := features(t, post, p.Probe)
	n, m, at := p.Train.N(), 9, p.Probe.Shape()[0]
	rows, probe := mat.NewDense(n*c, c*m, nil), mat.NewDense(at*c, c*m, nil) // Rᵀ J, and J
	for i := range n {
		w, mean := make([]float64, c), make([]float64, c)
		likelihood.Softmax{}.Root(w, mean, f[i*c:(i+1)*c])
		for k := range c {
			for l := range c {
				e := -mean[l]
				if k == l {
					e++
				}
				for j := range m {
					rows.Set(i*c+k, l*m+j, math.Sqrt(w[k])*e*known.At(i, j))
				}
			}
		}
	}
	for i := range at {
		for k := range c {
			for j := range m {
				probe.Set(i*c+k, k*m+j, test.At(i, j))
			}
		}
	}
	dual := times(rows, rows.T())
	dual.Scale(1/post.cov.Ridge, dual)
	for i := range n * c {
		dual.Set(i, i, dual.At(i, i)+1)
	}
	cross := times(probe, rows.T())
	cross.Scale(1/post.cov.Ridge, cross)
	var gain, want mat.Dense
	if err := gain.Solve(dual, cross.T()); err != nil {
		t.Fatal(err)
	}
	prior := times(probe, probe.T())
	prior.Scale(1/post.cov.Ridge, prior)
	want.Sub(prior, times(cross, &gain))
	_, got, err := post.Joint(t.Context(), p.Probe)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "joint covariance", got.Float64s(), want.RawMatrix().Data, 1e-9)
}

// matrixOf is the matrix of a layer's linear map of one example.
func matrixOf(t *testing.T, l *bounded) *mat.Dense {
	t.Helper()
	in, out := l.v.Value.Shape().TotalSize(), l.u.Value.Shape().TotalSize()
	m := mat.NewDense(out, in, nil)
	unit := &graph.Param{Name: "unit", Value: tensor.New(tensor.Of(f64), tensor.WithShape(l.v.Value.Shape()...))}
	b := graph.NewBuilder(f64)
	e := b.Param(unit)
	y := l.apply(b, b.Param(l.w), e)
	prog, err := graph.Compile(b, []*graph.Node{y}, graph.Options{Varying: []*graph.Node{e}})
	if err != nil {
		t.Fatal(err)
	}
	for j := range in {
		unit.Set(j, 1)
		if err := prog.Run(); err != nil {
			t.Fatal(err)
		}
		m.SetCol(j, graph.Floats(prog.Value(y)))
		unit.Set(j, 0)
	}
	return m
}

// largestSingular returns the largest singular value of the matrix m.
func largestSingular(t *testing.T, m *mat.Dense) float64 {
	t.Helper()
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		t.Fatal("no singular values")
	}
	return slices.Max(svd.Values(nil))
}

// residualNet returns a network with all kinds of linear layers, some layers in a residual block.
func residualNet(t *testing.T) layers.Sequential {
	t.Helper()
	form := layers.SequentialForm{Input: []int{2, 5, 4}, Layers: layers.Layers{
		layers.Conv2D{Filters: 4, Kernel: 3, Stride: 2, Padding: 1, Bias: true}, layers.BatchNorm{}, layers.Activation("tanh"),
		layers.ResidualLayer{
			Inner:    layers.Layers{layers.Convolution{Filters: 4, Kernel: []int{3, 1}, Padding: []int{1, 0}, Groups: 2}, layers.Activation("relu")},
			Shortcut: layers.Layers{layers.Conv2D{Filters: 4, Kernel: 1}},
		},
		layers.Convolution{Filters: 3, Kernel: []int{2}, Stride: []int{2}, Transposed: true},
		layers.Flatten{}, layers.DenseLayer{Outputs: 5}, layers.Activation("tanh"), layers.DenseLayer{Outputs: 3},
	}}
	net, err := layers.Build(form, f64, newRand(3))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// boundedLayers returns residualNet's bounded layers, their own weights, and the layers' divider.
func boundedLayers(t *testing.T, s spectral) (own []*graph.Param, all []*bounded, d *divider) {
	t.Helper()
	n, err := newNetwork(residualNet(t), []int{2, 5, 4})
	if err != nil {
		t.Fatal(err)
	}
	own = layers.NewCopy(n.hidden).Params()
	if all, err = boundLayers(n, own, s, false, newRand(1)); err != nil {
		t.Fatal(err)
	}
	if top, err := boundLayers(n, own, s, true, newRand(1)); err != nil || len(all) != 5 || len(top) != 3 {
		t.Fatalf("%d layers and %d in the list itself, error %v, expected 5 and 3", len(all), len(top), err)
	}
	if d, err = newDivider(all, f64); err != nil {
		t.Fatal(err)
	}
	return own, all, d
}

// TestNorms: estimates of dense and convolutional layers grow towards the largest singular value
// of the layer's matrix, and reach it; divided weights are within the bound.
func TestNorms(t *testing.T) {
	for _, always := range []bool{false, true} {
		own, all, d := boundedLayers(t, spectral{bound: 0.8, always: always})
		want, last := make([]float64, len(all)), make([]float64, len(all))
		for i, l := range all {
			want[i] = largestSingular(t, matrixOf(t, l))
		}
		for steps := 1; steps <= 4096; steps *= 8 {
			if err := errors.Join(settle(all, f64, steps), d.program.Run()); err != nil {
				t.Fatal(err)
			}
			for i, v := range d.norms() {
				if v < last[i]*(1-1e-12) || v > want[i]*(1+1e-12) {
					t.Errorf("layer %d: norm %g after %g, expected up to %g", i, v, last[i], want[i])
				}
				last[i] = v
			}
		}
		fixture.Close(t, "norms", last, want, 1e-9)
		if err := d.run(own); err != nil {
			t.Fatal(err)
		}
		for i, l := range all {
			bound := min(0.8, want[i])
			if always {
				bound = 1
			}
			if got := largestSingular(t, matrixOf(t, l)); math.Abs(got-bound) > 1e-9 {
				t.Errorf("layer %d, always %t: divided to the norm %g, expected %g", i, always, got, bound)
			}
		}
	}
}

// TestWithinBound: weights within the bound stay as they are.
func TestWithinBound(t *testing.T) {
	own, all, d := boundedLayers(t, spectral{bound: 100})
	before := make([][]float64, len(all))
	for i, l := range all {
		before[i] = l.w.Floats()
	}
	if err := d.run(own); err != nil {
		t.Fatal(err)
	}
	for i, l := range all {
		fixture.Close(t, l.w.Name, l.w.Floats(), before[i], 0)
	}
}

// TestGradients compares gradients of the loss with finite differences, with batch norm in training
// and a penalty. The vectors of power iteration have come near to singular vectors.
func TestGradients(t *testing.T) {
	rng := newRand(5)
	x := dense.Of(normals(6*40, rng), 6, 2, 5, 4)
	y := small.OneHot([]int{0, 1, 2, 0, 1, 2}, 3, f64)
	f := trial(t, residualNet(t), Settings{Bound: 0.6, NormGradient: gradThrough, Features: 8, LayerNorm: true, L2: 1e-2, BatchNorm: normTraining}, x, y, true)
	if err := settle(f.bounded, f64, 3000); err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(f64)
	l := f.loss(b, small.Given(b, "x", x), small.Given(b, "y", y))
	params := f.params()
	wrt := nodes(b, params)
	grads := graph.Grad(b, l.Loss, wrt...)
	prog, err := graph.Compile(b, append(slices.Clone(grads), l.Loss), graph.Options{Varying: wrt})
	if err != nil {
		t.Fatal(err)
	}
	run := func() float64 {
		if err := prog.Run(); err != nil {
			t.Fatal(err)
		}
		return prog.Scalar(l.Loss)
	}
	run()
	var want [][]float64
	for _, g := range grads {
		want = append(want, graph.Floats(prog.Value(g)))
	}
	const h = 1e-5
	for k, p := range params {
		for _, i := range []int{0, len(want[k]) / 2, len(want[k]) - 1} {
			v := p.At(i)
			p.Set(i, v+h)
			slope := run()
			p.Set(i, v-h)
			slope = (slope - run()) / (2 * h)
			p.Set(i, v)
			if math.Abs(slope-want[k][i]) > 1e-7 {
				t.Errorf("%s[%d]: gradient %g, by differences %g", p.Name, i, want[k][i], slope)
			}
		}
	}
}

// TestSimpleLimits: λ = 0 gives softmax of the values; without data the variance is |φ|²; one
// sample draw changes nothing where the covariance is zero.
func TestSimpleLimits(t *testing.T) {
	p := problem(t, "MLP, 3 classes, float64")
	_, post := fit(t, Settings{Features: 20, Iterations: 5, Lambda: new(0.0)}, p.Problem, gp.Run{})
	phi, f := features(t, post, p.Probe)
	g := small.Predict(t, post, p.Probe)
	softmax(f, 3)
	fixture.Close(t, "softmax", g.Probs, f, 1e-14)
	empty := &covariance{Form: formShared, Ridge: post.cov.Ridge, Features: 20, Outputs: 1}
	if err := empty.factor(make([]float64, 400)); err != nil {
		t.Fatal(err)
	}
	n := p.Probe.Shape()[0]
	got, want := make([]float64, n), make([]float64, n)
	empty.fill(got, phi.RawMatrix().Data, empty.workspace(n))
	for i := range want {
		want[i] = mat.Dot(phi.RowView(i), phi.RowView(i))
	}
	fixture.Close(t, "variance without data", got, want, 1e-12)
	root, row := make([]float64, 9), make([]float64, 3)
	rootOf(root, make([]float64, 9), 3)
	averaged(row, []float64{1, 2, 3}, root, []float64{5, -4, 3}, make([]float64, 3))
	want = []float64{1, 2, 3}
	softmax(want, 3)
	fixture.Close(t, "a covariance of zeros", row, want, 1e-15)
}

// TestOneBatch: a moving average that keeps nothing, of one batch of all N rows, is the exact
// sum of φᵀφ over N.
func TestOneBatch(t *testing.T) {
	p := problem(t, "MLP, 3 classes, float64")
	s := Settings{Features: 12, Iterations: 1, BatchSize: p.Train.N(), LearningRate: 1e-300}
	_, all := fit(t, s, p.Problem, gp.Run{})
	s.Precision, s.Average = average, new(0.0)
	_, batch := fit(t, s, p.Problem, gp.Run{})
	got, want := product(batch.cov.factors, 12), product(all.cov.factors, 12)
	for i := range 12 {
		got[i*12+i]--
		want[i*12+i]--
	}
	for i := range got {
		got[i] *= float64(p.Train.N())
	}
	fixture.Close(t, "N times the average", got, want, 1e-9)
}

// TestParts: a mini-batch that needs more memory than there is is computed in parts, with the same
// result; a moving average cannot be.
func TestParts(t *testing.T) {
	p := problem(t, "CNN, 3 classes, float64").Problem
	s := Settings{Features: 16, Iterations: 6, KeepLast: true}
	_, whole := fit(t, s, p, gp.Run{})
	f, need := trial(t, p.Net, s, p.Train.X, p.Train.Y, true), int64(0)
	for range 4 { // what a fit holds beside a step is less where there is less memory
		if _, err := f.plan(); err != nil {
			t.Fatal(err)
		}
		g, err := f.steps()
		if err != nil {
			t.Fatal(err)
		}
		step, err := g.Cost(p.Train.N())
		if err != nil {
			t.Fatal(err)
		}
		need = step.Bytes
		f.r.Memory = need
	}
	_, parts := fit(t, s, p, gp.Run{Memory: need - 1})
	got, want := parts.head.Beta.Floats(), whole.head.Beta.Floats()
	fixture.Close(t, "β in parts", got, want, 1e-9)
	if slices.Equal(got, want) {
		t.Error("the mini-batch has no parts: not even rounding differs")
	}
	s.Precision = average
	if _, err := s.Fit(t.Context(), p, gp.Run{Memory: need - 1}); !errors.As(err, new(*graph.MemoryError)) {
		t.Errorf("a moving average in parts: %v", err)
	}
}

// TestBatchNorm: means and variances of the posterior stay as the network's, or follow the
// mini-batches; the network keeps its own.
func TestBatchNorm(t *testing.T) {
	net := residualNet(t)
	state := func(all []*graph.Param) []float64 { return append(all[0].Floats(), all[1].Floats()...) }
	before := state(layers.State(net))
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{
		X: dense.Of(normals(8*40, newRand(1)), 8, 2, 5, 4), Y: small.OneHot([]int{0, 1, 2, 0, 1, 2, 0, 1}, 3, f64),
	}}
	for _, norm := range []string{"frozen", normTraining} {
		_, post := fit(t, Settings{Features: 8, Iterations: 3, BatchNorm: norm}, p, gp.Run{})
		own := state(post.weights.State())
		if same := slices.Equal(own, before); same != (norm == "frozen") {
			t.Errorf("batch norm %s: means and variances are the network's: %t", norm, same)
		}
	}
	fixture.Close(t, "the network's means and variances", state(layers.State(net)), before, 0)
}

// TestLastLayer: a network whose last layer is no dense one is refused in a line that says so; one
// without other layers is not.
func TestLastLayer(t *testing.T) {
	p := problem(t, "MLP, 3 classes, float64").Problem
	p.Net = append(slices.Clone(p.Net.(layers.Sequential)), layers.Activation("tanh"))
	if _, err := new(Settings).Fit(t.Context(), p, gp.Run{}); err == nil || err.Error() != "sngp: random features replace the last layer: the layer tanh is not a dense layer" {
		t.Errorf("error %v", err)
	}
	p.Net = layers.NewDense("only", 2, 3, f64, newRand(1))
	fit(t, Settings{Features: 8, Iterations: 2}, p, gp.Run{})
}

// TestLambda: λ that the fit chooses has a smaller loss on the validation rows than its
// neighbours.
func TestLambda(t *testing.T) {
	p := problem(t, "MLP, 3 classes, float64").Problem
	labels := p.Train.Labels()
	for i := 0; i < len(labels); i += 3 {
		labels[i] = (labels[i] + 1) % 3 // the values are too sure of their classes, but not far off
	}
	p.Validation = &gp.Examples{X: p.Train.X, Y: small.OneHot(labels, 3, f64)}
	loss := func(lambda *float64) (float64, float64) {
		f, post := fit(t, Settings{Features: 30, Iterations: 200, LearningRate: 0.02, KeepLast: true, Lambda: lambda}, p, gp.Run{})
		g := small.Predict(t, post, p.Validation.X)
		sum := 0.0
		for i, k := range p.Validation.Labels() {
			sum -= math.Log(g.Probs[3*i+k])
		}
		return sum, *f.Record.Settings["lambda"].(*float64)
	}
	best, at := loss(nil)
	for _, factor := range []float64{0.5, math.Sqrt2 / 2, math.Sqrt2, 2} {
		if other, _ := loss(new(at * factor)); at == 0 || other <= best {
			t.Errorf("λ %g has the loss %g, %g of its value %g", at, best, factor, other)
		}
	}
}

// TestFloat32: a fit in float32 is that in float64, as well as its digits allow.
func TestFloat32(t *testing.T) {
	s := Settings{Features: 20, Iterations: 10, Bound: 0.9, LayerNorm: true, KeepLast: true}
	var got [][]float64
	for _, name := range []string{"CNN, 3 classes, float64", "CNN, 3 classes, float32"} {
		p := problem(t, name)
		_, post := fit(t, s, p.Problem, gp.Run{Seed: 3})
		g := small.Predict(t, post, p.Probe)
		got = append(got, g.Mean, g.Cov, g.Probs)
	}
	for i, what := range []string{"means", "covariances", "probabilities"} {
		fixture.Close(t, what, got[3+i], got[i], 1e-3)
	}
}

// TestAugment: images that are moved make another fit; without such images it is refused.
func TestAugment(t *testing.T) {
	p := problem(t, "CNN, 3 classes, float64").Problem
	s := Settings{Features: 8, Iterations: 3, Augment: true}
	if _, err := s.Fit(t.Context(), p, gp.Run{}); !errors.Is(err, settings.ErrSetting) {
		t.Errorf("without images: %v", err)
	}
	p.Augmented = train.Rows{All: dense.Of(normals(p.Train.X.Shape().TotalSize(), newRand(1)), p.Train.X.Shape()...)}
	_, moved := fit(t, s, p, gp.Run{})
	s.Augment = false
	_, plain := fit(t, s, p, gp.Run{})
	if slices.Equal(moved.head.Beta.Floats(), plain.head.Beta.Floats()) {
		t.Error("moved images change nothing")
	}
}

// TestBoundOfLargeLayers: the default bound leaves layers as they are whose norms are far above 6.
func TestBoundOfLargeLayers(t *testing.T) {
	p := problem(t, "CNN, 3 classes, float64").Problem
	w := layers.NewCopy(p.Net)
	for _, q := range w.Params() {
		for i, v := range q.Floats() {
			q.Set(i, 30*v)
		}
	}
	net, err := newNetwork(p.Net, p.Train.X.Shape()[1:])
	if err != nil {
		t.Fatal(err)
	}
	all, err := boundLayers(net, w.Params(), spectral{bound: leastBound}, false, newRand(1))
	if err != nil || settle(all, f64, 500) != nil {
		t.Fatal(err)
	}
	if top, err := largestNorm(all, f64); err != nil || top < 3*leastBound {
		t.Fatalf("the largest norm is %g, error %v", top, err)
	}
	for i, q := range p.Net.Params() {
		tensor.Copy(q.Value, w.Params()[i].Value)
	}
	f, post := fit(t, Settings{Features: 8, Iterations: 1, LearningRate: 1e-300}, p, gp.Run{})
	for i, q := range post.weights.Params() {
		fixture.Close(t, q.Name, q.Floats(), w.Params()[i].Floats(), 0.02)
	}
	if bound := f.Record.Settings["bound"].(float64); bound < 3*leastBound {
		t.Errorf("bound %g", bound)
	}
}

// TestManyFeatures: a covariance that is larger than the memory is refused before it is made, for any number of
// features and also where no limit was set.
func TestManyFeatures(t *testing.T) {
	p := problem(t, "CNN, 3 classes, float64").Problem
	for _, form := range []string{formShared, formPerClass, formJoint} {
		for _, m := range []int{100_000, 1_000_000_000} {
			_, err := (&Settings{Features: m, Covariance: form, Iterations: 1}).Fit(t.Context(), p, gp.Run{})
			if !errors.As(err, new(*graph.MemoryError)) {
				t.Errorf("%s, %d features: %v", form, m, err)
			}
		}
	}
}
