package valla

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// ladder holds rungs: prior scales log σ₀ in equal steps, each with the natural
// parameters Ŝ and the parameters of the likelihood that belong to it. All of them live
// in arrays of a training run, so that its checkpoints hold them.
//
// Which σ₀ is best cannot be told at one Ŝ: Ŝ was fitted at another σ₀, and the two
// would follow each other downwards. It is read off the whole curve of values with an
// Ŝ for each σ₀, which costs no more passes over the network than one.
type ladder struct {
	m, rungs, width int           // width: parameters of the likelihood
	t               *tensor.Dense // Ŝ as T, [rungs,M,M]
	r               *tensor.Dense // R, the frame of T, [M,M]
	logStd          *tensor.Dense // [rungs]
	noise           *tensor.Dense // parameters of the likelihood, [rungs,width]
	noiseGrad       *tensor.Dense
	losses          *tensor.Dense // sums of objectives since the last choice, [rungs]
	pick            *tensor.Dense // the leading rung and the step between rungs, [2]
}

const (
	// freeRungs is how many rungs there are where σ₀ is free: a middle, and two on
	// either side.
	freeRungs = 5
	// firstStep and lastStep bound the ratio of neighbouring scales. The first spans
	// 1/16 to 16 times the start; it is halved, in logarithms, whenever the best scale
	// is found inside.
	firstStep, lastStep = 4.0, 1.19
)

func newLadder(m, rungs int, logStd float64, noise []float64) *ladder {
	array := func(shape ...int) *tensor.Dense {
		return tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(shape...))
	}
	width := len(noise)
	l := &ladder{
		m: m, rungs: rungs, width: width, t: array(rungs, m, m), r: array(m, m), logStd: array(rungs), losses: array(rungs), pick: array(2),
		noise: array(rungs, max(width, 1)), noiseGrad: array(rungs, max(width, 1)),
	}
	l.place(logStd, math.Log(firstStep))
	for i := range rungs {
		copy(l.noise.Float64s()[i*width:], noise)
	}
	return l
}

// place sets the scales, the middle one leading.
func (l *ladder) place(middle, step float64) {
	for i := range l.rungs {
		l.logStd.Float64s()[i] = middle + float64(i-l.rungs/2)*step
	}
	l.pick.Float64s()[0], l.pick.Float64s()[1] = float64(l.rungs/2), step
}

func (l *ladder) lead() int               { return int(l.pick.Float64s()[0]) }
func (l *ladder) scale(i int) float64     { return math.Exp(2 * l.logStd.Float64s()[i]) } // σ₀²
func (l *ladder) natural(i int) []float64 { return l.t.Float64s()[i*l.m*l.m : (i+1)*l.m*l.m] }
func (l *ladder) params(i int) []float64  { return l.noise.Float64s()[i*l.width : (i+1)*l.width] }
func (l *ladder) gradients(i int) []float64 {
	return l.noiseGrad.Float64s()[i*l.width : (i+1)*l.width]
}

// arrays lists the state; the likelihood's part is trained if free is set.
func (l *ladder) arrays(free bool) []train.Param {
	kept := func(name string, v *tensor.Dense) train.Param {
		return train.Param{Name: "valla.natural." + name, Value: v, Kept: true,
			Grad: tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(v.Shape()...))}
	}
	list := []train.Param{kept("t", l.t), kept("r", l.r), kept("log_prior_std", l.logStd), kept("losses", l.losses), kept("pick", l.pick)}
	if l.width > 0 {
		list = append(list, train.Param{Name: "valla.natural.likelihood", Value: l.noise, Grad: l.noiseGrad, Kept: !free})
	}
	return list
}

// enter carries the natural parameters over to a frame.
func (l *ladder) enter(f *frame) {
	old := l.r.Float64s()
	if slices.Equal(old, f.r) {
		return
	}
	for i := range l.rungs {
		copy(l.natural(i), f.carry(old, l.natural(i)))
	}
	copy(old, f.r)
}

// step moves T of rung i to (1−ρ) T + ρ sum.
func (l *ladder) step(i int, rho float64, sum []float64) {
	t := l.natural(i)
	for k, v := range sum {
		t[k] += rho * (v - t[k])
	}
}

// choose makes the rung of the smallest value the leading one.
func (l *ladder) choose(values []float64) int {
	best := 0
	for i, v := range values {
		if v < values[best] {
			best = i
		}
	}
	l.pick.Float64s()[0] = float64(best)
	clear(l.losses.Float64s())
	return best
}

// climb moves the rungs: around the best one, or, where it has neighbours on both
// sides, around the lowest point of the parabola through the three, with half the step.
// Each new rung takes over what the nearest old one has.
func (l *ladder) climb(values []float64) {
	if l.rungs == 1 {
		return
	}
	best, step := l.lead(), l.pick.Float64s()[1]
	middle := l.logStd.Float64s()[best]
	first, narrower := l.logStd.Float64s()[0], step
	if best > 0 && best < l.rungs-1 {
		middle += step * vertex(values[best-1], values[best], values[best+1])
		narrower = max(step/2, math.Log(lastStep))
	}
	t, noise := append([]float64(nil), l.t.Float64s()...), append([]float64(nil), l.noise.Float64s()...)
	l.place(middle, narrower)
	for i, at := range l.logStd.Float64s() {
		from := min(max(int(math.Round((at-first)/step)), 0), l.rungs-1)
		copy(l.natural(i), t[from*l.m*l.m:(from+1)*l.m*l.m])
		copy(l.params(i), noise[from*l.width:(from+1)*l.width])
	}
}

// vertex returns where the parabola through (−1,a), (0,b), (1,c), b the smallest, is
// lowest, in [−½, ½].
func vertex(a, b, c float64) float64 {
	if d := a - 2*b + c; d > 0 {
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
