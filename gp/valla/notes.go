package valla

import (
	"fmt"

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
	return note("there are no more different inputs")
}
