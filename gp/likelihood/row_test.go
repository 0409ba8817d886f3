package likelihood_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
)

// started returns the likelihood of c outputs of a model with settings, JSON.
func started(t *testing.T, model, set string, c int) likelihood.Likelihood {
	t.Helper()
	m, err := likelihood.Lookup(model)
	if err != nil {
		t.Fatal(err)
	}
	s, given := m.New(), map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(set), &given); err != nil {
		t.Fatal(err)
	}
	if err := settings.Assign(s, given); err != nil {
		t.Fatal(err)
	}
	l, err := s.Start(c, []float64{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCurvatureOfRows: the exposure multiplies the mean of a count, and the scale e^h the standard deviation. The
// roots agree with the curvature; without targets the exposure and the scale are 1.
func TestCurvatureOfRows(t *testing.T) {
	f, y := []float64{0.3, -0.5}, []float64{4, 2.5, 0, 0.5}
	for _, c := range []struct {
		model, set string
		want       func(beside, f float64) float64
	}{
		{"poisson", `{"exposure": true}`, func(e, f float64) float64 { return e * math.Exp(f) }},
		{"negative-binomial", `{"exposure": true}`, func(e, f float64) float64 {
			l, mu := started(t, "negative-binomial", `{"exposure": true}`, 1), e*math.Exp(f)
			r := math.Exp(l.Params()[0].At(0))
			return r * mu / (r + mu)
		}},
		{"heteroscedastic", `{}`, func(h, _ float64) float64 { return math.Exp(-2 * h) }},
		{"heteroscedastic", `{"tails": "student-t", "nu": 5}`, func(h, _ float64) float64 { return math.Exp(-2*h) * 6 / 8 / (1 - 2.0/5) }},
	} {
		l := started(t, c.model, c.set, 2)
		if !likelihood.ByRow(l) {
			t.Errorf("%s: the curvature does not depend on the row", c.model)
		}
		got, w, m := make([]float64, 4), make([]float64, 2), []float64{7, 7}
		likelihood.CurvatureOf(l, got, y, f)
		likelihood.RootOf(l, w, m, y, f)
		want := []float64{c.want(y[1], f[0]), 0, 0, c.want(y[3], f[1])}
		fixture.Close(t, c.model, got, want, 1e-12)
		fixture.Close(t, c.model+": root", append(w, m...), []float64{want[0], want[3], 0, 0}, 1e-12)
		plain := make([]float64, 4)
		l.Curvature(plain, f)
		likelihood.CurvatureOf(l, got, nil, f)
		fixture.Close(t, c.model+" without targets", got, plain, 0)
	}
}

// TestCurvatureOfOthers: the curvature of other models does not depend on the targets.
func TestCurvatureOfOthers(t *testing.T) {
	for _, c := range []struct{ model, set string }{{"gaussian", `{}`}, {"softmax", `{}`}, {"student-t", `{}`}, {"poisson", `{}`}, {"censored", `{}`}, {"ordinal", `{}`}} {
		l, f := started(t, c.model, c.set, 2), []float64{0.3, -0.5}
		y := make([]float64, 2*l.Width())
		got, want := make([]float64, 4), make([]float64, 4)
		likelihood.CurvatureOf(l, got, y, f)
		l.Curvature(want, f)
		fixture.Close(t, c.model, got, want, 0)
		if likelihood.ByRow(l) {
			t.Errorf("%s: the curvature depends on the row", c.model)
		}
	}
}
