package sfr

import (
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// fitted fits with the given points.
func fitted(t testing.TB, p gp.Problem, s Settings, points *tensor.Dense) *posterior {
	t.Helper()
	c, err := s.complete(p)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fitAt(t.Context(), p, gp.Run{}, c, points)
	if err != nil {
		t.Fatal(err)
	}
	return f.Posterior.(*posterior)
}

// firstRows are the first n training inputs.
func firstRows(p gp.Problem, n int) *tensor.Dense { return data.TakeRows(p.Train.X, dense.Indices(n)) }

// diagonal are the variances [n,C] of covariances [n,C,C].
func diagonal(cov []float64, c int) (out []float64) {
	for i := range len(cov) / c {
		out = append(out, cov[i*c+i%c])
	}
	return out
}

// PriorStd returns σ₀.
func (p *posterior) PriorStd() float64 { return p.prior }
