package sngp

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

var f64 = tensor.Float64

// weightNames are the names of the hidden layers of a problem.
func weightNames(a fixture.Arrays, problem, suffix string) (names []string) {
	for i := 0; a.Has(fmt.Sprint(problem, i, suffix)); i += 2 {
		names = append(names, fmt.Sprint(problem, i, suffix))
	}
	return names
}

// sample is the regression or the classification of the fixture, whose head and vectors of power
// iteration are those that it starts from.
type sample struct {
	fixture.Arrays
	problem string
	*fitting
}

func newSample(t *testing.T, problem string, s Settings) *sample {
	t.Helper()
	a := fixture.Load(t, "sngp")
	p := &sample{Arrays: a, problem: problem}
	x, y := a.Dense(t, problem+"X"), a.Dense(t, problem+"y")
	c := a.Dense(t, problem+"beta_opt").Shape()[1]
	if problem == "cls_" {
		y = small.OneHot(a.Ints(t, "cls_y"), c, f64)
	}
	net := hidden(t, a, weightNames(a, problem, ".weight"), weightNames(a, problem, ".bias"), c, f64)
	_, shape := a.F64(t, problem+"W_rf")
	s.Features, s.Ridge, s.Bound = shape[1], a.Scalar(t, problem+"s"), a.Scalar(t, problem+"bound")
	p.fitting = trial(t, net, s, x, y, problem == "cls_")
	set(p.post.head.W, a.Floats(t, problem+"W_rf"))
	set(p.post.head.Phase, a.Floats(t, problem+"b_rf"))
	for i, l := range p.bounded {
		set(l.u, a.Floats(t, fmt.Sprint(problem, "sn_u0_", i)))
	}
	return p
}

// close compares the array got with the fixture's array named key.
func (p *sample) close(t *testing.T, key string, got []float64, tol float64) {
	t.Helper()
	fixture.Close(t, p.problem+key, got, p.Floats(t, p.problem+key), tol)
}

// at returns the features and the values at inputs of the fixture.
func (p *sample) at(t *testing.T, key string) (phi, f []float64) {
	t.Helper()
	err := p.post.each(t.Context(), p.Dense(t, p.problem+key), func(_ int, more, values []float64) error {
		phi, f = append(phi, more...), append(f, values...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return phi, f
}

// TestFixtureSNGPNorms: one step of power iteration, the norms that many steps find, and the weights
// that are then divided.
func TestFixtureSNGPNorms(t *testing.T) {
	p := newSample(t, "reg_", Settings{})
	for i, l := range p.bounded {
		b := graph.NewBuilder(f64)
		u, v := l.step(b)
		got := small.Values(t, b, u, v, l.norm(b, u, v))
		for k, name := range []string{"sn_u1_", "sn_v1_", "sn_sigma1_"} {
			p.close(t, fmt.Sprint(name, i), got[k], 1e-12)
		}
	}
	if err := settle(p.bounded, f64, 2000); err != nil {
		t.Fatal(err)
	}
	if err := p.refresh(); err != nil {
		t.Fatal(err)
	}
	for i, l := range p.bounded {
		p.close(t, fmt.Sprint("sn_sigma_", i), p.divide.norms()[i:i+1], 1e-12)
		s := l.w.Value.Shape()
		p.close(t, fmt.Sprint("sn_W_", i), transposed(p.post.weights.Params()[l.array].Floats(), s[0], s[1]), 1e-12)
	}
}

// TestFixtureSNGPConvolutionNorms: the norm of a convolution as a map of images, with two strides,
// after one step and after many steps, and the norm of the matrix of filters.
func TestFixtureSNGPConvolutionNorms(t *testing.T) {
	a := fixture.Load(t, "sngp")
	w := &graph.Param{Name: "conv.weight", Value: a.Dense(t, "conv_W")}
	size, s := a.Int(t, "conv_hw"), w.Value.Shape()
	for stride := 1; a.Has(fmt.Sprint("conv_u0_s", stride)); stride++ {
		conv := layers.NewConv2D("conv", s[1], s[0], s[2], stride, (s[2]-1)/2, f64, newRand(1))
		own, _ := conv.Weights()
		*own = *w
		n := &network{hidden: layers.Sequential{conv}, dt: f64}
		n.add(conv, tensor.Shape{1, s[1], size, size}, true)
		for _, always := range []bool{false, true} {
			all, err := boundLayers(n, n.hidden.Params(), spectral{bound: 1, always: always}, false, newRand(1))
			if err != nil {
				t.Fatal(err)
			}
			l, key, exact := all[0], fmt.Sprint("conv_sigma1_s", stride), fmt.Sprint("conv_sigma_s", stride)
			if always {
				exact = "conv_sigma_mat"
			} else {
				set(l.u, a.Floats(t, fmt.Sprint("conv_u0_s", stride)))
				b := graph.NewBuilder(f64)
				u, v := l.step(b)
				fixture.Close(t, key, small.Values(t, b, l.norm(b, u, v))[0], a.Floats(t, key), 1e-12)
			}
			if err := settle(all, f64, 3000); err != nil {
				t.Fatal(err)
			}
			d, err := newDivider(all, f64)
			if err == nil {
				err = d.program.Run()
			}
			if err != nil {
				t.Fatal(err)
			}
			fixture.Close(t, exact, d.norms(), a.Floats(t, exact), 1e-10)
		}
	}
}

// TestFixtureSNGPFrequencies: orthogonal ones from given draws.
func TestFixtureSNGPFrequencies(t *testing.T) {
	for _, problem := range []string{"reg_", "cls_"} {
		a := fixture.Load(t, "sngp")
		lengths, s := a.F64(t, problem+"orf_g2")
		fixture.Close(t, problem+"W_rf", orthogonal(s[0], s[1], a.Floats(t, problem+"orf_g1"), lengths), a.Floats(t, problem+"W_rf"), 1e-12)
	}
}

// TestFixtureSNGPRegression: features, precision, β, means, covariances and variances with noise, of
// layers that are divided by their exact norms.
func TestFixtureSNGPRegression(t *testing.T) {
	p := newSample(t, "reg_", Settings{})
	if err := settle(p.bounded, f64, 2000); err != nil {
		t.Fatal(err)
	}
	if err := p.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "reg_scale", []float64{p.post.head.Scale}, p.Floats(t, "reg_scale"), 1e-15)
	phi, _ := p.at(t, "X")
	p.close(t, "phi_X", phi, 1e-12)
	phi, _ = p.at(t, "Xt")
	p.close(t, "phi_Xt", phi, 1e-12)
	p.close(t, "prec", product(p.post.cov.factors, p.s.Features), 1e-12)
	p.close(t, "beta_opt", p.post.head.Beta.Floats(), 1e-9)
	xt := p.Dense(t, "reg_Xt")
	mean, cov, err := p.post.Joint(t.Context(), xt)
	if err != nil {
		t.Fatal(err)
	}
	p.close(t, "mean", mean.Float64s(), 1e-9)
	p.close(t, "cov", first(cov.Float64s(), p.post.cov.Outputs), 1e-9)
	g := small.Predict(t, p.post, xt)
	variance := variances(g)
	kernel.AddScalar(variance, p.s.Ridge, variance)
	p.close(t, "y_var", variance, 1e-9)
}

// first returns the first output's covariances at all inputs, from the c outputs' covariances all.
func first(all []float64, c int) (out []float64) {
	size := int(math.Sqrt(float64(len(all))))
	for i := 0; i < size; i += c {
		for j := 0; j < size; j += c {
			out = append(out, all[i*size+j])
		}
	}
	return out
}

// variances returns g's variances of the first output.
func variances(g gp.Gaussian) (out []float64) {
	c := g.Outputs()
	for i := 0; i < len(g.Cov); i += c * c {
		out = append(out, g.Cov[i])
	}
	return out
}

// product is L Lᵀ of a factor [m,m].
func product(l []float64, m int) []float64 {
	out := make([]float64, m*m)
	kernel.Syrk(false, m, m, 1, l, m, 0, out, m)
	return out
}

// TestFixtureSNGPAverages: both moving averages of the precision, of features that stay.
func TestFixtureSNGPAverages(t *testing.T) {
	for form, key := range map[string]string{average: "tf", decaying: "decay"} {
		p := newSample(t, "reg_", Settings{Precision: form, Average: new(0.9)})
		if err := settle(p.bounded, f64, 2000); err != nil {
			t.Fatal(err)
		}
		_, shape := p.F64(t, "reg_phi_X")
		p.run(t, p.Ints(t, "reg_sgd_batches"), p.Dense(t, "reg_sgd_batches").Shape()[1], &train.SGD{LR: 1e-300}, nil)
		if err := p.finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.close(t, "mom_"+key, product(p.post.cov.factors, shape[1]), 1e-12)
		g := small.Predict(t, p.post, p.Dense(t, "reg_Xt"))
		p.close(t, "var_mom_"+key, variances(g), 1e-9)
	}
}

// run trains on rows in an order, and calls see after each step with the losses so far.
func (p *sample) run(t *testing.T, rows []int, size int, opt train.Optimizer, see func(step int)) (losses []float64) {
	t.Helper()
	b := graph.NewBuilder(f64)
	batches := slices.Collect(slices.Chunk(rows, size))
	x, y := small.Leaves(b, p.p.Train, size)
	l := p.loss(b, x, y)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	g, err := train.NewGraph(b, l.Loss, p.params(), small.Batches(p.p.Train, x, y, batches), l.Updates...)
	if err != nil {
		t.Fatal(err)
	}
	obj := train.Objective(g)
	if l.Wrap != nil {
		obj = l.Wrap(g)
	}
	_, err = train.Run(t.Context(), obj, train.Config{Iterations: len(batches), Optimizer: opt, OnStep: func(s train.Step) {
		losses = append(losses, s.Loss)
		if see != nil {
			see(s.Iteration + 1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return losses
}

// symmetric is a matrix [m,m] of which the lower triangle counts.
func symmetric(a []float64, m int) []float64 {
	out := slices.Clone(a)
	for i := range m {
		for j := range i {
			out[j*m+i] = out[i*m+j]
		}
	}
	return out
}

// penalty is Σ W² of the hidden layers.
func (p *sample) penalty() (sum float64) {
	for _, l := range p.post.net.linear {
		for _, v := range p.raw.Params()[l.array].Floats() {
			sum += v * v
		}
	}
	return sum
}

// TestFixtureSNGPGradients: the loss of a mini-batch and the gradients of all that is trained, where
// the divisor is a constant and where it has a derivative.
func TestFixtureSNGPGradients(t *testing.T) {
	for _, rule := range []string{"stop", "through"} {
		p := newSample(t, "cls_", Settings{NormGradient: rule, L2: fixture.Load(t, "sngp").Scalar(t, "cls_l2")})
		set(p.post.head.Beta, p.Floats(t, "cls_beta0"))
		shape := p.Dense(t, "cls_sgd_batches").Shape()
		e := p.p.Train.Rows(p.Ints(t, "cls_sgd_batches")[:shape[1]])
		b := graph.NewBuilder(f64)
		l := p.loss(b, small.Given(b, "x", e.X), small.Given(b, "y", e.Y))
		if b.Err() != nil {
			t.Fatal(b.Err())
		}
		params := p.params()
		grads := small.Values(t, b, graph.Grad(b, l.Loss, nodes(b, params)...)...)
		fixture.Close(t, "cls_ce0", small.Values(t, b, l.Data)[0], p.Floats(t, "cls_ce0"), 1e-12)
		for i, q := range params {
			key, got := fmt.Sprintf("g_%s_%d.", rule, i/2*2), grads[i]
			switch {
			case q.Name == nameBeta:
				key = "g_" + rule + "_beta"
			case i%2 == 0:
				s := q.Value.Shape()
				key, got = key+"weight", transposed(got, s[0], s[1])
			default:
				key += "bias"
			}
			p.close(t, key, got, 1e-11)
		}
	}
}

// TestFixtureSNGPTrajectory: steps of SGD with Nesterov's momentum, and all that follows from the
// weights after them.
func TestFixtureSNGPTrajectory(t *testing.T) {
	a := fixture.Load(t, "sngp")
	p := newSample(t, "cls_", Settings{L2: a.Scalar(t, "cls_l2"), Optimizer: optimizerSGD, LearningRate: a.Scalar(t, "cls_lr"), Lambda: new(20.0)})
	set(p.post.head.Beta, a.Floats(t, "cls_beta0"))
	p.trajectory(t)
	for i, l := range p.bounded {
		s := l.w.Value.Shape()
		p.close(t, fmt.Sprintf("end_%d.weight", 2*i), transposed(l.w.Floats(), s[0], s[1]), 1e-10)
		p.close(t, fmt.Sprintf("end_%d.bias", 2*i), p.raw.Params()[l.array+1].Floats(), 1e-10)
		p.close(t, fmt.Sprint("end_u_", i), l.u.Floats(), 1e-10)
	}
	if err := p.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	phi, _ := p.at(t, "X")
	p.close(t, "phi_X", phi, 1e-10)
	phi, f := p.at(t, "Xt")
	p.close(t, "phi_Xt", phi, 1e-10)
	p.close(t, "logits", f, 1e-10)
	p.close(t, "prec", product(p.post.cov.factors, p.s.Features), 1e-10)
	p.probabilities(t, f)
}

// trajectory makes the steps of the fixture and compares losses and β.
func (p *sample) trajectory(t *testing.T) {
	t.Helper()
	var beta, penalties []float64
	start := p.penalty()
	batches := p.Dense(t, "cls_sgd_batches").Shape()
	shots := map[int]bool{1: true, 5: true, 10: true, batches[0]: true}
	losses := p.run(t, p.Ints(t, "cls_sgd_batches"), batches[1], p.s.optimizer(), func(step int) {
		penalties = append(penalties, p.penalty())
		if shots[step] {
			beta = append(beta, p.post.head.Beta.Floats()...)
		}
	})
	for i := range losses {
		losses[i] -= p.s.L2 * start
		start = penalties[i]
	}
	p.close(t, "traj_ce", losses, 1e-10)
	p.close(t, "traj_beta", beta, 1e-10)
}

// probabilities compares covariances and probabilities for values f at the test inputs.
func (p *sample) probabilities(t *testing.T, f []float64) {
	t.Helper()
	g := small.Predict(t, p.post, p.Dense(t, "cls_Xt"))
	c := p.post.cov.Outputs
	n := len(f) / c
	p.close(t, "mf20", g.Probs, 1e-10)
	fixture.Close(t, "mfpi8", gp.Probit(nil, g), p.Floats(t, "cls_mfpi8"), 1e-10)
	_, joint, err := p.post.Joint(t.Context(), p.Dense(t, "cls_Xt"))
	if err != nil {
		t.Fatal(err)
	}
	var mc []float64
	z, shape := p.F64(t, "cls_z")
	root, row := make([]float64, c*c), make([]float64, c)
	for i := range n {
		var draws []float64
		for s := range shape[0] {
			draws = append(draws, z[(s*n+i)*c:(s*n+i+1)*c]...)
		}
		rootOf(root, g.Cov[i*c*c:(i+1)*c*c], c)
		averaged(row, f[i*c:(i+1)*c], root, draws, make([]float64, c))
		mc = append(mc, row...)
	}
	p.close(t, "cov", first(joint.Float64s(), c), 1e-9)
	p.close(t, "mc", mc, 1e-10)
}

// TestFixtureSNGPLaplace: the covariances per class and of all classes together, at the β of the
// smallest loss.
func TestFixtureSNGPLaplace(t *testing.T) {
	for _, form := range []string{formPerClass, formJoint} {
		p := newSample(t, "cls_", Settings{Covariance: form})
		phi, m := p.Floats(t, "cls_phi_X"), p.s.Features
		f := timesBeta(phi, p.Floats(t, "cls_beta_opt"), m)
		size, err := p.post.cov.size(0)
		if err != nil {
			t.Fatal(err)
		}
		precision := make([]float64, size)
		p.post.cov.add(precision, phi, f)
		if err := p.post.cov.factor(precision); err != nil {
			t.Fatal(err)
		}
		phi = p.Floats(t, "cls_phi_Xt")
		n, c := len(phi)/m, p.post.cov.Outputs
		cov := make([]float64, n*c*c)
		p.post.cov.fill(cov, phi, p.post.cov.workspace(n))
		if form == formJoint {
			p.close(t, "joint_cov", cov, 1e-9)
			continue
		}
		var diagonal []float64
		for i := range n * c {
			diagonal = append(diagonal, cov[i*c+i%c])
		}
		p.close(t, "perclass_var", diagonal, 1e-9)
	}
}

// timesBeta is φ β.
func timesBeta(phi, beta []float64, m int) []float64 {
	n, c := len(phi)/m, len(beta)/m
	f := make([]float64, n*c)
	kernel.Gemm(false, false, n, c, m, 1, phi, m, beta, c, 0, f, c)
	return f
}

// TestFixtureSNGPFineTuning: the published fine-tuning step by step: weights always divided, a layer
// norm, AdamW and a moving average that starts from the ridge.
func TestFixtureSNGPFineTuning(t *testing.T) {
	a := fixture.Load(t, "sngp")
	beta, s := a.F64(t, "fine_beta0")
	rows := a.Dense(t, "fine_batches").Shape()
	var weights, biases []string
	for i := 0; a.Has(fmt.Sprint("fine_W", i)); i++ {
		weights, biases = append(weights, fmt.Sprint("fine_W", i)), append(biases, fmt.Sprint("fine_b", i))
	}
	net := hidden(t, a, weights, biases, s[1], f64)
	p := &sample{Arrays: a, problem: "fine_", fitting: trial(t, net, Settings{
		Spectral: spectralAlways, NormGradient: gradThrough, LayerNorm: true, Features: s[0], Ridge: 1e-3, Precision: decaying,
		LearningRate: a.Scalar(t, "fine_lr"), WeightDecay: a.Scalar(t, "fine_wd"),
	}, a.Dense(t, "fine_X"), small.OneHot(a.Ints(t, "fine_y"), s[1], f64), true)}
	w, _ := turned(t, a, "fine_W_rf")
	set(p.post.head.W, w)
	set(p.post.head.Phase, a.Floats(t, "fine_b_rf"))
	set(p.post.head.Beta, beta)
	for i, l := range p.bounded {
		set(l.v, a.Floats(t, fmt.Sprint("fine_v", i)))
	}
	p.close(t, "losses", p.run(t, a.Ints(t, "fine_batches"), rows[1], p.s.optimizer(), nil), 1e-10)
	for i, l := range p.bounded {
		ws := l.w.Value.Shape()
		p.close(t, fmt.Sprint("end_W", i), transposed(l.w.Floats(), ws[0], ws[1]), 1e-9)
		p.close(t, fmt.Sprint("end_b", i), p.raw.Params()[l.array+1].Floats(), 1e-9)
	}
	for key, q := range map[string]*graph.Param{"end_ln_gain": p.post.head.Gain, "end_ln_bias": p.post.head.Shift, "end_beta": p.post.head.Beta} {
		p.close(t, key, q.Floats(), 1e-9)
	}
	p.close(t, "prec", symmetric(p.average.Float64s(), p.s.Features), 1e-9)
	if err := p.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, shape := a.F64(t, "fine_logits")
	x := p.p.Train.Rows(dense.Indices(shape[0])).X
	g := small.Predict(t, p.post, x)
	fixture.Close(t, "fine_logits", g.Mean, want, 1e-9)
	p.close(t, "var", variances(g), 1e-9)
}
