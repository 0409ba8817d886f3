package metric

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
	"gonum.org/v1/gonum/stat/distuv"
)

var near = fixture.Near

func regressionOf(t *testing.T, mean, variance, y []float64) RegressionScores {
	t.Helper()
	var r Regression
	if err := r.Add(mean, variance, y); err != nil {
		t.Fatal(err)
	}
	s, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRegressionByHand(t *testing.T) {
	// Row 1: z = 0. Row 2: sd 2, d = 3, z = 1.5.
	s := regressionOf(t, []float64{0, 1}, []float64{1, 4}, []float64{0, 4})
	halfLog2Pi := 0.918938533204672741780 // ½ log 2π, OEIS A075700
	near(t, "NLL", s.NLL, (halfLog2Pi+(halfLog2Pi+math.Log(2)+9.0/8))/2, 1e-15)
	near(t, "RMSE", s.RMSE, math.Sqrt(4.5), 1e-15)
	// CRPS(z=0) = √(2/π) − 1/√π. With Φ(1.5) = 0.9331927987311419 and
	// φ(1.5) = 0.12951759566589174 (normal tables), row 2 is
	// 2 (1.5·(2·0.93319…−1) + 2·0.12951… − 0.56418958354775629).
	row1 := 0.79788456080286536 - 0.56418958354775629
	row2 := 2 * (1.5*(2*0.9331927987311419-1) + 2*0.12951759566589174 - 0.56418958354775629)
	near(t, "CRPS", s.CRPS, (row1+row2)/2, 1e-15)
	// Row 2 lies outside the 0.8 interval (z = 1.2816) and inside the 0.9 one (1.6449).
	for i, q := range s.Coverage {
		want := 0.5
		if i == 8 {
			want = 1
		}
		near(t, "coverage", q, want, 0)
	}
	// |½ − a| for a = 0.1 … 0.8 is .4 .3 .2 .1 0 .1 .2 .3, |1 − 0.9| = .1: 1.7 in all.
	near(t, "CQM", s.CQM, 0.17, 1e-15)
}

func TestCQMOfUselessIntervals(t *testing.T) {
	// Everything covered: Σ (1 − a) / 10 = 0.45; nothing covered: Σ a / 10 = 0.45.
	for _, y := range []float64{0, 100} {
		s := regressionOf(t, []float64{0}, []float64{1}, []float64{y})
		near(t, "CQM", s.CQM, 0.45, 1e-15)
		if !math.IsNaN(s.Errors.CQM) {
			t.Errorf("the CQM of one row has the standard error %g", s.Errors.CQM)
		}
	}
}

// gaussianSample is n predictions with targets drawn around them, too widely by half.
func gaussianSample(n int) (mean, variance, y []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		m, v := rng.NormFloat64(), 0.1+rng.Float64()
		mean, variance = append(mean, m), append(variance, v)
		y = append(y, m+1.5*math.Sqrt(v)*rng.NormFloat64())
	}
	return mean, variance, y
}

func TestRegressionAgainstDefinitions(t *testing.T) {
	mean, variance, y := gaussianSample(40)
	s := regressionOf(t, mean, variance, y)
	var nll, crps float64
	var coverage [levels]float64
	for i := range y {
		d := distuv.Normal{Mu: mean[i], Sigma: math.Sqrt(variance[i])}
		nll -= d.LogProb(y[i]) / 40
		crps += crpsIntegral(d, y[i]) / 40
		for k := range coverage {
			a := Level(k)
			if y[i] > d.Quantile(0.5-a/2) && y[i] < d.Quantile(0.5+a/2) {
				coverage[k] += 1.0 / 40
			}
		}
	}
	near(t, "NLL", s.NLL, nll, 1e-13)
	near(t, "CRPS", s.CRPS, crps, 1e-6) // the error of the integral below
	for k := range coverage {
		near(t, "coverage", s.Coverage[k], coverage[k], 1e-12)
	}
}

// crpsIntegral is the definition, ∫ (F(x) − 1{x ≥ y})² dx, by the midpoint rule
// on both sides of y.
func crpsIntegral(d distuv.Normal, y float64) float64 {
	lo, hi := min(y, d.Mu-9*d.Sigma), max(y, d.Mu+9*d.Sigma)
	const steps = 4000
	sum := 0.0
	for i := range steps {
		u := (float64(i) + 0.5) / steps
		below, above := d.CDF(lo+u*(y-lo)), d.CDF(y+u*(hi-y))-1
		sum += (below*below*(y-lo) + above*above*(hi-y)) / steps
	}
	return sum
}

func TestRegressionStreamsExactly(t *testing.T) {
	mean, variance, y := gaussianSample(101)
	want := regressionOf(t, mean, variance, y)
	for _, batch := range []int{1, 7, 100} {
		var r Regression
		for lo := 0; lo < len(y); lo += batch {
			hi := min(lo+batch, len(y))
			if err := r.Add(mean[lo:hi], variance[lo:hi], y[lo:hi]); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := r.Result(); got != want {
			t.Errorf("batches of %d: %+v, want %+v", batch, got, want)
		}
	}
}

func TestRegressionRefuses(t *testing.T) {
	one, nan, inf := []float64{1, 1}, []float64{1, math.NaN()}, []float64{1, math.Inf(1)}
	for _, c := range []struct {
		mean, variance, y []float64
		want              string
	}{
		{nan, one, one, "mean[1] = NaN"},
		{inf, one, one, "mean[1] = +Inf"},
		{one, nan, one, "variance[1] = NaN"},
		{one, inf, one, "variance[1] = +Inf"},
		{one, []float64{1, 0}, one, "variance[1] = 0"},
		{one, []float64{1, -2}, one, "variance[1] = -2"},
		{one, one, nan, "y[1] = NaN"},
		{one, one, one[:1], "2 means, 2 variances and 1 targets"},
	} {
		var r Regression
		err := r.Add(c.mean, c.variance, c.y)
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
		if _, err := r.Result(); !errors.Is(err, ErrEmpty) {
			t.Errorf("after a refused batch: %v, want %v", err, ErrEmpty)
		}
	}
}
