package coverage

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/fixture"
)

// TestTally: the counts are sums over all batches; widths are in units of one target, or in standard deviations
// of several targets.
func TestTally(t *testing.T) {
	one := &task.Prediction{Targets: []string{"y"}, Mean: []float64{0, 0, 0}, Variance: []float64{1, 4, 9}}
	two := &task.Prediction{Targets: []string{"y", "z"}, Mean: []float64{0, 0}, Variance: []float64{1, 400}}
	z := math.Sqrt2 * math.Erfinv(0.9)
	c := Tally{Level: 0.9}
	for _, y := range [][]float64{{1.6, 3.4, 0}, {-1.7, -3.2, 99}} { // the bounds are 1.64, 3.29 and 4.93
		if err := c.Add(one, y); err != nil {
			t.Fatal(err)
		}
	}
	coverage, width := c.Means()
	fixture.Within(t, "coverage", *coverage, 3./6, 1e-15)
	fixture.Within(t, "width", *width, 2*z*(1+2+3)/3, 1e-12)

	c = Tally{Level: 0.9}
	if err := c.Add(two, []float64{0, 34}); err != nil {
		t.Fatal(err)
	}
	coverage, width = c.Means()
	fixture.Within(t, "coverage of two targets", *coverage, 1./2, 1e-15)
	fixture.Within(t, "width of two targets", *width, 2*z, 1e-12)

	probs := &task.Prediction{Targets: []string{"k"}, Classes: []float64{1, 2}, Probs: []float64{0.9, 0.1, 0.4, 0.6}}
	c = Tally{Level: 0.5}
	if err := c.Add(probs, []float64{1, 1}); err != nil {
		t.Fatal(err)
	}
	if coverage, width := c.Means(); coverage != nil || width != nil {
		t.Errorf("a classification without sets has the coverage %v and the width %v", coverage, width)
	}
	probs.Conformal = &calibrate.Conformal{Link: "probit", Rows: 3, Scores: []float64{0.1, 0.7, 0.8}}
	if err := c.Add(probs, []float64{1, 1}); err != nil {
		t.Fatal(err)
	}
	coverage, width = c.Means() // sets {1} and {1, 2}: scores up to 0.7
	fixture.Within(t, "coverage of sets", *coverage, 1, 1e-15)
	fixture.Within(t, "size of sets", *width, 1.5, 1e-15)
	c.Level = 0.99
	if err := c.Add(probs, []float64{1, 1}); err == nil || !strings.Contains(err.Error(), "the level 0.99 needs a conformal calibration with 99 rows") {
		t.Errorf("sets of a level for which there are too few rows: %v", err)
	}
}

// TestSlowly: the share and the mean width are the same as counted target by target, in any batches.
func TestSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets := []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(t, "targets")]
		level := rapid.Float64Range(0.01, 0.99).Draw(t, "level")
		c, inside, n, sum := Tally{Level: level}, 0, 0, 0.0
		z := math.Sqrt2 * math.Erfinv(level)
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			size := len(targets) * rapid.IntRange(1, 5).Draw(t, "rows")
			mean := rapid.SliceOfN(rapid.Float64Range(-2, 2), size, size).Draw(t, "mean")
			variance := rapid.SliceOfN(rapid.Float64Range(0.1, 2), size, size).Draw(t, "variance")
			y := rapid.SliceOfN(rapid.Float64Range(-4, 4), size, size).Draw(t, "y")
			if err := c.Add(&task.Prediction{Targets: targets, Mean: mean, Variance: variance}, y); err != nil {
				t.Fatal(err)
			}
			for i, v := range y {
				half := z * math.Sqrt(variance[i])
				if math.Abs(math.Abs(v-mean[i])-half) < 1e-9 {
					t.Skip("a target on a bound")
				}
				if n++; math.Abs(v-mean[i]) < half {
					inside++
				}
				if len(targets) > 1 {
					half = z
				}
				sum += 2 * half
			}
		}
		share, width := c.Means()
		if *share != float64(inside)/float64(n) || math.Abs(*width-sum/float64(n)) > 1e-9 {
			t.Errorf("share %g, width %g, want %d of %d and %g", *share, *width, inside, n, sum/float64(n))
		}
	})
}
