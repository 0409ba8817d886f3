package gp_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
)

// robust returns the log density of rows with equal weights, which are added in two parts.
func robust(logP, anyway []float64) float64 {
	var r gp.Robust
	weights := make([]float64, len(logP))
	for i := range weights {
		weights[i] = 1 / float64(len(logP))
	}
	cut := len(logP) / 3
	r.Add(logP[:cut], anyway[:cut], weights[:cut])
	r.Add(logP[cut:], anyway[cut:], weights[cut:])
	return float64(len(logP)) * r.Mean(len(logP))
}

// TestRobust: the log density is the log of the sum that defines it.
func TestRobust(t *testing.T) {
	logP, anyway := []float64{-1, -2.5, -0.5, -7, -1.2, -3}, []float64{-6, -5, -6, -4, -6.5, -5.5}
	sum, mean := 0.0, 0.0
	for i, p := range logP {
		sum += p
		mean += max(1, math.Exp(anyway[i]-p)) / 6
	}
	if got, want := robust(logP, anyway), sum+math.Log((1+mean)/2); math.Abs(got-want) > 1e-12 {
		t.Errorf("%g, want %g", got, want)
	}
}

// TestOneRowAnywhere: rows near their means count as they are, and one row that is far costs log 2n more than it must,
// up to 100 lower than it might be. What is beyond counts, and so does a second row.
func TestOneRowAnywhere(t *testing.T) {
	const rows = 40
	logP, anyway := make([]float64, rows), make([]float64, rows)
	for i := range logP {
		logP[i], anyway[i] = -1, -6
	}
	cost := math.Log(2 * rows)
	for far, want := range map[float64]float64{
		-1: -rows, -50: 1 - rows - 6 - cost, -100: 1 - rows - 6 - cost, -1000: 1 - rows - 1000 + 100 - cost, math.Inf(-1): math.Inf(-1),
	} {
		logP[7] = far
		if got := robust(logP, anyway); got != want && !(math.Abs(got-want) < 1e-9*rows) {
			t.Errorf("with a log density of %g %g, want %g", far, got, want)
		}
	}
	logP[7], logP[8] = -100, -100
	if got := robust(logP, anyway); math.Abs(got-(2-rows-100-6-math.Log(rows))) > 1e-9 {
		t.Errorf("two far rows count %g", got)
	}
}

// TestRobustWithoutNoise: where there is next to no noise, any variance of the noise's size is none for the row, and the rows
// count as they are.
func TestRobustWithoutNoise(t *testing.T) {
	logP := []float64{-10, -1e9, -9}
	for _, anyway := range []float64{-1e26, math.Inf(-1), math.NaN()} {
		if got, want := robust(logP, []float64{anyway, anyway, anyway}), -19-1e9; math.Abs(got-want) > 1e-3 {
			t.Errorf("with log densities of %g anyway %g, want %g", anyway, got, want)
		}
	}
}

// TestRobustOfNoRows: nothing costs nothing.
func TestRobustOfNoRows(t *testing.T) {
	var r gp.Robust
	r.Add([]float64{-3}, []float64{-1}, []float64{0})
	if got := r.Mean(5); got != 0 {
		t.Errorf("%g", got)
	}
}

// TestManyFarRows: a tenth of 1,000 rows at eight standard deviations of a small variance choose a large one, as by plain
// densities: they are no single row, and are not passed over.
func TestManyFarRows(t *testing.T) {
	const rows, far, z = 1000, 100, 8.0
	density := func(variance float64) []float64 {
		logP := make([]float64, rows)
		for i := range logP {
			if logP[i] = -math.Log(variance) / 2; i < far {
				logP[i] -= z * z / 2 / variance
			}
		}
		return logP
	}
	anyway := density(1)
	for _, v := range gp.AnyVariance {
		for i, p := range density(1 + v) {
			anyway[i] = max(anyway[i], p)
		}
	}
	if small, large := robust(density(1), anyway), robust(density(9), anyway); small > large-1000 {
		t.Errorf("log density %g of the small variance, %g of the large one", small, large)
	}
}
