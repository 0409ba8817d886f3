package fmgp

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// newProblem draws n rows for a network with five hidden units and c outputs.
func newProblem(t testing.TB, n, c int, classes bool, dt tensor.Dtype) gp.Problem {
	t.Helper()
	return small.Task{Seed: [2]uint64{uint64(n), uint64(c)}, Dtype: dt, Rows: n, Hidden: []int{5}, Outputs: c, Classes: classes, Std: 1}.Problem(t)
}

// fit fits settings.
func fit(t testing.TB, s Settings, p gp.Problem, r gp.Run) (*gp.Fitted, *posterior) {
	t.Helper()
	f := small.Fit(t, &s, p, r)
	return f, f.Posterior.(*posterior)
}
