package sngp

import (
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// spectral says how the weights W of a layer are divided by their norm σ.
type spectral struct {
	bound   float64 // c of W/max(1, σ/c), where σ is the norm of the layer as a linear map
	always  bool    // W/σ as PyTorch's spectral_norm does it, where σ is the norm of the matrix of filters
	through bool    // the divisor has a derivative; otherwise it counts as a constant
}

// bounded is a dense or convolutional layer whose weights are divided. Its norm comes from one
// step of power iteration before each step of the training.
type bounded struct {
	spectral
	linearLayer
	w     *graph.Param // the weights that are trained
	u, v  *graph.Param // unit vectors, which a layer's results and its inputs come near to
	apply linear
}

// linear is a linear map of v with the weights w.
type linear func(b *graph.Builder, w, v *graph.Node) *graph.Node

// boundLayers returns the dense and convolutional layers of a network, whose parameters are own;
// with top only those in the list of layers itself, not those in residual blocks.
func boundLayers(n *network, own []*graph.Param, s spectral, top bool, rng *rand.Rand) ([]*bounded, error) {
	for _, l := range n.unbounded {
		if l.top || !top {
			return nil, l.refusal
		}
	}
	var all []*bounded
	b := graph.NewBuilder(n.dt)
	for _, l := range n.linear {
		if top && !l.top {
			continue
		}
		w, shape, apply := own[l.array], l.in, mapOf(l)
		if f, ok := l.Affine.(layers.Filtering); ok && s.always {
			shape, apply = filters(b, f)
		}
		y := apply(b, b.Param(w), b.Fill(0, shape...))
		if b.Err() != nil {
			return nil, b.Err()
		}
		all = append(all, &bounded{
			spectral: s, linearLayer: l, w: w, apply: apply,
			u: start(w.Name+".u", y.Shape(), n.dt, rng), v: start(w.Name+".v", shape, n.dt, rng),
		})
	}
	return all, nil
}

// start draws a vector, whose length power iteration makes 1.
func start(name string, shape []int, dt tensor.Dtype, rng *rand.Rand) *graph.Param {
	return graph.NewParam(name, normals(tensor.Shape(shape).TotalSize(), rng), dt, shape...)
}

// mapOf is the map of a layer without its bias.
func mapOf(l layers.Affine) linear {
	return func(b *graph.Builder, w, v *graph.Node) *graph.Node { return l.Apply(b, v, w, nil) }
}

// filters is the map of the matrix of filters, and the shape of its inputs.
func filters(b *graph.Builder, l layers.Filtering) ([]int, linear) {
	w, _ := l.Weights()
	m := l.Filters(b, b.Fill(0, w.Value.Shape()...))
	if b.Err() != nil {
		return nil, mapOf(l)
	}
	return []int{1, m.Shape()[1]}, func(b *graph.Builder, w, v *graph.Node) *graph.Node {
		return b.MatMul(v, l.Filters(b, w), false, true)
	}
}

// transposed writes the transposed map of u.
func (l *bounded) transposed(b *graph.Builder, w, u *graph.Node) *graph.Node {
	v := b.Param(l.v) // any vector: the map is linear
	return graph.VJP(b, []*graph.Node{l.apply(b, w, v)}, []*graph.Node{u}, []*graph.Node{v})[0]
}

// step writes one step of power iteration: the new u and v, which count as constants. It starts
// from u or, as PyTorch does, from v.
func (l *bounded) step(b *graph.Builder) (u, v *graph.Node) {
	w := b.Detach(b.Param(l.w))
	if l.always {
		u = unit(b, l.apply(b, w, b.Param(l.v)))
		return u, unit(b, l.transposed(b, w, u))
	}
	v = unit(b, l.transposed(b, w, b.Param(l.u)))
	return unit(b, l.apply(b, w, v)), v
}

// last writes the vectors with which a network is evaluated: u stays as it is, and v too or, if
// the iteration starts from u, follows it.
func (l *bounded) last(b *graph.Builder) (u, v *graph.Node) {
	u = b.Param(l.u)
	if l.always {
		return u, b.Param(l.v)
	}
	return u, unit(b, l.transposed(b, b.Detach(b.Param(l.w)), u))
}

// least keeps the length of a vector of zeros from being 0.
const least = 1e-30

// unit writes x divided by its length.
func unit(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Div(x, b.Sqrt(b.Affine(total(b, b.Square(x)), 1, least)))
}

// total sums x to one element that broadcasts over it.
func total(b *graph.Builder, x *graph.Node) *graph.Node {
	ones := make([]int, x.Dims())
	for i := range ones {
		ones[i] = 1
	}
	return b.SumTo(x, ones...)
}

// norm writes σ = uᵀWv, [1].
func (l *bounded) norm(b *graph.Builder, u, v *graph.Node) *graph.Node {
	y := b.Mul(u, l.apply(b, b.Param(l.w), v))
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(total(b, y), 1)
}

// divided writes the weights that the layer computes with.
func (l *bounded) divided(b *graph.Builder, u, v *graph.Node) *graph.Node {
	divisor := l.norm(b, u, v)
	if !l.always {
		divisor = b.Affine(b.ReLU(b.Affine(divisor, 1/l.bound, -1)), 1, 1)
	}
	if !l.through {
		divisor = b.Detach(divisor)
	}
	return b.Div(b.Param(l.w), divisor)
}

// next writes a step of power iteration, the divided weights and what becomes of the vectors.
func (l *bounded) next(b *graph.Builder) (*graph.Node, []layers.Update) {
	u, v := l.step(b)
	return l.divided(b, u, v), []layers.Update{{Param: l.u, Value: u}, {Param: l.v, Value: v}}
}

// firstSteps of power iteration come before the first step of the training, as many as
// PyTorch's spectral_norm makes.
const firstSteps = 15

// settle makes steps of power iteration on all layers.
func settle(all []*bounded, dt tensor.Dtype, steps int) error {
	b := graph.NewBuilder(dt)
	var varying, vectors []*graph.Node
	var params []*graph.Param
	for _, l := range all {
		u, v := l.step(b)
		vectors, params = append(vectors, u, v), append(params, l.u, l.v)
		varying = append(varying, b.Param(l.u), b.Param(l.v))
	}
	prog, err := graph.Compile(b, vectors, graph.Options{Varying: varying})
	for i := 0; i < steps && err == nil; i++ {
		if err = prog.Run(); err == nil {
			for k, p := range params {
				tensor.Copy(p.Value, prog.Value(vectors[k]))
			}
		}
	}
	return err
}

// divider computes the weights that layers compute with.
type divider struct {
	of      []*bounded
	program *graph.Program
	weights []*graph.Node
	sigma   []*graph.Node
}

// newDivider compiles what the layers need.
func newDivider(all []*bounded, dt tensor.Dtype) (*divider, error) {
	d := &divider{of: all}
	b := graph.NewBuilder(dt)
	var varying []*graph.Node
	for _, l := range all {
		u, v := l.last(b)
		d.weights, d.sigma = append(d.weights, l.divided(b, u, v)), append(d.sigma, l.norm(b, u, v))
		varying = append(varying, b.Param(l.w), b.Param(l.u), b.Param(l.v))
	}
	var err error
	d.program, err = graph.Compile(b, append(append([]*graph.Node{}, d.weights...), d.sigma...), graph.Options{Varying: varying})
	return d, err
}

// run overwrites weights of the layers; a divider that is nil has none.
func (d *divider) run(weights []*graph.Param) error {
	if d == nil {
		return nil
	}
	err := d.program.Run()
	for i, l := range d.of {
		tensor.Copy(weights[l.array].Value, d.program.Value(d.weights[i]))
	}
	return err
}

// norms are those that the last run has found, before they are divided.
func (d *divider) norms() []float64 {
	if d == nil {
		return nil
	}
	var all []float64
	for _, n := range d.sigma {
		all = append(all, graph.Floats(d.program.Value(n))...)
	}
	return all
}

// largestNorm returns the largest norm of the layers all, before the layers are divided.
func largestNorm(all []*bounded, dt tensor.Dtype) (float64, error) {
	b := graph.NewBuilder(dt)
	var norms []*graph.Node
	for _, l := range all {
		u, v := l.last(b)
		norms = append(norms, l.norm(b, u, v))
	}
	values, err := graph.Evaluate(b, norms...)
	if err != nil {
		return 0, err
	}
	top := 0.0
	for _, v := range values {
		top = max(top, v[0])
	}
	return top, nil
}
