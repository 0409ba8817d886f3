package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestMean compares a mean and its standard error with their formulas.
func TestMean(t *testing.T) {
	v := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	var m Mean
	for _, x := range v {
		m.Add(x)
	}
	mean, sd := stat.MeanStdDev(v, nil)
	e := m.Estimate()
	near(t, "mean", e.Value, mean, 1e-15)
	near(t, "standard error", e.StandardError, sd/math.Sqrt(8), 1e-14)
	var one Mean
	one.Add(7)
	if e := one.Estimate(); e.Value != 7 || !math.IsNaN(e.StandardError) {
		t.Errorf("one number: %+v", e)
	}
}

// poissonRow is the row of a Poisson distribution.
func poissonRow(mean, y float64) Row {
	d := distuv.Poisson{Lambda: mean}
	row := Row{NLL: -d.LogProb(y), Y: y, Mean: mean, Below: d.CDF(y - 1), UpTo: d.CDF(y), Deviance: PoissonDeviance(mean, y)}
	for i, p := range QuantileLevels {
		for d.CDF(row.Quantiles[i]) < p {
			row.Quantiles[i]++
		}
	}
	return row
}

// TestRowScores compares the scores of quantiles with sums over their definitions.
func TestRowScores(t *testing.T) {
	mean, variance, y := gaussianSample(60)
	s := regressionOf(t, mean, variance, y)
	for i, level := range QuantileLevels {
		want := 0.0
		for k := range y {
			q := distuv.Normal{Mu: mean[k], Sigma: math.Sqrt(variance[k])}.Quantile(level)
			if y[k] >= q {
				want += level * (y[k] - q) / 60
			} else {
				want += (1 - level) * (q - y[k]) / 60
			}
		}
		near(t, "pinball", s.Pinball[i].Value, want, 1e-9)
	}
	for i, level := range IntervalLevels {
		var score, inside Mean
		for k := range y {
			d := distuv.Normal{Mu: mean[k], Sigma: math.Sqrt(variance[k])}
			l, u := d.Quantile((1-level)/2), d.Quantile((1+level)/2)
			v, in := u-l, 1.0
			if y[k] < l {
				v, in = v+2/(1-level)*(l-y[k]), 0
			} else if y[k] > u {
				v, in = v+2/(1-level)*(y[k]-u), 0
			}
			score.Add(v)
			inside.Add(in)
		}
		near(t, "interval score", s.IntervalScore[i].Value, score.Estimate().Value, 1e-8)
		near(t, "its standard error", s.IntervalScore[i].StandardError, score.Estimate().StandardError, 1e-8)
		near(t, "coverage", s.Held[i].Value, inside.Estimate().Value, 1e-12)
		// The interval score is a sum of two pinball losses.
		near(t, "pinball losses", 2/(1-level)*(s.Pinball[2-i].Value+s.Pinball[4+i].Value), s.IntervalScore[i].Value, 1e-9)
	}
}

// TestCountsPIT compares the histogram, the coverage and the CQM of counts with the mean over random PITs, which are
// uniform between the two sides of the step.
func TestCountsPIT(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	var rows, random Regression
	for range 40 {
		mean := 0.3 + 4*rng.Float64()
		row := poissonRow(mean, distuv.Poisson{Lambda: mean, Src: rng}.Rand())
		rows.AddRow(row)
		for k := range 2000 {
			u := row.Below + (row.UpTo-row.Below)*(float64(k)+0.5)/2000
			draw := row
			draw.Below, draw.UpTo = u, u
			random.AddRow(draw)
		}
	}
	got, _ := rows.Result()
	want, _ := random.Result()
	for i := range got.PIT {
		near(t, "PIT", got.PIT[i], want.PIT[i], 1e-3)
	}
	for i := range got.Coverage {
		near(t, "coverage", got.Coverage[i], want.Coverage[i], 1e-3)
	}
	near(t, "CQM", got.CQM, want.CQM, 1e-3)
	near(t, "deviance", got.Deviance.Value, want.Deviance.Value, 1e-12)
}

// TestPoissonDeviance: twice the log-likelihood that is lacking.
func TestPoissonDeviance(t *testing.T) {
	for _, y := range []float64{0, 1, 7} {
		best := 0.0
		if y > 0 {
			best = distuv.Poisson{Lambda: y}.LogProb(y)
		}
		if v := PoissonDeviance(math.Inf(1), y); !math.IsInf(v, 1) {
			t.Errorf("deviance %g of the count %g from an infinite mean", v, y)
		}
		near(t, "deviance", PoissonDeviance(2.5, y), 2*(best-distuv.Poisson{Lambda: 2.5}.LogProb(y)), 1e-12)
	}
}

// TestBoundsOfRows: a target of which bounds are known counts by their probabilities.
func TestBoundsOfRows(t *testing.T) {
	var r Regression
	r.AddRow(Row{Y: math.NaN(), Mean: math.NaN(), Below: 0.8, UpTo: 1})
	s, _ := r.Result()
	near(t, "coverage of 90 %", s.Held[1].Value, 0.75, 1e-12)
	near(t, "coverage of 50 %", s.Held[0].Value, 0, 0)
	near(t, "PIT", s.PIT[8]+s.PIT[9], 1, 1e-12)
	if !math.IsNaN(s.RMSE) || !math.IsNaN(s.Pinball[3].Value) {
		t.Errorf("scores of a value that was not seen: %+v", s)
	}
}

// TestStandardErrors compares the standard errors of regression scores with their scatter over many samples.
func TestStandardErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	var values, errors [4][]float64
	for range 300 {
		var r Regression
		for range 200 {
			y := 1.4 * rng.NormFloat64()
			r.addGaussian(0, 1, y)
		}
		s, _ := r.Result()
		for k, v := range []Estimate{{s.NLL, s.Errors.NLL}, {s.RMSE, s.Errors.RMSE}, {s.CRPS, s.Errors.CRPS}, {s.CQM, s.Errors.CQM}} {
			values[k], errors[k] = append(values[k], v.Value), append(errors[k], v.StandardError)
		}
	}
	for k, name := range []string{"NLL", "RMSE", "CRPS", "CQM"} {
		_, sd := stat.MeanStdDev(values[k], nil)
		if ratio := stat.Mean(errors[k], nil) / sd; ratio < 0.85 || ratio > 1.15 {
			t.Errorf("%s: the standard error is %.2f times the scatter", name, ratio)
		}
	}
}
