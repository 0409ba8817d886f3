package valla

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// twinDistance is how near two inducing inputs of one output lie that count as one, in
// standard deviations of the inducing inputs.
const twinDistance = 1e-3

// notes says where the fit differs from its settings, and where its result sits on an edge.
func (f *fitting) notes() []string {
	notes := append(f.weightNotes, f.counted()...)
	if f.still {
		notes = append(notes, "The inducing inputs are training rows, chosen greedily by the largest remaining variance, and stay: the kernel does not change with small changes of the inputs, such as numbers of tokens.")
	}
	if n := twins(f.layer.Z.Value, f.layer.Class); n > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d inducing points lie upon others and add nothing: fewer would do (inducing=%d).",
			n, f.layer.Inducing(), f.layer.Inducing()-n))
	}
	if f.s.FixPrior || f.s.Optimizer != optimizerNatural {
		return notes
	}
	// A ladder that has come so near to the bound that its last rung is there has not
	// found a best rung.
	start, remedy := 1.0, "keep it at a value of your own (the setting fix-prior, the setting prior-std)"
	if f.p.Validation == nil {
		start, remedy = f.s.PriorStd, "start elsewhere (the setting prior-std)"
	}
	at, bound := f.layer.PriorStd()/start, farthest/(firstStep*firstStep)
	if at <= 1/bound || at >= bound {
		notes = append(notes, fmt.Sprintf("The prior standard deviation %.3g is near the bound of its search, which goes from %.3g to %.3g: %s, "+
			"or hold out rows that the network has not seen.", f.layer.PriorStd(), start/farthest, start*farthest, remedy))
	}
	return notes
}

// leastLeft is the share of the prior variance below which rounding, and in float32 the jitter of K_z, may change variances by
// a fifth and more. In a linear regression on years, 2000 ± 10, not standardised, variances were 17 % too large in float64 where 3e-10
// of the prior variance was left, and without a right digit where 4e-12 was; in float32 20 % too large at 2e-6.
func leastLeft(dt tensor.Dtype) float64 { return max(1e-10, 10*leastJitter(dt)) }

// roundingNotes says that variances, which are differences of two large numbers, have lost their digits, where the data leave so small
// a share of the prior variance. A share of 0 is not known.
func roundingNotes(left float64, dt tensor.Dtype) []string {
	if left == 0 || left >= leastLeft(dt) {
		return nil
	}
	remedy := ""
	if dt == tensor.Float32 {
		remedy = ", float64"
	}
	return []string{fmt.Sprintf("The rows leave %.2g of the prior variance, less than %v can tell: the error bars may be far too small or too large. "+
		"Standardised inputs%s, a smaller prior standard deviation (the setting prior-std), or the methods lla and ella help.", left, dt, remedy)}
}

// twins returns how many inducing points z lie upon an earlier point of the same output (class).
func twins(z *tensor.Dense, class []int) int {
	m, v := len(class), graph.Floats(z)
	d := len(v) / m
	limit := 0.0
	for k := range d {
		mean, square := 0.0, 0.0
		for i := range m {
			mean += v[i*d+k] / float64(m)
		}
		for i := range m {
			square += (v[i*d+k] - mean) * (v[i*d+k] - mean) / float64(m)
		}
		limit += twinDistance * twinDistance * square
	}
	count := 0
	for i := range m {
		for j := range i {
			if class[i] == class[j] && distance(v[i*d:(i+1)*d], v[j*d:(j+1)*d], limit) <= limit {
				count++
				break
			}
		}
	}
	return count
}

// distance is the squared distance of two points, or something beyond limit.
func distance(a, b []float64, limit float64) float64 {
	sum := 0.0
	for i := range a {
		if sum += (a[i] - b[i]) * (a[i] - b[i]); sum > limit {
			break
		}
	}
	return sum
}

// counted says where the number of inducing points differs from the settings.
func (f *fitting) counted() []string {
	found, asked := f.layer.Inducing(), f.s.Inducing
	note := func(why string) []string {
		return []string{fmt.Sprintf("%d inducing points instead of %d: %s.", found, asked, why)}
	}
	switch {
	case found > asked:
		return note("each output has at least one")
	case found == asked:
		return nil
	case f.greedy() && found == f.candidates():
		return note("there are no more inputs to choose from")
	case f.greedy():
		return note("those leave the training inputs no variance")
	}
	return note(gp.FewerPoints(f.p))
}
