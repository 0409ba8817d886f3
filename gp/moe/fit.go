package moe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

const (
	// largestFull is the largest order of the matrix with which the standard deviations are
	// found; where LLA needs a larger one it is KFAC.
	largestFull = 4000
	// pointStream and clusterStream are random streams of a seed.
	pointStream   = 51
	clusterStream = 52
)

// Fit implements gp.Settings. It writes no checkpoints.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	c, err := gp.Completed(p, s.complete)
	if err != nil {
		return nil, err
	}
	f := &fitting{p: p, r: r, s: c, asked: s.Experts, limit: r.Limit()}
	if _, err := f.plan(ctx); err != nil {
		return nil, err
	}
	g, err := f.gate(ctx)
	if err == nil {
		err = f.standardDeviations(ctx)
	}
	if err != nil {
		return nil, err
	}
	return f.fit(ctx, g)
}

// fitting is one fit under way.
type fitting struct {
	p     gp.Problem // the problem
	r     gp.Run     // the run
	s     Settings   // complete
	asked int        // experts; 0 for the default
	limit int64      // bytes
	notes []string   // of the record

	prior, noise float64 // σ₀ and σ; σ is 0 with a likelihood without noise

	mu   sync.Mutex // guards done
	done int        // experts
}

// inRow reports whether there is a single number for each input, so that the experts have cells in a row.
func (f *fitting) inRow() bool { return f.p.Train.X.Size() == f.p.Train.N() }

// gate divides the rows.
func (f *fitting) gate(ctx context.Context) (*gate, error) {
	x := f.p.Train.X
	if f.inRow() {
		return newCells(graph.Floats(x), f.s.Experts), nil
	}
	points := gp.SampleRows(x, f.s.Points, rand.New(rand.NewPCG(f.r.Seed, pointStream)))
	return newGate(ctx, f.p.Net, points, f.s.Experts, f.limit, rand.New(rand.NewPCG(f.r.Seed, clusterStream)))
}

// standardDeviations finds the standard deviations that are not given: LLA of all rows has its
// largest marginal likelihood there.
func (f *fitting) standardDeviations(ctx context.Context) error {
	f.prior, f.noise = f.s.PriorStd, f.s.NoiseStd
	if f.prior > 0 && (f.noise > 0 || !likelihood.Noisy(f.p.Likelihood)) {
		return nil
	}
	s := f.allRows()
	if order := f.order(); order > largestFull {
		f.notes = append(f.notes, fmt.Sprintf("The standard deviations are those of LLA KFAC, because LLA takes a matrix of order %d, above %d.", order, largestFull))
	}
	q, err := s.Fit(ctx, f.problem(f.p.Train), gp.Run{Memory: f.limit})
	if err != nil {
		return fmt.Errorf("moe: standard deviations: %w", err)
	}
	f.prior, f.noise = q.Record.PriorStds[0], math.Sqrt(q.NoiseVariance)
	if l := f.p.Likelihood; !likelihood.IsGaussian(l) && !likelihood.IsClass(l) {
		f.notes = append(f.notes, q.Record.Notes...)
	}
	return nil
}

// allRows returns the settings of LLA of all rows.
func (f *fitting) allRows() *laplace.Settings {
	s := f.lla()
	if f.order() > largestFull {
		s.Structure = "kfac"
	}
	return s
}

// lla returns the settings of LLA with the standard deviations that are known so far.
func (f *fitting) lla() *laplace.Settings {
	return &laplace.Settings{PriorStd: f.prior, NoiseStd: f.noise}
}

// problem returns the problem of LLA of some training examples.
func (f *fitting) problem(e gp.Examples) gp.Problem {
	return gp.Problem{Net: f.p.Net, Likelihood: f.p.Likelihood, Train: e}
}

// fit fits all experts beside each other.
func (f *fitting) fit(ctx context.Context, g *gate) (*gp.Fitted, error) {
	labels, err := g.labels(ctx, f.p.Train.X)
	if err != nil {
		return nil, err
	}
	g.run = nil
	near := make([][]int, g.experts())
	if !f.s.Alone {
		near = g.neighbours()
	}
	rows := members(labels, near)
	sizes := make([]int, len(rows))
	for e, own := range rows {
		sizes[e] = len(own)
	}
	if err := f.fits(sizes); err != nil {
		return nil, err
	}
	q := &posterior{net: f.p.Net, gate: g, input: f.p.Train.X.Shape()[1:].Clone(), outputs: f.p.Outputs(), asked: f.asked, experts: make([]gp.Stored, len(rows))}
	err = eachExpert(ctx, len(rows), func(e int) error { return f.expert(ctx, q, e, rows[e]) })
	if err != nil {
		return nil, err
	}
	return f.fitted(q, sizes), nil
}

// members lists the rows of each expert: the rows with the label of the expert or of a neighbour.
func members(labels []int, near [][]int) [][]int {
	rows := make([][]int, len(near))
	for i, k := range labels {
		for _, e := range append([]int{k}, near[k]...) {
			rows[e] = append(rows[e], i)
		}
	}
	return rows
}

// fits compares the memory of experts with so many rows each with the limit: two matrices each, and what function
// space keeps of the Jacobian where the rows are fewer than the weights.
func (f *fitting) fits(sizes []int) error {
	kept, err := laplace.KeptOfExample(f.p.Net, f.p.Train.X.Shape()[1:], f.p.Outputs())
	if err != nil {
		return fmt.Errorf("moe: %w", err)
	}
	p, need := int64(layers.Count(f.p.Net)), int64(0)
	for _, rows := range sizes {
		n := int64(rows) * int64(f.p.Outputs())
		need += 16 * min(p, n) * min(p, n)
		if n < p {
			need += int64(rows) * kept
		}
	}
	if need > f.limit {
		return &graph.MemoryError{What: fmt.Sprintf("moe: %d experts", len(sizes)), Need: need, Limit: f.limit}
	}
	return nil
}

// expert fits expert number e to its rows. A cluster without rows, which can come about where
// rows lie on a border, has none.
func (f *fitting) expert(ctx context.Context, q *posterior, e int, rows []int) error {
	if len(rows) == 0 {
		return fmt.Errorf("moe: expert %d of %d has no rows; expected fewer experts", e+1, len(q.experts))
	}
	var err error
	if q.experts[e], err = f.lla().Posterior(ctx, f.problem(f.p.Train.Rows(rows)), gp.Run{Memory: f.limit}); err != nil {
		return fmt.Errorf("moe: expert %d of %d, with %d rows: %w", e+1, len(q.experts), len(rows), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done++
	f.r.Tell("experts")(f.done, len(q.experts))
	return nil
}

// eachExpert calls do for 0 … n−1, as many at a time as there are processors, and returns the
// first error, or ctx's error if ctx has ended, also where all calls had begun before.
func eachExpert(ctx context.Context, n int, do func(e int) error) error {
	next, errs := make(chan int), make([]error, n)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for e := range next {
				if errs[e] = ctx.Err(); errs[e] == nil {
					errs[e] = do(e)
				}
			}
		})
	}
	for e := range n {
		next <- e
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fitted describes the fit.
func (f *fitting) fitted(q *posterior, sizes []int) *gp.Fitted {
	sum := 0
	for _, n := range sizes {
		sum += n
	}
	if n := len(sizes); n < f.s.Experts {
		f.notes = append(f.notes, fmt.Sprintf("%d experts instead of %d: there are no more clusters of different rows.", n, f.s.Experts))
	}
	r := gp.Record{
		Rows: f.p.Train.N(), ValidationRows: f.p.Held(), Untouched: f.p.Validation != nil,
		Settings: settings.Map(&f.s), PriorStds: []float64{f.prior}, Notes: slices.Clone(f.notes),
		Facts: []gp.Fact{
			{Name: "experts", Value: float64(len(sizes))},
			{Name: "rows of an expert on average", Value: float64(sum) / float64(len(sizes))},
			{Name: "rows of the largest expert", Value: float64(slices.Max(sizes))},
		},
	}
	return &gp.Fitted{Posterior: q, NoiseVariance: f.noise * f.noise, Record: r}
}
