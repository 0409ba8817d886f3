package metric

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// levels is the number of levels at which coverage is measured: 0.1, 0.2 … 0.9.
const levels = 9

// Regression accumulates the scores of Gaussian predictions of one output. The zero value is
// ready to use.
type Regression struct {
	n                  int         // predictions
	nll, squared, crps float64     // sums over the predictions
	covered            [levels]int // predictions with the target inside each central interval
}

// RegressionScores are the scores of N predictions. Every mean is over all predictions.
type RegressionScores struct {
	N    int     // predictions
	NLL  float64 // mean of GaussianNLL, in nats
	RMSE float64 // square root of the mean of (y − mean)², in the units of y
	CRPS float64 // mean of GaussianCRPS, in the units of y

	// Coverage[i] is the share of y strictly inside the central interval of
	// probability Level(i).
	Coverage [levels]float64

	// CQM is the calibration error of the central intervals, ∫|coverage(a) − a| da
	// by the trapezoid rule on a = 0, 0.1 … 1, where coverage(0) = 0 and
	// coverage(1) = 1 hold exactly.
	CQM float64

	// CQMAsPublished is CQM + 0.05. The numbers printed in the VaLLA paper are larger by
	// 0.05, because they count an error of 1 at a = 1. This field is only for comparisons
	// with them.
	CQMAsPublished float64
}

// Level is the probability of the central interval of RegressionScores.Coverage[i].
func Level(i int) float64 { return float64(i+1) / (levels + 1) }

// halfWidths[i] is the half width, in standard deviations, of the central
// interval of probability Level(i): Φ⁻¹(½ + a/2) = √2 erf⁻¹(a).
var halfWidths = func() (z [levels]float64) {
	for i := range z {
		z[i] = math.Sqrt2 * math.Erfinv(Level(i))
	}
	return z
}()

// Add adds a batch: mean, variance and y are all [n]. The variance is y's and includes
// the noise variance. Every value must be finite and every variance must be positive;
// otherwise nothing is added and the error wraps [ErrInput].
func (r *Regression) Add(mean, variance, y []float64) error {
	if err := checkGaussian(mean, variance, y); err != nil {
		return err
	}
	for i := range y {
		r.add(mean[i], variance[i], y[i])
	}
	return nil
}

func (r *Regression) add(mean, variance, y float64) {
	r.n++
	d := y - mean
	r.nll += GaussianNLL(mean, variance, y)
	r.squared += d * d
	r.crps += GaussianCRPS(mean, variance, y)
	s := math.Sqrt(variance)
	for i, z := range halfWidths {
		if math.Abs(d) < z*s {
			r.covered[i]++
		}
	}
}

// Row are the scores of one prediction that is no Gaussian. A score that is NaN makes the mean NaN.
type Row struct {
	NLL   float64 // negative log density of y, in nats
	Error float64 // y − mean, in the units of y
	CRPS  float64 // continuous ranked probability score, in the units of y
	PIT   float64 // probability of values of at most y; for counts the middle of the step at y
}

// AddRow adds a prediction by its scores.
func (r *Regression) AddRow(row Row) {
	r.n++
	r.nll += row.NLL
	r.squared += row.Error * row.Error
	r.crps += row.CRPS
	for i := range r.covered {
		if math.Abs(2*row.PIT-1) < Level(i) {
			r.covered[i]++
		}
	}
}

// Result returns the scores of everything added so far, or [ErrEmpty].
func (r *Regression) Result() (RegressionScores, error) {
	if r.n == 0 {
		return RegressionScores{}, ErrEmpty
	}
	n := float64(r.n)
	s := RegressionScores{N: r.n, NLL: r.nll / n, RMSE: math.Sqrt(r.squared / n), CRPS: r.crps / n}
	for i, c := range r.covered {
		s.Coverage[i] = float64(c) / n
		s.CQM += math.Abs(s.Coverage[i]-Level(i)) / (levels + 1)
	}
	s.CQMAsPublished = s.CQM + 0.05
	return s, nil
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
