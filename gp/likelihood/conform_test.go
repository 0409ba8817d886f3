package likelihood_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/likelihood/likelihoodtest"
	"github.com/go-valla/valla/internal/settings"
)

// example returns a model of the table with its likelihood, whose parameters are moved away from the start.
func example(t *testing.T, name string, set map[string]string) (likelihood.Settings, likelihood.Likelihood) {
	t.Helper()
	m, err := likelihood.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	s := m.New()
	for k, v := range set {
		if err := settings.Lookup(s, k).Set(v); err != nil {
			t.Fatal(err)
		}
	}
	l, err := s.Start(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range l.Params() {
		for k, v := range p.Floats() {
			p.Set(k, v+0.3*math.Cos(float64(2*i+3*k+1)))
		}
	}
	return s, l
}

// conformCases are rows of every model, in each of the forms that its settings choose.
func conformCases(t *testing.T) []likelihoodtest.Case {
	nan, inf := math.NaN(), math.Inf(1)
	with := func(v float64) func(float64) []float64 { return func(y float64) []float64 { return []float64{y, v} } }
	twice := func(y float64) []float64 { return []float64{y, y} }
	numbers, counts := [][]float64{{nan}, {inf}}, [][]float64{{-1}, {0.5}, {nan}, {inf}}
	exposed := [][]float64{{2.5, 1}, {1, 0}, {1, -1}, {1, nan}, {-1, 1}}
	open := likelihood.Open
	rows := []struct {
		model  string
		set    map[string]string
		target func(float64) []float64
		more   [][]float64
		wrong  [][]float64
	}{
		{"gaussian", nil, nil, nil, numbers},
		{"softmax", nil, nil, nil, [][]float64{{0, 0, 0}, {1, 1, 0}, {0.5, 0.5, 0}, {1}}},
		{"student-t", nil, nil, [][]float64{{6}, {-9}}, numbers},
		{"student-t", map[string]string{"nu": "2.5"}, nil, nil, numbers},
		{"student-t", map[string]string{"nu": "30"}, nil, nil, numbers},
		{"bernoulli", nil, nil, nil, [][]float64{{2}, {0.5}, {-1}, {nan}}},
		{"poisson", nil, nil, nil, counts},
		{"poisson", map[string]string{"exposure": "true"}, with(1), [][]float64{{3, 0.5}, {7, 4}, {0, 2}}, exposed},
		{"negative-binomial", nil, nil, nil, counts},
		{"negative-binomial", map[string]string{"exposure": "true"}, with(1), [][]float64{{3, 0.5}, {7, 4}}, exposed},
		{"ordinal", map[string]string{"classes": "5"}, nil, [][]float64{{0}, {4}, {1}, {2}, {3}}, [][]float64{{-1}, {5}, {0.5}, {nan}}},
		{"ordinal", map[string]string{"classes": "2"}, nil, nil, [][]float64{{2}}},
		{"mixture", nil, nil, nil, numbers},
		{"mixture", map[string]string{"parts": "1"}, nil, nil, numbers},
		{"mixture", map[string]string{"parts": "5"}, nil, nil, numbers},
		{"censored", nil, twice, [][]float64{{-open, 0.3}, {-0.2, open}, {-0.1, 0.4}, {-3, -2.5}, {1, 1.2}, {2, 6}}, [][]float64{{1, 0}, {-open, open}, {nan, 0}, {0, nan}}},
		{"heteroscedastic", nil, with(0), [][]float64{{1, 0.5}, {-1, -0.7}}, [][]float64{{nan, 0}, {0, nan}, {0, 800}}},
		{"heteroscedastic", map[string]string{"tails": "student-t"}, with(0), [][]float64{{1, 0.5}, {-4, -0.7}}, [][]float64{{inf, 0}}},
	}
	var cases []likelihoodtest.Case
	for _, r := range rows {
		s, l := example(t, r.model, r.set)
		name := r.model
		for k, v := range r.set {
			name += " " + k + " " + v
		}
		cases = append(cases, likelihoodtest.Case{Name: name, Settings: s, Likelihood: l, Target: r.target, More: r.more, Wrong: r.wrong})
	}
	return cases
}

// TestConform runs the conformance suite on every model of the table.
func TestConform(t *testing.T) {
	cases := conformCases(t)
	likelihoodtest.Run(t, cases)
	for _, m := range likelihood.Models() {
		found := false
		for _, c := range cases {
			found = found || c.Likelihood.String() == m.Name
		}
		if !found {
			t.Errorf("the model %s has no case", m.Name)
		}
	}
}
