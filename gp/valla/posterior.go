package valla

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Posterior predicts with a fitted layer. The network and its kernel are computed in its
// element type, what follows in float64. What depends on Z, L and σ₀ only is computed once.
// It is not safe for concurrent use.
type Posterior struct {
	net   layers.Network
	layer *Layer
	limit int64 // bytes
	firm  bool  // the limit holds for a single input, too

	f       *graph.Batched // mean, κ̂ and k̂; compiled for the first inputs' shape
	wide    *graph.Batched // κ̂ and k̂ in float64, for rows where float32 is not enough
	shape   tensor.Shape   // of one example
	outputs int            // C

	at       *system      // of the present parameters; nil: to be computed
	evidence *graph.Param // L₀, packed as L is, see split; nil: all of the variance is epistemic
	scatter  float64      // ν, with L₀
	known    *system      // of L₀

	additive bool // A is a sum over rows, see Update

	start *tensor.Dense // the inducing inputs before the fit; nil if unknown
}

var (
	_ gp.JointPosterior = (*Posterior)(nil)
	_ gp.Stored         = (*Posterior)(nil)
	_ gp.Updater        = (*Posterior)(nil)
)

// PredictBatch is the number of inputs that are predicted at a time. It is small enough for
// the intermediate results of small networks to stay in the cache. If it needs more memory than
// the limit, the number is divided by a whole number.
const PredictBatch = 100

const (
	// largeProgram is the number of bytes from which on the intermediate results of
	// PredictBatch inputs leave every cache. Those of largeBatch inputs take less time for each
	// input (10.0 ms with a ResNet-20 on one thread, 10.4 with twice as many), and less memory.
	largeProgram = 128 << 20
	largeBatch   = PredictBatch / 10
)

// tile chooses how many inputs are predicted at a time within a limit, as graph.Tile does; need
// is called with that number last.
func tile(what string, limit int64, need func(size int) (int64, error)) (int, error) {
	size, bytes, err := graph.Tile(what, PredictBatch, limit, need)
	if err == nil && bytes > largeProgram && size > largeBatch {
		size = largeBatch
		_, err = need(size)
	}
	return size, err
}

// defaultLimit is the memory in bytes that predictions may take. A single input may take more, if
// the machine has it.
const defaultLimit = 1 << 30

// NewPosterior returns the posterior of a layer on a network.
func NewPosterior(net layers.Network, layer *Layer) *Posterior {
	return &Posterior{net: net, layer: layer, limit: defaultLimit}
}

// LimitMemory sets the largest number of bytes that predictions may take. The default is 1 GiB, and up
// to 2 GiB where several threads predict, or what a single input takes where that is more.
func (p *Posterior) LimitMemory(bytes int64) { p.limit, p.firm, p.f, p.wide = bytes, true, nil, nil }

// Refresh makes the next prediction see changed parameters of layer and network.
func (p *Posterior) Refresh() {
	p.at, p.known, p.wide = nil, nil, nil
	if p.f != nil {
		p.f.Refresh()
	}
}

// Predict implements gp.Posterior. A variance of which rounding in float32 may have taken
// more than a ten-thousandth is computed again in float64. A variance below 0 that rounding
// does not explain is an error.
func (p *Posterior) Predict(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	g, err := p.predict(ctx, x)
	if err != nil {
		return gp.Gaussian{}, fmt.Errorf("valla: predict: %w", err)
	}
	return g, nil
}

func (p *Posterior) predict(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	if err := p.prepare(x); err != nil {
		return gp.Gaussian{}, err
	}
	q := newPredictions(p.at, p.known, x.Shape()[0], p.outputs)
	err := p.f.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		fill(q.mean[first*q.c:(first+n)*q.c], out[0])
		return q.add(first, n, out[1], out[2])
	})
	if err == nil && len(q.blunt) > 0 {
		err = p.sharpen(ctx, x, q)
	}
	if err != nil {
		return gp.Gaussian{}, err
	}
	g := gp.Gaussian{
		Mean: tensor.New(tensor.WithShape(q.n, q.c), tensor.WithBacking(q.mean)),
		Cov:  tensor.New(tensor.WithShape(q.n, q.c, q.c), tensor.WithBacking(q.cov)),
	}
	if q.known != nil {
		p.share(q.epistemic)
		g.Epistemic = tensor.New(tensor.WithShape(q.n, q.c), tensor.WithBacking(q.epistemic))
	}
	return g, nil
}

// share overwrites epistemic variances by their shares of the targets' variances.
func (p *Posterior) share(epistemic []float64) {
	for i, e := range epistemic {
		epistemic[i] = e / (e + p.scatter)
	}
}

// sharpen overwrites the covariances in which float32 is too blunt by those computed in
// float64.
func (p *Posterior) sharpen(ctx context.Context, x *tensor.Dense, q *predictions) error {
	part := graph.Convert(data.TakeRows(x, q.blunt), tensor.Float64)
	if p.wide == nil {
		var err error
		if p.wide, err = p.batched(wideBuilder, x.Shape()[1:], p.kernels); err != nil {
			return err
		}
	}
	sharp := newPredictions(p.at, p.known, len(q.blunt), q.c)
	sharp.rows = q.blunt
	err := p.wide.Each(ctx, part, func(first, n int, out []*tensor.Dense) error { return sharp.add(first, n, out[0], out[1]) })
	for i, row := range q.blunt {
		copy(q.cov[row*q.c*q.c:], sharp.cov[i*q.c*q.c:(i+1)*q.c*q.c])
		if q.known != nil {
			copy(q.epistemic[row*q.c:], sharp.epistemic[i*q.c:(i+1)*q.c])
		}
	}
	return err
}

// prepare compiles the network for the shape of x, and computes what does not depend on x.
func (p *Posterior) prepare(x *tensor.Dense) error {
	if x.Dims() < 2 {
		return fmt.Errorf("inputs have shape %v, expected [N,…]", x.Shape())
	}
	if p.f == nil || !slices.Equal(x.Shape()[1:], p.shape) {
		f, err := p.batched(p.builder, x.Shape()[1:], func(b *graph.Builder, x *graph.Node) []*graph.Node {
			return append([]*graph.Node{p.net.Forward(b, x)}, p.kernels(b, x)...)
		})
		if err != nil {
			return err
		}
		p.f, p.wide, p.shape, p.outputs = f, nil, x.Shape()[1:].Clone(), f.Width(0)
	}
	return p.solve()
}

// solve computes what predictions need of the inducing points.
func (p *Posterior) solve() error {
	var err error
	if p.at == nil {
		p.at, err = p.layer.system(p.layer.L)
	}
	if err == nil && p.known == nil && p.evidence != nil {
		p.known, err = p.layer.system(p.evidence)
	}
	return err
}

// builder starts a graph of the network's element type.
func (p *Posterior) builder() *graph.Builder { return graph.NewBuilder(p.layer.Z.Value.Dtype()) }

// wideBuilder starts a graph of float64 for a network of whatever element type.
func wideBuilder() *graph.Builder { return graph.NewConverting(tensor.Float64) }

// kernels writes κ̂ [B,C,C] and k̂ [B,C,M] at x.
func (p *Posterior) kernels(b *graph.Builder, x *graph.Node) []*graph.Node {
	l := p.layer
	return []*graph.Node{l.Kernel.Diag(b, x), l.Kernel.Cross(b, x, b.Param(l.Z), l.Class)}
}

// batched compiles what write writes for as many inputs of a shape at a time as the memory
// allows.
func (p *Posterior) batched(builder func() *graph.Builder, shape tensor.Shape, write func(*graph.Builder, *graph.Node) []*graph.Node) (*graph.Batched, error) {
	var b *graph.Builder
	var xn *graph.Node
	var outputs []*graph.Node
	_, err := tile("a prediction", p.limit, func(size int) (int64, error) {
		b = builder()
		xn = b.Input("x", append([]int{size}, shape...)...)
		if outputs = write(b, xn); b.Err() != nil {
			return 0, b.Err()
		}
		bytes, err := graph.Plan(b, outputs, graph.Options{Varying: []*graph.Node{xn}})
		for _, n := range outputs {
			bytes += 3 * 8 * n.Shape().TotalSize() // in float64, and what is made of it
		}
		return int64(bytes), err
	})
	if beyond := (*graph.MemoryError)(nil); !p.firm && errors.As(err, &beyond) {
		err = graph.CheckMemory("a prediction", beyond.Need) // of one input, which was tried last
	}
	if err != nil {
		return nil, err
	}
	f, err := graph.NewBatched(b, xn, outputs...)
	if err == nil && p.firm && p.limit > 0 {
		f.Limit(p.limit)
	}
	return f, err
}

// Joint implements gp.JointPosterior, in float64. Time and memory grow with the square of
// N·C.
func (p *Posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if mean, cov, err = p.joint(x); err != nil {
		return nil, nil, fmt.Errorf("valla: joint prediction: %w", err)
	}
	return mean, cov, nil
}

// joint computes Q among all outputs at all inputs: the inputs are repeated, one copy
// for each output, and treated as points that carry one output each.
func (p *Posterior) joint(x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	if x.Dtype() != p.layer.Z.Value.Dtype() {
		return nil, nil, fmt.Errorf("inputs are %v, expected %v", x.Dtype(), p.layer.Z.Value.Dtype())
	}
	at, err := p.layer.system(p.layer.L)
	if err != nil {
		return nil, nil, err
	}
	b := wideBuilder()
	xn := b.Param(&graph.Param{Name: "x", Value: x})
	out := p.net.Forward(b, xn)
	points, class := copies(b, xn, out)
	values, err := evaluate(b, out, p.layer.Kernel.Gram(b, points, class), p.layer.Kernel.Cross(b, xn, b.Param(p.layer.Z), p.layer.Class))
	if err != nil {
		return nil, nil, err
	}
	n, k := len(values[0]), values[1]
	at.covariances(n, k, values[2], make([]float64, len(values[2])))
	return tensor.New(tensor.WithShape(n), tensor.WithBacking(values[0])), tensor.New(tensor.WithShape(n, n), tensor.WithBacking(k)), nil
}

// copies repeats each input of x [N,…] for each of the outputs [N,C]: points [N·C,…], and
// the output that each of them carries.
func copies(b *graph.Builder, x, out *graph.Node) (*graph.Node, []int) {
	if b.Err() != nil {
		return nil, nil
	}
	n, c := out.Shape()[0], out.Shape()[1]
	rest := x.Shape()[1:]
	one := b.Reshape(x, append([]int{n, 1}, rest...)...)
	points := b.Reshape(b.BroadcastTo(one, append([]int{n, c}, rest...)...), append([]int{n * c}, rest...)...)
	class := make([]int, n*c)
	for i := range class {
		class[i] = i % c
	}
	return points, class
}

// evaluate runs a graph once and returns the values of nodes.
func evaluate(b *graph.Builder, nodes ...*graph.Node) ([][]float64, error) {
	prog, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		return nil, err
	}
	var out [][]float64
	for _, n := range nodes {
		out = append(out, graph.Floats(prog.Value(n)))
	}
	return out, nil
}

// system returns that of the layer's present parameters, with the given L.
func (l *Layer) system(packed *graph.Param) (*system, error) {
	gram, err := l.wideGram()
	if err != nil {
		return nil, err
	}
	std := l.PriorStd()
	return newSystem(std*std, unpacked(l.Inducing(), packed.Floats()), gram)
}

// wideGram returns K̂_z [M,M], computed in float64 whatever the network holds.
func (l *Layer) wideGram() ([]float64, error) {
	b := wideBuilder()
	values, err := evaluate(b, l.Kernel.Gram(b, b.Param(l.Z), l.Class))
	if err != nil {
		return nil, err
	}
	return values[0], nil
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
