package audit

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/go-valla/valla/data"
)

// Drifted compares an input with its values in the training.
type Drifted struct {
	Name string  `json:"name"` // name of the input
	PSI  Measure `json:"-"`    // population stability index, see psi
	P    float64 `json:"p"`    // probability of such a difference without a change, by the χ² test
	now  data.ColumnProfile
	then data.ColumnProfile
}

const (
	largePSI = 0.1  // smaller changes are no finding
	rareP    = 1e-4 // p-values of all inputs together below which a change is none of chance
	floor    = 1e-4 // smallest share in a PSI
)

// drifts compares all inputs with the training, the largest change first.
func (r *Rows) drifts() (out []Drifted) {
	if r.Train == nil {
		return nil
	}
	set := data.Profiles(r.Names, r.X)
	for j, then := range r.Train {
		d := Drifted{Name: then.Name, now: set[j], then: then}
		d.PSI, d.P = r.change(j, then)
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b Drifted) int { return cmp.Compare(b.PSI.Value, a.PSI.Value) })
	return out
}

// change returns the [psi] of the values of a column against a column of the training.
func (r *Rows) change(column int, then data.ColumnProfile) (Measure, float64) {
	shares := make([]float64, len(then.Shares))
	for i := column; i < len(r.X); i += len(r.Names) {
		shares[then.Bin(r.X[i])] += 1 / float64(r.N())
	}
	return psi(then.Shares, shares, then.Rows, r.N())
}

// psi returns the population stability index Σ (b − a) log(b/a) of shares b of m rows against shares a of n rows, with bounds by the delta
// method, and the p-value of the χ² test that both are shares of one distribution.
func psi(a, b []float64, n, m int) (Measure, float64) {
	value, chi, of := 0.0, 0.0, [2][2]float64{} // of: first and second moments of the derivatives
	for i := range a {
		p, q := max(a[i], floor), max(b[i], floor)
		value += (q - p) * math.Log(q/p)
		dp, dq := math.Log(p/q)+1-q/p, math.Log(q/p)+1-p/q
		of[0][0], of[0][1] = of[0][0]+p*dp, of[0][1]+p*dp*dp
		of[1][0], of[1][1] = of[1][0]+q*dq, of[1][1]+q*dq*dq
		if total := a[i]*float64(n) + b[i]*float64(m); total > 0 {
			chi += float64(n) * float64(m) * (a[i] - b[i]) * (a[i] - b[i]) / total
		}
	}
	variance := (of[0][1]-of[0][0]*of[0][0])/float64(n) + (of[1][1]-of[1][0]*of[1][0])/float64(m)
	out := Around(value, math.Sqrt(max(variance, 0)))
	out.Lower = max(0, out.Lower)
	if len(a) < 2 {
		return out, 1
	}
	return out, mathext.GammaIncRegComp(float64(len(a)-1)/2, chi/2)
}

// PSI returns the population stability index of shares b against shares a.
func PSI(a, b []float64) float64 {
	m, _ := psi(a, b, 1, 1)
	return m.Value
}

// moved reports whether the change of an input of d is large and none of chance.
func (v Drifted) moved(d int) bool { return v.PSI.Value >= largePSI && v.P < rareP/float64(d) }
