package gp

import (
	"math"
	"slices"
	"sync"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// Plan counts what a fit takes, from shapes and before the fit takes it: the memory that it holds, and its work.
// A Plan begins empty.
type Plan struct {
	What    string // names the fit in errors, as "sfr: 200 points and 10 outputs"
	Cheaper string // a choice of settings that takes less, as a phrase; "" if there is none

	held, most int64   // bytes now, and at the most
	seconds    float64 // of the work
	flops      Flops   // that the work needs at least, see Beyond
	uncounted  bool    // the operations are not known, see Uncounted
	row        *Plan   // see Prediction; nil before
}

// HandledSeconds returns about how many seconds the covariances [C,C] of predictions at so many inputs take, beyond the
// products that make them: they are written, made symmetric, checked and read.
func HandledSeconds(inputs float64, c int) float64 {
	const times = 4
	return times * inputs * float64(c) * float64(c) * element()
}

// Prediction returns the plan of a prediction of the fitted posterior for one input, in which each input of a batch
// takes as much. It is no part of the fit.
func (p *Plan) Prediction() *Plan {
	if p.row == nil {
		p.row = new(Plan)
	}
	return p.row
}

// PredictionCost returns the cost of the compiled prediction of so many inputs at a time that an [Engine] takes for many inputs,
// and their number. write writes it.
func PredictionCost(what string, limit int64, write func(size int) (graph.Pass, error)) (inputs int, c graph.Cost, err error) {
	inputs, c, err = graph.CostWithin(what, usualSizes[len(usualSizes)-1], min(limit, largeProgram), write)
	if limit > largeProgram && noMemory(err) {
		return graph.CostWithin(what, fewInputs, limit, write)
	}
	return inputs, c, err
}

// EngineInputs returns how many inputs an [Engine] with the usual sizes computes together where there are many inputs, whose
// compiled predictions take so many bytes for each.
func EngineInputs(row int64) int {
	for _, size := range slices.Backward(usualSizes) {
		if one := int64(size) * row; one <= engineMemory && (size <= fewInputs || one <= largeProgram) {
			return size
		}
	}
	return usualSizes[0]
}

// EngineBytes returns the memory of an [Engine] that predicts many inputs, whose compiled predictions take so many bytes
// for each.
func EngineBytes(row int64) int64 {
	one := int64(EngineInputs(row)) * row
	return one * max(1, min(int64(kernel.Threads()), engineMemory/max(1, one)))
}

// Hold counts bytes that stay until the end of the fit, or until Release.
func (p *Plan) Hold(bytes int64) {
	p.held += bytes
	p.most = max(p.most, p.held)
}

// Release counts that so many bytes are held no more.
func (p *Plan) Release(bytes int64) { p.held -= bytes }

// Held returns the bytes that are held now.
func (p *Plan) Held() int64 { return p.held }

// Beside counts bytes that a part of the fit takes beside what is held.
func (p *Plan) Beside(bytes int64) {
	p.Hold(bytes)
	p.Release(bytes)
}

// endless is the number of bytes of an array that no machine can hold. A plan can add up many of them.
const endless = 1 << 50

// Numbers returns the bytes of a float64 array with these numbers of elements along its axes, a petabyte at most.
func Numbers(shape ...int) int64 {
	n := 8.0
	for _, s := range shape {
		n *= float64(s)
	}
	return int64(min(n, endless))
}

// Products counts multiplications, each with an addition, of matrix products and factorisations in float64.
func (p *Plan) Products(n float64) {
	p.seconds += n / Speed()
	p.flops.Double += 2 * n
}

// Beyond counts the time of another plan, so many times, whose operations the result of the fit does not need: a search for a
// hyper-parameter, or what comes after the fit. They are not in [Estimate].Flops.
func (p *Plan) Beyond(other *Plan, times float64) { p.seconds += other.seconds * times }

// Grams counts so many symmetric products of [n,k] matrices. Blocks on the diagonal are computed as a whole.
func (p *Plan) Grams(n, k, times float64) { p.Products(times * n * min(n, (n+gramBlock)/2) * k) }

// gramBlock is the size of the blocks on the diagonal that kernel.Syrk computes as a whole.
const gramBlock = 96

// Elements counts numbers that are computed one by one, as by a function or a sum of arrays.
func (p *Plan) Elements(n float64) { p.seconds += n * element() }

// Calls counts operations on arrays, each of which takes a moment however small the arrays are.
func (p *Plan) Calls(n float64) { p.seconds += n * moment }

// moment is how many seconds an operation on small arrays takes, as measured with steps of small networks on one core of an AMD EPYC of the Zen 3
// generation.
const moment = 3e-7

// Pass counts a pass over so many examples by a program for size examples at a time, of which batches run beside each
// other where limit bytes allow it. The program is held.
func (p *Plan) Pass(size int, c graph.Cost, examples int, limit int64) {
	copies := int64(max(1, min(kernel.Threads(), (examples+size-1)/size)))
	if copies*c.Bytes > limit {
		copies = 1
	}
	p.Hold(copies * c.Bytes)
	p.Run(c, math.Ceil(float64(examples)/float64(size)))
}

// reached is the part of [Speed] that the products of networks reach, which are smaller and move more data. Without it nine fits of
// networks of a million weights (docs/gallery.md) took 0.8 to 2.2 times their plans, half of the CPU seconds of two cores of an AMD EPYC
// (Zen 3) beside other work, which is a part of the rest. Programs that hold more than largeProgram wait for memory: over the last
// stages of a ResNet-18 and a ResNet-50 (docs/large.md) they reached 0.48 to 0.55 on two cores of an Intel Xeon.
const reached, reachedLarge = 0.7, 0.5

// Run counts so many runs of a program. Its memory is not counted. Products of float32 take half as long as those of
// float64, while most other operations wait for memory.
func (p *Plan) Run(c graph.Cost, times float64) {
	flops, count := 2.0, &p.flops.Double // for a multiplication and an addition
	if c.Single {
		flops, count = 4, &p.flops.Single
	}
	part := reached
	if c.Bytes > largeProgram {
		part = reachedLarge
	}
	for _, w := range []struct {
		graph.Work
		times float64 // runs
	}{{c.Once, min(1, times)}, {c.Each, times}} {
		p.seconds += w.Products / flops * w.times / part / Speed()
		*count += w.Products * w.times
		p.Elements(w.Elements * w.times)
		p.Calls(w.Steps * w.times)
	}
}

// Uncounted says that a part of the work was measured, so that the operations of the fit are not known.
func (p *Plan) Uncounted() { p.uncounted = true }

// Times counts the work of another plan, so many times.
func (p *Plan) Times(other *Plan, times int) {
	p.Beyond(other, float64(times))
	p.flops = p.flops.Plus(other.flops.Times(float64(times)))
}

// Fits counts the time and the operations of so many fits, but not their memory.
func (p *Plan) Fits(e Estimate, times float64) {
	p.seconds += e.Seconds * times
	p.flops = p.flops.Plus(e.Flops.Times(times))
	p.uncounted = p.uncounted || e.Flops == Flops{}
}

// Rows counts the time and the operations of the predictions of so many inputs after a fit, but not their memory.
func (p *Plan) Rows(e Estimate, times float64) {
	p.seconds += e.Row * times
	p.flops = p.flops.Plus(e.RowFlops.Times(times))
}

// Seconds counts time that was measured.
func (p *Plan) Seconds(s float64) { p.seconds += s }

// Check returns a *graph.MemoryError if the plan needs more than limit bytes, or more than are free.
func (p *Plan) Check(limit int64) error {
	if p.most > limit {
		return &graph.MemoryError{What: p.What, Need: p.most, Limit: limit}
	}
	return graph.CheckMemory(p.What, p.most)
}

// Estimate returns the plan as an estimate, or the error with which it was made.
func (p *Plan) Estimate(err error) (Estimate, error) {
	if err != nil {
		return Estimate{}, err
	}
	row, flops := p.Prediction(), p.flops
	if p.uncounted {
		flops = Flops{}
	}
	return Estimate{Seconds: p.seconds, Bytes: p.most, Kept: p.held, Row: row.seconds, RowBytes: row.most, Cheaper: p.Cheaper, Flops: flops, RowFlops: row.flops}, nil
}

// EstimateBy returns the estimate of a fit to a problem: complete fills in the settings of the fit, and plan counts it.
func EstimateBy[S any](p Problem, complete func(Problem) (S, error), plan func(S) (*Plan, error)) (Estimate, error) {
	s, err := Completed(p, complete)
	if err != nil {
		return Estimate{}, err
	}
	counted, err := plan(s)
	return counted.Estimate(err)
}

// EigenSystem counts the eigenvalues and eigenvectors of a symmetric matrix of order n, so many times. They take about
// 12 n³ multiplications: half of these are products with vectors, which take longer than products of matrices.
func (p *Plan) EigenSystem(n, times float64) { p.Products(12 * n * n * n * times) }

// element returns how many seconds a function of a number takes in a large array. It is measured once, in
// some milliseconds.
var element = sync.OnceValue(func() float64 {
	const n = 1 << 16
	a, b := make([]float64, n), make([]float64, n)
	return fastest(func() {
		kernel.Exp(b, a)
		kernel.Add(b, a, b)
	}) / (2 * n)
})
