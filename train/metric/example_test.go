package metric_test

import (
	"fmt"
	"log"

	"github.com/go-valla/valla/train/metric"
)

// Predictions come in batches, whose sizes do not matter.
func ExampleRegression() {
	var r metric.Regression
	if err := r.Add([]float64{0, 0}, []float64{1, 1}, []float64{0.5, -0.5}); err != nil {
		log.Fatal(err)
	}
	if err := r.Add([]float64{0}, []float64{1}, []float64{3}); err != nil {
		log.Fatal(err)
	}
	s, err := r.Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("NLL %.3f, RMSE %.3f, %.0f %% inside the intervals of %.0f %%\n", s.NLL, s.RMSE, 100*s.Coverage[4], 100*metric.Level(4))
	// Output: NLL 2.502, RMSE 1.780, 67 % inside the intervals of 50 %
}

// The answer 0 with the probability 0.8 is right in one of two rows.
func ExampleReliability() {
	for _, b := range metric.Reliability([]float64{0.8, 0.8, 0.95}, []bool{true, false, true}, 10) {
		fmt.Printf("%d rows say %.2f and are right in %.2f\n", b.N, b.Confidence, b.Accuracy)
	}
	// Output:
	// 2 rows say 0.80 and are right in 0.50
	// 1 rows say 0.95 and are right in 1.00
}
