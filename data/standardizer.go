package data

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/kernel"
)

// A Standardizer shifts and scales each of D columns: z = (x-Mean)/Std.
type Standardizer struct {
	Mean []float64 `json:"mean"` // D
	Std  []float64 `json:"std"`  // D, all positive
}

// FitStandardizer returns the standardizer that gives each column of x [N,D], float32 or
// float64, mean 0 and standard deviation 1. The deviation is the deviation of the population: its
// sum of squares is divided by N, as in NumPy and scikit-learn. A constant column gets
// Std 1, so that it becomes 0. A column whose sum overflows is an error; squares may overflow
// or underflow. Sums are float64 for both types.
func FitStandardizer(x *tensor.Dense) (*Standardizer, error) {
	var s *Standardizer
	var err error
	if x != nil && x.Dtype() == tensor.Float32 {
		s, err = moments[float32](x)
	} else {
		s, err = moments[float64](x)
	}
	if err != nil {
		return nil, err
	}
	for j := range s.Mean {
		if !kernel.Finite(s.Mean[j]) || !kernel.Finite(s.Std[j]) {
			return nil, fmt.Errorf("standardize: column %d: mean %g, standard deviation %g, expected finite values", j, s.Mean[j], s.Std[j])
		}
	}
	return s, nil
}

// moments returns the means and the population standard deviations of the columns of x [N,D]. It
// passes over the rows twice.
func moments[T kernel.Float](x *tensor.Dense) (*Standardizer, error) {
	if err := checkMatrix("standardize", x, tensor.Dtype{Type: reflect.TypeFor[T]()}); err != nil {
		return nil, err
	}
	values, d := x.Data().([]T), x.Shape()[1]
	s := &Standardizer{Mean: make([]float64, d), Std: make([]float64, d)}
	n := float64(len(values) / d)
	for row := range slices.Chunk(values, d) {
		for j, v := range row {
			s.Mean[j] += float64(v)
		}
	}
	varies := make([]bool, d)
	for j := range s.Mean {
		s.Mean[j] /= n
	}
	for row := range slices.Chunk(values, d) {
		for j, v := range row {
			e := float64(v) - s.Mean[j]
			s.Std[j] += e * e
			varies[j] = varies[j] || v != values[j]
		}
	}
	for j, sum := range s.Std {
		// In floating point the mean of equal numbers can differ from them, so a constant column is
		// recognised by its values and not by its deviation.
		const least, most = 1e-280, 1e280 // of a sum whose terms have all their digits
		switch {
		case !varies[j]:
			s.Mean[j], s.Std[j] = float64(values[j]), 1
		case sum >= least && sum <= most:
			s.Std[j] = math.Sqrt(sum / n)
		default:
			s.Std[j] = scaledDeviation(values[j:], d, s.Mean[j])
		}
	}
	return s, nil
}

// scaledDeviation returns the standard deviation around mean of every d-th value, whose squares
// may overflow or underflow. It divides by the largest deviation first.
func scaledDeviation[T float32 | float64](values []T, d int, mean float64) float64 {
	largest, sum, n := 0.0, 0.0, 0.0
	for i := 0; i < len(values); i += d {
		largest = max(largest, math.Abs(float64(values[i])-mean))
	}
	for i := 0; i < len(values); i += d {
		e := (float64(values[i]) - mean) / largest
		sum, n = sum+e*e, n+1
	}
	return largest * math.Sqrt(sum/n)
}
