package law_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp/law"
)

// Residuals with heavy tails give Student's t, and h(x) where their scale depends on a feature.
func ExampleFit() {
	rng := rand.New(rand.NewPCG(1, 2))
	truth := law.Law{Family: law.StudentT, DoF: 4, Scale: 0.7}
	var r law.Residuals
	for range 5000 {
		x := rng.Float64()
		r.Features = append(r.Features, x)
		r.Z = append(r.Z, truth.Draw(rng)*math.Exp(x))
	}
	l, _, err := law.Fit(context.Background(), r, law.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	low, high := math.Exp(l.LogScale([]float64{0})), math.Exp(l.LogScale([]float64{1}))
	fmt.Printf("%s, degrees of freedom between 3 and 5: %t\n", l.Family, l.DoF > 3 && l.DoF < 5)
	fmt.Printf("a feature of 1 instead of 0 makes the residuals wider by a factor between 2 and 3.5: %t\n", high/low > 2 && high/low < 3.5)
	// Output:
	// student-t, degrees of freedom between 3 and 5: true
	// a feature of 1 instead of 0 makes the residuals wider by a factor between 2 and 3.5: true
}
