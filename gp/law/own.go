package law

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// inputsPerUnit is the number of features that a unit of h(x) reads.
const inputsPerUnit = 3

// bound is the largest distance of a scaled feature from 0. A feature far outside the range of the fit counts as a
// feature at the edge of the range.
const bound = 3

// OwnScale is the log scale h(x) = Σ_d Linear_d·u_d + Σ_m Output_m·tanh(Bias_m + Σ_i Slopes_mi·u_{Inputs_mi}) − Offset
// of D features x. The scaled features are u = (x − Mean)·Inverse, cut to ±3. A feature that is not a number counts
// as its mean. Each of the M units reads three features, drawn when h was fitted.
type OwnScale struct {
	Mean    []float64 `json:"mean"`    // centre of each feature [D]
	Inverse []float64 `json:"inverse"` // 1/standard deviation of each feature [D]; 0 for a feature without variation
	Linear  []float64 `json:"linear"`  // coefficients of the scaled features [D]
	Inputs  []int     `json:"inputs"`  // features that the units read [M,3]
	Slopes  []float64 `json:"slopes"`  // slopes of the units in these features [M,3]
	Bias    []float64 `json:"bias"`    // biases of the units [M]
	Output  []float64 `json:"output"`  // coefficients of the units [M]
	Offset  float64   `json:"offset"`  // mean of the other terms over the rows of the fit
	Lowest  float64   `json:"lowest"`  // smallest h(x) over the rows of the fit; no h(x) is below it
	Highest float64   `json:"highest"` // largest h(x) over the rows of the fit; no h(x) is above it
}

// LogScale returns h(x) for the D features of a row. It is 0 if the law has no own scale.
func (l *Law) LogScale(features []float64) float64 {
	if l.Own == nil {
		return 0
	}
	return l.Own.at(features)
}

// Features returns the number D of features that [Law.LogScale] reads, or 0 if the law has no own scale.
func (l *Law) Features() int {
	if l.Own == nil {
		return 0
	}
	return len(l.Own.Mean)
}

// onStack is the number of terms for which h(x) needs no allocation: 128 features and all units.
const onStack = 128 + mostUnits

// at returns h(x).
func (o *OwnScale) at(x []float64) float64 {
	var buffer [onStack]float64
	d := len(o.Linear)
	terms := buffer[:]
	if n := d + len(o.Output); n <= onStack {
		terms = terms[:n]
	} else {
		terms = make([]float64, n)
	}
	o.terms(terms, x)
	h := kernel.Dot(o.Linear, terms[:d]) + kernel.Dot(o.Output, terms[d:]) - o.Offset
	return max(o.Lowest, min(o.Highest, h))
}

// terms sets dst to the terms of h(x) at a row, without their coefficients: the scaled features, and the units.
func (o *OwnScale) terms(dst, x []float64) {
	d := len(o.Linear)
	for j := range d {
		dst[j] = o.scaled(x, j)
	}
	u, units, inputs, slopes := dst[:d], dst[d:], o.Inputs, o.Slopes
	for m, bias := range o.Bias {
		in, slope := (*[inputsPerUnit]int)(inputs), (*[inputsPerUnit]float64)(slopes)
		units[m] = bias + slope[0]*u[in[0]] + slope[1]*u[in[1]] + slope[2]*u[in[2]]
		inputs, slopes = inputs[inputsPerUnit:], slopes[inputsPerUnit:]
	}
	kernel.Tanh(units, units)
}

// scaled returns the scaled feature d of a row x.
func (o *OwnScale) scaled(x []float64, d int) float64 {
	u := (x[d] - o.Mean[d]) * o.Inverse[d]
	if math.IsNaN(u) {
		return 0
	}
	return max(-bound, min(bound, u))
}

// check returns an error if the numbers do not describe a scale.
func (o *OwnScale) check() error {
	d, m := len(o.Mean), len(o.Bias)
	if d < 1 || len(o.Inverse) != d || len(o.Linear) != d {
		return fmt.Errorf("an own scale with %d means, %d scales and %d coefficients of features, expected the same number of each",
			d, len(o.Inverse), len(o.Linear))
	}
	if len(o.Output) != m || len(o.Inputs) != inputsPerUnit*m || len(o.Slopes) != inputsPerUnit*m {
		return fmt.Errorf("an own scale of %d units with %d coefficients, %d inputs and %d slopes, expected %d, %d and %d",
			m, len(o.Output), len(o.Inputs), len(o.Slopes), m, inputsPerUnit*m, inputsPerUnit*m)
	}
	if o.Lowest > o.Highest {
		return fmt.Errorf("an own scale from %g to %g, expected ascending bounds", o.Lowest, o.Highest)
	}
	for _, i := range o.Inputs {
		if i < 0 || i >= d {
			return fmt.Errorf("a unit of an own scale reads feature %d, expected 0 to %d", i, d-1)
		}
	}
	for _, v := range [][]float64{o.Mean, o.Inverse, o.Linear, o.Slopes, o.Bias, o.Output, {o.Offset, o.Lowest, o.Highest}} {
		if i, bad := kernel.FirstNonFinite(v); i >= 0 {
			return fmt.Errorf("an own scale has the number %g, expected finite numbers", bad)
		}
	}
	return nil
}
