package calibrate_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/calibrate"
)

// stream are scores of 10,000 labels: a break after 4,000, from where on they are three times as large, and a slow drift from 6,000 on.
func stream(rng *rand.Rand) []float64 {
	out := make([]float64, 10_000)
	for i := range out {
		scale := 1.0
		if i >= 4000 {
			scale = 3
		}
		if i >= 6000 {
			scale = 3 - 2.5*float64(i-6000)/4000
		}
		out[i] = scale * math.Abs(rng.NormFloat64())
	}
	return out
}

// plainScores are 1,000 scores before the first label.
func plainScores(rng *rand.Rand) []float64 {
	out := make([]float64, 1000)
	for i := range out {
		out[i] = math.Abs(rng.NormFloat64())
	}
	return out
}

// TestOnline: over any 500 labels of a stream with a break and a drift 95 % intervals hold 93 to 97 %, where a fixed
// calibration falls below 85 %.
func TestOnline(t *testing.T) {
	low, high, lowFixed, width := 1.0, 0.0, 1.0, 0.0
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 1))
		before := plainScores(rng)
		o, err := calibrate.NewOnline(0.95, before)
		if err != nil {
			t.Fatal(err)
		}
		fixed := slices.Sorted(slices.Values(before))[950]
		var held, plain []float64
		for _, s := range stream(rng) {
			limit := o.Limit()
			width += limit / 1e5
			inside, err := o.Add(s)
			if err != nil || inside != (s <= limit) {
				t.Fatal(err, inside)
			}
			held, plain = append(held, one(inside)), append(plain, one(s <= fixed))
		}
		a, b := windows(held)
		low, high = min(low, a), max(high, b)
		a, _ = windows(plain)
		lowFixed = min(lowFixed, a)
		if n, inside := o.Seen(); n != 10_000 || math.Abs(float64(inside)/1e4-0.95) > 0.005 {
			t.Errorf("%d of %d inside", inside, n)
		}
	}
	t.Logf("any 500 labels: %.3f to %.3f; fixed: %.3f at least; mean limit %.2f", low, high, lowFixed, width)
	if low < 0.93 || high > 0.97 || lowFixed > 0.85 {
		t.Errorf("any 500 labels hold %.3f to %.3f, fixed %.3f", low, high, lowFixed)
	}
}

// TestOnlineOthers prints what docs/online.md says of 100 other streams, with VALLA_LONG.
func TestOnlineOthers(t *testing.T) {
	if os.Getenv("VALLA_LONG") == "" {
		t.Skip("VALLA_LONG is not set")
	}
	low, high := 1.0, 0.0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(1000+seed, 1))
		o, err := calibrate.NewOnline(0.95, plainScores(rng))
		if err != nil {
			t.Fatal(err)
		}
		var held []float64
		for _, s := range stream(rng) {
			inside, err := o.Add(s)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, one(inside))
		}
		a, b := windows(held)
		low, high = min(low, a), max(high, b)
	}
	t.Logf("any 500 labels of 100 streams: %.3f to %.3f", low, high)
	if low < 0.92 || high > 0.98 {
		t.Error("further than 3 points from 95 %")
	}
}

// TestOnlineState: a state that was written goes on with the same bits, and a state that cannot be one changes nothing.
func TestOnlineState(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	a, err := calibrate.NewOnline(0.9, plainScores(rng)[:40])
	if err != nil {
		t.Fatal(err)
	}
	var b calibrate.Online
	for i, s := range stream(rng)[3500:5000] {
		if i%100 == 0 {
			text, err := json.Marshal(a)
			if err == nil {
				err = json.Unmarshal(text, &b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		one, err := a.Add(s)
		other, wrong := b.Add(s)
		if err != nil || wrong != nil || one != other || a.Limit() != b.Limit() {
			t.Fatalf("label %d: limits %v and %v, errors %v, %v", i, a.Limit(), b.Limit(), err, wrong)
		}
	}
	good, err := json.Marshal(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{`"level":0.9`, `"level":1`}, {`"alphas":[`, `"alphas":[7,`}, {`"weights":[`, `"weights":[-1,`}, {`"weights":[`, `"weights":[0,0,0,0,0],"x":[`}, {`"last":[`, `"last":[-1,`}, {`"next":`, `"next":-9,"x":`}, {`"inside":`, `"inside":9`}} {
		bad := strings.Replace(string(good), c[0], c[1], 1)
		if err := json.Unmarshal([]byte(bad), &b); err == nil || bad == string(good) {
			t.Errorf("%s was read", c[1])
		}
	}
	if b.Limit() != a.Limit() || b.Level() != 0.9 {
		t.Error("a wrong state has changed the intervals")
	}
}

// TestOnlineConformal: the interval of the level has the limit, and other levels have the proportions of the last scores.
func TestOnlineConformal(t *testing.T) {
	for _, level := range []float64{0.5, 0.9, 0.995, 0.999} {
		o, err := calibrate.NewOnline(level, plainScores(rand.New(rand.NewPCG(4, 1))))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 700 {
			if _, err := o.Add(float64(i % 50)); err != nil {
				t.Fatal(err)
			}
			c := o.Conformal()
			q, err := c.Quantile(0, level)
			if err != nil || math.Abs(q-o.Limit()) > 1e-12*q || c.Check(1) != nil {
				t.Fatalf("level %g: quantile %g, limit %g, errors %v, %v", level, q, o.Limit(), err, c.Check(1))
			}
		}
		half, err := o.Conformal().Quantile(0, level/2)
		if want := level / 2 * 50 * o.Limit() / (level * 50); level < 0.99 && (err != nil || math.Abs(half-want) > 1) {
			t.Errorf("level %g: %g, expected %g", level/2, half, want)
		}
	}
	o, err := calibrate.NewOnline(0.9, make([]float64, 20))
	if err != nil {
		t.Fatal(err)
	}
	if q, err := o.Conformal().Quantile(0, 0.5); q != 0 || err != nil {
		t.Errorf("scores of 0: %g, error %v", q, err)
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// windows returns the smallest and the largest mean of any 500 numbers in a row.
func windows(v []float64) (low, high float64) {
	low = 1
	sum := 0.0
	for i, x := range v {
		sum += x
		if i >= 500 {
			sum -= v[i-500]
		}
		if i >= 499 {
			low, high = min(low, sum/500), max(high, sum/500)
		}
	}
	return low, high
}

// BenchmarkOnline is the time of a label.
func BenchmarkOnline(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	o, err := calibrate.NewOnline(0.95, plainScores(rng))
	if err != nil {
		b.Fatal(err)
	}
	s := stream(rng)
	i := 0
	for b.Loop() {
		_, _ = o.Add(s[i%len(s)])
		i++
	}
}
