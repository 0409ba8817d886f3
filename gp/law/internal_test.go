package law

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// valuesOf returns n draws of a law.
func valuesOf(l Law, n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 9))
	out := make([]float64, n)
	for i := range out {
		out[i] = l.Draw(rng)
	}
	return out
}

// posterior returns the log posterior density of a t, from its definition.
func posterior(s student, values []float64) (sum float64) {
	for _, z := range values {
		sum += s.logDensity(z)
	}
	x := math.Log(s.scale) + 0.5*math.Log(s.dof/(s.dof-2)) // before the skewness
	return sum - shrink/s.dof - spreadRows*spreadWidth*spreadWidth*math.Log(1+x*x/(spreadWidth*spreadWidth)) - 0.5*s.skew*s.skew/(skewWidth*skewWidth)
}

// TestEstimate compares the fit of a symmetric t with a search on a grid around the whole range, and the fit of a t of two
// pieces, whose posterior may have several maxima, with its neighbours.
func TestEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := Law{Family: StudentT, DoF: rapid.Float64Range(MinDoF, 50).Draw(t, "dof"), Scale: rapid.Float64Range(0.1, 3).Draw(t, "scale"), Skew: rapid.Float64Range(-1, 1).Draw(t, "skew")}
		values := valuesOf(truth, rapid.IntRange(10, 120).Draw(t, "rows"), rapid.Uint64().Draw(t, "seed"))
		most := mostDoF(len(values))
		compare := func(got student, tol float64, changes, factors, skews []float64) {
			best := posterior(got, values)
			for _, change := range changes {
				for _, factor := range factors {
					for _, skew := range skews {
						other := student{max(MinDoF, min(most, got.dof*change)), got.scale * factor, got.skew + skew}
						if better := posterior(other, values); better > best+tol {
							t.Fatalf("log posterior %g of %+v, and %g of %+v", best, got, better, other)
						}
					}
				}
			}
		}
		compare(fitStudent(values, part{}, spreadRows, true), 1e-3, []float64{0.5, 0.8, 0.95, 0.99, 1, 1.01, 1.05, 1.25, 2}, []float64{0.7, 0.97, 1, 1.03, 1.4}, []float64{0})
		compare(fitStudent(values, part{}, spreadRows, false), 0.03, []float64{0.9, 1, 1.1}, []float64{0.97, 1, 1.03}, []float64{-0.05, 0, 0.05})
	})
}

// TestLeftOut: a fit without a part of the rows is the fit to the other rows.
func TestLeftOut(t *testing.T) {
	values := valuesOf(Law{Family: StudentT, DoF: 4, Scale: 1, Skew: 0.4}, 90, 1)
	for name, symmetric := range map[string]bool{"symmetric": true, "two pieces": false} {
		got := fitStudent(values, part{30, 60}, spreadRows, symmetric)
		want := fitStudent(append(values[:30:30], values[60:]...), part{}, spreadRows, symmetric)
		if math.Abs(got.dof/want.dof-1) > 0.01 || math.Abs(got.scale/want.scale-1) > 1e-3 || math.Abs(got.skew-want.skew) > 1e-3 {
			t.Errorf("%s: %+v without the rows, want %+v", name, got, want)
		}
	}
}

// TestSkewFound: the skewness of many draws is found, and of few draws it is between 0 and the truth in the mean.
func TestSkewFound(t *testing.T) {
	for _, skew := range []float64{-0.6, 0, 0.3} {
		truth := Law{Family: StudentT, DoF: 5, Scale: 0.7, Skew: skew}
		got := fitStudent(valuesOf(truth, 20_000, 3), part{}, spreadRows, false)
		if math.Abs(got.skew-skew) > 0.03 || math.Abs(got.scale-0.7) > 0.02 || math.Abs(1/got.dof-0.2) > 0.02 {
			t.Errorf("%+v, want a skewness of %g", got, skew)
		}
		mean := 0.0
		for seed := range uint64(40) {
			mean += fitStudent(valuesOf(truth, 40, seed), part{}, spreadRows, false).skew / 40
		}
		if math.Abs(mean-0.65*skew) > 0.35*math.Abs(skew)+0.05 {
			t.Errorf("mean skewness %g of 40 draws, the truth is %g", mean, skew)
		}
	}
}

// TestScores compares the scores with differences of log densities by the log scale. Rows that are left out have none.
func TestScores(t *testing.T) {
	s := student{dof: 4, scale: 0.6, skew: 0.5}
	values := valuesOf(Law{Family: StudentT, DoF: s.dof, Scale: s.scale, Skew: s.skew}, 50, 1)
	scores := make([]float64, len(values))
	s.scores(scores, values, part{10, 20})
	for i, z := range values {
		const step = 1e-6
		want := (s.logDensity(z*math.Exp(-step)) - step - s.logDensity(z*math.Exp(step)) - step) / (2 * step)
		if i >= 10 && i < 20 {
			want = 0
		}
		if math.Abs(scores[i]-want) > 1e-6 {
			t.Errorf("score %g of the value %g, want %g", scores[i], z, want)
		}
	}
}

// TestDriftPrior: where the residuals drift, the law stays closer to the standard deviation 1.
func TestDriftPrior(t *testing.T) {
	values := valuesOf(Law{Family: StudentT, DoF: 8, Scale: 0.4}, 1000, 2)
	c := newChoice(Residuals{Z: values}, Options{Symmetric: true})
	free := c.fit(values, part{}, spreadRows)
	c.report.Drift = 100
	if held := c.fit(values, part{}, spreadRows); !(math.Sqrt(held.variance()) > math.Sqrt(free.variance())+0.1 && held.variance() < 1) {
		t.Errorf("variance %g with a drift, %g without", held.variance(), free.variance())
	}
}

// TestDrift: residuals whose mean changes along the rows have a large drift, and independent residuals have none.
func TestDrift(t *testing.T) {
	values, largest := valuesOf(Law{Family: StudentT, DoF: 3, Scale: 1, Skew: 1}, 500, 1), 0.0
	for seed := range uint64(200) {
		even := valuesOf(Law{Family: StudentT, DoF: 3, Scale: 1, Skew: 1}, 50+10*int(seed), seed)
		largest = max(largest, driftOf(even, foldsOf(len(even))))
	}
	for i := range values {
		values[i] += 3 * math.Sin(float64(i)/50)
	}
	if drift := driftOf(values, foldsOf(500)); drift < 10 || largest > mostDrift || driftOf(make([]float64, 10), foldsOf(10)) != 1 {
		t.Errorf("drift %g, and at most %g without drift", drift, largest)
	}
}

// TestScoring: after many steps the derivative of the log posterior by every coefficient of h(x) vanishes.
func TestScoring(t *testing.T) {
	const n, d, precision = 200, 3, 10.0
	rng := rand.New(rand.NewPCG(2, 2))
	r := Residuals{Z: make([]float64, n), Features: make([]float64, n*d)}
	for i := range r.Features {
		r.Features[i] = rng.NormFloat64()
	}
	noise := Law{Family: StudentT, DoF: 5, Scale: 0.7, Skew: 0.5}
	for i := range r.Z {
		r.Z[i] = math.Exp(0.7*r.Features[i*d]) * noise.Draw(rng)
	}
	f := newOwnFit(r, 1, func(values []float64, out part) student { return fitStudent(values, out, spreadRows, false) })
	f.cross(foldsOf(n))
	var s *scoring
	f.path(f.grams[folds], part{}, 1, func(_ int, now *scoring) { s = now })
	s.factor(f.grams[folds], precision)
	for range 60 {
		s.advance(precision)
	}
	value := func() (sum float64) {
		for i := range n {
			h := 0.0
			for p, b := range s.coefficients {
				h += b * f.row(i)[p]
			}
			sum += s.law.logDensity(r.Z[i]*math.Exp(-h)) - h
		}
		for _, b := range s.coefficients {
			sum -= 0.5 * precision * b * b
		}
		return sum
	}
	for p := range s.coefficients {
		const step = 1e-5
		s.coefficients[p] += step
		up := value()
		s.coefficients[p] -= 2 * step
		down := value()
		s.coefficients[p] += step
		if slope := (up - down) / (2 * step); math.Abs(slope) > 1e-4 {
			t.Errorf("slope %g of the log posterior by coefficient %d", slope, p)
		}
	}
}

// TestMixtureFit: steps of the fit raise the likelihood of skewed values, keep the mean 0 and the guard, and end near
// the likelihood of the truth.
func TestMixtureFit(t *testing.T) {
	truth := Law{Family: Mixture, Weights: []float64{0.75, 0.25}, Shifts: []float64{-0.5, 1.5}, Scales: []float64{0.4, 0.8}}
	rng := rand.New(rand.NewPCG(4, 4))
	values := make([]float64, 1500)
	want := 0.0
	for i := range values {
		values[i] = truth.Draw(rng)
		want += truth.LogDensity(values[i])
	}
	b := binned(values, part{}, 1, mixtureBin)
	rows := 0.0
	for _, x := range b.bins {
		rows += x.count
	}
	if rows != 1500 || len(b.bins) > 400 {
		t.Errorf("%d bins of %g values", len(b.bins), rows)
	}
	for _, count := range partsTried {
		m := b.start(count)
		before := b.iterate(m, 1)
		after := b.iterate(m, mostIterations)
		if last := len(m.weights) - 1; m.weights[last] != 1/(b.rows+1) || m.shifts[last] != 0 || m.scales[last] != b.largest {
			t.Errorf("%d parts: the guard is %g, %g, %g", count, m.weights[last], m.shifts[last], m.scales[last])
		}
		if err := m.check(); err != nil || after < before || math.Abs(after-want) > 10 {
			t.Errorf("%d parts: log likelihood %g, then %g, of the truth %g, error %v", count, before, after, want, err)
		}
	}
}

// TestOutlier: an outlier among the values does not shift the other parts of a mixture.
func TestOutlier(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	values := make([]float64, 1000)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	values[10], values[500], values[900] = 150, 250, 300
	m := mixtureFit{values: values, unit: 1}.fit(part{}, 3)
	l := Law{Family: Mixture, Weights: m.weights, Shifts: m.shifts, Scales: m.scales}
	if median := l.Quantile(0.5); math.Abs(median) > 0.1 {
		t.Errorf("median %g of a mixture for three outliers among 1,000 values: %+v", median, m)
	}
}

// TestCompare: the gain counts a row as unfavourable as the most extreme one.
func TestCompare(t *testing.T) {
	c := compare("a", []float64{1, 2, 3}, []float64{0, 0, 6})
	if c.LogDensity != 2 || math.Abs(c.Gain-(1+2-3-3)/4.0) > 1e-15 || c.significant() {
		t.Errorf("%+v", c)
	}
	gains := make([]float64, 1000)
	for i := range gains {
		gains[i] = 1e-3
	}
	gains[5] = 100
	if c := compare("a", gains, make([]float64, 1000)); c.significant() {
		t.Errorf("one row makes a significant gain: %+v", c)
	}
}

// TestCentre: outliers count little, and a rare feature keeps its variation.
func TestCentre(t *testing.T) {
	values := make([]float64, 1000)
	for i := range values {
		values[i] = float64(i % 10)
	}
	values[3], values[500] = 1e12, -1e9
	mean, inverse := centre(values)
	if math.Abs(mean-4.5) > 0.1 || math.Abs(1/inverse-2.87) > 0.1 {
		t.Errorf("mean %g and standard deviation %g with outliers", mean, 1/inverse)
	}
	clear(values)
	if mean, inverse = centre(values); mean != 0 || inverse != 0 {
		t.Errorf("mean %g and inverse %g of a constant", mean, inverse)
	}
	values[0] = 1
	if _, inverse = centre(values); !(inverse > 1) {
		t.Errorf("inverse %g of a rare feature", inverse)
	}
}
