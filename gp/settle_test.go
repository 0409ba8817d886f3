package gp

import (
	"slices"
	"strings"
	"testing"
)

// TestSettle: a variance that rounding explains becomes 0 with its covariances, the others stay, and
// one that rounding does not explain is an error that names the input and the output.
func TestSettle(t *testing.T) {
	cov := []float64{1, 0.1, 0.1, -1e-9, 2, 0.3, 0.3, 4}
	if err := Settle(cov, []float64{1, 1, 5, 5}, nil, 0); err != nil || !slices.Equal(cov, []float64{1, 0, 0, 0, 2, 0.3, 0.3, 4}) {
		t.Errorf("covariances %v, error %v", cov, err)
	}
	err := Settle([]float64{1, 0, 0, 1, 1, 0, 0, -0.1}, []float64{2, 2, 2, 2}, nil, 5)
	if err == nil || !strings.Contains(err.Error(), "row 6 (counting from 0): the variance of output 1 is -0.1") {
		t.Errorf("error %v", err)
	}
	err = Settle([]float64{1, 0, 0, -1e-3}, []float64{1, 1}, []int{3, 7}, 1)
	if err == nil || !strings.Contains(err.Error(), "row 7 (counting from 0): the variance of output 1 is -0.001") {
		t.Errorf("error %v", err)
	}
	if err := Settle(nil, nil, nil, 0); err != nil {
		t.Error(err)
	}
}
