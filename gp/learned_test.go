package gp

import (
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// started returns an observation model of the table for two outputs.
func started(t *testing.T, name string) likelihood.Likelihood {
	t.Helper()
	m, err := likelihood.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.New().Start(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestScatter: σ² of Gaussian noise, (ν+3)/(ν+1)·s² of Student's t, and 0 without noise. Rows with scales e^h have e^2h
// times the variance.
func TestScatter(t *testing.T) {
	gauss := likelihood.NewGaussian(0.3, tensor.Float64)
	student := likelihood.Each(likelihood.NewStudentT(5, 0.4, true, tensor.Float64))
	for _, c := range []struct {
		l    likelihood.Likelihood
		want float64
	}{{gauss, gauss.Variance()}, {student, 8.0 / 6 * 0.16}, {likelihood.Softmax{}, 0}, {started(t, "poisson"), 0}} {
		if got := Scatter(c.l); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%v: %g, want %g", c.l, got, c.want)
		}
	}
	if got := ScatterOf(gauss, []float64{5, 6, 7, 8}, 2); !slices.Equal(got, slices.Repeat([]float64{gauss.Variance()}, 4)) {
		t.Errorf("Gaussian noise: %v", got)
	}
	rows := started(t, "heteroscedastic")
	got, unit := ScatterOf(rows, []float64{9, 0, 8, 1, 7, -2, 6, 0.5}, 2), Scatter(rows)
	for i, h := range []float64{0, 1, -2, 0.5} {
		if want := unit * math.Exp(2*h); math.Abs(got[i]-want) > 1e-12*want {
			t.Errorf("scale %g: variance %g, want %g", h, got[i], want)
		}
	}
}

// TestLearned: a fit gives the likelihood unless the noise variance says everything or nothing was learned.
func TestLearned(t *testing.T) {
	for name, want := range map[string]bool{"gaussian": false, "softmax": false, "poisson": false, "student-t": true, "negative-binomial": true} {
		l := started(t, name)
		f := Learned(nil, l, Record{Rows: 3})
		if (f.Likelihood != nil) != want || f.NoiseVariance != likelihood.NoiseVariance(l) || f.Record.Rows != 3 {
			t.Errorf("%s: %+v, want a likelihood: %t", name, f, want)
		}
	}
}

// TestCheckTrainable: parameters are refused to be learned where there are none.
func TestCheckTrainable(t *testing.T) {
	for name, want := range map[string]string{
		"student-t": "", "negative-binomial": "",
		"softmax": "bad setting: fix-noise with classes, which have no noise",
		"poisson": "bad setting: fix-noise with the likelihood poisson, which has no noise",
	} {
		if err := CheckTrainable("fix-noise", true, started(t, name)); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if err := CheckTrainable("fix-noise", false, started(t, name)); err != nil {
			t.Errorf("%s: error %v for a setting that is not given", name, err)
		}
	}
}
