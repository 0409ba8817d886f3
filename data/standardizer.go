package data

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"
)

// A Standardizer shifts and scales each of D columns: z = (x-Mean)/Std.
type Standardizer struct {
	Mean []float64 `json:"mean"` // D
	Std  []float64 `json:"std"`  // D, all positive
}

// FitStandardizer returns the standardizer that gives each column of x [N,D]
// mean 0 and standard deviation 1, the deviation being that of the population
// (dividing by N, as NumPy and scikit-learn do). A constant column gets Std 1,
// so that it becomes 0. It refuses columns whose moments overflow.
func FitStandardizer(x *tensor.Dense) (*Standardizer, error) {
	values, _, d, err := matrix("standardize", x)
	if err != nil {
		return nil, err
	}
	s := &Standardizer{Mean: make([]float64, d), Std: make([]float64, d)}
	for j := range d {
		s.Mean[j], s.Std[j] = moments(values[j:], d)
		if !finite(s.Mean[j]) || !finite(s.Std[j]) {
			return nil, fmt.Errorf("standardize: column %d: mean %g, standard deviation %g, expected finite values", j, s.Mean[j], s.Std[j])
		}
	}
	return s, nil
}

// moments returns mean and population standard deviation of every step-th
// value, in two passes; 1 for the deviation of a constant column. The mean of
// equal numbers need not be that number in floating point, so that those are
// recognised by their values.
func moments(values []float64, step int) (mean, std float64) {
	n, sum, constant := 0, 0.0, true
	for i := 0; i < len(values); i += step {
		n++
		sum += values[i]
		constant = constant && values[i] == values[0]
	}
	if constant {
		return values[0], 1
	}
	mean = sum / float64(n)
	squares := 0.0
	for i := 0; i < len(values); i += step {
		squares += (values[i] - mean) * (values[i] - mean)
	}
	std = math.Sqrt(squares / float64(n))
	if std == 0 { // the squares underflow
		return mean, 1
	}
	return mean, std
}

// Apply returns (x-Mean)/Std for x [N,D].
func (s *Standardizer) Apply(x *tensor.Dense) (*tensor.Dense, error) {
	return s.each(x, func(v, mean, std float64) float64 { return (v - mean) / std })
}

// Invert returns z*Std+Mean for z [N,D], undoing [Standardizer.Apply].
func (s *Standardizer) Invert(z *tensor.Dense) (*tensor.Dense, error) {
	return s.each(z, func(v, mean, std float64) float64 { return v*std + mean })
}

// each maps every value of x with its column's moments into a new tensor.
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
	return newMatrix(out, n, d), nil
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
		if !finite(s.Mean[j]) || !finite(std) || std <= 0 {
			return fmt.Errorf("standardize: column %d: mean %g, standard deviation %g, expected finite values and a positive deviation", j, s.Mean[j], std)
		}
	}
	return nil
}
