package kernel

// Transpose sets dst[j,i] = src[i,j] for a rows×cols matrix src, which dst must not
// overlap.
func Transpose[T Float](dst []T, ldd int, src []T, lds, rows, cols int) {
	checkMatrix("Transpose", "dst", dst, cols, rows, ldd)
	checkMatrix("Transpose", "src", src, rows, cols, lds)
	transpose(dst, ldd, src, lds, rows, cols)
}

// transpose sets dst[j,i] = src[i,j] for rows×cols elements of src.
func transpose[T Float](dst []T, ldd int, src []T, lds, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	// packCols fills up groups of four rows, so the last few go one by one.
	whole := rows &^ 3
	if whole > 0 {
		packCols(dst, src, lds, cols, ldd, whole)
	}
	if whole < rows {
		packColsGo(dst[whole:], src[whole*lds:], lds, cols, ldd, rows-whole)
	}
}

// smallTriangle is the size up to which plain loops copy a triangle.
const smallTriangle = 16

// CopyLower copies the lower triangle of the n×n matrix c to the upper one.
func CopyLower[T Float](n int, c []T, ldc int) {
	checkMatrix("CopyLower", "C", c, n, n, ldc)
	copyLower(n, c, ldc, smallTriangle, true)
}

// copyLower is CopyLower by blocks. It copies the blocks on the diagonal, of up to most rows, only if
// diagonal is set.
func copyLower[T Float](n int, c []T, ldc, most int, diagonal bool) {
	if n > most {
		h := half(n, most/2)
		copyLower(h, c, ldc, most, diagonal)
		copyLower(n-h, c[h*ldc+h:], ldc, most, diagonal)
		transpose(c[h:], ldc, c[h*ldc:], ldc, n-h, h)
		return
	}
	for i := 0; diagonal && i < n; i++ {
		for j := range i {
			c[j*ldc+i] = c[i*ldc+j]
		}
	}
}
