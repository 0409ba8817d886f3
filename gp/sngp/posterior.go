package sngp

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// PredictBatch is the number of inputs that are predicted at a time, at most.
const PredictBatch = 100

// defaultMemory is what predictions may take, in bytes, where nothing else is said.
const defaultMemory = 1 << 30

// Posterior is a fitted SNGP. It has weights of its own, which are as the layers compute with
// them, divided. The network and its features are computed in the network's element type, the
// covariance in float64. It may be used by several goroutines, which take turns.
type Posterior struct {
	net     *network
	weights *layers.Copy // of the hidden layers
	head    *Head
	cov     *Covariance
	probs   *Probabilities // nil: the outputs are numbers
	limit   int64          // bytes

	mu     sync.Mutex
	latent *graph.Batched // features and values; nil: to be compiled
}

var (
	_ gp.JointPosterior = (*Posterior)(nil)
	_ gp.Stored         = (*Posterior)(nil)
	_ gp.OwnMean        = (*Posterior)(nil)
)

const label = "SNGP"

// String implements gp.Stored.
func (p *Posterior) String() string { return label }

// OwnMean implements gp.OwnMean.
func (p *Posterior) OwnMean() string {
	return "Predictions are those of SNGP, whose weights were trained further and whose last layer is another one, not those of the network."
}

// write writes features [B,m] and values [B,C] at x [B,…].
func (p *Posterior) write(b *graph.Builder, x *graph.Node) []*graph.Node {
	phi := p.head.Features(b, p.weights.Forward(b, x))
	return []*graph.Node{phi, p.head.Values(b, phi)}
}

// batched compiles what write writes for up to PredictBatch inputs at a time.
func (p *Posterior) batched(write func(b *graph.Builder, x *graph.Node) []*graph.Node) (*graph.Batched, error) {
	var b *graph.Builder
	var x *graph.Node
	var out []*graph.Node
	_, _, err := graph.Tile("sngp: a prediction", PredictBatch, p.limit, func(size int) (int64, error) {
		b = graph.NewBuilder(p.net.dt)
		x = b.Input("x", append([]int{size}, p.net.input...)...)
		if out = write(b, x); b.Err() != nil {
			return 0, b.Err()
		}
		bytes, err := graph.Plan(b, out, graph.Options{Varying: []*graph.Node{x}})
		return int64(bytes), err
	})
	if err != nil {
		return nil, err
	}
	f, err := graph.NewBatched(b, x, out...)
	if err == nil && p.limit > 0 {
		f.Limit(p.limit)
	}
	return f, err
}

// refresh makes predictions see changed weights.
func (p *Posterior) refresh() {
	if p.latent != nil {
		p.latent.Refresh()
	}
}

// each calls visit with the features [n,m] and the values [n,C] of inputs x [N,…], batch by
// batch. Both are overwritten by later batches. Numbers that are not finite are an error.
func (p *Posterior) each(ctx context.Context, x *tensor.Dense, visit func(first int, phi, f []float64) error) error {
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
		phi, f = widen(phi[:0], out[0], n), widen(f[:0], out[1], n)
		for i, v := range f {
			if v-v != 0 {
				return fmt.Errorf("row %d (counting from 0): the network gives %g", first+i/p.cov.Outputs, v)
			}
		}
		return visit(first, phi, f)
	})
}

// widen appends the first n rows of t as float64.
func widen(dst []float64, t *tensor.Dense, n int) []float64 {
	count := t.Shape().TotalSize() / t.Shape()[0] * n
	if t.Dtype() == tensor.Float64 {
		return append(dst, t.Float64s()[:count]...)
	}
	for _, v := range t.Float32s()[:count] {
		dst = append(dst, float64(v))
	}
	return dst
}

// grown returns v with n more elements.
func grown(v []float64, n int) []float64 { return append(v, make([]float64, n)...) }

// scratch is the workspace of predictions.
type scratch struct{ roots, link, draws []float64 }

// scratch makes the workspace for n inputs at a time.
func (p *Posterior) scratch(n int) scratch {
	c := p.cov.Outputs
	s := scratch{roots: p.cov.workspace(n), link: make([]float64, c*c+c)}
	if p.probs != nil {
		s.draws = p.probs.draws(c)
	}
	return s
}

// Joint implements gp.JointPosterior. Time and memory grow with the square of N·C.
func (p *Posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
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
	return dense(f, size), dense(between, size, size), nil
}

func dense(v []float64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}
