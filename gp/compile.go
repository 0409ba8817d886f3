package gp

import (
	"context"
	"slices"
	"sync"

	"gorgonia.org/tensor"
)

// Latents are the latent distributions at N inputs, as in a [Gaussian], in slices that are
// used again.
type Latents struct {
	Mean []float64 // [N,C]
	Cov  []float64 // [N,C,C]
	// Epistemic are the shares of [Gaussian], [N,C]; empty where that has none.
	Epistemic []float64
	// Probs are the probabilities of [Gaussian], [N,C]; empty where that has none.
	Probs []float64
}

// Latents returns the arrays of g, not copies of them.
func (g Gaussian) Latents() Latents {
	l := Latents{Mean: g.Mean.Float64s(), Cov: g.Cov.Float64s()}
	if g.Epistemic != nil {
		l.Epistemic = g.Epistemic.Float64s()
	}
	if g.Probs != nil {
		l.Probs = g.Probs.Float64s()
	}
	return l
}

// Gaussian returns the distributions of c outputs each; it shares the arrays.
func (l Latents) Gaussian(c int) Gaussian {
	n := len(l.Mean) / c
	g := Gaussian{Mean: tensor.New(tensor.WithShape(n, c), tensor.WithBacking(l.Mean)), Cov: tensor.New(tensor.WithShape(n, c, c), tensor.WithBacking(l.Cov))}
	if len(l.Epistemic) > 0 {
		g.Epistemic = tensor.New(tensor.WithShape(n, c), tensor.WithBacking(l.Epistemic))
	}
	if len(l.Probs) > 0 {
		g.Probs = tensor.New(tensor.WithShape(n, c), tensor.WithBacking(l.Probs))
	}
	return g
}

// Resize makes room for n inputs with c outputs, with Epistemic or without, and without Probs.
// What is in the slices then is undefined.
func (l *Latents) Resize(n, c int, epistemic bool) {
	l.Mean, l.Cov, l.Epistemic, l.Probs = resized(l.Mean, n*c), resized(l.Cov, n*c*c), l.Epistemic[:0], l.Probs[:0]
	if epistemic {
		l.Epistemic = resized(l.Epistemic, n*c)
	}
}

// ResizeProbs makes room for the Probs of the inputs in Mean.
func (l *Latents) ResizeProbs() { l.Probs = resized(l.Probs, len(l.Mean)) }

// Take makes l a copy of n inputs of from, from number first on, which have c outputs.
func (l *Latents) Take(from Latents, first, n, c int) {
	l.Resize(n, c, len(from.Epistemic) > 0)
	if len(from.Probs) > 0 {
		l.ResizeProbs()
		copy(l.Probs, from.Probs[first*c:])
	}
	copy(l.Mean, from.Mean[first*c:])
	copy(l.Cov, from.Cov[first*c*c:])
	if len(l.Epistemic) > 0 {
		copy(l.Epistemic, from.Epistemic[first*c:])
	}
}

func resized(v []float64, n int) []float64 { return slices.Grow(v[:0], n)[:n] }

// SetMean overwrites Mean by the first elements of t, float32 or float64.
func (l *Latents) SetMean(t *tensor.Dense) {
	if t.Dtype() == tensor.Float64 {
		copy(l.Mean, t.Float64s())
		return
	}
	for i, v := range t.Float32s()[:len(l.Mean)] {
		l.Mean[i] = float64(v)
	}
}

// Compiled computes a posterior's predictions for a few inputs at a time. It keeps its
// buffers, so that it allocates nothing once they are large enough, and serves one goroutine
// at a time.
type Compiled interface {
	// Latents writes the latent distributions at n inputs x [n·D], at most as many as it was
	// compiled for, which are in the network's units. It resizes g.
	Latents(ctx context.Context, x []float64, g *Latents) error
	// Bytes is the memory that it holds, about.
	Bytes() int64
}

// Compiler is a Posterior that can be compiled for batches of one size. What it compiles to
// stays right as long as neither the posterior nor the network's weights change.
type Compiler interface {
	Posterior
	// Compile returns a Compiled for up to size inputs of a shape each, or a
	// *graph.MemoryError if that needs more than limit bytes; 0 is no limit. It is not safe
	// for concurrent use, but what it returned may be used meanwhile.
	Compile(shape []int, size int, limit int64) (Compiled, error)
}

// Serial makes any posterior a Compiled, by calling its Predict, one call at a time. It
// allocates, takes any number of inputs and is safe for concurrent use.
func Serial(p Posterior, dt tensor.Dtype, shape []int) Compiled {
	return &serial{p: p, dt: dt, shape: shape}
}

type serial struct {
	mu    sync.Mutex
	p     Posterior
	dt    tensor.Dtype
	shape tensor.Shape
}

// Latents implements Compiled.
func (s *serial) Latents(ctx context.Context, x []float64, g *Latents) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(x) / s.shape.TotalSize()
	in := tensor.New(tensor.Of(s.dt), tensor.WithShape(append([]int{n}, s.shape...)...))
	for i, v := range x {
		if s.dt == tensor.Float64 {
			in.Float64s()[i] = v
		} else {
			in.Float32s()[i] = float32(v)
		}
	}
	got, err := s.p.Predict(ctx, in)
	if err != nil {
		return err
	}
	g.Take(got.Latents(), 0, n, got.Mean.Shape()[1])
	return nil
}

// Bytes implements Compiled: those of the posterior are not known.
func (s *serial) Bytes() int64 { return 0 }
