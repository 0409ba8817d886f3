package valla

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// posterior predicts with a fitted layer. The network and its kernel are computed in its
// element type, what follows in float64. What depends on Z, L and σ₀ only is computed once.
type posterior struct {
	net   layers.Network // with the uncertain weights as parameters
	layer *Layer         // the fitted process
	limit int64          // bytes
	firm  bool           // the limit holds for a single input, too

	mu       sync.Mutex   // serves solve
	at       *system      // of the present parameters; nil: to be computed
	evidence *graph.Param // L₀, packed as L is, see split; nil: all of the variance is epistemic
	scatter  float64      // ν, with L₀
	known    *system      // of L₀

	additive bool // A is a sum over rows, see Update

	likeliest int // see gp.LikeliestClasses; 0: all classes

	start *tensor.Dense // the inducing inputs before the fit; nil if unknown
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
	_ gp.Updater        = (*posterior)(nil)
)

// predictBatch is the number of inputs that a pass over inputs computes at a time. It is small
// enough for the intermediate results of small networks to stay in the cache. If it needs more
// memory than the limit, the number is divided by a whole number.
const predictBatch = 100

const (
	// largeProgram is the number of bytes from which on the intermediate results of
	// predictBatch inputs leave every cache. Those of largeBatch inputs take less time for each
	// input (10.0 ms with a ResNet-20 on one thread, 10.4 with twice as many), and less memory.
	largeProgram = 128 << 20
	largeBatch   = predictBatch / 10
)

// batched compiles the pass that write writes for as many inputs at a time as limit bytes allow, and no more than there
// are; 0 is no limit. It returns that number, too.
func batched(what string, inputs int, limit int64, write func(size int) (graph.Pass, error)) (f *graph.Batched, size int, err error) {
	var p graph.Pass
	var d *graph.Draft
	need := func(size int) (_ int64, err error) {
		if p, err = write(size); err != nil {
			return 0, err
		}
		if d, err = graph.NewDraft(p.Builder, p.Outputs, graph.Options{Varying: []*graph.Node{p.X}}); err != nil {
			return 0, err
		}
		return d.Bytes() + p.Beside, nil
	}
	size, bytes, err := graph.Tile(what, max(1, min(predictBatch, inputs)), limit, need)
	if err == nil && bytes > largeProgram && size > largeBatch {
		size = largeBatch
		_, err = need(size)
	}
	if err != nil {
		return nil, 0, err
	}
	if f, err = d.Batched(p.X, p.Outputs...); err == nil && limit > 0 {
		f.Limit(limit - p.Beside)
	}
	return f, size, err
}

// defaultLimit is the memory in bytes that predictions may take. A single input may take more, if
// the machine has it.
const defaultLimit = 1 << 30

// newPosterior returns the posterior of a layer on a network.
func newPosterior(net layers.Network, layer *Layer) *posterior {
	return &posterior{net: net, layer: layer, limit: defaultLimit}
}

// limitMemory sets the largest number of bytes that passes over rows may take. The default is 1 GiB, or what a single input
// takes where that is more.
func (p *posterior) limitMemory(bytes int64) { p.limit, p.firm = bytes, true }

// Refresh makes the posterior see changed parameters of its layer.
func (p *posterior) Refresh() { p.at, p.known = nil, nil }

// solve computes what predictions need of the inducing points. Several goroutines may call solve.
func (p *posterior) solve() error {
	p.mu.Lock()
	defer p.mu.Unlock()
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
func (p *posterior) builder() *graph.Builder { return graph.NewBuilder(p.layer.Z.Value.Dtype()) }

// wideBuilder starts a graph of float64 for a network of whatever element type.
func wideBuilder() *graph.Builder { return graph.NewConverting(tensor.Float64) }

// kernels writes what predictions at x need: κ̂ [B,C,C], or its diagonals [B,C] alone if marginal says so, and k̂ [B,C,M]. Of the
// likeliest K classes alone, where K is not 0, these have K in place of C, their places [B,K] follow, and seeds are the combinations
// that choose them, see [gp.Choose]. mean is the network's outputs, which only this choice needs.
func (l *Layer) kernels(likeliest int, b *graph.Builder, x, mean *graph.Node, marginal bool) (nodes []*graph.Node, seeds *graph.Node) {
	k, places := l.Kernel, (*graph.Node)(nil)
	if likeliest > 0 {
		places, seeds = gp.Choose(b, mean, likeliest)
		k = k.(jacobian.NTK).Combined(seeds)
	}
	if marginal {
		nodes = append(nodes, gp.Variances(k, b, x))
	} else {
		nodes = append(nodes, k.Diag(b, x))
	}
	if nodes = append(nodes, k.Cross(b, x, b.Param(l.Z), l.Class)); places != nil {
		nodes = append(nodes, places)
	}
	return nodes, seeds
}

// Joint implements gp.JointPosterior, in float64. Time and memory grow with the square of
// N·C.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	mean, cov, err = p.joint(x)
	return mean, cov, fault.In("valla: joint prediction", err)
}

// joint computes Q among all outputs at all inputs: the inputs are repeated, one copy
// for each output, and treated as points that carry one output each.
func (p *posterior) joint(x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	if x.Dtype() != p.layer.Z.Value.Dtype() {
		return nil, nil, fmt.Errorf("inputs are %v, expected %v", x.Dtype(), p.layer.Z.Value.Dtype())
	}
	if err := p.checkShape(x.Shape()[1:]); err != nil {
		return nil, nil, err
	}
	at, err := p.layer.system(p.layer.L)
	if err != nil {
		return nil, nil, err
	}
	b := wideBuilder()
	xn := b.Param(&graph.Param{Name: "x", Value: x})
	out := p.net.Forward(b, xn)
	points, class := copies(b, xn, out)
	nodes := []*graph.Node{out, p.layer.Kernel.Gram(b, points, class), p.layer.Kernel.Cross(b, xn, b.Param(p.layer.Z), p.layer.Class)}
	if p.likeliest > 0 {
		nodes = append(nodes, b.Largest(out, p.likeliest))
	}
	values, err := graph.Evaluate(b, nodes...)
	if err != nil {
		return nil, nil, err
	}
	n, k := len(values[0]), values[1]
	at.covariances(n, k, values[2], make([]float64, len(values[2])))
	if p.likeliest > 0 {
		gp.WidenJoint(k, values[3], p.likeliest)
	}
	return tensor.New(tensor.WithShape(n), tensor.WithBacking(values[0])), tensor.New(tensor.WithShape(n, n), tensor.WithBacking(k)), nil
}

// checkShape returns an error if inputs of a shape are none of the layer.
func (p *posterior) checkShape(shape tensor.Shape) error {
	if want := p.layer.Z.Value.Shape()[1:]; !slices.Equal(shape, want) {
		return fmt.Errorf("inputs of shape %v, expected %v", shape, want)
	}
	return nil
}

// copies repeats each input of x [N,…] for each of the outputs [N,C]: points [N·C,…], and
// the output that each point carries.
func copies(b *graph.Builder, x, out *graph.Node) (*graph.Node, []int) {
	if b.Err() != nil {
		return nil, nil
	}
	n, c := out.Shape()[0], out.Shape()[1]
	rest := x.Shape()[1:]
	one := b.Reshape(x, append([]int{n, 1}, rest...)...)
	points := b.Reshape(b.BroadcastTo(one, append([]int{n, c}, rest...)...), append([]int{n * c}, rest...)...)
	return points, dense.Cycle(n*c, c)
}

// system returns the system of the layer's present parameters, with the given L.
func (l *Layer) system(packed *graph.Param) (*system, error) {
	gram, err := l.wideGram()
	if err != nil {
		return nil, err
	}
	std := l.PriorStd()
	return newSystem(std*std, dense.UnpackLower(l.Inducing(), packed.Floats()), gram)
}

// wideGram returns K̂_z [M,M], computed in float64 whatever the network holds.
func (l *Layer) wideGram() ([]float64, error) {
	b := wideBuilder()
	values, err := graph.Evaluate(b, l.Kernel.Gram(b, b.Param(l.Z), l.Class))
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// following returns a function that predicts at x [N,…] with the parameters of the layer as they
// are when the function is called, with variances alone if marginal says so.
func (p *posterior) following(x *tensor.Dense, marginal bool) func(context.Context) (gp.Gaussian, error) {
	o := gp.EngineOptions{Marginal: marginal}
	if p.firm {
		o.Memory = p.limit
	}
	e, err := gp.NewEngine(p, x.Shape()[1:], o)
	return func(ctx context.Context) (gp.Gaussian, error) {
		p.Refresh()
		if err == nil {
			err = e.Refresh()
		}
		if err != nil {
			return gp.Gaussian{}, err
		}
		return e.PredictAll(ctx, x)
	}
}
