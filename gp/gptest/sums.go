package gptest

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// Passes makes a posterior anew from sums over examples, which are computed in parts of the
// given size, each by sums of its own, and added. held may be nil.
func Passes(ctx context.Context, q gp.Summed, l likelihood.Likelihood, e gp.Examples, size int, held *gp.Examples) (*gp.Fitted, error) {
	all := map[string][]float64{}
	var last gp.Sums
	for first := 0; first < e.N(); first += size {
		rows := dense.UpTo(first, min(size, e.N()-first))
		s, err := q.Sums(l, gp.Run{})
		if err == nil {
			err = s.Add(ctx, e.Rows(rows))
		}
		if err == nil {
			err = addTo(all, s)
		}
		if err != nil {
			return nil, err
		}
		last = s
	}
	err := last.Each(func(name string, v *[]float64, _ ...int) error {
		*v = all[name]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return last.Finish(ctx, e.N(), held)
}

// addTo adds the sums of s to the sums of the same names in all.
func addTo(all map[string][]float64, s gp.Sums) error {
	return s.Each(func(name string, v *[]float64, _ ...int) error {
		if all[name] == nil {
			all[name] = make([]float64, len(*v))
		}
		if len(all[name]) != len(*v) {
			return fmt.Errorf("%s: %d numbers, then %d", name, len(all[name]), len(*v))
		}
		for i, x := range *v {
			all[name][i] += x
		}
		return nil
	})
}

// sums: a posterior that is made anew from sums does not depend on how the examples are divided,
// and the posterior of the sample does not change.
func (t *trial) sums() error {
	q, ok := t.fitted.Posterior.(gp.Summed)
	if !ok {
		return nil
	}
	p := t.Problem.Problem
	l := t.learned()
	if _, err := q.Sums(l, gp.Run{}); err != nil {
		return nil // it is no function of sums
	}
	var got [2][]float64
	for i, size := range []int{p.Train.N(), (p.Train.N() + 2) / 3} {
		f, err := Passes(t.ctx, q, l, p.Train, size, nil)
		if err != nil {
			return fmt.Errorf("sums over parts of %d examples: %w", size, err)
		}
		if f.Record.Rows != p.Train.N() || f.NoiseVariance > 0 != (t.fitted.NoiseVariance > 0) {
			return fmt.Errorf("sums over %d examples: a record of %d, noise variance %g", p.Train.N(), f.Record.Rows, f.NoiseVariance)
		}
		g, err := gp.Predict(t.ctx, f.Posterior, t.Probe)
		if err != nil {
			return fmt.Errorf("a posterior from sums: %w", err)
		}
		got[i] = g.Cov
	}
	rounding := 1e-6
	if t.Probe.Dtype() == tensor.Float32 {
		rounding = 1e-2
	}
	rounding *= largest(got[0])
	for i, v := range got[0] {
		if d := v - got[1][i]; !(d <= rounding && -d <= rounding) {
			return fmt.Errorf("covariance %d is %g from sums over all examples, %g from sums over thirds", i, v, got[1][i])
		}
	}
	return t.samePredictions(q, "a posterior beside its sums")
}
