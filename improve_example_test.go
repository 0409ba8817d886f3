package valla_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
)

// yield is the yield of a process in percent, at a temperature in °C and a time in minutes. At best it is 90.
func yield(temperature, minutes float64) float64 {
	a, b := (temperature-74)/16, (minutes-35)/14
	return 90 * math.Exp(-(a*a+b*b+0.8*a*b)/2)
}

// A process is tuned: twelve trials at random settings, and then ten trials, each at the settings with the largest expected improvement.
func ExampleExpectedImprovement() {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(4, 4))
	var x, y []float64 // settings [n,2] and measured yields [n]
	try := func(temperature, minutes float64) {
		x, y = append(x, temperature, minutes), append(y, yield(temperature, minutes)+0.5*rng.NormFloat64())
	}
	for range 12 {
		try(40+60*rng.Float64(), 10+50*rng.Float64())
	}
	var grid []float64 // settings that can be tried
	for temperature := 40.0; temperature <= 100; temperature += 2 {
		for minutes := 10.0; minutes <= 60; minutes += 2 {
			grid = append(grid, temperature, minutes)
		}
	}
	pool := tensor.New(tensor.WithShape(len(grid)/2, 2), tensor.WithBacking(grid))
	none := 0.0
	fmt.Printf("the best of 12 random trials has 99 %% of the best yield: %v\n", slices.Max(y) > 0.99*90)
	for range 10 {
		set := &data.Set{Features: []string{"temperature", "minutes"}, Targets: []string{"yield"}, X: tensor.New(tensor.WithShape(len(y), 2), tensor.WithBacking(slices.Clone(x))), Y: tensor.New(tensor.WithShape(len(y), 1), tensor.WithBacking(slices.Clone(y)))}
		m, err := valla.Train(ctx, set, valla.TrainOptions{Network: valla.Network{Hidden: []int{30}}, Training: valla.Training{Iterations: 800, Validation: &none}})
		if err != nil {
			log.Fatal(err)
		}
		if m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &laplace.Settings{Structure: "full"}}); err != nil {
			log.Fatal(err)
		}
		p, err := m.Predict(ctx, pool, valla.PredictOptions{})
		if err != nil {
			log.Fatal(err)
		}
		gain, err := valla.ExpectedImprovement(p, slices.Max(y), false)
		if err != nil {
			log.Fatal(err)
		}
		next := slices.Index(gain, slices.Max(gain))
		try(grid[2*next], grid[2*next+1])
	}
	best := slices.Index(y, slices.Max(y))
	fmt.Printf("the best of all 22 trials does: %v\n", yield(x[2*best], x[2*best+1]) > 0.99*90)
	// Output:
	// the best of 12 random trials has 99 % of the best yield: false
	// the best of all 22 trials does: true
}
