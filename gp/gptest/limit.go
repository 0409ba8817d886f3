package gptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
)

// studentLimit: with Student's t of a million degrees of freedom a fit is that with Gaussian noise.
func (t *trial) studentLimit() error {
	if !likelihood.IsGaussian(t.Likelihood) {
		return nil
	}
	nu := map[string]json.RawMessage{"nu": json.RawMessage("1e6")}
	l, err := started("student-t", nu, t.Outputs(), likelihood.NoiseVariance(t.Likelihood))
	if err != nil {
		return err
	}
	p := t.Problem
	p.Likelihood = l.Copy(t.Dtype())
	f, err := fit(t.ctx, t.make(), p.Problem, gp.Run{Seed: seed})
	if errors.Is(err, gp.ErrProblem) {
		return refusal(err, p)
	}
	if err != nil {
		return fmt.Errorf("Student's t: %w", err)
	}
	g, err := t.predict(f)
	if err != nil {
		return fmt.Errorf("Student's t: %w", err)
	}
	return errors.Join(
		near("mean with Student's t", g.Mean, t.got.Mean),
		near("covariance with Student's t", g.Cov, t.got.Cov),
		near("prior standard deviations with Student's t", f.Record.PriorStds, t.fitted.Record.PriorStds),
		near("noise variance with Student's t", []float64{f.NoiseVariance}, []float64{t.fitted.NoiseVariance}))
}

// near compares up to what a million degrees of freedom leave, relative to the largest element.
func near(what string, got, want []float64) error {
	return differ(what, got, want, 1e-4*largest(slices.Concat(got, want)))
}
