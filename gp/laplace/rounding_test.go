package laplace

import (
	"math"
	"testing"

	"gorgonia.org/tensor"
)

// TestRounding: variances of a float32 network whose products of rows are in float32 differ from those in float64 by less than
// the share that is promised, whatever s is. There are s where all products are in float32, where some variances have to be
// looked at, and where products are in float64.
func TestRounding(t *testing.T) {
	var precise, looked, differences int
	for _, outputs := range []int{1, 3} {
		prob := newProblem(t, 71, tensor.Float32, 60, 40, outputs)
		p := prob.fit(t, options{Space: spaceFunctions, PriorStd: 1, NoiseStd: 1, BatchSize: 7})
		f := p.structure.(*functionSpace)
		for _, s := range []float64{1e3, 10, 1, 0.1, 1e-2, 1e-4, 1e-6} {
			got, err := f.factor(t.Context(), scales{s: s})
			if err != nil {
				t.Fatal(err)
			}
			by := got.(functionFactor)
			if by.rounding.precise {
				precise++
				continue
			}
			if by.rounding.share > kept {
				looked++
			}
			want := by
			want.rounding = rounding{precise: true}
			err = p.scan.each(t.Context(), prob.x, func(b batch) error {
				size := b.size() * outputs
				u, v := make([]float64, size), make([]float64, size)
				if err := by.marginals(b, u); err != nil {
					return err
				}
				if err := want.marginals(b, v); err != nil {
					return err
				}
				for i := range b.size() {
					at := i*outputs + i%outputs
					if d := math.Abs(u[at]/v[at] - 1); !(d <= singleAccuracy) {
						t.Errorf("%d outputs, s = %g, output %d: variance %g, in float64 %g", outputs, s, i, u[at], v[at])
					} else if d > 0 {
						differences++
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if precise == 0 || looked == 0 || differences == 0 {
		t.Errorf("%d factors with products in float64, %d whose variances are looked at, %d variances that differ, expected some of each", precise, looked, differences)
	}
}
