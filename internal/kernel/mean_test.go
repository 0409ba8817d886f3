package kernel

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// Mean and StandardError are those of gonum; of one number the standard error is the number's size.
func TestMeanAndStandardError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 40).Draw(t, "v")
		mean, std := stat.MeanStdDev(v, nil)
		if math.Abs(Mean(v)-mean) > 1e-10 {
			t.Errorf("mean %g, want %g", Mean(v), mean)
		}
		want := std / math.Sqrt(float64(len(v)))
		if len(v) == 1 {
			want = math.Abs(v[0])
		}
		if math.Abs(StandardError(v)-want) > 1e-10 {
			t.Errorf("standard error %g, want %g", StandardError(v), want)
		}
	})
}
