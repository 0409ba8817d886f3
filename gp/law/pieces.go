package law

import (
	"math"

	"gonum.org/v1/gonum/optimize"

	"github.com/go-valla/valla/internal/kernel"
)

// skewWidth is the standard deviation of the prior of the skewness κ, a Gaussian around 0.
const skewWidth = 0.3

// pieces is the fit of a t of two pieces to values, which are in bins.
type pieces struct {
	values, counts []float64 // mean of the values of each bin [B], and their number [B]
	logs           []float64 // log(1 + y²/ν) of each bin [B]
	n              float64   // number of values
	unit           float64   // scale of the symmetric t
	rows           float64   // number of rows that the prior of the standard deviation is worth
	least          float64   // smallest 1/ν
}

// fitPieces returns the t of two pieces of highest posterior density for values without the rows of out, see
// [fitStudent]. The search starts at the symmetric t, and ends within about 0.01 of the highest log density.
func fitPieces(values []float64, out part, rows float64) student {
	start := fitStudent(values, out, rows)
	b := binned(values, out, start.scale, pieceBin)
	f := pieces{n: b.rows, unit: start.scale, rows: rows, least: leastInverse(len(values)), logs: make([]float64, len(b.bins))}
	for _, x := range b.bins {
		f.values, f.counts = append(f.values, x.sum/x.count*start.scale), append(f.counts, x.count)
	}
	inverse := max(f.least+0.01*(mostInverse-f.least), min(0.99*mostInverse, 1/start.dof))
	at := []float64{math.Log((inverse - f.least) / (mostInverse - inverse)), 0, 0}
	r, err := optimize.Minimize(optimize.Problem{Func: f.loss}, at, &optimize.Settings{
		Converger: &optimize.FunctionConverge{Absolute: 1e-4, Iterations: 20}, MajorIterations: 400,
	}, &optimize.NelderMead{SimplexSize: 0.2})
	if err != nil {
		return start
	}
	return f.at(r.X)
}

// at returns the t of a point of the search: the logit of 1/ν within its range, the log of the scale in units of unit,
// and κ.
func (f *pieces) at(x []float64) student {
	inverse := f.least + (mostInverse-f.least)/(1+math.Exp(-x[0]))
	return student{1 / inverse, f.unit * math.Exp(x[1]), x[2]}
}

// loss returns minus the log posterior density at a point of the search.
func (f *pieces) loss(x []float64) float64 {
	if math.Abs(x[1]) > largestLog || math.Abs(x[2]) > maxSkew {
		return math.Inf(1)
	}
	s := f.at(x)
	e := estimate{rows: f.rows, log: math.Log(s.scale), dof: s.dof}
	u := s.unit()
	for i, z := range f.values {
		y := u.distance(z)
		f.logs[i] = 1 + y*y/s.dof
	}
	kernel.Log(f.logs, f.logs)
	log := f.n*s.logConstant() - 0.5*(s.dof+1)*kernel.Dot(f.counts, f.logs)
	return 0.5*x[2]*x[2]/(skewWidth*skewWidth) - e.logPrior() - log
}
