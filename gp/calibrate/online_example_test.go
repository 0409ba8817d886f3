package calibrate_test

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/gp/calibrate"
)

// ExampleOnline adapts the intervals of a model that says that targets have a standard deviation of 1 around 0, and that is
// wrong: they go from −3 to 3.
func ExampleOnline() {
	var before []float64 // scores |y − μ|/σ of held-out rows
	for i := range 100 {
		before = append(before, float64(i)/50)
	}
	o, err := calibrate.NewOnline(0.9, before)
	if err != nil {
		panic(err)
	}
	fmt.Printf("at first ±%.2f\n", o.Limit())
	for i := range 1000 {
		y := 3 * math.Sin(float64(i*i)) // the label of the next row
		if _, err := o.Add(math.Abs(y)); err != nil {
			panic(err)
		}
	}
	n, inside := o.Seen()
	fmt.Printf("after %d labels ±%.2f, %.0f %% inside\n", n, o.Limit(), 100*float64(inside)/float64(n))
	// Output:
	// at first ±1.80
	// after 1000 labels ±2.95, 90 % inside
}
