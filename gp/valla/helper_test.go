package valla

import "math"

func log(x float64) float64 { return math.Log(x) }
