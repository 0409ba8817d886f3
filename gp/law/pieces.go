package law

import (
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// pieces is the fit of a t, which may have two pieces, to values, which are in bins.
type pieces struct {
	values, counts []float64 // mean of the values of each bin [B], and their number [B]
	logs           []float64 // log(1 + y²/ν) of each bin [B]
	n              float64   // number of values
	unit           float64   // scale of the bulk of the values
	rows           float64   // number of rows that the prior of the standard deviation is worth
	least          float64   // smallest 1/ν
}

// fitStudent returns the t of highest posterior density for values without the rows of out, which is symmetric or of two
// pieces. The prior of its standard deviation is worth a number of rows. The search ends within about
// 0.01 of the highest log density.
func fitStudent(values []float64, out part, rows float64, symmetric bool) student {
	unit := bulk(values, out)
	b := binned(values, out, unit, pieceBin)
	f := pieces{n: b.rows, unit: unit, rows: rows, least: 1 / mostDoF(len(values)), logs: make([]float64, len(b.bins))}
	for _, x := range b.bins {
		f.values, f.counts = append(f.values, x.sum/x.count*unit), append(f.counts, x.count)
	}
	var best vertex
	for _, dof := range [][]float64{{-4, -2, 0}, {2, 4, 7}} {
		at := f.start(dof)
		if !symmetric {
			at = append(at, 0)
		}
		if v := minimized(f.loss, at); best.x == nil || v.f < best.f {
			best = v
		}
	}
	return f.at(best.x)
}

// start returns the best symmetric t of a grid over the scale, and over logits of 1/ν. Few values have several best laws:
// heavy tails with the variance that the prior expects, and lighter tails with the variance of the values. So the search
// starts on both sides.
func (f *pieces) start(dof []float64) (at []float64) {
	best, end := math.Inf(1), -math.Log(f.unit)
	for _, dof := range dof {
		for _, part := range []float64{-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1} {
			x := []float64{dof, part * end}
			if loss := f.loss(x); loss < best {
				best, at = loss, x
			}
		}
	}
	return at
}

// bulk returns the scale of a Gaussian that has as many values beyond the median magnitude as the values without the rows
// of out have, and at least e^−largestLog.
func bulk(values []float64, out part) float64 {
	var sizes []float64
	for i, v := range values {
		if !out.has(i) {
			sizes = append(sizes, math.Abs(v))
		}
	}
	slices.Sort(sizes)
	return max(1.4826*sizes[len(sizes)/2], math.Exp(-largestLog))
}

// at returns the t of a point of the search: the logit of 1/ν within its range, the log of the scale in units of unit,
// and κ unless the t is symmetric.
func (f *pieces) at(x []float64) student {
	s := student{dof: 1 / (f.least + (mostInverse-f.least)/(1+math.Exp(-x[0]))), scale: f.unit * math.Exp(x[1])}
	if len(x) > 2 {
		s.skew = x[2]
	}
	return s
}

// loss returns minus the log posterior density at a point of the search.
func (f *pieces) loss(x []float64) float64 {
	s := f.at(x)
	if math.Abs(math.Log(s.scale)) > 2*largestLog || math.Abs(s.skew) > maxSkew {
		return math.Inf(1)
	}
	u := s.unit()
	for i, z := range f.values {
		y := u.distance(z)
		f.logs[i] = 1 + y*y/s.dof
	}
	kernel.Log(f.logs, f.logs)
	log := f.n*s.logConstant() - 0.5*(s.dof+1)*kernel.Dot(f.counts, f.logs)
	return -s.logPrior(f.rows) - log
}
