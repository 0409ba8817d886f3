package valla

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Posterior predicts with a fitted layer. The network and its kernel are computed in its
// element type, what follows in float64. What depends on Z, L and σ₀ only is computed once.
type Posterior struct {
	net   layers.Network
	layer *Layer
	limit int64 // bytes
	firm  bool  // the limit holds for a single input, too

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

// LimitMemory sets the largest number of bytes that [Posterior.Joint] and passes over rows may
// take. The default is 1 GiB, or what a single input takes where that is more.
func (p *Posterior) LimitMemory(bytes int64) { p.limit, p.firm = bytes, true }

// Refresh makes the posterior see changed parameters of its layer.
func (p *Posterior) Refresh() { p.at, p.known = nil, nil }

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
	var o gp.EngineOptions
	if p.firm {
		o.Memory = p.limit
	}
	e, err := gp.NewEngine(p, x.Shape()[1:], o)
	targets := graph.Floats(y)
	return func(ctx context.Context) (float64, error) {
		p.Refresh()
		if err == nil {
			err = e.Refresh()
		}
		if err != nil {
			return 0, err
		}
		g, err := e.PredictAll(ctx, x)
		if err != nil {
			return 0, err
		}
		return gp.MeanNLL(lik, targets, g.Mean, g.Cov, y.Shape()[1]), nil
	}
}
