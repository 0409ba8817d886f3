package calibrate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/calibrate"
)

// TestFindGroups: numbers, few values and categories; groups have enough rows, and each row has one.
func TestFindGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var x []float64
	for range 1000 {
		k, hot := rng.IntN(20), [3]float64{}
		hot[min(2, k/9)] = 1 // the third category is rare
		x = append(x, rng.NormFloat64(), float64(rng.IntN(3)), hot[0], hot[1], hot[2])
	}
	for _, c := range []struct {
		inputs []int
		groups int
	}{{[]int{0}, 10}, {[]int{1}, 3}, {[]int{2, 3, 4}, 3}} {
		g, err := calibrate.FindGroups("c", c.inputs, false, x, 5, 60)
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int, len(g.Sizes))
		for row := range slices.Chunk(x, 5) {
			counts[g.Group(row)]++
		}
		if len(g.Sizes) != c.groups || !slices.Equal(counts, g.Sizes) || slices.Min(counts) < 60 {
			t.Errorf("inputs %v: groups %v, counted %v", c.inputs, g.Sizes, counts)
		}
		if err := g.Check(5, 1000); err != nil {
			t.Error(err)
		}
		if g.Check(c.inputs[0], 1000) == nil || g.Check(5, 999) == nil {
			t.Error("wrong groups have no error")
		}
	}
	if g, err := calibrate.FindGroups("c", []int{2, 3, 4}, false, x, 5, 200); err != nil || len(g.Sizes) != 2 {
		t.Errorf("groups %+v with a rare category, error %v", g, err)
	}
	if _, err := calibrate.FindGroups("c", []int{0}, false, x, 5, 600); err == nil {
		t.Error("one group has no error")
	}
}

// TestQuantileIn: the quantiles of a group are those of its rows alone.
func TestQuantileIn(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var x, zero, one, y []float64
	for range 400 {
		x, zero, one, y = append(x, float64(rng.IntN(2))), append(zero, 0), append(one, 1), append(y, rng.NormFloat64())
	}
	g, err := calibrate.FindGroups("c", []int{0}, false, x, 1, 50)
	if err != nil {
		t.Fatal(err)
	}
	by, parts := calibrate.Division{Groups: g}, [2][]float64{}
	for i, v := range x {
		by.Of = append(by.Of, g.Group([]float64{v}))
		parts[int(v)] = append(parts[int(v)], y[i])
	}
	c := calibrate.NumbersBy(zero, one, y, 1, by)
	if err := c.Check(1); err != nil {
		t.Fatal(err)
	}
	for k, part := range parts {
		n := len(part)
		want, err := calibrate.Numbers(zero[:n], one[:n], part, 1).Quantile(0, 0.9)
		got, errs := c.QuantileIn(0, g.Group([]float64{float64(k)}), 0.9)
		if err != nil || errs != nil || got != want {
			t.Errorf("group %d: %g, want %g (errors %v, %v)", k, got, want, err, errs)
		}
	}
}

// TestRAPS: the penalty begins after the second class, and sets hold their level.
func TestRAPS(t *testing.T) {
	c := calibrate.Conformal{Sets: calibrate.RAPS}
	a := calibrate.Conformal{Sets: calibrate.APS}
	probs := []float64{0.1, 0.5, 0.15, 0.25}
	got, plain := make([]float64, 4), make([]float64, 4)
	c.ClassScores(got, probs)
	a.ClassScores(plain, probs)
	for k, rank := range []float64{4, 1, 3, 2} {
		if want := plain[k] + 0.1*max(0, rank-2); math.Abs(got[k]-want) > 1e-12 {
			t.Errorf("class %d: %g, want %g", k, got[k], want)
		}
	}
	rng := rand.New(rand.NewPCG(3, 3))
	const classes = 40
	draw := func(n int) (all []float64, labels []int) { // the model gives the classes that are not right too much
		for range n {
			p, sum, label := make([]float64, classes), 0.0, rng.IntN(classes)
			for k := range p {
				p[k] = 0.03 * rng.ExpFloat64()
			}
			p[label] += rng.Float64()
			p[rng.IntN(classes)] += rng.Float64()
			for _, v := range p {
				sum += v
			}
			for k := range p {
				p[k] /= sum
			}
			all, labels = append(all, p...), append(labels, label)
		}
		return all, labels
	}
	held, labels := draw(2000)
	sizes := map[string]float64{}
	for _, sets := range []string{calibrate.APS, calibrate.RAPS} {
		c := calibrate.Classes(held, labels, "probit", sets, 1)
		q, err := c.Quantile(0, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		fresh, want := draw(5000)
		inside, scores := 0, make([]float64, classes)
		for i, label := range want {
			c.ClassScores(scores, fresh[classes*i:classes*(i+1)])
			for k, s := range scores {
				if s <= q {
					sizes[sets]++
					if k == label {
						inside++
					}
				}
			}
		}
		if share := float64(inside) / 5000; share < 0.875 || share > 0.925 {
			t.Errorf("%s holds %g", sets, share)
		}
	}
	if sizes[calibrate.RAPS] >= sizes[calibrate.APS] {
		t.Errorf("sizes %v", sizes)
	}
}

// TestFindShift: the ratio of two normal densities is found, and weights of 1 give the plain quantiles up to one row.
func TestFindShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var old, now []float64
	for range 20_000 {
		old = append(old, 3+2*rng.NormFloat64(), 7)
	}
	for range 10_000 {
		now = append(now, 4+1.5*rng.NormFloat64(), 7)
	}
	s, err := calibrate.FindShift(old, now, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(2); err != nil || s.Check(3) == nil {
		t.Errorf("checks: %v", err)
	}
	for _, x := range []float64{0, 2, 3, 4, 6} {
		want := 2 / 1.5 * math.Exp((x-3)*(x-3)/8-(x-4)*(x-4)/4.5)
		if got := s.Weight([]float64{x, 7}); math.Abs(math.Log(got/want)) > 0.15 {
			t.Errorf("ratio %g at %g, want %g", got, x, want)
		}
	}
	n := 999
	zero, one, y, weights := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range y {
		one[i], y[i], weights[i] = 1, rng.NormFloat64(), 1
	}
	c := calibrate.NumbersBy(zero, one, y, 1, calibrate.Division{Shift: s, Weights: weights})
	got, err := c.QuantileFor(0, 1, 0.9)
	want, errs := calibrate.Numbers(zero, one, y, 1).Quantile(0, 0.9)
	if err != nil || errs != nil || got != want {
		t.Errorf("quantile %g, want %g (errors %v, %v)", got, want, err, errs)
	}
	if err := c.Check(1); err != nil {
		t.Error(err)
	}
	if c.Cumulative = c.Cumulative[1:]; c.Check(1) == nil {
		t.Error("too few sums have no error")
	}
}
