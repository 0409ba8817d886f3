package kernel

const (
	// gramLeast is the number of elements of a row from which on a few rows are multiplied five by
	// five. This is done for gramBytes of each row at a time: so much of sixteen rows, which are the
	// most, stays in the second level cache, and so much of ten rows stays in the first.
	gramLeast = 256
	gramBytes = 4096

	gramSums = 25
)

// gram computes C by sums over long rows, five by five. The last five rows may overlap the five rows
// before.
func (s *symmetric[T]) gram() {
	lanes, groups := windowCols[T]()/3, (s.n+4)/5
	w := spaces[T]().get()
	w.x = grow(w.x, groups*(groups+1)/2*gramSums*lanes)
	clear(w.x)
	first := func(group int) int { return min(5*group, s.n-5) }
	steps := gramBytes / sizeOf[T]()
	for p := 0; p < s.k; p += steps {
		sums := w.x
		for i := range groups {
			for j := range i + 1 {
				fives(s.a[first(i)*s.lda+p:], s.a[first(j)*s.lda+p:], s.lda, min(steps, s.k-p), sums)
				sums = sums[gramSums*lanes:]
			}
		}
	}
	sums := w.x
	for i := range groups {
		for j := range i + 1 {
			for e := range gramSums {
				row, col := first(i)+e/5, first(j)+e%5
				v := s.alpha * Sum(sums[e*lanes:(e+1)*lanes])
				s.c[row*s.ldc+col], s.c[col*s.ldc+row] = v, v
			}
			sums = sums[gramSums*lanes:]
		}
	}
	spaces[T]().put(w)
}
