package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
)

// TestShare: the bounds are the shares for which so few or so many rows have the probability of the tail, summed one by one.
func TestShare(t *testing.T) {
	pmf := func(k, n int, p float64) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log(1-p))
	}
	for _, v := range [][2]int{{1, 20}, {19, 20}, {7, 9}, {190, 200}} {
		k, n := v[0], v[1]
		m := share(float64(k), float64(n), 0.01)
		up, down := 0.0, 0.0
		for i := range n + 1 {
			if i >= k {
				up += pmf(i, n, m.Lower)
			}
			if i <= k {
				down += pmf(i, n, m.Upper)
			}
		}
		if m.Value != float64(k)/float64(n) || math.Abs(up-0.01) > 1e-9 || math.Abs(down-0.01) > 1e-9 {
			t.Errorf("%d of %d: %+v, tails %g and %g", k, n, m, up, down)
		}
	}
	if m := share(0, 5, 0.01); m.Lower != 0 || m.Upper >= 1 {
		t.Errorf("none of 5: %+v", m)
	}
	if m := share(5, 5, 0.01); m.Upper != 1 || m.Lower <= 0 {
		t.Errorf("5 of 5: %+v", m)
	}
}

// TestSlices: the slices have the counts of a slow way, and names that say which rows they hold.
func TestSlices(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	r := &Rows{Names: []string{"u", "v"}, Level: 0.9}
	for range 1500 {
		r.X = append(r.X, rng.NormFloat64(), float64(rng.IntN(3)))
		r.Inside = append(r.Inside, float64(rng.IntN(2)))
	}
	use := slices.Repeat([]bool{true}, 1500)
	all := r.compare(r.axes(10), r.axes(5), use)
	if len(all) < 50 {
		t.Fatalf("%d slices", len(all))
	}
	named := map[string]Slice{}
	for _, s := range all {
		n, inside := 0, 0.0
		for i := range 1500 {
			if s.has(i) {
				n, inside = n+1, inside+r.Inside[i]
			}
		}
		if n != s.Rows || math.Abs(s.Inside.Value-inside/float64(n)) > 1e-12 || n < leastSlice || s.Inside.Lower > s.Inside.Value || s.Inside.Upper < s.Inside.Value {
			t.Errorf("%s: %d rows with %g inside, expected %d and %g", s.Name, s.Rows, s.Inside.Value, n, inside/float64(n))
		}
		named[s.Name] = s
	}
	s, ok := named["v = 1"]
	for i := range 1500 {
		if ok && s.has(i) != (r.X[2*i+1] == 1) {
			t.Fatalf("row %d with v = %g", i, r.X[2*i+1])
		}
	}
	if !ok {
		t.Error("no slice v = 1")
	}
}

// TestWorst: the bounds for all slices together hold the smallest true coverage in nearly all tables.
func TestWorst(t *testing.T) {
	missed := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		r := &Rows{Names: []string{"u", "v"}, Level: 0.9}
		for range 1200 {
			r.X = append(r.X, rng.Float64(), rng.Float64())
			inside := 0.0
			if rng.Float64() < 0.9 {
				inside = 1
			}
			r.Inside = append(r.Inside, inside)
		}
		out, err := Run(r)
		if err != nil {
			t.Fatal(err)
		}
		if out.Worst.Lower > 0.9 || out.Worst.Upper < 0.9 {
			missed++
		}
	}
	if missed > 2 {
		t.Errorf("%d of 60 tables miss the coverage of the worst slice", missed)
	}
}

// TestPSI: the index of equal shares is 0, and a change by chance is none in nearly all tables.
func TestPSI(t *testing.T) {
	if m, p := psi([]float64{0.5, 0.5}, []float64{0.5, 0.5}, 100, 100); m.Value != 0 || p != 1 {
		t.Errorf("%+v with p = %g", m, p)
	}
	m, _ := psi([]float64{0.5, 0.5}, []float64{0.25, 0.75}, 1000, 1000)
	if want := 0.25*math.Log(2) + 0.25*math.Log(1.5); math.Abs(m.Value-want) > 1e-12 || !(m.Lower < want && m.Upper > want && m.Upper < 2*want) {
		t.Errorf("%+v, expected %g", m, want)
	}
	rng, small := rand.New(rand.NewPCG(4, 4)), 0
	for range 200 {
		draw := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = rng.ExpFloat64()
			}
			return v
		}
		then := data.ProfileOf("v", draw(1000))
		shares := make([]float64, len(then.Shares))
		for _, v := range draw(500) {
			shares[then.Bin(v)] += 1. / 500
		}
		if _, p := psi(then.Shares, shares, 1000, 500); p < 0.05 {
			small++
		}
	}
	if small < 2 || small > 22 {
		t.Errorf("%d of 200 p-values below 0.05", small)
	}
}

// TestUnits: a change of the unit has its name, and a shift or a stretch has none.
func TestUnits(t *testing.T) {
	then := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 30}
	by := func(scale, shift float64) (now []float64) {
		for _, v := range then {
			now = append(now, scale*v+shift)
		}
		return now
	}
	for want, now := range map[string][]float64{"times 1000": by(1000, 0), "divided by 60": by(1./60, 0), "times 1.8 plus 32": by(1.8, 32), "": by(1, 4), "times 1.609": by(1.60934, 0)} {
		if got := unit(now, then, 0.1); got != want {
			t.Errorf("%v: %q, expected %q", now, got, want)
		}
	}
	for _, now := range [][]float64{by(1, 0), by(1.3, 0), by(1, -2)} {
		if got := unit(now, then, 0.1); got != "" {
			t.Errorf("%v: %q", now, got)
		}
	}
}

// TestClasses: probabilities that are too large, and labels of a slice that are wrong, are found.
func TestClasses(t *testing.T) {
	made := func(wrong func(x float64) bool, over float64) *Result {
		rng := rand.New(rand.NewPCG(6, 6))
		r := &Rows{Names: []string{"u"}, Level: 0.9}
		for range 2000 {
			x := rng.NormFloat64()
			sure := 0.8 + 0.2*rng.Float64()
			right, inside := 0.0, 0.0
			if rng.Float64() < sure-over && !wrong(x) {
				right = 1
			}
			if right == 1 || rng.Float64() < 0.5 && !wrong(x) {
				inside = 1
			}
			r.X, r.Sure, r.Right, r.Inside = append(r.X, x), append(r.Sure, sure), append(r.Right, right), append(r.Inside, inside)
		}
		out, err := Run(r)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	never := func(float64) bool { return false }
	if out := made(never, 0); len(out.Findings) > 0 {
		t.Errorf("right probabilities: %+v", out.Findings)
	}
	if out := made(never, 0.1); len(out.Findings) != 1 || out.Findings[0].Kind != Narrow {
		t.Errorf("large probabilities: %+v", out.Findings)
	}
	if out := made(func(x float64) bool { return x > 1 }, 0); len(out.Findings) == 0 || out.Findings[0].Kind != SliceOff || out.Findings[0].Columns[0] != "u" {
		t.Errorf("a slice with wrong labels: %+v", out.Findings)
	}
}

// TestDuplicates: equal rows that come about by chance are no finding.
func TestDuplicates(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	r := &Rows{Names: []string{"u"}, Inside: make([]float64, 500)}
	for range 500 {
		r.X, r.Y = append(r.X, float64(rng.IntN(3))), append(r.Y, float64(rng.IntN(2)))
	}
	if f := r.duplicates(); f.Kind != "" {
		t.Errorf("%+v", f)
	}
}

// TestTies: scores of which more than half are equal tell no spread, and equal numbers have the mean of their ranks.
func TestTies(t *testing.T) {
	z := slices.Repeat([]float64{8, 8, 8, 9}, 100)
	if f, g := spread(z), tails(z); f.Kind != "" || g.Kind != "" {
		t.Errorf("found %+v and %+v", f, g)
	}
	up := []float64{1, 2, 3, 4}
	if got, want := correlation([]float64{1, 2, 2, 3}, up), 4.5/math.Sqrt(4.5*5); math.Abs(got-want) > 1e-12 {
		t.Errorf("correlation %g, expected %g", got, want)
	}
	if got := correlation([]float64{5, 5, 5, 5}, up); !math.IsNaN(got) {
		t.Errorf("correlation %g of a list that does not vary", got)
	}
}

// TestFewRows: nothing fails for tables of one row, of no inputs, or of inputs that do not vary.
func TestFewRows(t *testing.T) {
	for _, r := range []*Rows{
		{Names: []string{"u"}, X: []float64{1}, Y: []float64{1}, Inside: []float64{1}, Level: 0.9},
		{Inside: make([]float64, 900), Level: 0.9},
		{Y: make([]float64, 900), Inside: make([]float64, 900), Level: 0.9},
		{Names: []string{"u"}, X: make([]float64, 900), Y: make([]float64, 900), Z: make([]float64, 900), Mean: make([]float64, 900), Target: make([]float64, 900), Inside: make([]float64, 900), Level: 0.9},
	} {
		if _, err := Run(r); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkRun is the time of an audit of 100,000 rows with ten inputs, without predictions.
func BenchmarkRun(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	train, d := draw(20_000, 0, truth{}, rng), draw(100_000, 0, truth{}, rng)
	r := d.rows(truth{}, train)
	for b.Loop() {
		if _, err := Run(r); err != nil {
			b.Fatal(err)
		}
	}
}
