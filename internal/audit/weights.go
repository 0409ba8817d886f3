package audit

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Weight says how much the predictions depend on an input: what changes if the values of the input are exchanged between
// rows at random (Breiman 2001).
type Weight struct {
	Name   string  `json:"name"`  // name of the input
	Center float64 `json:"mean"`  // mean squared change of the predictions, over their variance
	Width  float64 `json:"width"` // mean change of the logarithms of the sizes of the error bars
	Loss   float64 `json:"nll"`   // increase of the NLL
	column int     // number of the input
}

const (
	probedRows = 4000 // predictions that are made to find the weights
	mostProbed = 200  // most rows of an input
)

// weights returns the weights of all inputs, the largest change of the widths first; nil without a probe.
func (r *Rows) weights() ([]Weight, error) {
	d := len(r.Names)
	if r.Probe == nil || d == 0 || r.N() < 2 {
		return nil, nil
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rows := rng.Perm(r.N())[:min(r.N(), mostProbed, max(20, probedRows/d))]
	x := r.taken(rows)
	plain, err := r.Probe(x, rows)
	if err != nil {
		return nil, err
	}
	var out []Weight
	for j, name := range r.Names {
		mixed := slices.Clone(x)
		for i, k := range rng.Perm(len(rows)) {
			mixed[i*d+j] = x[k*d+j]
		}
		a, ok, err := r.mixed(mixed, rows)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		w := Weight{Name: name, column: j, Center: change(plain.Center, a.Center, len(rows))}
		for i := range rows {
			w.Width += math.Abs(a.Width[i]-plain.Width[i]) / float64(len(rows))
			w.Loss += (a.Loss[i] - plain.Loss[i]) / float64(len(rows))
		}
		out = append(out, w)
	}
	slices.SortStableFunc(out, func(a, b Weight) int { return cmp.Compare(b.Width, a.Width) })
	return out, nil
}

// taken returns the inputs of rows.
func (r *Rows) taken(rows []int) []float64 {
	var x []float64
	for _, i := range rows {
		x = append(x, of(r.X, i, r.N())...)
	}
	return x
}

// change returns the mean squared difference of predictions [n,K] over twice their variance over the rows, the mean of exchanged predictions;
// outputs that do not vary do not count.
func change(a, b []float64, n int) float64 {
	k := len(a) / n
	sum, varying := 0.0, 0.0
	for c := range k {
		mean, variance, total := 0.0, 0.0, 0.0
		for i := c; i < len(a); i += k {
			mean += a[i] / float64(n)
		}
		for i := c; i < len(a); i += k {
			variance += 2 * (a[i] - mean) * (a[i] - mean)
			total += (a[i] - b[i]) * (a[i] - b[i])
		}
		if variance > 0 {
			sum, varying = sum+total/variance, varying+1
		}
	}
	return sum / max(1, varying)
}

// leastUse is the weight from which on the model depends on an input.
const leastUse = 0.002

// identifiers finds inputs that name the rows and on which the model depends.
func (r *Rows) identifiers(weights []Weight) (out []Finding) {
	d := len(r.Names)
	for _, w := range weights {
		serial := r.N() >= 100 && (r.Train == nil || r.Train[w.column].Serial)
		seen := map[float64]bool{}
		for i := w.column; serial && i < len(r.X); i += d {
			serial = r.X[i] == math.Trunc(r.X[i]) && !seen[r.X[i]]
			seen[r.X[i]] = true
		}
		if serial && w.Center > leastUse {
			out = append(out, Finding{Kind: Identifier, Columns: []string{w.Name},
				Text:   fmt.Sprintf("Each row has a whole number of its own in the column %s, like an id or a time, and the predictions depend on it: exchanging its values between rows changes them by %s of their variance.", w.Name, percent(w.Center)),
				Remedy: "Train without the column (--drop, --id): what it tells about the training rows does not hold for new rows."})
		}
	}
	return out
}
