package likelihood

import (
	"math"
	"testing"
)

// TestConstant: the best output for all targets has closed forms, and no output beside it is better.
func TestConstant(t *testing.T) {
	for _, c := range []struct {
		name string
		set  []string
		y    []float64
		want float64
	}{
		{"poisson", nil, []float64{0, 3, 1, 4}, math.Log(2)},
		{"poisson", []string{"exposure"}, []float64{1, 0.5, 5, 2, 0, 1.5}, math.Log(1.5)},
		{"negative-binomial", nil, []float64{0, 9, 3}, math.Log(4)},
		{"bernoulli", nil, []float64{1, 1, 1, 0}, math.Log(3)},
		{"bernoulli", nil, []float64{0, 0, 0, 1, 0}, -math.Log(4)},
		{"student-t", []string{"nu=4"}, []float64{-1e5 - 1, -1e5, -1e5 + 1}, -1e5},
	} {
		settings, err := Named(c.name, c.set...)
		if err != nil {
			t.Fatal(err)
		}
		l, err := settings.Start(1, c.y)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := Of(l)
		if f, mean := Constant(s, c.y); math.Abs(f-c.want) > 1e-9*max(1, math.Abs(c.want)) || mean != meanDensity(s, c.y, f) {
			t.Errorf("%s: %g with the mean log density %g, expected %g", c.name, f, mean, c.want)
		} else if better := max(meanDensity(s, c.y, f+1e-3), meanDensity(s, c.y, f-1e-3)); better > mean {
			t.Errorf("%s: the mean log density %g beside %g", c.name, better, mean)
		}
	}
	if f, mean := Constant(Scalar(count{}), []float64{0, 0}); !(f < -30) || math.Abs(mean) > 1e-9 {
		t.Errorf("counts of 0: %g with the mean log density %g", f, mean)
	}
}

// meanDensity is the mean log density of targets y at one output f.
func meanDensity(s Scalar, y []float64, f float64) (mean float64) {
	w := s.Width()
	for i := 0; i < len(y); i += w {
		mean += s.Given().LogDensity(y[i:i+w], f)
	}
	return mean * float64(w) / float64(len(y))
}
