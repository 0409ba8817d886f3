package kernel

// A few last columns of panels fill so little of a vector that a tile would waste most of its time. Where
// the processor has AVX-512, these columns go into quads instead. A vector of a quad holds four columns and
// quadSteps steps of the sum, and each quarter of the vector belongs to a column. Vectors of a
// quad follow one another from step to step. Zeros fill up the last vector.
const (
	quadCols  = 4
	quadBytes = 16 // bytes of a column in a vector
)

// quadSteps returns the number of steps of the sum in one vector.
func quadSteps[T Float]() int { return quadBytes / sizeOf[T]() }

// quadLen returns the number of elements of a quad of k steps.
func quadLen[T Float](k int) int {
	steps := quadSteps[T]()
	return (k + steps - 1) / steps * steps * quadCols
}

// quadded returns the number of columns, out of n, that go into quads. These are the columns right of the
// last whole vector, if they fill at most half a vector. Rows of A are read in place for quads, which pays
// up to stridedCols.
func quadded[T Float](n int) int {
	lanes := tileCols[T]() / 2
	if rest := n % lanes; hasQuads() && n <= stridedCols && 2*rest <= lanes {
		return rest
	}
	return 0
}

// packQuads sets dst to the quads of count columns of op(B), from column i on, of k elements.
func packQuads[T Float](dst, b []T, transB bool, ldb, k, i, count int) {
	steps, size := quadSteps[T](), quadLen[T](k)
	row, col := strides(transB, ldb)
	clear(dst[:(count+quadCols-1)/quadCols*size])
	for j := range count {
		column := dst[j/quadCols*size+j%quadCols*steps:]
		for p := 0; p < k; p += steps {
			for s := range min(steps, k-p) {
				column[p*quadCols+s] = b[(p+s)*row+(i+j)*col]
			}
		}
	}
}
