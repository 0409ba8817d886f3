package calibrate

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/go-valla/valla/internal/kernel"
)

// Shift estimates the ratio of the densities of inputs in new rows and in the rows of a calibration, by a logistic regression
// that tells them apart by the inputs and their squares (Bickel et al. 2009).
type Shift struct {
	Mean   []float64 `json:"mean"`   // means of the inputs [D]
	Std    []float64 `json:"std"`    // standard deviations of the inputs [D], 1 for inputs that do not vary
	Bias   float64   `json:"bias"`   // logarithm of the ratio at the means
	Linear []float64 `json:"linear"` // factors of the standardised inputs [D]
	Square []float64 `json:"square"` // factors of their squares [D]
}

const (
	// mostWeight bounds the ratio, so that no row alone decides an interval.
	mostWeight = 20
	// ridge keeps the factors of the ratio small, in terms of one row.
	ridge = 1
	// farthest bounds standardised inputs, outside of which the ratio does not change.
	farthest = 5
)

// FindShift estimates the ratio from the inputs of old and new rows, [n,d] each.
func FindShift(old, now []float64, d int) (*Shift, error) {
	if len(old) < 2*d || len(now) < 2*d {
		return nil, fmt.Errorf("%d rows of the calibration and %d rows like which they are to be weighted, expected some of each", len(old)/d, len(now)/d)
	}
	s := &Shift{Mean: make([]float64, d), Std: make([]float64, d), Linear: make([]float64, d), Square: make([]float64, d)}
	all := slices.Concat(old, now)
	n := float64(len(all) / d)
	for i, v := range all {
		s.Mean[i%d] += v / n
	}
	for i, v := range all {
		s.Std[i%d] += (v - s.Mean[i%d]) * (v - s.Mean[i%d]) / n
	}
	for j, v := range s.Std {
		if s.Std[j] = math.Sqrt(v); !(s.Std[j] > 0) {
			s.Std[j] = 1
		}
	}
	z := make([]float64, len(all))
	for i, v := range all {
		z[i] = s.scaled(i%d, v)
	}
	loss := func(x, grad []float64) float64 { return shiftLoss(x, grad, z, d, len(old)/d) }
	best, err := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { return loss(x, nil) },
		Grad: func(grad, x []float64) { loss(x, grad) },
	}, make([]float64, 2*d+1), &optimize.Settings{GradientThreshold: 1e-6, MajorIterations: 200}, &optimize.LBFGS{})
	if best == nil || !kernel.Finite(best.F) {
		return nil, fmt.Errorf("ratio of new rows and rows of the calibration: %w", err)
	}
	s.Bias, s.Linear, s.Square = best.X[2*d]+math.Log(float64(len(old))/float64(len(now))), best.X[:d:d], best.X[d:2*d:2*d]
	return s, nil
}

// scaled returns a standardised value of input j.
func (s *Shift) scaled(j int, v float64) float64 {
	return min(max((v-s.Mean[j])/s.Std[j], -farthest), farthest)
}

// shiftLoss returns the mean loss of a logistic regression of z [n,d], of which the first old rows have the answer 0 and the
// others 1, for the factors x of the inputs [d], of their squares [d] and the bias. It writes the derivatives to grad unless
// grad is nil.
func shiftLoss(x, grad, z []float64, d, old int) float64 {
	clear(grad)
	n := float64(len(z) / d)
	sum := 0.0
	for i := range len(z) / d {
		row, f := z[i*d:(i+1)*d], x[2*d]
		for j, v := range row {
			f += x[j]*v + x[d+j]*v*v
		}
		p := 1 / (1 + math.Exp(-f))
		answer := 0.0
		if i >= old {
			answer = 1
		}
		sum += (math.Log1p(math.Exp(-math.Abs(f))) + max(f, 0) - answer*f) / n
		if grad == nil {
			continue
		}
		by := (p - answer) / n
		for j, v := range row {
			grad[j] += by * v
			grad[d+j] += by * v * v
		}
		grad[2*d] += by
	}
	for j, v := range x[:2*d] {
		sum += ridge / 2 / n * v * v
		if grad != nil {
			grad[j] += ridge / n * v
		}
	}
	return sum
}

// Weight returns the ratio at a row of inputs [D], at most 20.
func (s *Shift) Weight(row []float64) float64 {
	f := s.Bias
	for j, v := range row {
		z := s.scaled(j, v)
		f += s.Linear[j]*z + s.Square[j]*z*z
	}
	return min(math.Exp(f), mostWeight)
}

// Check returns an error if the ratio is wrong for d inputs.
func (s *Shift) Check(d int) error {
	for _, list := range [][]float64{s.Mean, s.Std, s.Linear, s.Square, {s.Bias}} {
		if bad := slices.IndexFunc(list, func(v float64) bool { return !kernel.Finite(v) }); bad >= 0 || len(list) != d && len(list) != 1 {
			return fmt.Errorf("a ratio of densities by %d finite numbers, expected %d", len(list), d)
		}
	}
	if len(s.Mean) != d || len(s.Std) != d || len(s.Linear) != d || len(s.Square) != d || slices.Contains(s.Std, 0) {
		return fmt.Errorf("a ratio of densities of %d inputs, expected %d", len(s.Mean), d)
	}
	return nil
}

// QuantileFor returns the smallest score of a target up to which the rows have the share level of all weights, where the new row, of
// weight w, counts as infinite (Tibshirani et al. 2019). It is an error if the weights are too small for the level.
func (c *Conformal) QuantileFor(target int, w, level float64) (float64, error) {
	sums := c.Cumulative[target*c.Rows : (target+1)*c.Rows]
	total := sums[len(sums)-1]
	if mostWeight > (1-level)*(total+mostWeight) {
		return 0, fmt.Errorf("the level %g needs rows of the calibration with a weight of %.0f, and these have %.0f: expected more rows like the new ones", level, math.Ceil(mostWeight/(1-level)-mostWeight-rounding), math.Floor(total))
	}
	at, _ := slices.BinarySearch(sums, level*(total+w))
	return c.of(target)[min(at, c.Rows-1)], nil
}
