//go:build noasm || !(amd64 || arm64)

package kernel

// Without assembly all functions use the plain Go loops.

// Assembly returns "none": the plain Go loops compute everything.
func Assembly() string { return "none" }

func tile[T Float](k int, alpha T, a []T, _, _ int, b []T, ldb int, c []T, ldc, rows, cols int, add bool, _, _ int) {
	tileGo(k, alpha, a, b, ldb, c, ldc, rows, cols, add)
}

func packCols[T Float](dst, src []T, ld, k, width, height int) {
	packColsGo(dst, src, ld, k, width, height)
}

func solveBlock[T Float](l *[solverBlock * solverBlock]T, b []T, ldb, systems int, backwards bool) {
	solveGo(l, b, ldb, solverBlock, systems, backwards)
}

func fastElementary[T Float](elementary, []T, []T) bool { return false }

func fastArithmetic[T Float](operation, Rows, []T, []T, []T, []T, int) bool { return false }

func fastMulAdd[T Float]([]T, []T, []T, []T) bool { return false }

func fastAdam[T Float]([]T, []T, []T, []T, *AdamCoefficients[T]) bool { return false }

func fastDot[T Float]([]T, []T) (T, bool) { return 0, false }

func fastDots[T Float]([]T, []T, int, *[4]T) bool { return false }

func fastSum[T Float]([]T) (T, bool) { return 0, false }

func fastAxpy4[T Float]([]T, []T, int, []T) bool { return false }

func window[T Float](steps []step, a []T, arow int, b []T, at *[3]int, c []T, ldc, rows, cols int, add bool) {
	windowGo(steps, a, arow, b, at, c, ldc, rows, cols, add)
}

func interleave[T Float](dst []T, width int, r0, r1, r2, r3 []T, k int) {
	interleaveGo(dst, width, r0, r1, r2, r3, k)
}

func zip[T Float](dst []T, ldd int, even, odd []T, rows, width int) {
	zipGo(dst, ldd, even, odd, rows, width)
}

func pause() {}

func fastPut[T Float]([]T, []T, T, bool) bool { return false }
