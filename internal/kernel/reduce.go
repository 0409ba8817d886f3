package kernel

// Dot returns the inner product of x and y, whose terms are added in a fixed order.
func Dot[T Float](x, y []T) T {
	checkLength(len(x), len(y))
	if s, ok := fastDot(x, y); ok {
		return s
	}
	var s [4]T
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		s[0] += x[i] * y[i]
		s[1] += x[i+1] * y[i+1]
		s[2] += x[i+2] * y[i+2]
		s[3] += x[i+3] * y[i+3]
	}
	for i := n; i < len(x); i++ {
		s[0] += x[i] * y[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// dots sets sums to the inner products of x with four rows of y, which are ldy apart.
func dots[T Float](x, y []T, ldy int, sums *[4]T) {
	if fastDots(x, y, ldy, sums) {
		return
	}
	for i := range sums {
		sums[i] = Dot(x, y[i*ldy:][:len(x)])
	}
}

// Sum returns the sum of the elements of x, which are added in a fixed order.
func Sum[T Float](x []T) T {
	if s, ok := fastSum(x); ok {
		return s
	}
	var s [4]T
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		s[0] += x[i]
		s[1] += x[i+1]
		s[2] += x[i+2]
		s[3] += x[i+3]
	}
	for i := n; i < len(x); i++ {
		s[0] += x[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// Largest returns the largest element of x, which is not empty. Where x has a NaN, the result is NaN or the largest of some elements.
func Largest[T Float](x []T) T {
	m := [4]T{x[0], x[0], x[0], x[0]}
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 { // comparisons of four chains do not wait for each other, as those of max do
		v := x[i : i+4 : i+4]
		if v[0] > m[0] {
			m[0] = v[0]
		}
		if v[1] > m[1] {
			m[1] = v[1]
		}
		if v[2] > m[2] {
			m[2] = v[2]
		}
		if v[3] > m[3] {
			m[3] = v[3]
		}
	}
	for _, v := range x[n:] {
		m[0] = max(m[0], v)
	}
	return max(max(m[0], m[1]), max(m[2], m[3]))
}

// Poles returns Σ z_i t_i and Σ t_i² for t_i = z_i/(p_i − x). These are the sums in the secular equation
// of an eigenvalue problem.
func Poles(z, p []float64, x float64) (sum, squares float64) {
	checkLength(len(z), len(p))
	i := 0
	if s, q, ok := fastPoles(z, p, x); ok {
		sum, squares, i = s, q, len(z)&^3
	}
	for ; i < len(z); i++ {
		t := z[i] / (p[i] - x)
		sum += z[i] * t
		squares += t * t
	}
	return sum, squares
}
