package fmgp

import (
	"context"
	"slices"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// predictBatch is the number of inputs that are computed at a time, at most.
const predictBatch = 100

// posterior is a fitted FMGP. Its mean is the network's output, bit for bit. The network is
// computed in its element type, the covariance in float64. Several goroutines may call
// Joint, and take turns.
type posterior struct {
	net   layers.Network // the mean
	layer *sparseGP      // the covariance
	input tensor.Shape   // of one example
	limit int64          // bytes

	known   *graph.Param // P of split, [M,M]; nil: all of the variance is epistemic
	scatter float64      // ν, with known

	start *tensor.Dense // the inducing inputs before the fit; nil where the posterior was restored

	mu      sync.Mutex     // guards what follows
	network *network       // computes outputs and features
	wide    *sparseGP      // layer in float64
	latent  *graph.Batched // see outputs; nil: to be compiled
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
)

// String implements gp.Stored.
func (p *posterior) String() string { return label(p.layer.Inducing()) }

// InducingInputs returns the inducing inputs [M,…] as they were before the fit, nil where the
// posterior was restored, and as they are now.
func (p *posterior) InducingInputs() (start, now *tensor.Dense) {
	return p.start, inputsOf(p.layer.Z.Value, p.layer.Kernel.Inputs, p.input)
}

// inputsOf returns the inputs, of a shape each, of points [M, D+E].
func inputsOf(z *tensor.Dense, d int, shape tensor.Shape) *tensor.Dense {
	v, w := graph.Floats(z), width(z)
	var out []float64
	for row := range slices.Chunk(v, w) {
		out = append(out, row[:d]...)
	}
	all := tensor.New(tensor.WithShape(append([]int{len(v) / w}, shape...)...), tensor.WithBacking(out))
	return graph.Convert(all, z.Dtype())
}

// prepare compiles the network, unless it is compiled.
func (p *posterior) prepare() (err error) {
	if p.network == nil {
		p.network, err = newNetwork(p.net, p.layer.Z.Value.Dtype(), p.input, p.layer.Kernel.Features > 0, p.limit)
	}
	return err
}

// refresh makes predictions see changed parameters of the layer.
func (p *posterior) refresh() {
	if p.latent == nil {
		return
	}
	for i, q := range p.layer.Params() {
		copy(p.wide.Params()[i].Value.Float64s(), q.Floats())
	}
	p.latent.Refresh()
}

// compile compiles what write writes at points u [B, D+E], in float64.
func (p *posterior) compile(write func(b *graph.Builder, u *graph.Node) []*graph.Node) (*graph.Batched, error) {
	return graph.NewBatchedWithin("fmgp: a prediction", predictBatch, p.limit, func(size int) (graph.Pass, error) {
		b := graph.NewBuilder(tensor.Float64)
		u := b.Input("u", size, p.layer.Kernel.Width())
		return graph.Pass{Builder: b, X: u, Outputs: write(b, u)}, b.Err()
	})
}

// outputs writes what predictions need at points u [B, D+E]: Q [B,C,C], or its diagonals [B,C] alone, the prior variances
// [B,C] and, where they are known apart, the epistemic variances E₀ [B,C].
func (p *posterior) outputs(b *graph.Builder, u *graph.Node, marginal bool) []*graph.Node {
	t := p.wide.Terms(b, u)
	if b.Err() != nil {
		return nil
	}
	out := []*graph.Node{t.Q, t.Prior}
	if marginal {
		out[0] = t.Variance
	}
	if p.known != nil {
		out = append(out, p.writeKnown(b, t.Prior, t.Kxz))
	}
	return out
}

// writeKnown writes the part of the variances [B,C] that is known to be epistemic, for κ [B,C] and K_xz [B,C,M].
func (p *posterior) writeKnown(b *graph.Builder, prior, cross *graph.Node) *graph.Node {
	gain := b.SumAxis(b.Square(rowsTimes(b, cross, b.Param(p.known))), 2)
	if b.Err() != nil {
		return nil
	}
	return b.Sub(prior, b.Reshape(gain, prior.Shape()...))
}

// fill writes the covariances and the shares of inputs from number first on, of which out are
// the nodes of [posterior.outputs].
func (p *posterior) fill(g *gp.Gaussian, out []*tensor.Dense, first int) error {
	copy(g.Cov, out[0].Float64s())
	if len(g.Epistemic) > 0 {
		p.shares(g.Epistemic, out[2].Float64s())
	}
	return gp.Settle(*g, out[1].Float64s()[:len(g.Mean)], nil, first)
}

// eachPoint calls visit with what f gives for the points from number first on.
func eachPoint(ctx context.Context, f *graph.Batched, at points, visit func(first, n int, out []*tensor.Dense) error) error {
	const chunk = 4 * predictBatch // so that batches can run beside each other
	for first := 0; first < at.n(); first += chunk {
		u := at.wide(first, min(chunk, at.n()-first))
		err := f.Each(ctx, u, func(from, n int, out []*tensor.Dense) error { return visit(first+from, n, out) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Joint implements gp.JointPosterior, in float64. Time and memory grow with the square of
// N·C.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err = p.prepare(); err == nil {
		var at points
		if at, err = p.network.points(ctx, x, 0, untold); err == nil {
			mean, cov, err = p.joint(at)
		}
	}
	return mean, cov, fault.In("fmgp: joint prediction", err)
}

// joint repeats each point for each of the outputs, and treats the copies as points that
// carry one output each.
func (p *posterior) joint(at points) (mean, cov *tensor.Dense, err error) {
	n, l := at.n(), p.layer.wide()
	k := l.Kernel
	size := n * k.Outputs
	if need := 3 * 8 * int64(size) * int64(size+k.Width()); p.limit > 0 && need > p.limit {
		return nil, nil, &graph.MemoryError{What: "the covariance", Need: need, Limit: p.limit}
	}
	b := graph.NewBuilder(tensor.Float64)
	u := b.Param(&graph.Param{Name: "u", Value: at.wide(0, n)})
	t := l.Terms(b, u)
	if b.Err() != nil {
		return nil, nil, b.Err()
	}
	copies := b.Reshape(b.BroadcastTo(b.Reshape(u, n, 1, k.Width()), n, k.Outputs, k.Width()), size, k.Width())
	half := b.MatMul(b.Reshape(t.Kxz, size, l.Inducing()), t.G, false, true)
	q := b.Sub(k.Gram(b, copies, dense.Cycle(size, k.Outputs)), b.Gram(half))
	values, err := graph.Evaluate(b, q)
	if err != nil {
		return nil, nil, err
	}
	return dense.Of(graph.Floats(at.g), size), dense.Of(values[0], size, size), nil
}

// present predicts at points with the parameters of the layer as they are now, with variances alone if marginal says so, as in
// all calls of a fit.
func (p *posterior) present(ctx context.Context, at points, marginal bool) (g gp.Gaussian, err error) {
	p.refresh()
	if err = p.prepare(); err == nil && p.latent == nil {
		p.wide = p.layer.wide()
		p.latent, err = p.compile(func(b *graph.Builder, u *graph.Node) []*graph.Node { return p.outputs(b, u, marginal) })
	}
	if err != nil {
		return g, err
	}
	g.ResizeFor(at.n(), p.layer.Kernel.Outputs, p.known != nil, marginal)
	g.SetMean(at.g)
	err = eachPoint(ctx, p.latent, at, func(first, n int, out []*tensor.Dense) error {
		part := g.Rows(first, n)
		return p.fill(&part, out, first)
	})
	return g, err
}
