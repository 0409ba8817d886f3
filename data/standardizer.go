package data

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
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
	if x != nil && x.Dtype() == tensor.Float32 {
		if err := checkMatrix("standardize", x, tensor.Float32); err != nil {
			return nil, err
		}
		s = moments(x.Float32s(), x.Shape()[1])
	} else {
		values, _, d, err := matrix("standardize", x)
		if err != nil {
			return nil, err
		}
		s = moments(values, d)
	}
	for j := range s.Mean {
		if !kernel.Finite(s.Mean[j]) || !kernel.Finite(s.Std[j]) {
			return nil, fmt.Errorf("standardize: column %d: mean %g, standard deviation %g, expected finite values", j, s.Mean[j], s.Std[j])
		}
	}
	return s, nil
}

// moments returns the means and the population standard deviations of the columns of
// values, whose rows have d values. It passes over the rows twice.
func moments[T float32 | float64](values []T, d int) *Standardizer {
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
	return s
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

// Apply returns (x-Mean)/Std for x [N,D].
func (s *Standardizer) Apply(x *tensor.Dense) (*tensor.Dense, error) {
	return s.each(x, func(v, mean, std float64) float64 { return (v - mean) / std })
}

// Invert returns z*Std+Mean for z [N,D], undoing [Standardizer.Apply].
func (s *Standardizer) Invert(z *tensor.Dense) (*tensor.Dense, error) {
	return s.each(z, func(v, mean, std float64) float64 { return v*std + mean })
}

// ApplyInPlace replaces x [N,D], float32 or float64, by (x-Mean)/Std, computed in
// float64.
func (s *Standardizer) ApplyInPlace(x *tensor.Dense) error {
	dtype := tensor.Float64
	if x != nil && x.Dtype() == tensor.Float32 {
		dtype = tensor.Float32
	}
	if err := checkMatrix("standardize", x, dtype); err != nil {
		return err
	}
	if err := s.check(x.Shape()[1]); err != nil {
		return err
	}
	if dtype == tensor.Float32 {
		standardize(x.Float32s(), s)
	} else {
		standardize(x.Float64s(), s)
	}
	return nil
}

func standardize[T float32 | float64](values []T, s *Standardizer) {
	for row := range slices.Chunk(values, len(s.Mean)) {
		for j, v := range row {
			row[j] = T((float64(v) - s.Mean[j]) / s.Std[j])
		}
	}
}

// each returns a new tensor of f(v, mean, std) for every value v of x, with the moments of
// its column.
func (s *Standardizer) each(x *tensor.Dense, f func(v, mean, std float64) float64) (*tensor.Dense, error) {
	values, n, d, err := matrix("standardize", x)
	if err != nil {
		return nil, err
	}
	if err := s.check(d); err != nil {
		return nil, err
	}
	out := make([]float64, len(values))
	for i := range n {
		for j := range d {
			out[i*d+j] = f(values[i*d+j], s.Mean[j], s.Std[j])
		}
	}
	return dense.Of(out, n, d), nil
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
