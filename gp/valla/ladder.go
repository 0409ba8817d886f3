package valla

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// ladder holds rungs: prior scales log σ₀ in equal steps, each with the natural
// parameters T and the parameters of the likelihood that belong to it. All of them live
// in arrays of a training run, so that its checkpoints hold them.
//
// Which σ₀ is best cannot be told at one T: T was fitted at another σ₀, and the two
// would follow each other downwards. It is read off the whole curve of values with a
// T for each σ₀, which costs no more passes over the network than one.
type ladder struct {
	m, rungs, width int           // width: parameters of the likelihood
	t               *tensor.Dense // [rungs,M,M]
	logStd          *tensor.Dense // [rungs]
	gamma, u        *tensor.Dense // the spectra of T as last computed, [rungs,M] and [rungs,M,M]
	noise           *tensor.Dense // parameters of the likelihood divided by pace, [rungs,width]
	noiseGrad       *tensor.Dense
	losses          *tensor.Dense // sums of objectives since the last choice, [rungs]
	pick            *tensor.Dense // [pickCount], see below
}

// The elements of pick.
const (
	pickLead     = iota // the leading rung
	pickStep            // log of the ratio of neighbouring scales
	pickChange          // Σ ρ since the spectra were computed
	pickStart           // log σ₀ at the start
	pickSearched        // steps made at the last search
	pickDone            // steps made
	pickCount
)

const (
	// freeRungs is how many rungs there are where σ₀ is free: a middle, and two on
	// either side.
	freeRungs = 5
	// firstStep and lastStep bound the ratio of neighbouring scales. The first spans
	// 1/16 to 16 times the start; it is halved, in logarithms, whenever the best scale
	// is found inside. As long as T has seen little of the data, which makes the best
	// scale appear too small, middleStep bounds it.
	firstStep, middleStep, lastStep = 4.0, 1.4, 1.19
	// farthest bounds the factor between the scale in the middle and that of the start:
	// where no scale is small enough the network is best without uncertainty.
	farthest = 1e4
	// pace is how much faster the likelihood's parameters, which are logs, go than Z.
	pace = 2.0
	// stale is the change of T, as a sum of ρ, above which its spectra are computed anew, as
	// they are after a bounded step.
	stale = 0.02
)

func newLadder(m, rungs int, logStd float64, noise []float64) *ladder {
	array := func(shape ...int) *tensor.Dense {
		return tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(shape...))
	}
	width := len(noise)
	l := &ladder{
		m: m, rungs: rungs, width: width, t: array(rungs, m, m), logStd: array(rungs), losses: array(rungs), pick: array(pickCount),
		gamma: array(rungs, m), u: array(rungs, m, m),
		noise: array(rungs, max(width, 1)), noiseGrad: array(rungs, max(width, 1)),
	}
	l.pick.Float64s()[pickStart] = logStd
	l.place(logStd, math.Log(firstStep))
	for i := range l.noise.Float64s()[:rungs*width] {
		l.noise.Float64s()[i] = noise[i%width] / pace
	}
	return l
}

// place sets the scales, the middle one leading.
func (l *ladder) place(middle, step float64) {
	for i := range l.rungs {
		l.logStd.Float64s()[i] = middle + float64(i-l.rungs/2)*step
	}
	l.pick.Float64s()[pickLead], l.pick.Float64s()[pickStep] = float64(l.rungs/2), step
	l.outdate()
}

// outdate has the spectra computed anew.
func (l *ladder) outdate() { l.pick.Float64s()[pickChange] = 1 } // more than stale

func (l *ladder) searchedAt() int         { return int(l.pick.Float64s()[pickSearched]) }
func (l *ladder) setSearchedAt(done int)  { l.pick.Float64s()[pickSearched] = float64(done) }
func (l *ladder) done() int               { return int(l.pick.Float64s()[pickDone]) }
func (l *ladder) lead() int               { return int(l.pick.Float64s()[pickLead]) }
func (l *ladder) scale(i int) float64     { return math.Exp(2 * l.logStd.Float64s()[i]) } // σ₀²
func (l *ladder) natural(i int) []float64 { return l.t.Float64s()[i*l.m*l.m : (i+1)*l.m*l.m] }

// params returns the parameters of rung i's likelihood.
func (l *ladder) params(i int) []float64 {
	v := make([]float64, l.width)
	for k := range v {
		v[k] = pace * l.noise.Float64s()[i*l.width+k]
	}
	return v
}

// addGradients takes gradients in params(i).
func (l *ladder) addGradients(i int, grads []float64) {
	for k, g := range grads {
		l.noiseGrad.Float64s()[i*l.width+k] += pace * g
	}
}

// arrays lists the state; the likelihood's part is trained if free is set.
func (l *ladder) arrays(free bool) []train.Param {
	kept := func(name string, v *tensor.Dense) train.Param {
		return train.Param{Name: "valla.natural." + name, Value: v, Kept: true,
			Grad: tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(v.Shape()...))}
	}
	list := []train.Param{kept("t", l.t), kept("gamma", l.gamma), kept("u", l.u), kept("log_prior_std", l.logStd), kept("losses", l.losses), kept("pick", l.pick)}
	if l.width > 0 {
		list = append(list, train.Param{Name: "valla.natural.likelihood", Value: l.noise, Grad: l.noiseGrad, Kept: !free})
	}
	return list
}

// away returns sum − T for T of rung i.
func (l *ladder) away(i int, sum []float64) []float64 {
	d := append([]float64(nil), sum...)
	for k, v := range l.natural(i) {
		d[k] -= v
	}
	return d
}

// stepped returns T + ρ d for T of rung i.
func (l *ladder) stepped(i int, rho float64, d []float64) []float64 {
	t := append([]float64(nil), l.natural(i)...)
	for k, v := range d {
		t[k] += rho * v
	}
	return t
}

// changed takes note of a step, number done.
func (l *ladder) changed(rho float64, done int) {
	l.pick.Float64s()[pickChange] += rho
	l.pick.Float64s()[pickDone] = float64(done)
}

// spectra returns those of all rungs in a frame: as they were last
// computed, unless T has changed since by more than stale or fresh is set.
func (l *ladder) spectra(f *frame, fresh bool) ([]*spectrum, error) {
	m, all := l.m, make([]*spectrum, l.rungs)
	for i := range all {
		gamma, u := l.gamma.Float64s()[i*m:(i+1)*m], l.u.Float64s()[i*m*m:(i+1)*m*m]
		if fresh || l.pick.Float64s()[pickChange] > stale {
			p, err := f.spectrum(l.natural(i))
			if err != nil {
				return nil, fmt.Errorf("%w; %v", err, l)
			}
			copy(gamma, p.gamma)
			copy(u, p.u)
		}
		all[i] = &spectrum{f, gamma, u}
	}
	if fresh || l.pick.Float64s()[pickChange] > stale {
		l.pick.Float64s()[pickChange] = 0
	}
	return all, nil
}

// choose makes the rung of the smallest value the leading one.
func (l *ladder) choose(values []float64) int {
	best := 0
	for i, v := range values {
		if v < values[best] {
			best = i
		}
	}
	l.pick.Float64s()[pickLead] = float64(best)
	clear(l.losses.Float64s())
	return best
}

// climb moves the rungs: around the best one, or, where it has neighbours on both
// sides, around the lowest point of the parabola through the three, with half the step,
// but none below the ratio least. New rungs interpolate what the old ones have.
func (l *ladder) climb(values []float64, least float64) {
	if l.rungs == 1 {
		return
	}
	best, step := l.lead(), l.pick.Float64s()[pickStep]
	middle := l.logStd.Float64s()[best]
	first, narrower := l.logStd.Float64s()[0], step
	if best > 0 && best < l.rungs-1 {
		middle += step * vertex(values[best-1], values[best], values[best+1])
		narrower = max(step/2, math.Log(least))
	}
	start, limit := l.pick.Float64s()[pickStart], math.Log(farthest)
	middle = min(max(middle, start-limit), start+limit)
	at := make([]float64, l.rungs) // of the new rungs, in old ones
	l.place(middle, narrower)
	for i, v := range l.logStd.Float64s() {
		at[i] = (v - first) / step
	}
	interpolate(l.t.Float64s(), at)
	interpolate(l.noise.Float64s(), at)
}

// interpolate replaces rows by those between them at the places at, in rows, or by the
// nearest row beyond the ends.
func interpolate(rows, at []float64) {
	old, n, width := append([]float64(nil), rows...), len(at), len(rows)/len(at)
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

// flat returns the elements of parameters, one after the other.
func flat(params []*graph.Param) []float64 {
	var out []float64
	for _, p := range params {
		out = append(out, p.Floats()...)
	}
	return out
}

// unflat is the inverse of flat.
func unflat(params []*graph.Param, v []float64) {
	k := 0
	for _, p := range params {
		for i := range p.Value.Shape().TotalSize() {
			p.Set(i, v[k])
			k++
		}
	}
}

// String describes the ladder in an error message.
func (l *ladder) String() string {
	return fmt.Sprintf("log σ₀ %.3g, rung %d leading", l.logStd.Float64s(), l.lead())
}
