package eigen

// Semidefinite is Symmetric of a matrix that is positive semi-definite. Where it has zeros
// on its diagonal, as from pixels that are always black, those rows and columns are 0:
// unit vectors are eigenvectors there, which come first, and the rest is a smaller problem.
func Semidefinite(n int, a []float64) (values, vectors []float64, err error) {
	var zero, rest []int
	for i := range n {
		if a[i*n+i] == 0 {
			zero = append(zero, i)
		} else {
			rest = append(rest, i)
		}
	}
	m := len(rest)
	if m == 0 || m == n {
		return Symmetric(n, a)
	}
	part := make([]float64, m*m)
	for r, i := range rest {
		for c, j := range rest {
			part[r*m+c] = a[i*n+j]
		}
	}
	some, within, err := Symmetric(m, part)
	values, vectors = make([]float64, n), make([]float64, n*n)
	for c, i := range zero {
		vectors[i*n+c] = 1
	}
	for r, i := range rest {
		copy(vectors[i*n+len(zero):], within[r*m:(r+1)*m])
	}
	copy(values[len(zero):], some)
	return values, vectors, err
}
