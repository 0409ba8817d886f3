//go:build !noasm && (amd64 || arm64)

package kernel

//go:noescape
func solve32(l, b *float32, ldb, n int)

//go:noescape
func solve64(l, b *float64, ldb, n int)

// solveBlock is solveGo for solverBlock unknowns, on the best instructions of this
// processor.
func solveBlock[T Float](l *[solverBlock * solverBlock]T, b []T, ldb, systems int, backwards bool) {
	if simd == none {
		solveGo(l, b, ldb, solverBlock, systems, backwards)
		return
	}
	first := &b[0]
	if backwards {
		first, ldb = &b[(solverBlock-1)*ldb], -ldb
	}
	if sizeOf[T]() == 4 {
		solve32(f32(&l[0]), f32(first), ldb, systems)
	} else {
		solve64(f64(&l[0]), f64(first), ldb, systems)
	}
}
