package mfvi

import (
	"fmt"
	"math"
	"slices"

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
	node := w.b.Input(name, shape...)
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
	switch n := net.(type) {
	case layers.Sequential:
		var all []layers.Update
		for _, l := range n {
			var updates []layers.Update
			x, updates = w.forward(l, x)
			all = append(all, updates...)
		}
		return x, all
	case layers.Residual:
		y, updates := w.forward(n.Inner, x)
		if n.Shortcut != nil {
			var more []layers.Update
			x, more = w.forward(n.Shortcut, x)
			updates = append(updates, more...)
		}
		return w.b.Add(y, x), updates
	}
	return w.layer(net, x)
}

// layer is forward for what is no list of layers. Weights of other layers than dense ones,
// convolutions and batch norm are drawn once for the mini-batch, whatever the way.
func (w *writer) layer(net layers.Network, x *graph.Node) (*graph.Node, []layers.Update) {
	if w.how != single && w.how != none {
		switch n := net.(type) {
		case layers.BatchNorm:
			return w.batchNorm(n, x)
		case layers.Dense:
			return w.affine(affine{n, n.W, n.B}, x), nil
		case layers.Conv2D:
			return w.affine(affine{n, n.W, n.B}, x), nil
		case layers.Convolution:
			return w.affine(affine{n, n.W, n.B}, x), nil
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

// affine is a layer whose outputs are affine in its inputs, and linear in its weights.
type affine struct {
	net  layers.Network
	w, b *graph.Param // b is nil for none
}

// with writes the layer with other weights; a nil bias is 0.
func (l affine) with(b *graph.Builder, x, weight, bias *graph.Node) *graph.Node {
	b.Let(l.w, weight)
	if l.b != nil {
		if bias == nil {
			bias = b.Fill(0, l.b.Value.Shape()...)
		}
		b.Let(l.b, bias)
	}
	return l.net.Forward(b, x)
}

// affine writes a dense layer or a convolution.
func (w *writer) affine(l affine, x *graph.Node) *graph.Node {
	switch w.how {
	case local:
		return w.local(l, x)
	case perExample:
		return w.perExample(l, x)
	}
	return w.flipout(l, x)
}

// flipout is x∗W_μ + s_out∘((s_in∘x)∗ΔW), with the bias inside of both brackets (Wen and
// others 2018, eq. 4).
func (w *writer) flipout(l affine, x *graph.Node) *graph.Node {
	b := w.b
	mean := l.with(b, x, w.mu[l.w], w.bias(l, w.mu))
	var bias *graph.Node
	if l.b != nil {
		bias = w.delta(l.b)
	}
	in := w.perChannel("in "+l.w.Name, true, x)
	noisy := l.with(b, b.Mul(in, x), w.delta(l.w), bias)
	return b.Add(mean, b.Mul(w.perChannel("out "+l.w.Name, true, mean), noisy))
}

// bias returns the node of the layer's bias; nil where it has none.
func (w *writer) bias(l affine, of map[*graph.Param]*graph.Node) *graph.Node {
	if l.b == nil {
		return nil
	}
	return of[l.b]
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
func (w *writer) local(l affine, x *graph.Node) *graph.Node {
	b := w.b
	mean := l.with(b, x, w.mu[l.w], w.bias(l, w.mu))
	variance := l.with(b, b.Square(x), b.Square(w.sigma[l.w]), nil)
	if b.Err() != nil {
		return nil
	}
	const least = leastStd * leastStd
	std := b.Sqrt(b.Affine(b.ReLU(b.Affine(variance, 1, -least)), 1, least))
	y := b.Add(mean, b.Mul(std, w.draw("act "+l.w.Name, false, false, mean.Shape()...)))
	return b.Add(y, w.biasNoise(l, y))
}

// biasNoise is e^ψ∘ε of the bias, drawn for each example, in a shape that broadcasts over
// y; 0 where there is no bias.
func (w *writer) biasNoise(l affine, y *graph.Node) *graph.Node {
	if l.b == nil {
		return w.b.Fill(0, 1)
	}
	return w.b.Mul(w.perChannel("bias "+l.w.Name, false, y), w.spread(w.b.Reshape(w.sigma[l.b], 1, l.b.Value.Shape()[0]), y))
}

// perExample has weights of its own for each example.
func (w *writer) perExample(l affine, x *graph.Node) *graph.Node {
	b, batch, s := w.b, x.Shape()[0], l.w.Value.Shape()
	mean := l.with(b, x, w.mu[l.w], w.bias(l, w.mu))
	noise := b.Mul(w.draw("each "+l.w.Name, false, false, append([]int{batch}, s...)...), b.Reshape(w.sigma[l.w], append([]int{1}, s...)...))
	if b.Err() != nil {
		return nil
	}
	var y *graph.Node
	switch n := l.net.(type) {
	case layers.Dense:
		y = b.Reshape(b.SumAxis(b.Mul(b.Reshape(x, batch, s[0], 1), noise), 1), batch, s[1])
	case layers.Conv2D:
		o := graph.ConvOptions{Stride: [2]int{n.Stride, n.Stride}, Dilation: [2]int{1, 1}, Groups: 1}
		o.Before, o.After = [2]int{n.Padding, n.Padding}, [2]int{n.Padding, n.Padding}
		y = w.grouped(x, noise, mean, o, false)
	case layers.Convolution:
		o, _, err := n.Options()
		if err != nil {
			return b.Failf("%w", err)
		}
		y = w.grouped(x, noise, mean, o, n.Transposed)
	}
	y = b.Add(mean, y)
	return b.Add(y, w.biasNoise(l, y))
}

// grouped convolves each example of x [B,C,H,W] with filters of its own [B,…], as groups of
// channels of one image. like has the shape of the result.
func (w *writer) grouped(x, filters, like *graph.Node, o graph.ConvOptions, transposed bool) *graph.Node {
	b, s, f := w.b, x.Shape(), filters.Shape()
	o.Groups *= s[0]
	image := b.Reshape(x, 1, s[0]*s[1], s[2], s[3])
	weights := b.Reshape(filters, f[0]*f[1], f[2], f[3], f[4])
	if transposed {
		return b.Reshape(b.ConvTranspose(image, weights, [2]int{}, o), like.Shape()...)
	}
	return b.Reshape(b.Convolution(image, weights, o), like.Shape()...)
}

// batchNorm draws γ and β for each example.
func (w *writer) batchNorm(n layers.BatchNorm, x *graph.Node) (*graph.Node, []layers.Update) {
	b, c := w.b, n.Gamma.Value.Shape()[0]
	b.Let(n.Gamma, b.Fill(1, c))
	b.Let(n.Beta, b.Fill(0, c))
	y, updates := n.Training(b, x)
	each := func(p *graph.Param) *graph.Node {
		row := func(v *graph.Node) *graph.Node { return b.Reshape(v, 1, c) }
		return w.spread(b.Add(row(w.mu[p]), b.Mul(row(w.sigma[p]), w.draw("each "+p.Name, false, false, x.Shape()[0], c))), x)
	}
	return b.Add(b.Mul(y, each(n.Gamma)), each(n.Beta)), updates
}

// kl is KL(q ‖ N(0, s₀²)) of the parameters; without noise the part of it that depends on μ.
func (w *writer) kl(params []*graph.Param, s0 float64) *graph.Node {
	b := w.b
	var sum, before *graph.Node
	for _, p := range params {
		terms := b.Scale(b.Square(w.mu[p]), 0.5/(s0*s0))
		if w.how != none {
			terms = b.Add(terms, b.Sub(b.Affine(b.Square(w.sigma[p]), 0.5/(s0*s0), math.Log(s0)-0.5), w.psi[p]))
		}
		if sum = b.Sum(terms); before != nil {
			sum = b.Add(before, sum)
		}
		before = sum
	}
	return sum
}
