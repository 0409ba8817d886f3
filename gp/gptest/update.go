package gptest

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// updates: examples that are added in two parts count as if they were added at once. They
// widen no variance, and the posterior of the fit stays as it is. A posterior that takes no
// examples says so.
func (t *trial) updates() error {
	q, ok := t.fitted.Posterior.(gp.Updater)
	if !ok {
		return nil
	}
	once, err := update(t.ctx, q, t.later(0, validationRows))
	if err != nil {
		if once != nil || errors.Is(err, errPanic) {
			return fmt.Errorf("an update: posterior %v, error %w", once, err)
		}
		return nil // the posterior cannot take them
	}
	half, err := update(t.ctx, q, t.later(0, validationRows/2))
	if err != nil {
		return fmt.Errorf("an update: %w", err)
	}
	second, ok := half.(gp.Updater)
	if !ok {
		return fmt.Errorf("an updated posterior, %T, takes no more examples", half)
	}
	twice, err := update(t.ctx, second, t.later(validationRows/2, validationRows))
	if err != nil {
		return fmt.Errorf("a second update: %w", err)
	}
	ended, cancel := context.WithCancel(t.ctx)
	cancel()
	if u, err := update(ended, q, t.later(0, validationRows)); !errors.Is(err, context.Canceled) || u != nil {
		return fmt.Errorf("an update with an ended context: posterior %v, error %v, expected the context's", u, err)
	}
	return errors.Join(t.samePredictions(q, "an updated posterior beside it"), t.sameUpdate(once, twice))
}

// update updates a posterior; a panic is an error here.
func update(ctx context.Context, q gp.Updater, more gp.Problem) (u gp.Stored, err error) {
	defer recovered(&err)
	return q.Update(ctx, more, gp.Run{})
}

// later is a problem with validation rows for training examples, and the noise of the fit.
func (t *trial) later(from, to int) gp.Problem {
	p := t.Problem.Problem
	p.Train, p.Validation = p.Validation.Rows(dense.UpTo(from, to-from)), nil
	p.Likelihood = t.learned()
	return p
}

// sameUpdate compares a posterior that was updated once with a posterior that was updated twice, and
// with the posterior of the fit.
func (t *trial) sameUpdate(once, twice gp.Stored) error {
	a, err := gp.Predict(t.ctx, once, t.Probe)
	if err != nil {
		return fmt.Errorf("an updated posterior: %w", err)
	}
	b, err := gp.Predict(t.ctx, twice, t.Probe)
	if err != nil {
		return fmt.Errorf("a posterior that was updated twice: %w", err)
	}
	if name := t.fitted.Posterior.String(); once.String() != name || twice.String() != name {
		return fmt.Errorf("updated posteriors are called %q and %q, expected %q", once, twice, name)
	}
	rounding := 1e-7
	if t.Probe.Dtype() == tensor.Float32 {
		rounding = 1e-3
	}
	old, now, c := t.got.Cov, a.Cov, a.Outputs()
	rounding *= largest(old)
	for i := range len(now) / c {
		if at := i*c + i%c; now[at] > old[at]+rounding {
			return fmt.Errorf("the variance of output %d at input %d is %g after an update, %g before", i%c, i/c, now[at], old[at])
		}
	}
	return errors.Join(
		differ("mean after two updates", b.Mean, a.Mean, rounding*max(1, largest(a.Mean))),
		differ("covariance after two updates", b.Cov, now, rounding))
}
