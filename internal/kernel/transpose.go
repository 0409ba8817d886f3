package kernel

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
