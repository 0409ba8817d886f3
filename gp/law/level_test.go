package law_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/law"
)

// TestLevel: where all targets have one scale although V varies, the law takes V back within its range; where V is
// right, it does not.
func TestLevel(t *testing.T) {
	taken := 0
	for seed := range uint64(20) {
		for _, right := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(seed, 1))
			r := law.Residuals{LastIsStd: true}
			for range 50 {
				logStd, y := rng.NormFloat64(), rng.NormFloat64()
				if right {
					y *= math.Exp(logStd)
				}
				r.Z, r.Features = append(r.Z, y*math.Exp(-logStd)), append(r.Features, rng.NormFloat64(), logStd)
			}
			l, report := fit(t, r, law.Options{})
			if right {
				if l.Own != nil {
					t.Errorf("seed %d: a right V is taken back: %v", seed, report)
				}
				continue
			}
			if l.Own == nil {
				continue
			}
			taken++
			if !strings.Contains(report.String(), "taken back") {
				t.Errorf("report %v", report)
			}
			near, far := l.LogScale([]float64{0, 1})-l.LogScale([]float64{0, 0}), l.LogScale([]float64{0, 50})-l.LogScale([]float64{0, 49})
			if math.Abs(near+1) > 0.51 || far != 0 {
				t.Errorf("seed %d: h falls by %g within the range of log √V, and by %g outside", seed, near, far)
			}
		}
	}
	if taken < 15 {
		t.Errorf("a level in %d of 20 fits to residuals with a wrong V, expected 15 at least", taken)
	}
}
