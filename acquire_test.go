package valla

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/task"
)

// lastLayer is a posterior that is fitted in little time and knows the covariance between rows.
func lastLayer() FitOptions {
	return FitOptions{Settings: &laplace.Settings{Weights: []string{"last-layer"}}}
}

// TestAcquireScores: the first score is what the predictions say of the row: the epistemic variance in the units of the
// network, and ½ log(1 + epistemic/aleatoric).
func TestAcquireScores(t *testing.T) {
	m, set := trained(t)
	m = fit(t, m, set, lastLayer())
	x := wave(60, 5).X
	p, unit := predict(t, m, x), m.NoiseVariance()/math.Pow(m.NoiseStds()[0], 2)
	want := map[gp.Criterion]float64{gp.ByVariance: slices.Max(p.Epistemic) * unit}
	for i, v := range p.Epistemic {
		want[gp.ByInformation] = max(want[gp.ByInformation], math.Log1p(v/p.Aleatoric[i])/2)
	}
	for by, score := range want {
		got, err := m.Acquire(t.Context(), x, AcquireOptions{Rows: 5, By: by})
		if err != nil || len(got) != 5 {
			t.Fatalf("%s: %v, error %v", by, got, err)
		}
		if got[0].Row != slices.Index(p.Epistemic, slices.Max(p.Epistemic)) || math.Abs(got[0].Score/score-1) > 1e-6 {
			t.Errorf("%s: %v, want a score of %g first", by, got, score)
		}
	}
}

// TestAcquireCopies: a pool in which every row stands five times gives each row once, and candidates are rows of the pool.
func TestAcquireCopies(t *testing.T) {
	m, set := trained(t)
	m = fit(t, m, set, lastLayer())
	one := wave(8, 5)
	var five []int
	for i := range 40 {
		five = append(five, i%8)
	}
	x := one.Rows(five).X
	for _, by := range gp.Criteria() {
		got, err := m.Acquire(t.Context(), x, AcquireOptions{Rows: 4, By: by})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for _, c := range got {
			seen[c.Row%8] = true
		}
		if len(seen) != 4 {
			t.Errorf("%s: rows %v of eight different ones", by, got)
		}
	}
	far := AcquireOptions{Rows: 2, Candidates: 2, Seed: 1}
	a, err := m.Acquire(t.Context(), x, far)
	far.Seed = 2
	b, other := m.Acquire(t.Context(), x, far)
	if err != nil || other != nil || len(a) != 2 || len(b) != 2 || slices.Equal(a, b) {
		t.Errorf("candidates %v and %v, errors %v, %v", a, b, err, other)
	}
}

// TestAcquireClasses: the variance is the variance of the probabilities, so that it is largest where classes meet.
func TestAcquireClasses(t *testing.T) {
	set := thirds(200, 1)
	o := quickTrain()
	o.Classes = true
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	m = fit(t, m, set, lastLayer())
	x := wave(100, 4).X
	p := predict(t, m, x)
	for _, by := range gp.Criteria() {
		got, err := m.Acquire(t.Context(), x, AcquireOptions{Rows: 6, By: by})
		if err != nil {
			t.Fatal(err)
		}
		chosen, all := 0.0, 0.0
		for _, c := range got {
			chosen += slices.Max(p.Probs[3*c.Row:][:3]) / 6
		}
		for i := range 100 {
			all += slices.Max(p.Probs[3*i:][:3]) / 100
		}
		if chosen > all-0.1 {
			t.Errorf("%s: the largest probability is %.3f at chosen rows, %.3f at all", by, chosen, all)
		}
	}
}

// TestAcquireErrors: options without meaning, and a network without a posterior.
func TestAcquireErrors(t *testing.T) {
	m, _ := trained(t)
	for _, o := range []AcquireOptions{{}, {Rows: 3, Candidates: 2}, {Rows: 1, By: "taste"}, {Rows: 1}} {
		if _, err := m.Acquire(t.Context(), wave(5, 1).X, o); !errors.Is(err, ErrSetting) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}

// lopsided is wave with nine rows in ten between −1 and 1.
func lopsided(n int, seed uint64) *data.Set {
	set, rng := wave(n, seed), rand.New(rand.NewPCG(seed, 9))
	x, y := set.X.Float64s(), set.Y.Float64s()
	for i := range y {
		if a := x[2*i]; rng.Float64() < 0.9 {
			x[2*i] = a / 3
			y[i] += 2*math.Sin(a/3) - 2*math.Sin(a)
		}
	}
	return set
}

// learned is a network that is trained and fitted with rows of the pool.
func learned(t *testing.T, pool *data.Set, rows []int, seed uint64) *Model {
	t.Helper()
	o := quickTrain()
	o.Seed = seed
	m, err := Train(t.Context(), pool.Rows(rows), o)
	if err != nil {
		t.Fatal(err)
	}
	return fit(t, m, pool.Rows(rows), lastLayer())
}

// rootMeanSquare is the RMSE of the predictions for the rows test.
func rootMeanSquare(t *testing.T, m *Model, test *data.Set) float64 {
	t.Helper()
	p, sum := predict(t, m, test.X), 0.0
	for i, y := range test.Y.Float64s() {
		sum += (p.Mean[i] - y) * (p.Mean[i] - y)
	}
	return math.Sqrt(sum / float64(test.N()))
}

// TestAcquireLearns prints the table in docs/acquire.md, with VALLA_LONG: 30 rows of a lopsided pool have labels, three
// times 10 rows get theirs. The criteria beat random rows in the mean over the seeds on rows that are spread evenly. The
// scores on rows like the pool are printed whatever they are.
func TestAcquireLearns(t *testing.T) {
	if os.Getenv("VALLA_LONG") == "" {
		t.Skip("VALLA_LONG is not set")
	}
	const seeds = 20
	even, like := map[gp.Criterion][]float64{}, map[gp.Criterion][]float64{}
	for seed := range uint64(seeds) {
		pool := lopsided(600, 100+seed)
		for _, by := range append([]gp.Criterion{"random"}, gp.Criteria()...) {
			rows, rng := upTo(30), rand.New(rand.NewPCG(seed, 3))
			m := learned(t, pool, rows, seed)
			for range 3 {
				rows = append(rows, more(t, m, pool, rows, 10, by, rng)...)
				m = learned(t, pool, rows, seed)
			}
			even[by] = append(even[by], rootMeanSquare(t, m, wave(1000, 500+seed)))
			like[by] = append(like[by], rootMeanSquare(t, m, lopsided(1000, 500+seed)))
		}
	}
	for _, by := range gp.Criteria() {
		if gain, se := gainOver(t, "evenly spread rows", by, even); gain < 2*se {
			t.Errorf("%s is not better than random rows by two standard errors", by)
		}
		gainOver(t, "rows like the pool", by, like)
	}
}

// gainOver is how much smaller the RMSE of a criterion is than the RMSE of random rows, with its standard error.
func gainOver(t *testing.T, where string, by gp.Criterion, rmse map[gp.Criterion][]float64) (gain, se float64) {
	t.Helper()
	var less []float64
	for i, v := range rmse[by] {
		less = append(less, rmse["random"][i]-v)
	}
	mean, own := meanAndError(rmse[by])
	random, other := meanAndError(rmse["random"])
	gain, se = meanAndError(less)
	t.Logf("%s, %s: RMSE %.3f ± %.3f, random rows %.3f ± %.3f, gain %.3f ± %.3f", where, by, mean, own, random, other, gain, se)
	return gain, se
}

// more are n more rows of the pool, which are not among rows.
func more(t *testing.T, m *Model, pool *data.Set, rows []int, n int, by gp.Criterion, rng *rand.Rand) (out []int) {
	t.Helper()
	left := slices.DeleteFunc(upTo(pool.N()), func(i int) bool { return slices.Contains(rows, i) })
	if by == "random" {
		for _, k := range rng.Perm(len(left))[:n] {
			out = append(out, left[k])
		}
		return out
	}
	chosen, err := m.Acquire(t.Context(), pool.Rows(left).X, AcquireOptions{Rows: n, By: by})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chosen {
		out = append(out, left[c.Row])
	}
	return out
}

func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// meanAndError are the mean of v and its standard error.
func meanAndError(v []float64) (mean, se float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		se += (x - mean) * (x - mean) / n / (n - 1)
	}
	return mean, math.Sqrt(se)
}

// TestAcquireNoiseHead: the covariance of a pool has the epistemic variances of predictions, in one unit, also where the network gives
// the noise of each row, in whose unit its output is.
func TestAcquireNoiseHead(t *testing.T) {
	set := varianceRows(40)
	m, err := FromWeights(t.Context(), variancePath, set, WeightOptions{NoiseHead: task.LogVariance})
	if err != nil {
		t.Fatal(err)
	}
	f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{}})
	p := predict(t, f, set.X)
	joint, err := f.joint()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := f.pool(t.Context(), joint, set.X)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range p.Epistemic {
		got, first := pool.Cov[i*len(p.Epistemic)+i]/v, pool.Cov[0]/p.Epistemic[0]
		near(t, fmt.Sprint("variance of row ", i), got, first, 1e-9*first)
	}
}
