package valla

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Posterior predicts with a fitted layer. What depends on Z, L and σ₀ only is
// computed once. It is not safe for concurrent use.
type Posterior struct {
	net   layers.Network
	layer *Layer
	limit int64          // bytes
	f     *graph.Batched // mean and covariance; compiled for the first inputs' shape
	shape tensor.Shape   // of one example
	start *tensor.Dense  // the inducing inputs before the fit; nil if unknown
}

var (
	_ gp.JointPosterior = (*Posterior)(nil)
	_ gp.Stored         = (*Posterior)(nil)
)

// PredictBatch is the number of inputs that are predicted at a time. It is small enough for
// the intermediate results to stay in the cache. If it needs more memory than the limit, the
// number is divided by a whole number.
const PredictBatch = 100

// defaultLimit is the memory in bytes that predictions may take.
const defaultLimit = 1 << 30

// NewPosterior returns the posterior of a layer on a network.
func NewPosterior(net layers.Network, layer *Layer) *Posterior {
	return &Posterior{net: net, layer: layer, limit: defaultLimit}
}

// LimitMemory sets the largest number of bytes that predictions may take. The default is 1 GiB.
func (p *Posterior) LimitMemory(bytes int64) { p.limit, p.f = bytes, nil }

// Refresh makes the next prediction see changed parameters of layer and network.
func (p *Posterior) Refresh() {
	if p.f != nil {
		p.f.Refresh()
	}
}

// Predict implements gp.Posterior.
func (p *Posterior) Predict(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	if err := p.compile(x); err != nil {
		return gp.Gaussian{}, fmt.Errorf("valla: predict: %w", err)
	}
	var mean, cov []float64
	err := p.f.Each(ctx, x, func(_, n int, out []*tensor.Dense) error {
		mean = appendRows(mean, out[0], n)
		cov = appendRows(cov, out[1], n)
		return nil
	})
	if err != nil {
		return gp.Gaussian{}, fmt.Errorf("valla: predict: %w", err)
	}
	n := x.Shape()[0]
	c := len(mean) / n
	return gp.Gaussian{
		Mean: tensor.New(tensor.WithShape(n, c), tensor.WithBacking(mean)),
		Cov:  tensor.New(tensor.WithShape(n, c, c), tensor.WithBacking(cov)),
	}, nil
}

// appendRows appends the first n rows of t.
func appendRows(dst []float64, t *tensor.Dense, n int) []float64 {
	width := t.Shape().TotalSize() / t.Shape()[0]
	if t.Dtype() == tensor.Float64 {
		return append(dst, t.Float64s()[:n*width]...)
	}
	for _, v := range t.Float32s()[:n*width] {
		dst = append(dst, float64(v))
	}
	return dst
}

func (p *Posterior) compile(x *tensor.Dense) error {
	if x.Dims() < 2 {
		return fmt.Errorf("inputs have shape %v, expected [N,…]", x.Shape())
	}
	if p.f != nil && slices.Equal(x.Shape()[1:], p.shape) {
		return nil
	}
	var b *graph.Builder
	var xn *graph.Node
	var outputs []*graph.Node
	_, _, err := graph.Tile("a prediction", PredictBatch, p.limit, func(size int) (int64, error) {
		b = graph.NewBuilder(p.layer.Z.Value.Dtype())
		xn = b.Input("x", append([]int{size}, x.Shape()[1:]...)...)
		mean, terms := p.net.Forward(b, xn), p.layer.Terms(b, xn)
		if b.Err() != nil {
			return 0, b.Err()
		}
		outputs = []*graph.Node{mean, terms.Q}
		bytes, err := graph.Plan(b, outputs, graph.Options{Varying: []*graph.Node{xn}})
		return int64(bytes), err
	})
	if err != nil {
		return err
	}
	f, err := graph.NewBatched(b, xn, outputs...)
	if err != nil {
		return err
	}
	if p.limit > 0 {
		f.Limit(p.limit)
	}
	p.f, p.shape = f, x.Shape()[1:].Clone()
	return nil
}

// Joint implements gp.JointPosterior. Time and memory grow with the square of N·C.
func (p *Posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	b := graph.NewBuilder(p.layer.Z.Value.Dtype())
	xn := b.Param(&graph.Param{Name: "x", Value: x})
	out := p.net.Forward(b, xn)
	q := p.joint(b, xn, out)
	prog, err := graph.Compile(b, []*graph.Node{out, q}, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("valla: joint prediction: %w", err)
	}
	n := out.Shape().TotalSize()
	return tensor.New(tensor.WithShape(n), tensor.WithBacking(graph.Floats(prog.Value(out)))),
		tensor.New(tensor.WithShape(n, n), tensor.WithBacking(graph.Floats(prog.Value(q)))), nil
}

// joint writes Q among all outputs at all inputs: the inputs are repeated, one copy
// for each output, and treated as points that carry one output each.
func (p *Posterior) joint(b *graph.Builder, x, out *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	n, c := out.Shape()[0], out.Shape()[1]
	rest := x.Shape()[1:]
	one := b.Reshape(x, append([]int{n, 1}, rest...)...)
	points := b.Reshape(b.BroadcastTo(one, append([]int{n, c}, rest...)...), append([]int{n * c}, rest...)...)
	class := make([]int, n*c)
	for i := range class {
		class[i] = i % c
	}
	t := p.layer.inducing(b)
	kx := b.Mul(t.PriorVariance, p.layer.Kernel.Gram(b, points, class))
	w := b.MatMul(b.Reshape(p.layer.scaledCross(b, x), n*c, p.layer.Inducing()), t.G, false, true)
	return b.Sub(kx, b.Gram(w))
}

// ValidateNLL returns a function for train.Config.Validate: the mean negative log
// predictive density of targets y [N,C] at inputs x [N,…], with the parameters of p's
// layer and of the likelihood as they are when it is called.
func (p *Posterior) ValidateNLL(lik likelihood.Likelihood, x, y *tensor.Dense) func(context.Context) (float64, error) {
	targets, c := graph.Floats(y), y.Shape()[1]
	return func(ctx context.Context) (float64, error) {
		p.Refresh()
		g, err := p.Predict(ctx, x)
		if err != nil {
			return 0, err
		}
		sum, n, mean, cov := 0.0, len(targets)/c, g.Mean.Float64s(), g.Cov.Float64s()
		for i := range n {
			sum -= lik.LogPredictive(targets[i*c:(i+1)*c], mean[i*c:(i+1)*c], cov[i*c*c:(i+1)*c*c])
		}
		return sum / float64(n), nil
	}
}
