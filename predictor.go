package valla

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
)

// PredictorOptions say how a [Predictor] works. The zero value is ready to use.
type PredictorOptions struct {
	PredictOptions
	// Sizes are the numbers of rows that are computed together; nil means 1, 8 and 64.
	// Those that need more memory than there is are left out, but not the smallest.
	Sizes []int
	// Memory is the largest number of bytes for compiled batches; 0 means 1 GiB. With little
	// memory fewer goroutines are served at the same time.
	Memory int64
}

// defaultPredictorMemory is the default of PredictorOptions.Memory.
const defaultPredictorMemory = 1 << 30

// Predictor makes the predictions of a model for a few rows in little time, for any number of
// goroutines. What depends on the posterior alone is computed once, when it is made, and a
// prediction allocates nothing, unless the link is [MonteCarlo] or the method of the posterior
// is no gp.Compiler. It stays right as long as the model does not change.
type Predictor struct {
	m     *Model
	task  task.Task
	dt    tensor.Dtype
	o     PredictOptions
	width int // numbers of a row

	serial gp.Compiled // of a posterior that is no gp.Compiler; nil for others
	pools  []*pool     // by size, ascending
	calls  sync.Pool   // of *call
}

// Predictor returns a predictor of m.
func (m *Model) Predictor(o PredictorOptions) (*Predictor, error) {
	p := &Predictor{
		m: m, task: m.Task, dt: m.Dtype(), o: o.PredictOptions,
		width: tensor.Shape(m.Task.Inputs.Shape).TotalSize(),
	}
	p.calls.New = func() any { return new(call) }
	of, ok := m.gp().(gp.Compiler)
	if !ok {
		p.serial = gp.Serial(m.gp(), p.dt, m.Task.Inputs.Shape)
		return p, nil
	}
	sizes := slices.Clone(o.Sizes)
	if sizes == nil {
		sizes = []int{1, 8, 64}
	}
	slices.Sort(sizes)
	if sizes = slices.Compact(sizes); len(sizes) == 0 || sizes[0] < 1 {
		return nil, settings.Errorf("predictor: sizes %v, expected positive numbers", o.Sizes)
	}
	left := o.Memory
	if left == 0 {
		left = defaultPredictorMemory
	}
	stock := &stock{of: of, shape: m.Task.Inputs.Shape, left: left}
	for _, size := range sizes {
		q, err := newPool(stock, size)
		if tooLarge := (*graph.MemoryError)(nil); errors.As(err, &tooLarge) && len(p.pools) > 0 {
			break
		} else if err != nil {
			return nil, fmt.Errorf("predictor: %w", err)
		}
		p.pools = append(p.pools, q)
	}
	return p, nil
}

// call is what a call of Predict needs, kept between calls.
type call struct {
	x    []float64 // scaled
	g    gp.Latents
	rows pieces
}

// Predict writes the prediction at the rows x [N·D] into the slices of out, which grow where
// they are too short. The rows are in the units of the data, with their D numbers in the order
// of [Model.Predict]; pixels are numbers from 0 to 1. Its errors are those of Model.Predict.
func (p *Predictor) Predict(ctx context.Context, x []float64, out *Prediction) error {
	c := p.calls.Get().(*call)
	defer p.calls.Put(c)
	if err := p.latents(ctx, c, x, &c.g); err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	if err := p.m.Fill(ctx, c.g, p.o, out); err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	return nil
}

// Latents writes the distribution of the network's outputs at the rows x [N·D] into g, without
// noise. The rows are those of Predict, the outputs in the units of the network.
func (p *Predictor) Latents(ctx context.Context, x []float64, g *gp.Latents) error {
	c := p.calls.Get().(*call)
	defer p.calls.Put(c)
	if err := p.latents(ctx, c, x, g); err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	return nil
}

// latents is Latents with the memory of a call.
func (p *Predictor) latents(ctx context.Context, c *call, x []float64, g *gp.Latents) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.x = slices.Grow(c.x[:0], len(x))[:len(x)]
	if err := p.task.Inputs.Scale(c.x, x, p.dt); err != nil {
		return err
	}
	if p.serial != nil {
		return p.serial.Latents(ctx, c.x, g)
	}
	n, largest := len(x)/p.width, p.pools[len(p.pools)-1]
	if q := p.pool(n); q.size >= n {
		return q.latents(ctx, c.x, g)
	}
	c.rows = pieces{p: p, ctx: ctx, x: c.x, g: g}
	g.Resize(n, p.task.Outputs.Size(), true)
	g.ResizeProbs()
	full := n / largest.size
	kernel.Parallel(full, &c.rows)
	for first := full * largest.size; first < n && c.rows.err == nil; {
		size := min(p.pool(n-first).size, n-first)
		c.rows.piece(first, size)
		first += size
	}
	if !c.rows.epistemic {
		g.Epistemic = g.Epistemic[:0]
	}
	if !c.rows.probs {
		g.Probs = g.Probs[:0]
	}
	return c.rows.err
}

// pool returns that for the next piece of n rows: the smallest that holds all of them, unless
// two thirds of it would be empty, or else the largest that they fill.
func (p *Predictor) pool(n int) *pool {
	i := slices.IndexFunc(p.pools, func(q *pool) bool { return q.size >= n })
	switch {
	case i < 0:
		return p.pools[len(p.pools)-1]
	case i == 0 || 3*n >= p.pools[i].size:
		return p.pools[i]
	}
	return p.pools[i-1]
}

// pieces is the kernel.Job of computing rows in pieces of the largest size.
type pieces struct {
	p   *Predictor
	ctx context.Context
	x   []float64
	g   *gp.Latents

	mu               sync.Mutex
	err              error // the first
	epistemic, probs bool  // the posterior has them
}

// Run implements kernel.Job.
func (j *pieces) Run(part, _ int) {
	size := j.p.pools[len(j.p.pools)-1].size
	j.piece(part*size, size)
}

// piece computes n rows from number first on. The first error stays.
func (j *pieces) piece(first, n int) {
	q := j.p.pool(n)
	i, err := q.get(j.ctx)
	if err != nil {
		j.ended(gp.Latents{}, err)
		return
	}
	defer func() { q.free <- i }()
	w, c := j.p.width, j.p.task.Outputs.Size()
	err = i.Latents(j.ctx, j.x[first*w:(first+n)*w], &i.g)
	if err == nil {
		copy(j.g.Mean[first*c:], i.g.Mean)
		copy(j.g.Cov[first*c*c:], i.g.Cov)
		copy(j.g.Epistemic[first*c:], i.g.Epistemic)
		copy(j.g.Probs[first*c:], i.g.Probs)
	} else if first > 0 {
		err = fmt.Errorf("in the rows from %d on: %w", first, err)
	}
	j.ended(i.g, err)
}

// ended notes how a piece ended, and what g has.
func (j *pieces) ended(g gp.Latents, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.epistemic, j.probs = j.epistemic || len(g.Epistemic) > 0, j.probs || len(g.Probs) > 0
	if j.err == nil {
		j.err = err
	}
}

// stock makes the compiled batches of all sizes, within the memory.
type stock struct {
	mu    sync.Mutex // Compile serves one goroutine at a time
	of    gp.Compiler
	shape []int
	left  int64 // bytes
}

// instance is a compiled batch with memory for its results.
type instance struct {
	gp.Compiled
	g gp.Latents
}

// make compiles a batch and runs it once, so that what it computes only once is done.
func (s *stock) make(ctx context.Context, size int) (*instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.of.Compile(s.shape, size, max(1, s.left))
	if err != nil {
		return nil, err
	}
	i := &instance{Compiled: c}
	// Zeros may be no inputs that the network can take. An error that other inputs bring, too,
	// will be theirs.
	_ = c.Latents(ctx, make([]float64, size*tensor.Shape(s.shape).TotalSize()), &i.g)
	s.left -= c.Bytes()
	return i, nil
}

// pool holds the compiled batches of one size, each of which serves one goroutine at a time.
type pool struct {
	stock *stock
	size  int
	free  chan *instance
	more  chan struct{} // a token for each that may still be made
}

func newPool(s *stock, size int) (*pool, error) {
	most := runtime.GOMAXPROCS(0)
	p := &pool{stock: s, size: size, free: make(chan *instance, most), more: make(chan struct{}, most)}
	first, err := s.make(context.Background(), size)
	if err != nil {
		return nil, err
	}
	p.free <- first
	for range most - 1 {
		p.more <- struct{}{}
	}
	return p, nil
}

// get returns a batch that nobody uses, to be sent to free again.
func (p *pool) get(ctx context.Context) (*instance, error) {
	select {
	case i := <-p.free:
		return i, nil
	default:
	}
	select {
	case i := <-p.free:
		return i, nil
	case <-p.more:
		i, err := p.stock.make(ctx, p.size)
		if full := (*graph.MemoryError)(nil); errors.As(err, &full) {
			return p.get(ctx) // without a token to make another
		} else if err != nil {
			p.more <- struct{}{}
		}
		return i, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// latents computes up to size rows.
func (p *pool) latents(ctx context.Context, x []float64, g *gp.Latents) error {
	i, err := p.get(ctx)
	if err != nil {
		return err
	}
	err = i.Latents(ctx, x, g)
	p.free <- i
	return err
}
