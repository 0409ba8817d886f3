package likelihood

import (
	"math"
	"testing"
)

// TestCountTails: the CRPS of counts that go far is the sum of all counts, and takes milliseconds.
func TestCountTails(t *testing.T) {
	for _, c := range []struct{ mean, variance, logSize float64 }{
		{2, 0.3, -3}, {4, 0.01, -3}, {0, 0.01, -5}, {3, 0.1, -2},
	} {
		of := givenCount{math.Exp(c.logSize), c.logSize}
		d := counts{mixed{of, Count, c.mean, math.Sqrt(c.variance)}, of}
		top := 25 * math.Exp(c.mean+5*math.Sqrt(c.variance)) * (1 + 1/of.size)
		if n, _ := d.grid(top); n*top < mostScored {
			t.Fatalf("%+v: the counts do not go far", c)
		}
		for _, y := range []float64{3, 2500} {
			if got, want := CRPS(d, y, Count), d.summed(y, top); math.Abs(got-want) > 2e-6*want {
				t.Errorf("%+v at %g: CRPS %.9g, summed up %.9g", c, y, got, want)
			}
		}
	}
}
