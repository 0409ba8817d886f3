package kernel

import "math"

// FirstNonzero returns the index of the first element that is not 0, or −1. NaN is not 0.
func FirstNonzero[T Float](x []T) int {
	i := 0
	switch x := any(x).(type) {
	case []float64:
		i = zeros64(x)
	case []float32:
		i = zeros32(x)
	}
	for ; i < len(x); i++ {
		if x[i] != 0 {
			return i
		}
	}
	return -1
}

// zeros64 returns a number of elements at the beginning of x, a multiple of eight, that are 0. It compares the bits of eight
// elements at a time; −0 has a bit, and is left to the caller.
func zeros64(x []float64) int {
	i := 0
	for ; i+8 <= len(x); i += 8 {
		y := x[i : i+8 : i+8]
		a := math.Float64bits(y[0]) | math.Float64bits(y[1]) | math.Float64bits(y[2]) | math.Float64bits(y[3])
		b := math.Float64bits(y[4]) | math.Float64bits(y[5]) | math.Float64bits(y[6]) | math.Float64bits(y[7])
		if a|b != 0 {
			break
		}
	}
	return i
}

// zeros32 is zeros64 for float32.
func zeros32(x []float32) int {
	i := 0
	for ; i+8 <= len(x); i += 8 {
		y := x[i : i+8 : i+8]
		a := math.Float32bits(y[0]) | math.Float32bits(y[1]) | math.Float32bits(y[2]) | math.Float32bits(y[3])
		b := math.Float32bits(y[4]) | math.Float32bits(y[5]) | math.Float32bits(y[6]) | math.Float32bits(y[7])
		if a|b != 0 {
			break
		}
	}
	return i
}
