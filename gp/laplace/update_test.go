package laplace

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// rowsFrom are the examples of a problem from one number on, up to another, as a method gets
// them.
func (p problem) rowsFrom(o options, dt tensor.Dtype, from, to int) gp.Problem {
	var rows []int
	for i := from; i < to; i++ {
		rows = append(rows, i)
	}
	e := gp.Examples{X: graph.Convert(p.x, dt), Y: graph.Convert(p.y, dt)}
	return gp.Problem{Net: p.net, Likelihood: o.likelihood(), Train: e.Rows(rows)}
}

// TestUpdateIsFit: examples that are added later, also to a posterior from a file, count as if
// they had been there, in predictions and in the marginal likelihood.
func TestUpdateIsFit(t *testing.T) {
	const n, first = 26, 9
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 1e-4} {
		everySpace([]int{1, 3}, func(what string, o options, c int) {
			if o.Structure == kindLowRank {
				return
			}
			what = label(dt, ", ", what)
			p := problemFor(t, o, 81, dt, n, 4, c)
			p.x, p.y = graph.Convert(graph.Convert(p.x, dt), tensor.Float64), graph.Convert(graph.Convert(p.y, dt), tensor.Float64)
			whole, start := p.fit(t, o), problem{net: p.net}
			old := p.rowsFrom(o, tensor.Float64, 0, first)
			start.x, start.y = old.Train.X, old.Train.Y
			q := start.fit(t, o)
			mean, cov := small.Moments(t, whole, p.probe)
			_, wide := small.Moments(t, q, p.probe)
			back, err := restore(t, p, store(t, q))
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			for _, from := range []*posterior{q, back} {
				u, err := from.Update(t.Context(), p.rowsFrom(o, dt, first, n), gp.Run{})
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				m, v := small.Moments(t, u, p.probe)
				fixture.Close(t, what+": mean", m, mean, tol)
				fixture.Close(t, what+": covariance", v, cov, tol)
				of := u.(*posterior)
				fixture.Close(t, what+": evidence", []float64{of.LogMarginalLikelihood()}, []float64{whole.LogMarginalLikelihood()}, tol)
				if of.String() != whole.String() || of.examples != n {
					t.Errorf("%s: %v of %d examples, want %v of %d", what, of, of.examples, whole, n)
				}
			}
			if _, after := small.Moments(t, q, p.probe); fixture.RelErr(after, wide) != 0 || fixture.RelErr(wide, cov) < 1e-2 {
				t.Errorf("%s: the old posterior has changed by %g, the update changes it by %g", what, fixture.RelErr(after, wide), fixture.RelErr(wide, cov))
			}
		})
	}
}

// TestUpdateErrors: what cannot be added says so.
func TestUpdateErrors(t *testing.T) {
	p := newProblem(t, 82, tensor.Float64, 20, 4, 2)
	o := options{PriorStd: 1, NoiseStd: 0.3}
	q, more := p.fit(t, o), p.rowsFrom(o, tensor.Float64, 0, 5)
	for want, change := range map[string]func(of *posterior, m *gp.Problem) *posterior{
		"the structure lowrank keeps the leading": func(_ *posterior, m *gp.Problem) *posterior {
			return p.fit(t, options{PriorStd: 1, NoiseStd: 0.3, Structure: kindLowRank, Rank: 2})
		},
		"with the likelihood softmax, the posterior has gaussian": func(of *posterior, m *gp.Problem) *posterior {
			m.Likelihood = softmax
			m.Train.Y = dense.Of([]float64{1, 0, 0, 1, 1, 0, 1, 0, 0, 1}, 5, 2)
			return of
		},
		"with 1 targets, the posterior was fitted to": func(of *posterior, m *gp.Problem) *posterior {
			m.Train.Y = dense.Of(make([]float64, 5), 5, 1)
			return of
		},
		"the inputs of example 0 are not finite": func(of *posterior, m *gp.Problem) *posterior {
			m.Train.X.Float64s()[0] = math.Inf(1)
			return of
		},
	} {
		m := more
		m.Train.X = more.Train.X.Clone().(*tensor.Dense)
		u, err := change(q, &m).Update(t.Context(), m, gp.Run{})
		if err == nil || !strings.Contains(err.Error(), want) || u != nil {
			t.Errorf("posterior %v, error %v, want %q", u, err, want)
		}
	}
	if _, err := q.Update(t.Context(), more, gp.Run{Memory: 100}); !errors.As(err, new(*graph.MemoryError)) {
		t.Errorf("100 bytes: error %v", err)
	}
}
