package bench

import (
	"context"
	"fmt"
	"math"

	"gorgonia.org/tensor"
)

// tolerances bounds the difference of the two sides, relative to the largest element. In
// float32 differences of 1e-6 were seen, mostly in covariances, which are differences of
// larger numbers.
var tolerances = map[tensor.Dtype]float64{tensor.Float64: 1e-6, tensor.Float32: 1e-4}

// check compares the first steps of both sides.
func (r *row) check(ctx context.Context, b benchmark, dt tensor.Dtype, w *work, o other, file string) error {
	if b.compare == 0 {
		return nil
	}
	want, err := o.collect(file, b.compare, o.torch)
	if err != nil {
		return err
	}
	got, err := w.collect(ctx, b.compare)
	if err != nil {
		return err
	}
	d, err := difference(got, want)
	if err != nil {
		return fmt.Errorf("%s, %v: %w", b.name, dt, err)
	}
	r.Difference = &d
	if !(d <= tolerances[dt]) {
		return fmt.Errorf("%s, %v: the two sides differ by %.2g of the largest value, expected at most %.0e", b.name, dt, d, tolerances[dt])
	}
	return nil
}

// difference returns the largest difference of our values from the other side's, relative to
// the largest value of the same name.
func difference(got, want values) (float64, error) {
	worst := 0.0
	for name, w := range want {
		g := got[name]
		if len(g) != len(w) {
			return 0, fmt.Errorf("%q has %d numbers, expected %d", name, len(g), len(w))
		}
		diff, scale := 0.0, 0.0
		for i, v := range w {
			d := math.Abs(g[i] - v)
			if math.IsNaN(d) {
				return 0, fmt.Errorf("%q: element %d is %v, expected %v", name, i, g[i], v)
			}
			diff, scale = max(diff, d), max(scale, math.Abs(v))
		}
		if diff > 0 {
			worst = max(worst, diff/scale)
		}
	}
	return worst, nil
}
