package audit

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
)

// columns finds faults of inputs: exchanged columns, other units, columns that no longer vary, and drifts. It
// leaves out columns that name the rows.
func (r *Rows) columns(all []Drifted, named []Finding, weights []Weight) ([]Finding, error) {
	var moved []Drifted
	for _, v := range all {
		id := slices.ContainsFunc(named, func(f Finding) bool { return slices.Contains(f.Columns, v.Name) })
		if !id && v.moved(len(all)) {
			moved = append(moved, v)
		}
	}
	pair, err := r.exchanged(moved)
	if err != nil {
		return nil, err
	}
	var out []Finding
	if pair != nil {
		out = append(out, Finding{Kind: Exchanged, Columns: pair, Remedy: "Give each column its own name.",
			Text: fmt.Sprintf("The columns %s and %s have changed places: each has the values that the other one should have.", pair[0], pair[1])})
	}
	for _, v := range moved {
		if slices.Contains(pair, v.Name) {
			continue
		}
		f := v.finding(r.text)
		if w := slices.IndexFunc(weights, func(w Weight) bool { return w.Name == v.Name }); w >= 0 && weights[w].Center < leastUse && f.Kind != Constant { // to exchange equal values tells nothing
			f.Text, f.idle = f.Text+" The predictions hardly depend on it.", true
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return a.order() - b.order() })
	return out, nil
}

// order returns the place of a finding among those about columns: what explains more comes first.
func (f Finding) order() int {
	at := slices.Index([]string{Exchanged, Unit, Constant, Drift}, f.Kind)
	if f.idle {
		at += 10
	}
	return at
}

// finding describes the change of an input, whose values text writes.
func (v Drifted) finding(text ValueText) Finding {
	q, then := v.now.Quantiles, v.then.Quantiles
	near := 0.05 + 2*(1/math.Sqrt(float64(v.now.Rows))+1/math.Sqrt(float64(v.then.Rows)))
	f := Finding{Kind: Drift, Columns: []string{v.Name}, Remedy: "Predictions far from the training are guesses. Find out what has changed; fit to rows like these."}
	switch name := unit(q, then, near); {
	case q[0] == q[10] && then[0] < then[10]:
		f.Kind, f.Remedy = Constant, "Find out why the column is no longer filled in."
		f.Text = fmt.Sprintf("The column %s is %s in all rows; in the training it went from %s to %s.", v.Name, text(v.Name, q[0]), text(v.Name, then[0]), text(v.Name, then[10]))
	case name != "":
		f.Kind, f.Remedy = Unit, "Bring the column back to the unit of the training."
		f.Text = fmt.Sprintf("The column %s seems to have another unit: its values are those of the training %s.", v.Name, name)
	default:
		f.Text = fmt.Sprintf("The column %s is distributed otherwise than in the training: its median is %s and was %s, eight in ten rows lie from %s to %s and lay from %s to %s (PSI %.2f).",
			v.Name, text(v.Name, q[5]), text(v.Name, then[5]), text(v.Name, q[1]), text(v.Name, q[9]), text(v.Name, then[1]), text(v.Name, then[9]), v.PSI.Value)
	}
	return f
}

// factors are common ratios of units, and their inverses.
var factors = []float64{10, 100, 1e3, 1e4, 1e5, 1e6, 1e9, 60, 3600, 24, 86400, 7, 12, 2.54, 25.4, 30.48, 3.2808, 1.60934, 2.20462, 28.3495, 10.7639, 4.184, 1024, 180 / math.Pi, 3.78541, 3.6}

// shifts are scales and summands of temperatures.
var shifts = [][2]float64{{1.8, 32}, {1 / 1.8, -32 / 1.8}, {1, 273.15}, {1, -273.15}}

// unit returns how values with the quantiles now come from values with the quantiles then by another unit, such as
// "times 1000"; "" if they do not. Deciles are equal up to near, in terms of the range of the middle eight tenths.
func unit(now, then []float64, near float64) string {
	if then[0] == then[10] {
		return ""
	}
	for _, s := range shifts {
		if fits(now, then, s[0], s[1], near) {
			return fmt.Sprintf("times %.4g plus %.4g", s[0], s[1])
		}
	}
	if fits(now, then, -1, 0, near) {
		return "with the other sign"
	}
	for _, k := range factors {
		switch {
		case fits(now, then, k, 0, near):
			return "times " + number(k)
		case fits(now, then, 1/k, 0, near):
			return "divided by " + number(k)
		}
	}
	return ""
}

// fits reports whether the deciles now are scale times the deciles then plus shift.
func fits(now, then []float64, scale, shift, near float64) bool {
	moved := make([]float64, len(then))
	for i, v := range then {
		moved[i] = scale*v + shift
	}
	if scale < 0 {
		slices.Reverse(moved)
	}
	return alike(now, moved, near)
}

// alike reports whether the middle deciles of two distributions are nearly equal.
func alike(a, b []float64, near float64) bool {
	for i := 1; i < 10; i++ {
		if !(math.Abs(a[i]-b[i]) <= near*(b[9]-b[1])) {
			return false
		}
	}
	return a[9] > a[1]
}

// exchanged returns the names of two columns that have changed places: two of moved look like each other in the
// training or, if
// the predictions are bad, they are far better after a change of places. It returns nil if there are none.
func (r *Rows) exchanged(moved []Drifted) ([]string, error) {
	for i, a := range moved {
		for _, b := range moved[:i] {
			if i, j := slices.Index(r.Names, a.Name), slices.Index(r.Names, b.Name); r.traded(i, j) {
				return []string{r.Names[min(i, j)], r.Names[max(i, j)]}, nil
			}
		}
	}
	d := len(r.Names)
	inside := Mean(r.Inside)
	if r.Probe == nil || d < 2 || !(r.Loss > r.Expected+worse || inside.Upper < r.Level-tooFew) {
		return nil, nil
	}
	return r.repaired()
}

// traded reports whether two columns look like each other in the training; true if the training is not known. Inputs of one
// column of the data have not changed places.
func (r *Rows) traded(a, b int) bool {
	if data.ColumnOf(r.Names[a]) == data.ColumnOf(r.Names[b]) {
		return false
	}
	return r.Train == nil || r.like(a, b) && r.like(b, a)
}

// like reports whether the values of column a have the distribution of column b in the training.
func (r *Rows) like(a, b int) bool {
	m, p := r.change(a, r.Train[b])
	return m.Value < largePSI || p > rareP
}

const (
	worse     = 0.1  // NLL above that of the fit from which on pairs of columns are tried
	swapped   = 6000 // predictions of rows with exchanged columns
	certainty = 5    // standard errors by which an exchange must help
	mostLoss  = 50   // NLL of a row above which it counts no more
)

// withSwapped returns rows x [n,d] with two columns exchanged.
func withSwapped(x []float64, d, a, b int) []float64 {
	out := slices.Clone(x)
	for row := range slices.Chunk(out, d) {
		row[a], row[b] = row[b], row[a]
	}
	return out
}

// repaired tries to exchange each pair of columns that look like each other in the training, and returns the pair that makes the predictions better
// by far; nil if there is none.
func (r *Rows) repaired() ([]string, error) {
	d := len(r.Names)
	pairs := d * (d - 1) / 2
	rows := dense.Spaced(r.N(), min(200, max(30, swapped/pairs)))
	if pairs > 400 || len(rows) < 30 {
		return nil, nil
	}
	x := r.taken(rows)
	plain, err := r.Probe(x, rows)
	if err != nil {
		return nil, err
	}
	var best []string
	most := worse
	for a := range d {
		for b := range a {
			if !r.traded(a, b) {
				continue
			}
			now, ok, err := r.mixed(withSwapped(x, d, a, b), rows)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			gain := make([]float64, len(rows))
			for i := range rows {
				gain[i] = min(plain.Loss[i], mostLoss) - min(now.Loss[i], mostLoss)
			}
			m := Mean(gain)
			if m.Value > most && m.Value > certainty*(m.Upper-m.Value)/1.96 {
				best, most = []string{r.Names[b], r.Names[a]}, m.Value
			}
		}
	}
	return best, nil
}
