//go:build noasm || !amd64

package kernel

func tile[T Float](k int, alpha T, a, b []T, ldb int, c []T, ldc, rows, cols int, add bool) {
	tileGo(k, alpha, a, b, ldb, c, ldc, rows, cols, add)
}

func packRows[T Float](dst, src []T, ld, k, width, height int) {
	packRowsGo(dst, src, ld, k, width, height)
}

func packCols[T Float](dst, src []T, ld, k, width, height int) {
	packColsGo(dst, src, ld, k, width, height)
}

func solveBlock[T Float](l *[solverBlock * solverBlock]T, b []T, ldb, systems int, backwards bool) {
	solveGo(l, b, ldb, solverBlock, systems, backwards)
}
