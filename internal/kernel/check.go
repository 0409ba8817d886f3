package kernel

import "fmt"

// checkMatrix panics unless s holds a rows×cols matrix of leading dimension ld.
func checkMatrix[T Float](fn, name string, s []T, rows, cols, ld int) {
	if rows > 0 && cols > 0 && ld < cols {
		panic(fmt.Sprintf("kernel: %s: %s: leading dimension %d is less than %d columns", fn, name, ld, cols))
	}
	checkRows(fn, name, s, rows, cols, ld)
}

// checkRows is checkMatrix for a matrix whose rows may overlap.
func checkRows[T Float](fn, name string, s []T, rows, cols, ld int) {
	switch {
	case rows < 0 || cols < 0:
		panic(fmt.Sprintf("kernel: %s: %s has negative shape %d×%d", fn, name, rows, cols))
	case rows == 0 || cols == 0:
	case ld < 1:
		panic(fmt.Sprintf("kernel: %s: %s: leading dimension %d, expected at least 1", fn, name, ld))
	case len(s) < (rows-1)*ld+cols:
		panic(fmt.Sprintf("kernel: %s: %s: %d elements are too few for %d×%d with leading dimension %d", fn, name, len(s), rows, cols, ld))
	}
}

// shape returns the numbers of rows and columns of a matrix as it is stored, which is transposed if
// trans is set.
func shape(trans bool, rows, cols int) (int, int) {
	if trans {
		return cols, rows
	}
	return rows, cols
}

// checkLength panics unless got, the length of an operand, equals want, the length of the destination.
func checkLength(want, got int) {
	if want != got {
		panic(fmt.Sprintf("kernel: vector of %d elements, expected %d", got, want))
	}
}
