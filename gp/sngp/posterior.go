package sngp

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// predictBatch is the number of inputs that are computed at a time, at most.
const predictBatch = 100

// posterior is a fitted SNGP. It has weights of its own, which are as the layers compute with
// them, divided. The network and its features are computed in the network's element type, the
// covariance in float64. Several goroutines may call Joint, and take turns.
type posterior struct {
	net     *network       // the structure of the hidden layers
	weights *layers.Copy   // of the hidden layers
	head    *head          // random features and β
	cov     *covariance    // of β
	probs   *probabilities // nil: the outputs are numbers
	limit   int64          // bytes

	mu     sync.Mutex     // guards latent
	latent *graph.Batched // features and values; nil: to be compiled
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
	_ gp.OwnMean        = (*posterior)(nil)
)

const label = "SNGP"

// String implements gp.Stored.
func (p *posterior) String() string { return label }

// OwnMean implements gp.OwnMean.
func (p *posterior) OwnMean() string {
	return "Predictions are those of SNGP, whose weights were trained further and whose last layer is another one, not those of the network."
}

// write writes features [B,m] and values [B,C] at x [B,…].
func (p *posterior) write(b *graph.Builder, x *graph.Node) []*graph.Node {
	phi := p.head.Features(b, p.weights.Forward(b, x))
	return []*graph.Node{phi, p.head.Values(b, phi)}
}

// batched compiles what write writes for up to predictBatch inputs at a time.
func (p *posterior) batched(write func(b *graph.Builder, x *graph.Node) []*graph.Node) (*graph.Batched, error) {
	return graph.NewBatchedWithin("sngp: a prediction", predictBatch, p.limit, p.pass(write))
}

// pass returns a function that writes what write writes for size inputs.
func (p *posterior) pass(write func(b *graph.Builder, x *graph.Node) []*graph.Node) func(size int) (graph.Pass, error) {
	return func(size int) (graph.Pass, error) {
		b := graph.NewBuilder(p.net.dt)
		x := b.Input("x", append([]int{size}, p.net.input...)...)
		return graph.Pass{Builder: b, X: x, Outputs: write(b, x)}, b.Err()
	}
}

// refresh makes predictions see changed weights.
func (p *posterior) refresh() {
	if p.latent != nil {
		p.latent.Refresh()
	}
}

// each calls visit with the features [n,m] and the values [n,C] of inputs x [N,…], batch by
// batch. Both are overwritten by later batches. Numbers that are not finite are an error.
func (p *posterior) each(ctx context.Context, x *tensor.Dense, visit func(first int, phi, f []float64) error) error {
	if x.Dims() < 2 || x.Shape()[0] < 1 {
		return fmt.Errorf("inputs have shape %v, expected [N,…]", x.Shape())
	}
	if p.latent == nil {
		var err error
		if p.latent, err = p.batched(p.write); err != nil {
			return err
		}
	}
	var phi, f []float64
	return p.latent.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		phi, f = dense.AppendRows(phi[:0], out[0], n), dense.AppendRows(f[:0], out[1], n)
		for i, v := range f {
			if v-v != 0 {
				return &gp.RowsError{First: first + i/p.cov.Outputs, Alone: true, Err: fmt.Errorf("the network gives %g", v)}
			}
		}
		return visit(first, phi, f)
	})
}

// scratch is the workspace of predictions.
type scratch struct{ roots, link, draws []float64 }

// scratch makes the workspace for n inputs at a time.
func (p *posterior) scratch(n int) scratch {
	c := p.cov.Outputs
	s := scratch{roots: p.cov.workspace(n), link: make([]float64, c*c+c)}
	if p.probs != nil {
		s.draws = p.probs.draws(c)
	}
	return s
}

// scratchBytes is the memory of scratch.
func (p *posterior) scratchBytes(n int) int64 {
	c := p.cov.Outputs
	bytes := p.cov.workspaceBytes(n) + gp.Numbers(c, c+1)
	if p.probs != nil && p.probs.Link == linkSamples {
		bytes += gp.Numbers(p.probs.Samples, c)
	}
	return bytes
}

// Joint implements gp.JointPosterior. Time and memory grow with the square of N·C.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var phi, f []float64
	err = p.each(ctx, x, func(_ int, more, values []float64) error {
		phi, f = append(phi, more...), append(f, values...)
		return nil
	})
	size := len(f)
	if need := 2 * 8 * int64(size) * int64(size+p.cov.shape()[1]); err == nil && p.limit > 0 && need > p.limit {
		err = &graph.MemoryError{What: "the covariance", Need: need, Limit: p.limit}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("sngp: joint prediction: %w", err)
	}
	between := make([]float64, size*size)
	p.cov.between(between, phi)
	return dense.Of(f, size), dense.Of(between, size, size), nil
}
