package metric

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mathext"
)

// levels is the number of levels at which coverage is measured: 0.1, 0.2 … 0.9.
const levels = 9

// Regression accumulates the scores of predictive distributions of one number. The zero value is
// ready to use.
type Regression struct {
	nll, squared, crps, deviance Mean                      // over the rows
	pinball                      [len(QuantileLevels)]Mean // over the rows, at each level
	held, interval               [len(IntervalLevels)]Mean // over the rows, at each level
	pit                          [PITBins]float64          // sums of shares
	covered                      [levels]float64           // sums of the shares of each target inside each central interval
	together                     [levels][levels]float64   // sums of the products of the shares at two levels
}

// RegressionScores are the scores of N predictions. Every mean is over all predictions.
type RegressionScores struct {
	N    int     // predictions
	NLL  float64 // mean negative log density, in nats; for Gaussians of GaussianNLL
	RMSE float64 // square root of the mean of (y − mean)², in the units of y
	CRPS float64 // mean of the CRPS, in the units of y; for Gaussians of GaussianCRPS

	// Coverage[i] is the share of y strictly inside the central interval of
	// probability Level(i).
	Coverage [levels]float64

	// CQM is the calibration error of the central intervals, ∫|coverage(a) − a| da
	// by the trapezoid rule on a = 0, 0.1 … 1, where coverage(0) = 0 and
	// coverage(1) = 1 hold exactly. The numbers printed in the VaLLA paper are larger by
	// 0.05, because they count an error of 1 at a = 1.
	CQM float64

	// Errors are standard errors. The CQM is a sum of magnitudes of the deviations of coverages, whose signs count as
	// known.
	Errors struct{ NLL, RMSE, CRPS, CQM float64 } // in the units of the scores

	Deviance      Estimate                      // mean of Row.Deviance
	Pinball       [len(QuantileLevels)]Estimate // means of Pinball at QuantileLevels, in the units of y
	Held          [len(IntervalLevels)]Estimate // shares of y inside or on the bounds of the intervals of IntervalLevels
	IntervalScore [len(IntervalLevels)]Estimate // means of IntervalScore of these intervals, in the units of y

	// PIT is the histogram of the PIT: shares of the rows whose CDF at y lies in each of PITBins parts of [0,1].
	// All shares are equal if the distributions are right.
	PIT [PITBins]float64
}

// Level is the probability of the central interval of RegressionScores.Coverage[i].
func Level(i int) float64 { return float64(i+1) / (levels + 1) }

// quantiles are the quantiles of the standard normal distribution at QuantileLevels.
var quantiles = func() (z [len(QuantileLevels)]float64) {
	for i, p := range QuantileLevels {
		z[i] = mathext.NormalQuantile(p)
	}
	return z
}()

// Add adds a batch of Gaussian predictions: mean, variance and y are all [n]. The variance is y's and
// includes the noise variance. Every value must be finite and every variance must be positive;
// otherwise nothing is added and the error wraps [ErrInput].
func (r *Regression) Add(mean, variance, y []float64) error {
	if err := checkGaussian(mean, variance, y); err != nil {
		return err
	}
	for i := range y {
		r.addGaussian(mean[i], variance[i], y[i])
	}
	return nil
}

func (r *Regression) addGaussian(mean, variance, y float64) {
	s, d := math.Sqrt(variance), y-mean
	pit := 0.5 * math.Erfc(-d/(s*math.Sqrt2))
	row := Row{NLL: GaussianNLL(mean, variance, y), Y: y, Mean: mean, CRPS: GaussianCRPS(mean, variance, y), Below: pit, UpTo: pit}
	for i, z := range quantiles {
		row.Quantiles[i] = mean + z*s
	}
	r.AddRow(row)
}

// AddRow adds a prediction with any distribution.
func (r *Regression) AddRow(row Row) {
	var covered [levels]float64
	for i := range covered {
		covered[i] = row.Within(0.5-Level(i)/2, 0.5+Level(i)/2)
	}
	d := row.Y - row.Mean
	r.nll.Add(row.NLL)
	r.squared.Add(d * d)
	r.crps.Add(row.CRPS)
	r.deviance.Add(row.Deviance)
	for i, level := range QuantileLevels {
		r.pinball[i].Add(Pinball(level, row.Quantiles[i], row.Y))
	}
	for i, level := range IntervalLevels {
		r.held[i].Add(row.held(i))
		r.interval[i].Add(IntervalScore(level, row.Quantiles[2-i], row.Quantiles[4+i], row.Y))
	}
	row.pit(&r.pit)
	for i, v := range covered {
		r.covered[i] += v
		for j, w := range covered {
			r.together[i][j] += v * w
		}
	}
}

// Result returns the scores of everything added so far, or [ErrEmpty].
func (r *Regression) Result() (RegressionScores, error) {
	n := r.nll.n
	if n == 0 {
		return RegressionScores{}, ErrEmpty
	}
	nll, squared, crps := r.nll.Estimate(), r.squared.Estimate().root(), r.crps.Estimate()
	s := RegressionScores{N: int(n), NLL: nll.Value, RMSE: squared.Value, CRPS: crps.Value, Deviance: r.deviance.Estimate()}
	for i, c := range r.covered {
		s.Coverage[i] = c / n
		s.CQM += math.Abs(s.Coverage[i]-Level(i)) / (levels + 1)
	}
	s.Errors.NLL, s.Errors.RMSE, s.Errors.CRPS, s.Errors.CQM = nll.StandardError, squared.StandardError, crps.StandardError, r.cqmError(s.Coverage)
	for i := range s.Pinball {
		s.Pinball[i] = r.pinball[i].Estimate()
	}
	for i := range s.Held {
		s.Held[i], s.IntervalScore[i] = r.held[i].Estimate(), r.interval[i].Estimate()
	}
	for i, v := range r.pit {
		s.PIT[i] = v / n
	}
	return s, nil
}

// cqmError returns the standard error of the mean over the rows of Σ_i ±covered_i/10, where the sign of a level is that of
// the deviation of its coverage.
func (r *Regression) cqmError(coverage [levels]float64) float64 {
	var square, mean float64
	sign := func(i int) float64 { return math.Copysign(1.0/(levels+1), coverage[i]-Level(i)) }
	for i := range levels {
		mean += sign(i) * coverage[i]
		for j := range levels {
			square += sign(i) * sign(j) * r.together[i][j] / r.nll.n
		}
	}
	return standardError(square-mean*mean, r.nll.n)
}

func checkGaussian(mean, variance, y []float64) error {
	if len(mean) != len(y) || len(variance) != len(y) {
		return fmt.Errorf("metric: %w: %d means, %d variances and %d targets, expected equal numbers",
			ErrInput, len(mean), len(variance), len(y))
	}
	for i := range y {
		switch {
		case !kernel.Finite(mean[i]):
			return fmt.Errorf("metric: %w: mean[%d] = %v, expected a finite number", ErrInput, i, mean[i])
		case !kernel.Finite(variance[i]) || variance[i] <= 0:
			return fmt.Errorf("metric: %w: variance[%d] = %v, expected a positive finite number", ErrInput, i, variance[i])
		case !kernel.Finite(y[i]):
			return fmt.Errorf("metric: %w: y[%d] = %v, expected a finite number", ErrInput, i, y[i])
		}
	}
	return nil
}
