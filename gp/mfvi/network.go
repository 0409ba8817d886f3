package mfvi

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The ways to draw weights.
const (
	single     = "single"
	flipout    = "flipout"
	perExample = "per-example"
	local      = "local"
	none       = "none"
)

// leastStd bounds the standard deviations of local noise from below, as published.
const leastStd = 1e-4

// writer writes a network with random weights into a graph.
type writer struct {
	b              *graph.Builder
	how            string
	mu, psi, sigma map[*graph.Param]*graph.Node // by the network's parameters; without noise only mu
	noises         []*noise
}

// draw adds a leaf of noise.
func (w *writer) draw(name string, signs, shared bool, shape ...int) *graph.Node {
	for i, base := 2, name; slices.ContainsFunc(w.noises, func(n *noise) bool { return n.name == name }); i++ {
		name = fmt.Sprint(base, " ", i)
	}
	node := w.b.Input(strings.ReplaceAll(name, ":", "."), shape...) // a graph keeps colons, which names of ONNX have, for itself
	if node != nil {
		w.noises = append(w.noises, &noise{name, node, tensor.New(tensor.Of(w.b.Dtype()), tensor.WithShape(shape...)), signs, shared})
	}
	return node
}

// delta is e^ψ∘ε of a parameter, drawn once for a mini-batch.
func (w *writer) delta(p *graph.Param) *graph.Node {
	name := "eps " + p.Name
	if i := slices.IndexFunc(w.noises, func(n *noise) bool { return n.name == name }); i >= 0 {
		return w.b.Mul(w.sigma[p], w.noises[i].node) // of weights that are used twice
	}
	return w.b.Mul(w.sigma[p], w.draw(name, false, true, p.Value.Shape()...))
}

// forward writes the outputs of a network in training.
func (w *writer) forward(net layers.Network, x *graph.Node) (*graph.Node, []layers.Update) {
	if w.b.Err() != nil {
		return nil, nil
	}
	if d, ok := net.(layers.Divisible); ok {
		parts, err := d.Divide(x.Shape()[1:].Clone())
		if err != nil {
			return w.b.Failf("mfvi: %w", err), nil
		}
		net = parts
	}
	n, ok := net.(layers.Composite)
	if !ok {
		return w.layer(net, x)
	}
	var all []layers.Update
	y := n.Through(w.b, x, func(part layers.Network, x *graph.Node) *graph.Node {
		y, updates := w.forward(part, x)
		all = append(all, updates...)
		return y
	})
	return y, all
}

// batchNorm is a layer that normalises by the mini-batch in training.
type batchNorm interface {
	layers.Trainer
	layers.Normaliser
}

// layer is forward for a network without parts. Weights of a layer that is neither affine nor a
// batch norm, and dense weights that all steps of a sequence share, are drawn once for the mini-batch, whatever the way.
func (w *writer) layer(net layers.Network, x *graph.Node) (*graph.Node, []layers.Update) {
	if w.how != single && w.how != none {
		switch n := net.(type) {
		case batchNorm:
			return w.batchNorm(n, x)
		case layers.Affine:
			if weight, _ := n.Weights(); weight.Value.Dims() > 2 || x.Dims() == 2 { // not the same weights at all steps of a sequence
				return w.affine(n, x), nil
			}
		}
	}
	for _, p := range net.Params() {
		theta := w.mu[p]
		if w.how != none {
			theta = w.b.Add(theta, w.delta(p))
		}
		w.b.Let(p, theta)
	}
	return layers.Training(w.b, net, x)
}

// affine writes an affine layer.
func (w *writer) affine(l layers.Affine, x *graph.Node) *graph.Node {
	weight, bias := l.Weights()
	mean := l.Apply(w.b, x, w.mu[weight], w.bias(bias, w.mu))
	switch w.how {
	case local:
		return w.local(l, x, mean)
	case perExample:
		return w.perExample(l, x, mean)
	}
	return w.flipout(l, x, mean)
}

// bias returns the node of a bias; nil where there is none.
func (w *writer) bias(bias *graph.Param, of map[*graph.Param]*graph.Node) *graph.Node {
	if bias == nil {
		return nil
	}
	return of[bias]
}

// flipout is the mean x∗W_μ + s_out∘((s_in∘x)∗ΔW), with the bias inside of both brackets (Wen
// and others 2018, eq. 4).
func (w *writer) flipout(l layers.Affine, x, mean *graph.Node) *graph.Node {
	b := w.b
	weight, bias := l.Weights()
	var delta *graph.Node
	if bias != nil {
		delta = w.delta(bias)
	}
	in := w.perChannel("in "+weight.Name, true, x)
	noisy := l.Apply(b, b.Mul(in, x), w.delta(weight), delta)
	return b.Add(mean, b.Mul(w.perChannel("out "+weight.Name, true, mean), noisy))
}

// perChannel draws a number for each example and channel of y [B,C,…], in a shape that
// broadcasts.
func (w *writer) perChannel(name string, signs bool, y *graph.Node) *graph.Node {
	if w.b.Err() != nil {
		return nil
	}
	s := y.Shape()
	return w.spread(w.draw(name, signs, false, s[0], s[1]), y)
}

// spread returns n [B,C] in a shape that broadcasts over y [B,C,…].
func (w *writer) spread(n, y *graph.Node) *graph.Node {
	if w.b.Err() != nil {
		return nil
	}
	shape := slices.Repeat([]int{1}, y.Dims())
	copy(shape, n.Shape())
	return w.b.Reshape(n, shape...)
}

// local draws the outputs from N(x∗W_μ, x²∗e^{2ψ}) (Kingma and others 2015, eq. 6), and the
// bias for each example.
func (w *writer) local(l layers.Affine, x, mean *graph.Node) *graph.Node {
	b := w.b
	weight, _ := l.Weights()
	variance := l.Apply(b, b.Square(x), b.Square(w.sigma[weight]), nil)
	if b.Err() != nil {
		return nil
	}
	const least = leastStd * leastStd
	std := b.Sqrt(b.Affine(b.ReLU(b.Affine(variance, 1, -least)), 1, least))
	y := b.Add(mean, b.Mul(std, w.draw("act "+weight.Name, false, false, mean.Shape()...)))
	return b.Add(y, w.biasNoise(l, y))
}

// biasNoise is e^ψ∘ε of the layer's bias, drawn for each example, in a shape that broadcasts over
// y; 0 where there is no bias.
func (w *writer) biasNoise(l layers.Affine, y *graph.Node) *graph.Node {
	weight, bias := l.Weights()
	if bias == nil {
		return w.b.Fill(0, 1)
	}
	return w.b.Mul(w.perChannel("bias "+weight.Name, false, y), w.spread(w.b.Reshape(w.sigma[bias], 1, bias.Value.Shape()[0]), y))
}

// perExample adds weights of its own for each example to the mean.
func (w *writer) perExample(l layers.Affine, x, mean *graph.Node) *graph.Node {
	each, err := layers.As[layers.PerExample](l, "a layer with weights for each example, which the estimator per-example needs")
	if err != nil {
		return w.b.Failf("mfvi: %w", err)
	}
	if w.b.Err() != nil {
		return nil
	}
	b, batch := w.b, x.Shape()[0]
	weight, _ := l.Weights()
	s := weight.Value.Shape()
	noise := b.Mul(w.draw("each "+weight.Name, false, false, append([]int{batch}, s...)...), b.Reshape(w.sigma[weight], append([]int{1}, s...)...))
	y := b.Add(mean, each.ApplyEach(b, x, noise))
	return b.Add(y, w.biasNoise(l, y))
}

// batchNorm draws γ and β for each example.
func (w *writer) batchNorm(n batchNorm, x *graph.Node) (*graph.Node, []layers.Update) {
	gamma, beta := n.Scale()
	b, c := w.b, gamma.Value.Shape()[0]
	b.Let(gamma, b.Fill(1, c))
	b.Let(beta, b.Fill(0, c))
	y, updates := n.Training(b, x)
	each := func(p *graph.Param) *graph.Node {
		row := func(v *graph.Node) *graph.Node { return b.Reshape(v, 1, c) }
		return w.spread(b.Add(row(w.mu[p]), b.Mul(row(w.sigma[p]), w.draw("each "+p.Name, false, false, x.Shape()[0], c))), x)
	}
	return b.Add(b.Mul(y, each(gamma)), each(beta)), updates
}

// kl is KL(q ‖ N(0, s₀²)) of the parameters; without noise the part of it that depends on μ.
func (w *writer) kl(params []*graph.Param, s0 float64) *graph.Node {
	b := w.b
	var sum *graph.Node
	for _, p := range params {
		terms := b.Scale(b.Square(w.mu[p]), 0.5/(s0*s0))
		if w.how != none {
			terms = b.Add(terms, b.Sub(b.Affine(b.Square(w.sigma[p]), 0.5/(s0*s0), math.Log(s0)-0.5), w.psi[p]))
		}
		sum = b.Plus(sum, b.Sum(terms))
	}
	return sum
}
