package gp

import (
	"context"
	"errors"
	"testing"

	"gorgonia.org/tensor"
)

// wide is a posterior of many outputs that counts its inputs and does not make covariances.
type wide struct{ most, sum int }

func (w *wide) Predict(_ context.Context, x *tensor.Dense) (Gaussian, error) {
	w.most = max(w.most, x.Shape()[0])
	for _, v := range x.Float64s() {
		w.sum += int(v)
	}
	return Gaussian{}, nil
}

// TestInBatches: every input is predicted once, and no part needs more memory than it may.
func TestInBatches(t *testing.T) {
	const n, outputs = 3001, 1000
	x := tensor.New(tensor.WithShape(n, 2), tensor.Of(tensor.Float64))
	for i := range x.Float64s() {
		x.Float64s()[i] = float64(i)
	}
	p, next := &wide{}, 0
	err := InBatches(t.Context(), p, x, outputs, func(first int, _ Gaussian) error {
		if first != next {
			t.Errorf("the part begins at %d, expected %d", first, next)
		}
		next += p.most
		return nil
	})
	if err != nil || p.sum != n*(2*n-1) || p.most*outputs*outputs*8 > maxCovariances || p.most < 2 {
		t.Errorf("parts of %d inputs, whose sum is %d, expected %d; error %v", p.most, p.sum, n*(2*n-1), err)
	}
	failed := errors.New("failed")
	if err := InBatches(t.Context(), p, x, 1, func(int, Gaussian) error { return failed }); err != failed {
		t.Errorf("error %v", err)
	}
}
