package kernel

// FirstNonFinite returns the index and the value of the first element that is NaN or
// infinite, or −1 and 0.
//
// It looks at eight elements at a time: x − x is 0 where x is finite and NaN otherwise, and a
// NaN survives the sum.
func FirstNonFinite[T Float](x []T) (int, T) {
	i := 0
	for ; i+8 <= len(x); i += 8 {
		y := x[i : i+8 : i+8]
		a := (y[0] - y[0]) + (y[1] - y[1]) + ((y[2] - y[2]) + (y[3] - y[3]))
		b := (y[4] - y[4]) + (y[5] - y[5]) + ((y[6] - y[6]) + (y[7] - y[7]))
		if a+b != 0 {
			break
		}
	}
	for ; i < len(x); i++ {
		if v := x[i]; v-v != 0 {
			return i, v
		}
	}
	return -1, 0
}

// Finite reports whether v is neither NaN nor infinite.
func Finite[T Float](v T) bool { return v-v == 0 }
