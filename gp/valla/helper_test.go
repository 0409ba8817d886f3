package valla_test

import "math"

func log(x float64) float64 { return math.Log(x) }
