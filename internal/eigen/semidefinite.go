package eigen

// Semidefinite is Symmetric for a positive semi-definite matrix a. If a has a zero on its
// diagonal, as from a pixel that is always black, the whole row and column are 0, and a unit
// vector is an eigenvector. These eigenvectors come first. The other rows and columns are a
// smaller problem.
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
