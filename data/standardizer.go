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

// Apply returns (x-Mean)/Std for x [N,D], float64.
func (s *Standardizer) Apply(x *tensor.Dense) (*tensor.Dense, error) { return s.copied(x, false) }

// Invert returns z*Std+Mean for z [N,D], float64, undoing [Standardizer.Apply].
func (s *Standardizer) Invert(z *tensor.Dense) (*tensor.Dense, error) { return s.copied(z, true) }

// ApplyInPlace replaces x [N,D], float32 or float64, by (x-Mean)/Std, computed in
// float64.
func (s *Standardizer) ApplyInPlace(x *tensor.Dense) error {
	if x != nil && x.Dtype() == tensor.Float32 {
		return replace[float32](s, x, false)
	}
	return replace[float64](s, x, false)
}

// copied returns a copy of x, standardized or in its units again.
func (s *Standardizer) copied(x *tensor.Dense, invert bool) (*tensor.Dense, error) {
	if err := checkMatrix("standardize", x, tensor.Float64); err != nil {
		return nil, err
	}
	out := x.Clone().(*tensor.Dense)
	if err := replace[float64](s, out, invert); err != nil {
		return nil, err
	}
	return out, nil
}

// replace standardizes the values of x in place or, if invert is true, returns them to their units.
func replace[T kernel.Float](s *Standardizer, x *tensor.Dense, invert bool) error {
	if err := checkMatrix("standardize", x, tensor.Dtype{Type: reflect.TypeFor[T]()}); err != nil {
		return err
	}
	d := x.Shape()[1]
	if err := s.check(d); err != nil {
		return err
	}
	for row := range slices.Chunk(x.Data().([]T), d) {
		for j, v := range row {
			if mean, std := s.Mean[j], s.Std[j]; invert {
				row[j] = T(float64(v)*std + mean)
			} else {
				row[j] = T((float64(v) - mean) / std)
			}
		}
	}
	return nil
}

// check makes sure that s, which may come from a file, fits d columns.
func (s *Standardizer) check(d int) error {
	if len(s.Mean) != len(s.Std) {
		return fmt.Errorf("standardize: %d means, but %d standard deviations", len(s.Mean), len(s.Std))
	}
	if d != len(s.Mean) {
		return fmt.Errorf("standardize: expected %d columns, found %d", len(s.Mean), d)
	}
	for j, std := range s.Std {
		if !kernel.Finite(s.Mean[j]) || !kernel.Finite(std) || std <= 0 {
			return fmt.Errorf("standardize: column %d: mean %g, standard deviation %g, expected finite values and a positive deviation", j, s.Mean[j], std)
		}
	}
	return nil
}
