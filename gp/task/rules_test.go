package task

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
)

// TestClip: a negative variance within rounding becomes 0 together with its covariances; other elements stay.
func TestClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(1, 4).Draw(t, "c")
		block := rapid.SliceOfN(rapid.Float64Range(0.1, 2), c*c, c*c).Draw(t, "block")
		bad := rapid.SliceOfN(rapid.Bool(), c, c).Draw(t, "bad")
		for k, b := range bad {
			if b {
				block[k*c+k] = -1e-9
			}
		}
		of := gp.Gaussian{Mean: make([]float64, c), Cov: block}
		is, err := negative(of, 0, 1)
		if err != nil || is != slices.Contains(bad, true) {
			t.Fatalf("negative: %t, error %v", is, err)
		}
		before := slices.Clone(block)
		clip(of, 0)
		for i, v := range block {
			if want := before[i]; bad[i/c] || bad[i%c] {
				if v != 0 {
					t.Errorf("element %d is %g, expected 0", i, v)
				}
			} else if v != want {
				t.Errorf("element %d is %g, expected %g", i, v, want)
			}
		}
	})
	_, err := negative(gp.Gaussian{Mean: make([]float64, 2), Cov: []float64{1, 0, 0, -0.1}}, 0, 1)
	oneLine(t, err, "a latent variance of -0.1 in the network's units")
	_, err = negative(gp.Gaussian{Mean: make([]float64, 2), Cov: []float64{1, math.NaN(), 0, 1}}, 0, 1)
	oneLine(t, err, "the covariance of outputs 0 and 1 is NaN")
}

// TestCoveredIsCounted: Covered counts the targets between the bounds of Interval, and higher levels hold more.
func TestCoveredIsCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := 2 * rapid.IntRange(1, 20).Draw(t, "n")
		p := &Prediction{
			Targets: []string{"y", "z"}, Mean: rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, "mean"),
			Variance: rapid.SliceOfN(rapid.Float64Range(0.1, 4), n, n).Draw(t, "variance"),
		}
		y, last := rapid.SliceOfN(rapid.Float64Range(-6, 6), n, n).Draw(t, "y"), 0.0
		for _, level := range []float64{0.1, 0.5, 0.9, 0.999} {
			lower, upper, err := p.Interval(level)
			if err != nil {
				t.Fatal(err)
			}
			want := 0.0
			for i, v := range y {
				if math.Abs((lower[i]+upper[i])/2-p.Mean[i]) > 1e-12 {
					t.Errorf("interval %g to %g around %g", lower[i], upper[i], p.Mean[i])
				}
				if lower[i] <= v && v <= upper[i] {
					want++
				}
			}
			got, size, err := p.Covered(y, level)
			if err != nil || got != want || size != 0 || got < last {
				t.Errorf("%g of %d targets at the level %g, expected %g and at least %g, error %v", got, n, level, want, last, err)
			}
			last = got
		}
	})
}

// TestAppend: parts of a prediction, appended one after another, are the whole prediction.
func TestAppend(t *testing.T) {
	whole := &Prediction{Targets: []string{"k"}, Classes: []float64{1, 2}, Labels: []string{"no", "yes"}, Link: MonteCarlo,
		Probs: []float64{0.1, 0.9, 0.2, 0.8, 0.7, 0.3}, Conformal: &calibrate.Conformal{Rows: 1}}
	all := &Prediction{}
	for _, at := range [][2]int{{0, 1}, {1, 1}, {1, 3}} {
		part := *whole
		part.Probs = whole.Probs[2*at[0] : 2*at[1]]
		all.Append(&part)
	}
	if !slices.Equal(all.Probs, whole.Probs) || all.N() != 3 || all.Link != whole.Link || all.Conformal != whole.Conformal || !slices.Equal(all.Labels, whole.Labels) {
		t.Errorf("%+v", all)
	}
	if best := all.Best(); !slices.Equal(best, []int{1, 1, 0}) || all.ClassName(best[2]) != "no" {
		t.Errorf("best classes %v", best)
	}
}

// TestColumn: the columns of rows, taken apart, are the rows.
func TestColumn(t *testing.T) {
	rows := []float64{1, 2, 3, 4, 5, 6}
	for k, want := range [][]float64{{1, 4}, {2, 5}, {3, 6}} {
		if got := column(rows, k, 3); !slices.Equal(got, want) {
			t.Errorf("column %d is %v, expected %v", k, got, want)
		}
	}
	if got := column(rows, 0, 1); &got[0] != &rows[0] {
		t.Error("one column is a copy")
	}
}

// TestList: a message has the first 20 names, and the number of other names.
func TestList(t *testing.T) {
	if got := list([]string{"a", "b c"}); got != `["a" "b c"]` {
		t.Errorf("list %s", got)
	}
	many := slices.Repeat([]string{"x"}, 23)
	if got := list(many); strings.Count(got, `"x"`) != 20 || !strings.HasSuffix(got, "] and 3 more") {
		t.Errorf("list %s", got)
	}
}

// TestTaskErrors: a task without outputs, and a name that stands twice, are errors.
func TestTaskErrors(t *testing.T) {
	in := Inputs{Features: []string{"a", "y"}, Shape: []int{2}}
	oneLine(t, Task{Inputs: in}.Check(), "no outputs")
	oneLine(t, Task{Inputs: in, Outputs: &Regression{Names: []string{"y"}, NoiseVariance: 1}}.Check(), `"y" stands twice`)
	oneLine(t, CheckRows(nil), "a set without inputs or without targets")
}

// TestLossOfExamples: the loss of one example is the loss that training minimises, without its mean: the sum of
// squares in regression and the cross-entropy in classification.
func TestLossOfExamples(t *testing.T) {
	_, squares := Task{Outputs: pair()}.Loss()
	if got := squares([]float64{1, 2}, []float64{0, 4}); got != 5 {
		t.Errorf("squared error %g", got)
	}
	_, entropy := Task{Outputs: three()}.Loss()
	near(t, "cross-entropy", entropy([]float64{0, 1, 0}, []float64{1, 2, 3}), math.Log(math.Exp(1)+math.Exp(2)+math.Exp(3))-2, 1e-14)
}
