package figure

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestTicks: labels of narrow and wide ranges are different, and say where they stand.
func TestTicks(t *testing.T) {
	for _, r := range [][2]float64{{0.5462, 0.5491}, {0.55, 0.55002}, {-1.3117, -1.3115}, {0, 1}, {3, 4000}, {1e-7, 3e-7}} {
		labels := 0
		for _, tick := range (ticks{}).Ticks(r[0], r[1]) {
			if tick.Label == "" {
				continue
			}
			labels++
			if v, err := strconv.ParseFloat(tick.Label, 64); err != nil || math.Abs(v-tick.Value) > 0.05*(r[1]-r[0]) {
				t.Errorf("%v: %q stands at %g", r, tick.Label, tick.Value)
			}
		}
		if repeated((ticks{}).Ticks(r[0], r[1])) || labels < 2 {
			t.Errorf("%v: %d labels, some alike: %+v", r, labels, (ticks{}).Ticks(r[0], r[1]))
		}
	}
}

// Each power of ten of a logarithmic axis has its label, the first one too.
func TestPowerTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{{0.1, 10, "0.1 1 10"}, {1, 10, "1 10"}, {10, 1000, "10 100 1000"}, {0.001, 0.1, "0.001 0.01 0.1"}} {
		var labels []string
		for _, tick := range (powerTicks{}).Ticks(c.lo, c.hi) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %g to %g: %q, expected %q", c.lo, c.hi, got, c.want)
		}
	}
}
