package gp

import (
	"slices"
	"strings"
	"testing"
)

// TestSettle: a variance that rounding explains becomes 0 with its covariances, the others stay, and
// one that rounding does not explain is an error that names the input and the output.
func TestSettle(t *testing.T) {
	of := func(cov ...float64) Gaussian { return Gaussian{Mean: make([]float64, len(cov)/2), Cov: cov} }
	cov := []float64{1, 0.1, 0.1, -1e-9, 2, 0.3, 0.3, 4}
	if err := Settle(of(cov...), []float64{1, 1, 5, 5}, nil, 0); err != nil || !slices.Equal(cov, []float64{1, 0, 0, 0, 2, 0.3, 0.3, 4}) {
		t.Errorf("covariances %v, error %v", cov, err)
	}
	err := Settle(of(1, 0, 0, 1, 1, 0, 0, -0.1), []float64{2, 2, 2, 2}, nil, 5)
	if err == nil || !strings.Contains(err.Error(), "row 6 (counting from 0): the variance of output 1 is -0.1") {
		t.Errorf("error %v", err)
	}
	err = Settle(of(1, 0, 0, -1e-3), []float64{1, 1}, []int{3, 7}, 1)
	if err == nil || !strings.Contains(err.Error(), "row 7 (counting from 0): the variance of output 1 is -0.001") {
		t.Errorf("error %v", err)
	}
	if err := Settle(Gaussian{}, nil, nil, 0); err != nil {
		t.Error(err)
	}
	alone := Gaussian{Mean: make([]float64, 4), Cov: []float64{1, -1e-9, 2, 4}, Marginal: 2}
	if err := Settle(alone, []float64{1, 1, 5, 5}, nil, 0); err != nil || !slices.Equal(alone.Cov, []float64{1, 0, 2, 4}) {
		t.Errorf("variances alone %v, error %v", alone.Cov, err)
	}
	alone.Cov[3] = -1
	if err := Settle(alone, []float64{1, 1, 5, 5}, nil, 5); err == nil || !strings.Contains(err.Error(), "row 6 (counting from 0): the variance of output 1 is -1") {
		t.Errorf("error %v", err)
	}
}
