package valla

import "math"

func log(x float64) float64 { return math.Log(x) }

// diagonals picks the diagonals [n·C] of matrices [n,C,C].
func diagonals(v []float64, c int) []float64 {
	out := make([]float64, len(v)/c)
	for i := range out {
		out[i] = v[i*c+i%c]
	}
	return out
}
