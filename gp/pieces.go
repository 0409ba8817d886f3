package gp

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-valla/valla/internal/kernel"
)

// pieces computes a prediction of an [Engine] in pieces of one size, beside each other where
// there are threads and memory.
type pieces struct {
	e    *Engine         // its pools compute the pieces
	ctx  context.Context // checked before each piece
	x    []float64       // [n·D]
	g    *Gaussian       // of all inputs
	size int             // inputs of a whole piece

	mu  sync.Mutex // guards err
	err error      // the first
}

// run predicts at all n inputs. The last piece is shared among smaller sizes.
func (j *pieces) run(n int) error {
	f, err := j.e.formOf(j.ctx, j.x[:j.e.width])
	if err != nil {
		return err
	}
	j.g.Resize(n, f.outputs, f.epistemic)
	if f.probs {
		j.g.ResizeProbs()
	}
	whole := n / j.size
	if j.e.room(j.size) > 1 {
		kernel.Parallel(whole, j)
	} else { // all threads share each piece
		for i := range whole {
			j.Run(i, whole)
		}
	}
	for first := whole * j.size; first < n && j.err == nil; {
		size := min(j.tail(n-first), n-first)
		j.piece(first, size)
		first += size
	}
	return j.err
}

// tail returns the size for the next piece of the last n inputs: the best size that is compiled
// already, because compiling takes longer than a piece.
func (j *pieces) tail(n int) int {
	if q := j.e.pools[j.e.best(n)]; q.made.Load() > 0 {
		return q.size
	}
	return j.size
}

// Run implements kernel.Job.
func (j *pieces) Run(part, _ int) { j.piece(part*j.size, j.size) }

// piece predicts at n inputs from number first on, in the memory of all. The first error stays.
func (j *pieces) piece(first, n int) {
	part, w := j.g.Rows(first, n), j.e.width
	err := j.ctx.Err()
	if err == nil {
		err = j.e.one(j.ctx, j.size, j.x[first*w:(first+n)*w], &part)
	}
	if err != nil && first > 0 && j.ctx.Err() == nil {
		err = fmt.Errorf("in the rows from %d on: %w", first, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
}

// one predicts at inputs that one size holds: the best size if it is compiled already, or else the
// given size, which is large enough.
func (e *Engine) one(ctx context.Context, size int, x []float64, g *Gaussian) error {
	n := len(x) / e.width
	i := e.best(n)
	if e.pools[i].made.Load() == 0 || e.pools[i].size < n {
		i = slices.IndexFunc(e.pools, func(q *pool) bool { return q.size == size })
	}
	q, c, err := e.take(ctx, i)
	if err != nil {
		return err
	}
	defer func() { q.free <- c }()
	if q.size < n {
		return fmt.Errorf("no memory for %d inputs at a time any more", n)
	}
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
	if err := e.one(ctx, e.pools[0].size, x, &g); err != nil {
		return form{}, err
	}
	f = form{g.Outputs(), len(g.Epistemic) > 0, len(g.Probs) > 0}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.form = f
	return f, nil
}

// room returns how many pieces of a size may be computed beside each other.
func (e *Engine) room(size int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.pools {
		if q.size == size {
			return int(q.made.Load()) + int(e.left/max(1, q.bytes))
		}
	}
	return 0
}
