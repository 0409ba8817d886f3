package valla

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// problem is a fixture's network and layer, with the loss in a graph.
type problem struct {
	a     fixture.Arrays
	dt    tensor.Dtype
	net   layers.Sequential
	layer *Layer
	lik   likelihood.Likelihood
	x, y  *tensor.Dense
}

// load sets up a fixture; regression ones have real targets, the others labels.
func load(t *testing.T, name string, act layers.Activation, dt tensor.Dtype) *problem {
	t.Helper()
	a := fixture.Load(t, name)
	p := &problem{a: a, dt: dt, net: small.Numbered(t, a, act, dt), x: graph.Convert(a.Dense(t, "X"), dt)}
	z := graph.Convert(a.Dense(t, "Z"), dt)
	var class []int
	if a.Has("zc") {
		class = a.Ints(t, "zc")
		p.lik = likelihood.Softmax{}
		_, bias := fmt.Sprint, p.net[len(p.net)-1].(layers.Dense).B
		p.y = small.OneHot(a.Ints(t, "y"), bias.Value.Shape()[0], dt)
	} else {
		p.lik = likelihood.NewGaussian(a.Scalar(t, "noise_var"), dt)
		p.y = graph.Convert(a.Dense(t, "y"), dt)
	}
	var err error
	if p.layer, err = NewLayer(jacobian.NTK{Net: p.net}, z, class); err != nil {
		t.Fatal(err)
	}
	return p
}

// setState puts the fixture's L and σ₀ into the layer.
func (p *problem) setState(t *testing.T) {
	full, shape := p.a.F64(t, "L")
	k := 0
	for i := range shape[0] {
		for j := range i + 1 {
			p.layer.L.Set(k, full[i*shape[1]+j])
			k++
		}
	}
	p.layer.LogPriorStd.Set(0, log(p.a.Scalar(t, "sigma0")))
}

// TestFixtureLoss checks every quantity of the loss and its gradients for all α.
func TestFixtureLoss(t *testing.T) {
	for _, c := range []struct {
		name   string
		act    layers.Activation
		prefix string
		alphas map[string]float64
	}{
		{"mlp_reg", "tanh", "", map[string]float64{"a1": 1, "a05": 0.5, "a0": 0}},
		{"mlp_cls", "tanh", "", map[string]float64{"a1": 1, "a05": 0.5}},
		{"mlp_act", "relu", "relu_", map[string]float64{"a1": 1}},
	} {
		for suffix, alpha := range c.alphas {
			for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 1e-4} {
				t.Run(fmt.Sprint(c.name, " ", suffix, " ", dt), func(t *testing.T) {
					p := load(t, c.name, c.act, dt)
					p.setState(t)
					p.checkLoss(t, c.prefix, suffix, alpha, tol)
				})
			}
		}
	}
}

func (p *problem) checkLoss(t *testing.T, prefix, suffix string, alpha, tol float64) {
	b := graph.NewBuilder(p.dt)
	x := b.Input("x", p.x.Shape()...)
	y := b.Input("y", p.y.Shape()...)
	l := p.layer.Loss(b, x, y, p.net.Forward(b, x), Objective{Likelihood: p.lik, Alpha: new(alpha), N: p.a.Int(t, "N")})
	wrt := []*graph.Node{b.Param(p.layer.Z), b.Param(p.layer.L), b.Param(p.layer.LogPriorStd)}
	for _, q := range p.lik.Params() {
		wrt = append(wrt, b.Param(q))
	}
	grads := graph.Grad(b, l.Loss, wrt...)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	nodes := map[string]*graph.Node{
		"Kx": l.Kx, "Kxz": b.Transpose(l.Kxz), "Kz": l.Kz, "H": l.H, "Q_var": l.Q, "KL": l.KL,
		"A": b.MatMul(l.L, l.L, false, true), "Atilde": b.MatMul(l.G, l.G, true, false),
		"nll_" + suffix: l.Data, "loss_" + suffix: l.Loss,
		"grad_Z_" + suffix: grads[0], "grad_L_" + suffix: b.Lower(grads[1]), "grad_log_sigma0_" + suffix: grads[2],
	}
	if prefix == "" {
		nodes["g_X"] = l.Mean
	}
	if len(grads) > 3 {
		nodes["grad_log_noise_"+suffix] = grads[3]
	} else if prefix == "" {
		nodes["F_scaled"] = likelihood.ProbitLogits(b, l.Mean, l.Variance)
		nodes["probs"] = b.Exp(b.LogSoftmax(nodes["F_scaled"]))
	}
	checked := 0
	for key, n := range nodes {
		if key != "g_X" && !p.a.Has(prefix+key) {
			continue
		}
		got := run(t, b, n, map[*graph.Node]*tensor.Dense{x: p.x, y: p.y})
		fixture.Close(t, key, got, p.a.Floats(t, prefix+key), tol)
		checked++
	}
	if checked < 8 {
		t.Errorf("only %d arrays of the fixture were found", checked)
	}
}

func run(t *testing.T, b *graph.Builder, n *graph.Node, in map[*graph.Node]*tensor.Dense) []float64 {
	t.Helper()
	prog, err := graph.Compile(b, []*graph.Node{n}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for leaf, v := range in {
		if err := prog.Bind(leaf, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := prog.Run(); err != nil {
		t.Fatal(err)
	}
	return graph.Floats(prog.Value(n))
}
