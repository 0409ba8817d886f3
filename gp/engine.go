package gp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// EngineOptions say how an [Engine] works. The zero value is ready to use.
type EngineOptions struct {
	// Sizes are the numbers of inputs that are computed together; nil means 1, 8 and 64. Sizes
	// that need more memory than there is are left out, but not the smallest.
	Sizes []int
	// Memory is the largest number of bytes for compiled predictions. 0 means 1 GiB, or what
	// the smallest size needs where that is more. With little memory fewer goroutines are
	// served at the same time.
	Memory int64
	// Marginal says that the variances of the outputs suffice, see [Request].
	Marginal bool
}

const (
	// engineMemory is the default of EngineOptions.Memory.
	engineMemory = 1 << 30
	// largeProgram is the number of bytes from which on the intermediate results of many inputs
	// leave every cache. Few inputs at a time take less time for each input then, and less memory:
	// with a ResNet-20 on one thread 10.0 ms each for 10 inputs, 10.4 ms for 20. fewInputs is the
	// most that are computed together then.
	largeProgram = 128 << 20
	fewInputs    = 8
)

// Engine makes the predictions of a posterior, for any number of inputs and of goroutines.
// Compiled predictions of some sizes are kept, and shared among the goroutines. An Engine stays
// right as long as neither the posterior nor the weights of the network change.
type Engine struct {
	of    Posterior // the posterior
	ask   Request   // what it is asked for, for each size and what is left of the memory
	width int       // numbers of one input
	firm  bool      // the memory is also a limit for the smallest size
	pools []*pool   // by size, ascending

	mu   sync.Mutex // Compile serves one goroutine at a time
	left int64      // bytes that may still be compiled
	form form       // of predictions
}

// form says which slices a prediction has.
type form struct {
	outputs                          int  // C; 0: not known yet
	epistemic, probs, logScale, unit bool // whether predictions have these slices
	marginal                         bool // whether Cov has variances alone
}

// form returns which slices g has.
func (g Gaussian) form() form {
	return form{g.Outputs(), len(g.Epistemic) > 0, len(g.Probs) > 0, len(g.LogScale) > 0, len(g.Unit) > 0, g.Marginal > 0}
}

// usualSizes is the default of EngineOptions.Sizes.
var usualSizes = []int{1, 8, 64}

// NewEngine returns the engine of a posterior for inputs of a shape each. Nothing is compiled
// yet, see [Engine.Warm].
func NewEngine(p Posterior, shape []int, o EngineOptions) (*Engine, error) {
	sizes := slices.Clone(o.Sizes)
	if sizes == nil {
		sizes = slices.Clone(usualSizes)
	}
	slices.Sort(sizes)
	if sizes = slices.Compact(sizes); len(sizes) == 0 || sizes[0] < 1 {
		return nil, settings.Errorf("sizes %v, expected positive numbers", o.Sizes)
	}
	e := &Engine{of: p, ask: Request{Shape: slices.Clone(shape), Marginal: o.Marginal}, width: tensor.Shape(shape).TotalSize(), firm: o.Memory > 0, left: o.Memory}
	if !e.firm {
		e.left = engineMemory
	}
	for _, size := range sizes {
		e.pools = append(e.pools, newPool(size))
	}
	return e, nil
}

// Warm compiles the predictions of every size, and computes what does not depend on the inputs.
// Warm returns the error of the smallest size.
func (e *Engine) Warm(ctx context.Context) error {
	for i := range e.pools {
		q, c, err := e.take(ctx, i)
		if err != nil {
			return err
		}
		q.free <- c
	}
	return nil
}

// Predict writes the distributions of the latent function at n inputs x [n·D], which are in the
// units of the network, into g. The prediction of an input does not depend on the other inputs.
func (e *Engine) Predict(ctx context.Context, x []float64, g *Gaussian) error {
	n := len(x) / e.width
	if n < 1 || len(x)%e.width != 0 {
		return fmt.Errorf("%d numbers, expected inputs of %d each", len(x), e.width)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	q, c, err := e.take(ctx, e.best(n))
	if err != nil {
		return err
	}
	if q.size >= n {
		return e.located(ctx, x, q.predict(ctx, c, x, g))
	}
	q.free <- c // it was taken to know which size there is memory for
	return (&pieces{e: e, ctx: ctx, x: x, g: g, of: q}).run(n)
}

// best returns the number of the size for the next piece of n inputs: the smallest size that
// holds all n inputs, unless two thirds of it would be empty, or else the largest size.
func (e *Engine) best(n int) int {
	last := len(e.pools) - 1
	for last > 0 && e.pools[last].refused.Load() {
		last--
	}
	i := slices.IndexFunc(e.pools[:last+1], func(q *pool) bool { return q.size >= n })
	switch {
	case i < 0:
		return last
	case i == 0 || 3*n >= e.pools[i].size:
		return i
	}
	return i - 1
}

// take returns a Compiled of the size with number i that nobody uses, and the pool to which it
// has to be given back. Where there is no memory for that size a smaller one is taken.
func (e *Engine) take(ctx context.Context, i int) (*pool, Compiled, error) {
	for ; ; i-- {
		q := e.pools[i]
		c, err := e.get(ctx, q)
		if err != nil && i > 0 && noMemory(err) {
			q.refused.Store(true)
			continue
		}
		return q, c, err
	}
}

// compile compiles predictions for the size of q. It runs the first of a size once, so that what
// does not depend on the inputs is computed.
func (e *Engine) compile(ctx context.Context, q *pool) (Compiled, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	smallest, limit := q == e.pools[0], max(1, e.left)
	if !smallest && q.size > fewInputs {
		limit = min(limit, largeProgram)
	}
	ask := e.ask
	ask.Size, ask.Limit = q.size, limit
	c, err := e.of.Compile(ask)
	if full := (*graph.MemoryError)(nil); smallest && !e.firm && q.made.Load() == 0 && errors.As(err, &full) {
		if err = graph.CheckMemory("a prediction", full.Need); err == nil {
			ask.Limit = 0
			c, err = e.of.Compile(ask)
		}
	}
	if err != nil {
		return nil, err
	}
	q.bytes = c.Bytes()
	e.left -= q.bytes
	if q.made.Add(1) > 1 {
		return c, nil
	}
	// Zeros may be no inputs that the network can take. The first prediction returns an error
	// that is not due to the zeros.
	var g Gaussian
	if c.Predict(context.WithValue(ctx, trial{}, true), make([]float64, e.warmed(q.size)*e.width), &g) == nil {
		e.form = g.form()
	}
	return c, nil
}

// trial is the key of a context in which an Engine predicts zeros.
type trial struct{}

// IsTrial reports whether a prediction is the first one of an Engine, whose zeros are no rows of anyone and whose result only says what
// form predictions have.
func IsTrial(ctx context.Context) bool { return ctx.Value(trial{}) != nil }

// warmed returns how many inputs the first run of a size has. With many outputs the covariances of all would take more
// memory than the compiled prediction; one input does where the number of outputs is not known yet.
func (e *Engine) warmed(size int) int {
	const most = 16 << 20 // bytes of covariances
	if c := e.form.outputs; c > 0 {
		return min(size, max(1, most/8/(c*c)))
	}
	return 1
}

// noMemory reports whether err is due to a lack of memory.
func noMemory(err error) bool {
	full := (*graph.MemoryError)(nil)
	return errors.As(err, &full)
}

// pool holds the compiled predictions of one size, each of which serves one goroutine at a time.
type pool struct {
	size  int          // inputs at a time
	made  atomic.Int64 // how many were compiled
	bytes int64        // of one compiled program; under the mutex of the engine
	// refused says that there is no memory for a single one.
	refused atomic.Bool
	free    chan Compiled // used by nobody
	more    chan struct{} // a token for each that may still be compiled
}

func newPool(size int) *pool {
	most := runtime.GOMAXPROCS(0)
	q := &pool{size: size, free: make(chan Compiled, most), more: make(chan struct{}, most)}
	for range most {
		q.more <- struct{}{}
	}
	return q
}

// get returns a Compiled of q that nobody uses, which has to be sent to free again. It waits for
// one where there is no memory to compile another.
func (e *Engine) get(ctx context.Context, q *pool) (Compiled, error) {
	select {
	case c := <-q.free:
		return c, nil
	default:
	}
	select {
	case c := <-q.free:
		return c, nil
	case <-q.more:
		c, err := e.compile(ctx, q)
		if err != nil && q.made.Load() > 0 && noMemory(err) {
			return e.get(ctx, q) // without the token
		} else if err != nil {
			q.more <- struct{}{}
		}
		return c, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
