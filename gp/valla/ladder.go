package valla

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/scratch"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// ladder holds rungs. A rung is a prior scale σ₀, where the rungs' σ₀ have equal steps of log σ₀,
// with the natural parameters T and the parameters of the likelihood that belong to it. The
// ladder is the state of a natural-gradient fit.
//
// The best σ₀ cannot be found with a single T: that T was fitted at another σ₀, and σ₀ and T
// would pull each other downwards. With a T for each σ₀ the fit knows the objective at several
// σ₀, and it needs no more passes over the network than with one T.
type ladder struct {
	m, most, width int     // most rungs, and parameters of the likelihood
	start          float64 // log σ₀ at the start

	t        *tensor.Dense // [rungs,M,M]
	logStd   *tensor.Dense // [rungs]
	gamma, u *tensor.Dense // the spectra of T as last computed, [rungs,M] and [rungs,M,M]
	losses   *tensor.Dense // sums of objectives since the last choice, [rungs]
	numbers  rungNumbers   // the state that is no array

	noise     *tensor.Dense // parameters of the likelihood divided by noisePace, [rungs,width]
	noiseGrad *tensor.Dense // gradient with respect to noise, [rungs,width]

	// These are no state.
	mem   []*scratch.Memory // for each rung
	ahead ahead             // the next T of the leading rung
}

// ahead is a T [M,M] that a step has found for a rung, with its spectrum, which the next step
// needs.
type ahead struct {
	t, gamma, u []float64 // T [M,M], its eigenvalues [M] and its eigenvectors [M,M]
}

// forget makes t equal to no other.
func (a *ahead) forget() { a.t[0] = math.NaN() }

// rungNumbers are the part of a ladder that is not arrays.
type rungNumbers struct {
	Lead     int       // the leading rung
	Few      bool      // only the first fewRungs are left, see climb
	Step     float64   // log of the ratio of neighbouring scales
	Next     *position // where the rungs move to before the next step; nil where they stay
	Change   float64   // what T has changed since the spectra were computed, see stale
	Searched int       // steps made at the last search
	Done     int       // steps made
	Left     float64   // the share of the prior variance that is left at the examples of the last step, of the leading rung
	Jitter   float64   // the largest share of the mean diagonal of K_z that was added to factor it
}

// position is where rungs lie: log σ₀ of the middle one, and the log of the ratio of neighbouring scales.
type position struct{ Middle, Step float64 }

const (
	// fewRungs and manyRungs are how many rungs there are where σ₀ is free: a middle, and one
	// or two on either side. Many are for likelihoods with parameters, which are fitted beside
	// σ₀: on taxi rides few rungs ended at half of the best σ₀ and an NLL higher by 0.1. On
	// Fashion-MNIST they found the same σ₀ as many. Once the ladder is as narrow as middleStep few
	// are left: from there on they end, on six small tables and two large ones, where many do.
	fewRungs, manyRungs = 3, 5
	// firstStep and lastStep bound the ratio of neighbouring scales. With the first one the
	// few rungs go from 1/4 to 4 times the start, and many from 1/16 to 16 times. The logarithm
	// of the ratio is halved whenever the best scale lies inside the ladder, but until T has seen
	// much of the data the ratio stays at middleStep or above: the best scale appears too small
	// until then.
	firstStep, middleStep, lastStep = 4.0, 1.4, 1.19
	// farthest bounds the factor between the scale in the middle and the scale at the start.
	// Without it the scales would fall for ever where the network predicts best without
	// uncertainty.
	farthest = 1e4
	// noisePace is how much faster the likelihood's parameters, which are logs, go than Z.
	noisePace = 2.0
	// A step takes ρ over mostRates, and its length over mostLengths M, of what its spectra tolerate. On six small tables the
	// scores are those of spectra at each step, see docs/benchmarks.md. With mostRates of .25 a fit whose noise is known and far
	// too small comes to rest late, and without mostRates no fit does.
	mostRates, mostLengths = 0.1, 0.08
)

// nameNoise is the array of the likelihood's parameters of all rungs.
const nameNoise = "valla.natural.likelihood"

func newLadder(m, rungs int, logStd float64, noise []float64) *ladder {
	array := func(shape ...int) *tensor.Dense {
		return tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(shape...))
	}
	width := len(noise)
	l := &ladder{
		m: m, most: rungs, width: width, start: logStd, t: array(rungs, m, m), logStd: array(rungs), losses: array(rungs),
		gamma: array(rungs, m), u: array(rungs, m, m),
		noise: array(rungs, max(width, 1)), noiseGrad: array(rungs, max(width, 1)),
	}
	for range rungs {
		l.mem = append(l.mem, new(scratch.Memory))
	}
	l.ahead = ahead{make([]float64, m*m), make([]float64, m), make([]float64, m*m)}
	l.ahead.forget()
	l.place(logStd, math.Log(firstStep))
	for i := range l.noise.Float64s()[:rungs*width] {
		l.noise.Float64s()[i] = noise[i%width] / noisePace
	}
	return l
}

// place sets the scales and makes the middle rung the leading one.
func (l *ladder) place(middle, step float64) {
	for i := range l.rungs() {
		l.logStd.Float64s()[i] = middle + float64(i-l.rungs()/2)*step
	}
	l.numbers.Lead, l.numbers.Step = l.rungs()/2, step
	l.outdate()
}

// arrays lists the arrays of the state. The likelihood's parameters are among them where
// they are fixed; otherwise Adam has them.
func (l *ladder) arrays(fixed bool) []train.Array {
	list := []train.Array{
		{Name: "valla.natural.t", Value: l.t}, {Name: "valla.natural.gamma", Value: l.gamma}, {Name: "valla.natural.u", Value: l.u},
		{Name: "valla.natural.log_prior_std", Value: l.logStd}, {Name: "valla.natural.losses", Value: l.losses},
	}
	if l.width > 0 && fixed {
		list = append(list, train.Array{Name: nameNoise, Value: l.noise})
	}
	return list
}

// rungs is the number of rungs now. Their elements are the first of each array.
func (l *ladder) rungs() int {
	if l.numbers.Few {
		return min(l.most, fewRungs)
	}
	return l.most
}

// outdate makes the next step compute the spectra anew.
func (l *ladder) outdate() { l.numbers.Change = 1 }

// stale says whether spectra tolerate no more than a change, see ladder.change.
func stale(change float64) bool { return change >= 1 }

// change returns how much a step of a rate ρ and a length changes T, as a part of what spectra tolerate.
func (l *ladder) change(rho, length float64) float64 {
	return rho/mostRates + length/(mostLengths*float64(l.m))
}

// jittered takes note of the jitter of a frame.
func (l *ladder) jittered(f *frame) { l.numbers.Jitter = max(l.numbers.Jitter, f.jitter) }

func (l *ladder) lead() int               { return l.numbers.Lead }
func (l *ladder) scale(i int) float64     { return math.Exp(2 * l.logStd.Float64s()[i]) } // σ₀²
func (l *ladder) natural(i int) []float64 { return l.t.Float64s()[i*l.m*l.m : (i+1)*l.m*l.m] }

// params returns the parameters of rung i's likelihood.
func (l *ladder) params(i int) []float64 {
	v := make([]float64, l.width)
	for k := range v {
		v[k] = noisePace * l.noise.Float64s()[i*l.width+k]
	}
	return v
}

// setGradients sets the gradients with respect to params(i) of each rung.
func (l *ladder) setGradients(grads [][]float64) {
	clear(l.noiseGrad.Float64s())
	for i, of := range grads {
		for k, g := range of {
			l.noiseGrad.Float64s()[i*l.width+k] = noisePace * g
		}
	}
}

// away returns sum − T for T of rung i.
func (l *ladder) away(i int, sum []float64) []float64 {
	d := l.mem[i].Take(len(sum))
	kernel.Sub(d, sum, l.natural(i))
	return d
}

// changed takes note of a step, number done, after which T has changed by so much since the spectra were computed.
func (l *ladder) changed(change float64, done int) {
	l.numbers.Change = change
	l.numbers.Done = done
}

// spectra returns the spectra of all rungs in a frame. It computes them if fresh is set and
// otherwise returns those that are remembered. They lie in the ladder's memory.
func (l *ladder) spectra(f *frame, fresh bool) ([]*spectrum, error) {
	m, all := l.m, make([]*spectrum, l.rungs())
	for i := range all {
		all[i] = &spectrum{f, l.gamma.Float64s()[i*m : (i+1)*m], l.u.Float64s()[i*m*m : (i+1)*m*m], l.mem[i]}
	}
	if !fresh {
		return all, nil
	}
	return all, l.each(func(i int) error {
		if slices.Equal(l.ahead.t, l.natural(i)) {
			copy(all[i].gamma, l.ahead.gamma)
			copy(all[i].u, l.ahead.u)
			return nil
		}
		if err := all[i].diagonalise(l.natural(i)); err != nil {
			return fmt.Errorf("%w; %v", err, l)
		}
		return nil
	})
}

// lookAhead returns the spectrum of T [M,M], which a rung of spectrum p gets.
func (l *ladder) lookAhead(p *spectrum, t []float64) (*spectrum, error) {
	copy(l.ahead.t, t)
	next := &spectrum{p.frame, l.ahead.gamma, l.ahead.u, p.mem}
	err := next.diagonalise(t)
	if err != nil {
		l.ahead.forget()
	}
	return next, err
}

// each calls do for every rung, at the same time where there are threads. The leading rung,
// which has the most to do, comes first.
func (l *ladder) each(do func(i int) error) error {
	job := rungJob{do, l.lead(), make([]error, l.rungs())}
	if l.m <= smallRung || kernel.Threads() <= l.rungs() {
		kernel.Parallel(l.rungs(), job)
	} else {
		for part := range l.rungs() {
			job.Run(part, l.rungs())
		}
	}
	return cmp.Or(job.errs...)
}

// smallRung is the M up to which the matrices of a rung are too small to be shared among
// threads.
const smallRung = 256

// rungJob is the kernel.Job of each.
type rungJob struct {
	do   func(i int) error // the work for rung i
	lead int               // the leading rung
	errs []error           // of each rung
}

// Run implements kernel.Job.
func (j rungJob) Run(part, _ int) {
	switch part {
	case 0:
		part = j.lead
	case j.lead:
		part = 0
	}
	j.errs[part] = j.do(part)
}

// trial is a σ₀ with what belongs to it.
type trial struct {
	*spectrum           // of T
	scale     float64   // σ₀²
	params    []float64 // of the likelihood
}

// trials are the rungs, with their spectra.
func (l *ladder) trials(spectra []*spectrum) (all []trial) {
	for i, p := range spectra {
		all = append(all, trial{p, l.scale(i), l.params(i)})
	}
	return all
}

// remember notes that the spectra belong to the present T.
func (l *ladder) remember() { l.numbers.Change = 0 }

// choose makes the rung of the smallest value the leading one.
func (l *ladder) choose(values []float64) int {
	l.numbers.Lead = kernel.Least(values)
	clear(l.losses.Float64s())
	return l.numbers.Lead
}

// aim says where the rungs move to before the next step: around the best one. If the best one has neighbours on both sides,
// they move around the lowest point of the parabola through the three, with half the step, which is the log of the ratio of
// scales; the ratio does not fall below least. Until then the ladder stays as it was compared, so that a state that is kept is
// the state that has been compared.
func (l *ladder) aim(values []float64, least float64) {
	if l.rungs() == 1 {
		return
	}
	best := l.lead()
	to := position{l.logStd.Float64s()[best], l.numbers.Step}
	if best > 0 && best < l.rungs()-1 {
		to.Middle += to.Step * vertex(values[best-1], values[best], values[best+1])
		to.Step = max(to.Step/2, math.Log(least))
	}
	limit := math.Log(farthest)
	to.Middle = min(max(to.Middle, l.start-limit), l.start+limit)
	l.numbers.Next = &to
}

// climb moves the rungs to where aim says. A ladder that has become narrow keeps few rungs. New rungs interpolate the arrays of
// the old ones.
func (l *ladder) climb() {
	to := l.numbers.Next
	if to == nil {
		return
	}
	old, first, step := l.rungs(), l.logStd.Float64s()[0], l.numbers.Step
	l.numbers.Next, l.numbers.Few = nil, l.numbers.Few || to.Step <= math.Log(middleStep)
	l.place(to.Middle, to.Step)
	at := make([]float64, l.rungs()) // of the new rungs, in old ones
	for i := range at {
		at[i] = (l.logStd.Float64s()[i] - first) / step
	}
	interpolate(l.t.Float64s(), old, l.m*l.m, at)
	interpolate(l.noise.Float64s(), old, max(l.width, 1), at)
}

// interpolate treats n rows of a width as points of a line and overwrites the first len(at) rows by
// the values of this line at the places at, which count in rows. Beyond an end the value is the last row.
func interpolate(rows []float64, n, width int, at []float64) {
	old := append([]float64(nil), rows...)
	for i, x := range at {
		x = min(max(x, 0), float64(n-1))
		from := min(int(x), max(n-2, 0))
		share := x - float64(from)
		for k := range width {
			rows[i*width+k] = (1-share)*old[from*width+k] + share*old[min(from+1, n-1)*width+k]
		}
	}
}

// vertex returns where the parabola through (−1,a), (0,b), (1,c), b the smallest, is
// lowest, in [−½, ½]; where a or c is infinite, 0.
func vertex(a, b, c float64) float64 {
	if d := a - 2*b + c; d > 0 && !math.IsInf(d, 1) {
		return min(max((a-c)/(2*d), -0.5), 0.5)
	}
	return 0
}

// String describes the ladder in an error message.
func (l *ladder) String() string {
	return fmt.Sprintf("log σ₀ %.3g, rung %d leading", l.logStd.Float64s(), l.lead())
}
