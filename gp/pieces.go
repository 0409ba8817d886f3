package gp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-valla/valla/internal/kernel"
)

// pieces computes a prediction of an [Engine] in pieces of one size, beside each other where
// there are threads and memory.
type pieces struct {
	e   *Engine         // the engine whose pools compute the pieces
	ctx context.Context // checked before each piece
	x   []float64       // [n·D]
	g   *Gaussian       // of all inputs
	of  *pool           // of the size of whole pieces

	mu  sync.Mutex // guards err
	err error      // the first
}

// run predicts at all n inputs. Smaller sizes may share the last inputs, which fill no whole piece.
func (j *pieces) run(n int) error {
	f, err := j.e.formOf(j.ctx, j.x[:j.e.width])
	if err != nil {
		return err
	}
	j.g.ResizeFor(n, f.outputs, f.epistemic, f.marginal)
	if f.probs {
		j.g.ResizeProbs()
	}
	if f.logScale {
		j.g.ResizeLogScale()
	}
	if f.unit {
		j.g.ResizeUnit()
	}
	whole := n / j.of.size
	if j.e.room(j.of) > 1 {
		kernel.Parallel(whole, j)
	} else { // all threads share each piece
		for i := range whole {
			j.Run(i, whole)
		}
	}
	for first := whole * j.of.size; first < n && j.err == nil; {
		q := j.tail(n - first)
		j.piece(q, first, min(q.size, n-first))
		first += q.size
	}
	return j.err
}

// tail returns the pool for the next piece of the last n inputs: the best size if it is compiled
// already, because compiling takes longer than a piece, or else the size of whole pieces.
func (j *pieces) tail(n int) *pool {
	if q := j.e.pools[j.e.best(n)]; q.made.Load() > 0 {
		return q
	}
	return j.of
}

// Run implements kernel.Job.
func (j *pieces) Run(part, _ int) { j.piece(j.of, part*j.of.size, j.of.size) }

// piece predicts at n inputs from number first on, by a Compiled of q, in the memory of all. The
// first error stays.
func (j *pieces) piece(q *pool, first, n int) {
	part, w := j.g.Rows(first, n), j.e.width
	x := j.x[first*w : (first+n)*w]
	err := rowsFrom(j.ctx, first, j.e.located(j.ctx, x, j.e.with(j.ctx, q, x, &part)))
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
}

// RowsError says that predictions at an input have failed, or at inputs from one on.
type RowsError struct {
	First int   // number of the input, or of the first of the inputs, counting from 0
	Alone bool  // the input fails by itself
	Err   error // what is wrong
}

// Error implements error.
func (e *RowsError) Error() string {
	switch {
	case e.Alone:
		return fmt.Sprintf("row %d (counting from 0): %v", e.First, e.Err)
	case e.First == 0:
		return e.Err.Error()
	}
	return fmt.Sprintf("in the rows from %d on: %v", e.First, e.Err)
}

// Unwrap returns Err.
func (e *RowsError) Unwrap() error { return e.Err }

// rowsFrom returns an error of predictions at some of the inputs, from number first on, as an error of predictions at all inputs. The
// end of ctx is not due to inputs.
func rowsFrom(ctx context.Context, first int, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	at := RowsError{First: first, Err: err}
	if e := (*RowsError)(nil); errors.As(err, &e) {
		at = RowsError{first + e.First, e.Alone, e.Err}
	}
	return &at
}

// located returns an error of a prediction at several inputs x as the error of the first input that fails by itself. A lack of memory is
// due to no input.
func (e *Engine) located(ctx context.Context, x []float64, err error) error {
	n := len(x) / e.width
	if err == nil || n == 1 || ctx.Err() != nil || noMemory(err) {
		return err
	}
	at := (*RowsError)(nil)
	if errors.As(err, &at) && at.Alone {
		return err
	}
	var g Gaussian
	for i := range n {
		if of := e.with(ctx, e.pools[0], x[i*e.width:(i+1)*e.width], &g); of != nil && ctx.Err() == nil {
			if errors.As(of, &at) {
				of = at.Err
			}
			return &RowsError{i, true, of}
		}
	}
	return err
}

// with predicts by a Compiled of q, which is large enough.
func (e *Engine) with(ctx context.Context, q *pool, x []float64, g *Gaussian) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := e.get(ctx, q)
	if err != nil {
		return err
	}
	return q.predict(ctx, c, x, g)
}

// predict predicts by c, which it gives back to q.
func (q *pool) predict(ctx context.Context, c Compiled, x []float64, g *Gaussian) error {
	defer func() { q.free <- c }()
	return c.Predict(ctx, x, g)
}

// formOf returns the form of predictions, which an input x [D] tells where zeros could not.
func (e *Engine) formOf(ctx context.Context, x []float64) (form, error) {
	e.mu.Lock()
	f := e.form
	e.mu.Unlock()
	if f.outputs > 0 {
		return f, nil
	}
	var g Gaussian
	if err := e.with(ctx, e.pools[0], x, &g); err != nil {
		return form{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.form = g.form()
	return e.form, nil
}

// room returns how many pieces of q may be computed beside each other.
func (e *Engine) room(q *pool) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int(q.made.Load()) + int(e.left/max(1, q.bytes))
}
