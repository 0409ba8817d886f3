package mfvi

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
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

// ways are those to draw weights.
var ways = []string{single, flipout, perExample, local}

// images is a problem with n images for a network of every layer that has weights.
func images(t *testing.T, n int) gp.Problem {
	t.Helper()
	form := layers.SequentialForm{Input: []int{2, 6, 6}, Layers: layers.Layers{
		layers.Conv2D{Filters: 4, Kernel: 3, Padding: 1, Bias: true}, layers.BatchNorm{}, layers.Activation("tanh"),
		layers.ResidualLayer{Inner: layers.Layers{
			layers.Convolution{Filters: 4, Kernel: []int{3}, Padding: []int{1}, Groups: 2, Bias: true}, layers.GroupNorm{Groups: 2}, layers.Activation("softplus"),
		}},
		layers.Convolution{Filters: 3, Kernel: []int{2}, Stride: []int{2}, Transposed: true}, layers.GlobalAveragePool{}, layers.DenseLayer{Outputs: 3},
	}}
	rng := rand.New(rand.NewPCG(3, 4))
	net, err := layers.Build(form, tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	var labels []int
	for range n {
		labels = append(labels, int(rng.Int64N(3)))
	}
	return gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: small.Normal(rng, tensor.Float64, n, 2, 6, 6), Y: small.OneHot(labels, 3, tensor.Float64)}}
}

// fitted is the result of a fit as it is.
func fitted(t *testing.T, f *fitting) *gp.Fitted {
	t.Helper()
	out, err := f.fitted(t.Context(), gp.Record{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// frozen is the objective of a fit on all rows, whose noise depends on the number of the
// evaluation.
func frozen(t *testing.T, p gp.Problem, s Settings) (*fitting, *train.Graph) {
	t.Helper()
	s.BatchSize = p.Train.N()
	c, err := s.complete(p)
	if err != nil {
		t.Fatal(err)
	}
	f := newFitting(p, gp.Run{Seed: 5}, c)
	b := graph.NewBuilder(tensor.Float64)
	x, y := b.Input("x", p.Train.X.Shape()...), b.Input("y", p.Train.Y.Shape()...)
	w := f.write(b, x, y)
	fill := drawn(5)
	feed := small.Feed{In: map[*graph.Node]*tensor.Dense{x: p.Train.X, y: p.Train.Y}, Next: func(k int) error {
		for _, n := range w.noises {
			fill(n, k, 0)
		}
		return nil
	}}
	for _, n := range w.noises {
		feed.In[n.node] = n.value
	}
	g, err := train.NewGraph(b, w.Loss, f.trained(), feed) // running statistics stay
	if err != nil {
		t.Fatal(err)
	}
	return f, g
}

// TestWithoutSpread: at ψ = −40 every way to draw weights gives the loss and the gradient of
// the network with weight decay, and predictions are the network's.
func TestWithoutSpread(t *testing.T) {
	p := images(t, 5)
	f, g := frozen(t, p, Settings{Estimator: none})
	want, _, loss := gradients(t, f, g)
	for _, how := range ways {
		f, g := frozen(t, p, Settings{Estimator: how, LogStd: -40, Samples: 1})
		mu, _, l := gradients(t, f, g)
		constant := 0.0
		for _, psi := range f.begun {
			constant += (math.Log(f.s.PriorStd) - 0.5 - psi) / float64(p.Train.N())
		}
		tol := 1e-11
		if how == local {
			tol = 10 * leastStd // its noise stays
		}
		fixture.Close(t, how+": loss", []float64{l - constant}, []float64{loss}, tol)
		fixture.Close(t, how+": gradient", mu, want, tol)
		got := small.Predict(t, fitted(t, f).Posterior, p.Train.X)
		mean, err := gp.Point{Net: p.Net, Dtype: tensor.Float64}.Mean(t.Context(), p.Train.X)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, how+": predictions", got.Mean, mean.Float64s(), 1e-14)
	}
}

// TestGradients: with frozen draws they are differences of the loss, in all layers.
func TestGradients(t *testing.T) {
	p := images(t, 4)
	for _, how := range ways {
		f, g := frozen(t, p, Settings{Estimator: how, LogStd: -1.5})
		mu, psi, _ := gradients(t, f, g)
		grad := append(mu, psi...)
		rng := rand.New(rand.NewPCG(1, 1))
		for range 3 {
			direction := small.Normal(rng, tensor.Float64, len(grad)).Float64s()
			at := func(h float64) float64 {
				k := 0
				for _, p := range f.trained() {
					for i := range p.Value.Float64s() {
						p.Value.Float64s()[i] += h * direction[k]
						k++
					}
				}
				_, _, l := gradients(t, f, g)
				return l
			}
			const h = 1e-5
			up, down, want := at(h), at(-2*h), 0.0
			at(h)
			for i, d := range direction {
				want += grad[i] * d
			}
			if got := (up - down) / (2 * h); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s: the loss changes by %.10g along a direction, the gradient says %.10g", how, got, want)
			}
		}
	}
}

// TestSameMean: all ways have the same mean of the loss and of its gradients, within five
// standard errors of their noise, which they have in different sizes.
func TestSameMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{4}, Outputs: 2, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.5, tensor.Float64), Train: gp.Examples{X: small.Normal(rng, tensor.Float64, 6, 2), Y: small.Normal(rng, tensor.Float64, 6, 2)}}
	const draws = 4000
	moments := func(how string) (mean, errors []float64) {
		_, g := frozen(t, p, Settings{Estimator: how, LogStd: -1.5})
		var sum, squares []float64
		for k := range draws {
			loss, err := g.Evaluate(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			all := []float64{loss}
			for _, p := range g.Params() {
				all = append(all, p.Grad.Float64s()...)
			}
			if k == 0 {
				sum, squares = make([]float64, len(all)), make([]float64, len(all))
			}
			for i, v := range all {
				sum[i] += v / draws
				squares[i] += v * v / draws
			}
		}
		for i := range sum {
			errors = append(errors, math.Sqrt((squares[i]-sum[i]*sum[i])/draws))
		}
		return sum, errors
	}
	want, ofWant := moments(perExample)
	for _, how := range []string{single, flipout, local} {
		got, of := moments(how)
		for i := range got {
			if e := math.Hypot(of[i], ofWant[i]); math.Abs(got[i]-want[i]) > 5*e {
				t.Errorf("%s: number %d is %g on average, for each example %g, with a standard error of %.2g", how, i, got[i], want[i], e)
			}
		}
		if one := slices.Max(of); how == single && !(one > 1.2*slices.Max(ofWant)) {
			t.Errorf("single draws have the noise %g, for each example %g: expected more", one, slices.Max(ofWant))
		}
	}
}

// TestLossOfModels: without noise the data part of the loss is the mean negative log density of each observation model.
func TestLossOfModels(t *testing.T) {
	for _, p := range small.Must(t, gptest.ModelProblems) {
		n, width, dt := p.Train.N(), p.Train.Y.Shape()[1], p.Dtype()
		c, err := Settings{Estimator: none, BatchSize: n}.complete(p.Problem)
		if err != nil {
			t.Fatal(err)
		}
		b := graph.NewBuilder(dt)
		s := newFitting(p.Problem, gp.Run{}, c).write(b, b.Const("x", graph.Floats(p.Train.X), p.Train.X.Shape()...), b.Const("y", graph.Floats(p.Train.Y), n, width))
		program, err := graph.Compile(b, []*graph.Node{s.data}, graph.Options{})
		if err == nil {
			err = program.Run()
		}
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		mean, err := gp.Point{Net: p.Net, Dtype: dt}.Mean(t.Context(), p.Train.X)
		if err != nil {
			t.Fatal(err)
		}
		f, y, want := mean.Float64s(), graph.Floats(p.Train.Y), 0.0
		for i := range n {
			want -= p.Likelihood.LogDensity(y[i*width:(i+1)*width], f[i*len(f)/n:(i+1)*len(f)/n]) / float64(n)
		}
		fixture.Close(t, p.Name, []float64{program.Scalar(s.data)}, []float64{want}, 40*dense.Epsilon(dt))
	}
}

// TestControl: training without noise equals the network's training by SGD with the prior's weight
// decay, running statistics included.
func TestControl(t *testing.T) {
	p := images(t, 24)
	s := Settings{Estimator: none, LearningRate: 0.05, BatchSize: 8, Epochs: 3, Decay: 0.01}
	f := small.Fit(t, &s, p, gp.Run{Seed: 2})
	q := f.Posterior.(*posterior)
	own := layers.NewCopy(p.Net)
	m := train.MAP{Net: own, Loss: train.CrossEntropy, BatchSize: 8, Seed: 2, Config: train.Config{
		Iterations: 9, Optimizer: &train.SGD{LR: 0.05, Momentum: 0.9, WeightDecay: 0.01},
	}}
	if _, err := m.Train(t.Context(), train.Rows{All: p.Train.X}, p.Train.Y); err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "weights", graph.Flat(q.means.Params()), graph.Flat(own.Params()), 1e-12)
	fixture.Close(t, "running statistics", graph.Flat(q.means.State()), graph.Flat(own.State()), 1e-12)
	if slices.Equal(graph.Flat(own.State()), graph.Flat(layers.State(p.Net))) || q.String() != "MF-VI, no noise" {
		t.Errorf("%v: the running statistics have not moved", q)
	}
}

// TestLinearModel: a fit finds the optimum of a linear model, which is the exact posterior mean
// and e^{−2ψ} = diag(FᵀF/σ² + I/s₀²), and σ where it is learned.
func TestLinearModel(t *testing.T) {
	const n, d, sigma2, s0 = 30, 3, 0.2, 1.5
	rng := rand.New(rand.NewPCG(6, 1))
	x, y := small.Normal(rng, tensor.Float64, n, d), small.Normal(rng, tensor.Float64, n, 1)
	rows := mat.NewDense(n, d+1, nil) // [x, 1]
	for i := range n {
		rows.SetRow(i, append(slices.Clone(x.Float64s()[i*d:(i+1)*d]), 1))
	}
	var h, fy mat.Dense
	h.Mul(rows.T(), rows)
	h.Scale(1/sigma2, &h)
	for k := range d + 1 {
		h.Set(k, k, h.At(k, k)+1/(s0*s0))
	}
	fy.Mul(rows.T(), mat.NewDense(n, 1, slices.Clone(y.Float64s())))
	fy.Scale(1/sigma2, &fy)
	var exact mat.Dense
	if err := exact.Solve(&h, &fy); err != nil {
		t.Fatal(err)
	}
	net := layers.Sequential{layers.NewDense("linear", d, 1, tensor.Float64, rng)}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(sigma2, tensor.Float64), Train: gp.Examples{X: x, Y: y}}
	s := Settings{Estimator: local, PriorStd: s0, LogStd: -2, Iterations: 6000, LearningRate: 1e-3, LogStdRate: new(0.05)}
	f := small.Fit(t, &s, p, gp.Run{Seed: 1})
	q := f.Posterior.(*posterior)
	for i, v := range graph.Flat(q.means.Params()) {
		std := 1 / math.Sqrt(h.At(i, i))
		if math.Abs(v-exact.At(i, 0)) > 0.3*std || math.Abs(graph.Flat(q.stds)[i]-math.Log(std)) > 0.1 {
			t.Errorf("weight %d is %g ± %g, the best one %g ± %g", i, v, math.Exp(graph.Flat(q.stds)[i]), exact.At(i, 0), std)
		}
	}
	s.LearnNoise, s.NoiseRate = true, 0.005
	f = small.Fit(t, &s, p, gp.Run{Seed: 1})
	q = f.Posterior.(*posterior)
	mean, std, want := graph.Flat(q.means.Params()), graph.Flat(q.stds), 0.0
	for i, target := range y.Float64s() {
		g, v := 0.0, 0.0
		for k, r := range rows.RawRowView(i) {
			g, v = g+r*mean[k], v+r*r*math.Exp(2*std[k])
		}
		want += ((target-g)*(target-g) + v) / n
	}
	if math.Abs(f.NoiseVariance-want) > 0.1*want {
		t.Errorf("noise variance %g, expected %g, the mean square around the function", f.NoiseVariance, want)
	}
}

// TestDrawsAreFunctions: the joint covariance is the covariance of Predict's draws. A draw is the
// same at an input whatever else is asked for.
func TestDrawsAreFunctions(t *testing.T) {
	p := images(t, 4)
	f := newFitting(p, gp.Run{Seed: 9}, Settings{Estimator: flipout, LogStd: -2, Samples: 50, LogStdRate: new(1e-3), PriorStd: 1})
	q := fitted(t, f).Posterior.(*posterior)
	_, cov, err := q.Joint(t.Context(), p.Train.X)
	if err != nil {
		t.Fatal(err)
	}
	twice := p.Train.Rows([]int{2, 2})
	_, same, err := q.Joint(t.Context(), twice.X)
	if err != nil {
		t.Fatal(err)
	}
	c, v := 3, same.Float64s()
	for i := range c {
		for j := range c {
			want := cov.Float64s()[(2*c+i)*4*c+2*c+j]
			if math.Abs(v[i*2*c+c+j]-want) > 1e-12 || math.Abs(v[i*2*c+j]-want) > 1e-12 {
				t.Errorf("covariance %g of an input with itself, want %g", v[i*2*c+c+j], want)
			}
		}
	}
}

// TestJointMemory: a joint covariance beyond the limit, with the outputs of all draws, is refused, and so is the network.
func TestJointMemory(t *testing.T) {
	p := images(t, 4)
	f := newFitting(p, gp.Run{}, Settings{Estimator: flipout, LogStd: -2, Samples: 5, LogStdRate: new(1e-3), PriorStd: 1})
	q, refused := fitted(t, f).Posterior.(*posterior), (*graph.MemoryError)(nil)
	n := int64(4 * p.Outputs())
	q.limit = 8 * n * (n + 5)
	if _, _, err := q.Joint(t.Context(), p.Train.X); !errors.As(err, &refused) {
		t.Errorf("a network in %d bytes: error %v", q.limit, err)
	}
	limit := q.limit
	q.limit = gp.Run{}.Limit()
	if err := q.prepare(); err != nil {
		t.Fatal(err)
	}
	q.limit = limit
	if _, _, err := q.Joint(t.Context(), p.Train.X); err != nil {
		t.Errorf("a joint covariance at the limit: %v", err)
	}
	q.limit--
	if _, _, err := q.Joint(t.Context(), p.Train.X); !errors.As(err, &refused) || refused.Need != limit {
		t.Errorf("a joint covariance beyond the limit: error %v", err)
	}
}
