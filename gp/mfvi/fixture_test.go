package mfvi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// reference is a task of the fixture. The task's P-vectors are in PyTorch's order.
type reference struct {
	fixture.Arrays
	prefix string
	p      gp.Problem
}

// perceptron is the task of a prefix, reg_ or cls_.
func perceptron(t *testing.T, prefix string) reference {
	r := reference{Arrays: fixture.Load(t, "mfvi").Part(prefix), prefix: prefix}
	net := small.Published(t, r.Arrays, tensor.Float64)
	r.p = gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: r.Dense(t, "X"), Y: r.Dense(t, "y")}}
	if prefix == "cls_" {
		_, s := r.F64(t, "probs")
		r.p.Train.Y = small.OneHot(r.Ints(t, "y"), s[1], tensor.Float64)
	} else {
		r.p.Likelihood = likelihood.NewGaussian(r.Scalar(t, "sigma2"), tensor.Float64)
	}
	return r
}

// want are the numbers of an array, integers or not.
func (r reference) want(t *testing.T, key string) []float64 {
	t.Helper()
	d := r.Dense(t, key)
	if d.Dtype() == tensor.Float64 {
		return d.Float64s()
	}
	out := make([]float64, d.Shape().TotalSize())
	for i, v := range d.Int64s() {
		out[i] = float64(v)
	}
	return out
}

// vectors are P-vectors of the fixture in our order.
func (r reference) vectors(t *testing.T, key string) []float64 {
	t.Helper()
	return layertest.Columns(t, r.p.Net, r.want(t, key))
}

// row is part number i of an array whose first axis has n.
func row(v []float64, i, n int) []float64 { return v[i*len(v)/n : (i+1)*len(v)/n] }

// fitting is a fit at μ₀ and ψ₀.
func (r reference) fitting(t *testing.T, s Settings) *fitting {
	t.Helper()
	s.PriorStd, s.BatchSize = r.Scalar(t, "s0"), r.Dense(t, "batches").Shape()[1]
	c, err := s.complete(r.p)
	if err != nil {
		t.Fatal(err)
	}
	f := newFitting(r.p, gp.Run{}, c)
	spread(r.vectors(t, "mu0"), f.means.Params())
	if f.stds != nil {
		spread(r.vectors(t, "psi0"), f.stds)
	}
	return f
}

// spread writes a vector to arrays, one after the other.
func spread(v []float64, to []*graph.Param) {
	for _, p := range to {
		for i := range p.Value.Shape().TotalSize() {
			p.Set(i, v[i])
		}
		v = v[p.Value.Shape().TotalSize():]
	}
}

// part is what belongs to the parameter of a name in rows of P-vectors, in our order.
func (r reference) part(rows []float64, name string) (out []float64) {
	at, size := 0, layers.Count(r.p.Net)
	for _, p := range r.p.Net.Params() {
		n := p.Value.Shape().TotalSize()
		if p.Name == name {
			for vector := range slices.Chunk(rows, size) {
				out = append(out, vector[at:at+n]...)
			}
		}
		at += n
	}
	return out
}

// draw are the numbers of a noise of step k.
func (r reference) draw(t *testing.T, how, name string, k int) []float64 {
	t.Helper()
	kind, param, _ := strings.Cut(name, " ")
	steps := r.Dense(t, "batches").Shape()[0]
	var i int
	if _, err := fmt.Sscanf(param, "%d.", &i); err != nil {
		t.Fatal(err)
	}
	layer, bias := i/2+1, strings.Replace(param, "weight", "bias", 1)
	switch {
	case kind == "eps":
		return r.part(row(r.vectors(t, "eps"), k, steps), param)
	case kind == "in", kind == "out":
		return row(r.want(t, fmt.Sprint("s", kind, layer)), k, steps)
	case kind == "each":
		return r.part(r.vectors(t, "perex_eps"), param)
	case kind == "bias" && how == perExample:
		return r.part(r.vectors(t, "perex_eps"), bias)
	case kind == "bias", kind == "act":
		return r.want(t, fmt.Sprint("local_", kind, layer))
	}
	t.Fatalf("noise %q", name)
	return nil
}

// graph is the objective of a fit on the fixture's mini-batches, or of their data part alone.
func (r reference) graph(t *testing.T, f *fitting, data bool) *train.Graph {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	x, y := small.Leaves(b, r.p.Train, f.s.BatchSize)
	s := f.write(b, x, y)
	feed := small.Batches(r.p.Train, x, y, slices.Collect(slices.Chunk(r.Ints(t, "batches"), f.s.BatchSize)))
	rows := feed.Next
	feed.Next = func(k int) error {
		for _, n := range s.noises {
			if v := r.draw(t, f.s.Estimator, n.name, k); copy(n.value.Float64s(), v) != len(v) || len(v) != n.value.Shape().TotalSize() {
				t.Fatalf("noise %q has %d numbers, want %d", n.name, n.value.Shape().TotalSize(), len(v))
			}
		}
		return rows(k)
	}
	for _, n := range s.noises {
		feed.In[n.node] = n.value
	}
	loss := s.Loss
	if data {
		loss = s.data
	}
	g, err := train.NewGraph(b, loss, f.trained(), feed, s.Updates...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// gradients returns the gradients of the means and of ψ on mini-batch 0, and the loss.
func gradients(t *testing.T, f *fitting, g *train.Graph) (mu, psi []float64, loss float64) {
	t.Helper()
	loss, err := g.Evaluate(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range g.Params() {
		if i < len(f.means.Params()) {
			mu = append(mu, p.Grad.Float64s()...)
		} else {
			psi = append(psi, p.Grad.Float64s()...)
		}
	}
	return mu, psi, loss
}

// klOf is KL(q ‖ prior) by a plain loop.
func klOf(f *fitting) float64 {
	sum, mu, psi, s0 := 0.0, graph.Flat(f.means.Params()), graph.Flat(f.stds), f.s.PriorStd
	for i := range mu {
		sum += 0.5 * ((mu[i]*mu[i]+math.Exp(2*psi[i]))/(s0*s0) - 1 - 2*psi[i] + 2*math.Log(s0))
	}
	return sum
}

// TestFixtureMFVIGradients: loss and gradients of each way to draw weights.
func TestFixtureMFVIGradients(t *testing.T) {
	for _, prefix := range []string{"reg_", "cls_"} {
		r := perceptron(t, prefix)
		for how, key := range map[string]string{single: "single", flipout: "flipout", perExample: "perex", local: "local"} {
			f := r.fitting(t, Settings{Estimator: how})
			_, _, nll := gradients(t, f, r.graph(t, f, true))
			mu, psi, loss := gradients(t, f, r.graph(t, f, false))
			fixture.Close(t, prefix+key+"_nll", []float64{nll}, r.want(t, key+"_nll"), 1e-12)
			fixture.Close(t, prefix+key+"_gmu", mu, r.vectors(t, key+"_gmu"), 1e-11)
			fixture.Close(t, prefix+key+"_gpsi", psi, r.vectors(t, key+"_gpsi"), 1e-11)
			fixture.Close(t, prefix+"kl0", []float64{(loss - nll) * float64(r.p.Train.N())}, r.want(t, "kl0"), 1e-11)
		}
		f := r.fitting(t, Settings{Estimator: none})
		_, _, nll := gradients(t, f, r.graph(t, f, true))
		mu, _, _ := gradients(t, f, r.graph(t, f, false))
		fixture.Close(t, prefix+"map_nll", []float64{nll}, r.want(t, "map_nll"), 1e-12)
		fixture.Close(t, prefix+"map_gmu", mu, r.vectors(t, "map_gmu"), 1e-11)
	}
}

// trajectory makes the fixture's steps and returns the means, the ψ and the data part of the
// loss of each.
func (r reference) trajectory(t *testing.T, f *fitting) (mu, psi, nll []float64) {
	t.Helper()
	before := klOf(f)
	_, err := train.Run(t.Context(), r.graph(t, f, false), train.Config{
		Iterations: f.s.Iterations, Optimizer: f.s.optimizer(len(f.means.Params()), 0), Schedule: f.s.course(),
		OnStep: func(s train.Step) {
			nll = append(nll, s.Loss-before/float64(r.p.Train.N()))
			mu, psi, before = append(mu, graph.Flat(f.means.Params())...), append(psi, graph.Flat(f.stds)...), klOf(f)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mu, psi, nll
}

// TestFixtureMFVITrajectories: the published steps with flipout and with single draws, and those
// of the later port, which decays the means twice.
func TestFixtureMFVITrajectories(t *testing.T) {
	for _, prefix := range []string{"reg_", "cls_"} {
		r := perceptron(t, prefix)
		lr := r.want(t, "lr")
		steps := r.Dense(t, "batches").Shape()[0]
		published := Settings{LearningRate: lr[0], LogStdRate: new(lr[1]), Iterations: steps}
		mu, psi, nll := r.trajectory(t, r.fitting(t, published))
		fixture.Close(t, prefix+"traj_mu", mu, r.vectors(t, "traj_mu"), 1e-11)
		fixture.Close(t, prefix+"traj_psi", psi, r.vectors(t, "traj_psi"), 1e-11)
		fixture.Close(t, prefix+"traj_nll", nll, r.want(t, "traj_nll"), 1e-11)
		one, port := published, published
		one.Estimator = single
		port.Schedule, port.Nesterov, port.WeightDecay = "constant", true, 2e-4
		for key, s := range map[string]Settings{"trajS": one, "trajB": port} {
			mu, psi, _ := r.trajectory(t, r.fitting(t, s))
			fixture.Close(t, prefix+key+"_mu", row(mu, steps-1, steps), r.vectors(t, key+"_mu"), 1e-11)
			fixture.Close(t, prefix+key+"_psi", row(psi, steps-1, steps), r.vectors(t, key+"_psi"), 1e-11)
		}
	}
}

// predictions returns the predictions at x of a posterior with the fixture's draws.
func (r reference) predictions(t *testing.T, f *fitting, x *tensor.Dense) (gp.Gaussian, []float64) {
	t.Helper()
	eps := r.vectors(t, "test_eps")
	f.s.Samples = len(eps) / layers.Count(r.p.Net)
	q := fitted(t, f).Posterior.(*posterior)
	q.noise = func(k int) func() float64 {
		rest := row(eps, k, q.samples)
		return func() float64 { v := rest[0]; rest = rest[1:]; return v }
	}
	g := small.Predict(t, q, x)
	var outputs []float64
	if err := q.each(t.Context(), x, func(_ int, out []float64) { outputs = append(outputs, out...) }); err != nil {
		t.Fatal(err)
	}
	return g, outputs
}

// TestFixtureMFVIPredictions: the moments of numbers and the probabilities of classes over draws.
func TestFixtureMFVIPredictions(t *testing.T) {
	for _, prefix := range []string{"reg_", "cls_"} {
		r := perceptron(t, prefix)
		f := r.fitting(t, Settings{})
		steps := r.Dense(t, "batches").Shape()[0]
		spread(row(r.vectors(t, "traj_mu"), steps-1, steps), f.means.Params())
		spread(row(r.vectors(t, "traj_psi"), steps-1, steps), f.stds)
		g, outputs := r.predictions(t, f, r.Dense(t, "Xt"))
		fixture.Close(t, prefix+"outputs", outputs, r.want(t, "outputs"), 1e-11)
		if prefix == "cls_" {
			fixture.Close(t, "cls_probs", g.Probs, r.want(t, "probs"), 1e-11)
			continue
		}
		fixture.Close(t, "reg_f_mean", g.Mean, r.want(t, "f_mean"), 1e-11)
		fixture.Close(t, "reg_f_var", g.Cov, r.want(t, "f_var"), 1e-11)
		v := g.Cov
		for i := range v {
			v[i] += fitted(t, f).NoiseVariance
		}
		fixture.Close(t, "reg_y_var", v, r.want(t, "y_var"), 1e-11)
	}
}

// convolutional is the task of images.
func convolutional(t *testing.T) reference {
	r := reference{Arrays: fixture.Load(t, "mfvi").Part("conv_"), prefix: "conv_"}
	param := func(name string) *graph.Param { return &graph.Param{Name: name, Value: r.Dense(t, name)} }
	norm := func(i int) layers.Network {
		n := layers.NewBatchNorm(fmt.Sprint(i), r.Dense(t, fmt.Sprintf("%d.weight", i)).Shape()[0], tensor.Float64)
		for k, name := range []string{"weight", "bias", "running_mean", "running_var"} {
			*layers.Arrays(n)[k] = *param(fmt.Sprintf("%d.%s", i, name))
		}
		return n
	}
	conv := func(i, stride int) layers.Network {
		p := param(fmt.Sprintf("%d.weight", i))
		s := p.Value.Shape()
		c := layers.NewConv2D(fmt.Sprint(i), s[1], s[0], s[2], stride, 1, tensor.Float64, rand.New(rand.NewPCG(1, 1)))
		own, _ := c.Weights()
		*own = *p
		return c
	}
	last := small.Dense(t, r.Arrays, "8", tensor.Float64)
	r.p = gp.Problem{Likelihood: likelihood.Softmax{}, Net: layers.Sequential{
		conv(0, 1), norm(1), layers.Activation("relu"),
		conv(3, 2), norm(4), layers.Activation("relu"), layers.GlobalAveragePool{}, last,
	}}
	r.p.Train = gp.Examples{X: r.Dense(t, "x"), Y: small.OneHot(r.Ints(t, "y"), last.B.Value.Shape()[0], tensor.Float64)}
	return r
}

// TestFixtureMFVIConvolutions: flipout in convolutions, and batch norm in training mode, whose
// γ and β are drawn for each example.
func TestFixtureMFVIConvolutions(t *testing.T) {
	r := convolutional(t)
	n := float64(r.Int(t, "N"))
	f := newFitting(r.p, gp.Run{}, Settings{Estimator: flipout, LogStdRate: new(1e-3), PriorStd: 1})
	f.s.PriorStd = 1 / math.Sqrt(r.Scalar(t, "decay")*n)
	spread(r.vectors(t, "psi0"), f.stds)
	b := graph.NewBuilder(tensor.Float64)
	x, y := b.Input("x", r.p.Train.X.Shape()...), b.Input("y", r.p.Train.Y.Shape()...)
	s := f.write(b, x, y)
	kl := b.Sub(s.Loss, s.data) // divided by the number of images at hand, not by N
	loss := b.Add(s.data, b.Scale(kl, float64(r.p.Train.N())/n))
	in := map[*graph.Node]*tensor.Dense{x: r.p.Train.X, y: r.p.Train.Y}
	for _, z := range s.noises {
		kind, param, _ := strings.Cut(z.name, " ")
		number, _, _ := strings.Cut(param, ".")
		v := r.want(t, map[string]string{"in": "sin" + number, "out": "sout" + number, "eps": "eps_" + param, "each": "eps_" + param}[kind])
		if shape := z.value.Shape(); kind == "eps" && len(shape) == 2 {
			turned := make([]float64, len(v))
			kernel.Transpose(turned, shape[1], v, shape[0], shape[1], shape[0])
			v = turned
		}
		in[z.node] = dense.Of(v, z.value.Shape()...)
	}
	var wrt []*graph.Node
	for _, p := range f.trained() {
		wrt = append(wrt, b.Param(p))
	}
	outputs := append(graph.Grad(b, loss, wrt...), s.data)
	for _, u := range s.Updates {
		outputs = append(outputs, u.Value)
	}
	program, err := graph.Compile(b, outputs, graph.Options{})
	for leaf, v := range in {
		if err == nil {
			err = program.Bind(leaf, v)
		}
	}
	if err == nil {
		err = program.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	var grads []float64
	for _, node := range outputs[:len(wrt)] {
		grads = append(grads, graph.Floats(program.Value(node))...)
	}
	fixture.Close(t, "conv_nll", []float64{program.Scalar(s.data)}, r.want(t, "nll"), 1e-12)
	fixture.Close(t, "conv_gmu", row(grads, 0, 2), r.vectors(t, "gmu"), 1e-11)
	fixture.Close(t, "conv_gpsi", row(grads, 1, 2), r.vectors(t, "gpsi"), 1e-11)
	for _, u := range s.Updates {
		fixture.Close(t, "conv_new_"+u.Param.Name, graph.Floats(program.Value(u.Value)), r.want(t, "new_"+u.Param.Name), 1e-12)
		if !slices.Contains(f.means.State(), u.Param) {
			t.Errorf("the update of %s is not that of the copy", u.Param.Name)
		}
	}
	g, _ := r.predictions(t, f, r.p.Train.X)
	fixture.Close(t, "conv_probs", g.Probs, r.want(t, "probs"), 1e-11)
}

// TestFixtureMFVILinear: at the closed-form optimum of a linear model the expected loss is that
// of the fixture and its gradient 0. Draws √P·(±unit vectors) have the moments of all draws.
func TestFixtureMFVILinear(t *testing.T) {
	a := fixture.Load(t, "mfvi")
	x, y := a.Dense(t, "lin_X"), a.Dense(t, "lin_y")
	d := x.Shape()[1]
	net := layers.Sequential{layers.Dense{W: graph.NewParam("w", make([]float64, d), tensor.Float64, d, 1), B: graph.NewParam("b", []float64{0}, tensor.Float64, 1)}}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(a.Scalar(t, "lin_sigma2"), tensor.Float64), Train: gp.Examples{X: x, Y: y}}
	f := newFitting(p, gp.Run{}, Settings{Estimator: single, LogStdRate: new(1e-3), PriorStd: a.Scalar(t, "lin_s0")})
	mu := a.Floats(t, "lin_mu")
	psi := a.Floats(t, "lin_psi")
	spread(mu, f.means.Params())
	spread(psi, f.stds)
	loss, grad := expected(t, f)
	fixture.Close(t, "lin_loss", []float64{loss}, a.Floats(t, "lin_loss"), 1e-12)
	fixture.Close(t, "gradient at the optimum", grad, make([]float64, len(grad)), 1e-12)
	exact := a.Floats(t, "lin_exact_var")
	for i, v := range exact {
		if math.Exp(2*graph.Flat(f.stds)[i]) > v*(1+1e-12) {
			t.Errorf("variance %g of weight %d, the exact one is %g", math.Exp(2*graph.Flat(f.stds)[i]), i, v)
		}
	}
}

// expected is the mean over draws of the loss on all rows of a linear model, and its gradient.
func expected(t *testing.T, f *fitting) (loss float64, grad []float64) {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	x, y := b.Input("x", f.p.Train.X.Shape()...), b.Input("y", f.p.Train.Y.Shape()...)
	s := f.write(b, x, y)
	size := layers.Count(f.p.Net)
	feed := small.Feed{In: map[*graph.Node]*tensor.Dense{x: f.p.Train.X, y: f.p.Train.Y}, Next: func(k int) error {
		at := 0
		for _, n := range s.noises {
			v := n.value.Float64s()
			clear(v)
			if i := k/2 - at; i >= 0 && i < len(v) {
				v[i] = math.Sqrt(float64(size)) * float64(1-k%2*2)
			}
			at += len(v)
		}
		return nil
	}}
	for _, n := range s.noises {
		feed.In[n.node] = n.value
	}
	g, err := train.NewGraph(b, s.Loss, f.trained(), feed)
	if err != nil {
		t.Fatal(err)
	}
	draws := 2 * size
	grad = make([]float64, 2*size)
	for k := range draws {
		l, err := g.Evaluate(context.Background(), k)
		if err != nil {
			t.Fatal(err)
		}
		loss += l / float64(draws)
		at := 0
		for _, p := range g.Params() {
			for _, v := range p.Grad.Float64s() {
				grad[at] += v / float64(draws)
				at++
			}
		}
	}
	return loss, grad
}
