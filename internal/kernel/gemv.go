package kernel

// vector computes the product if C is a single column, or if C is a single row and B is not transposed.
// It reports whether it has computed the product. It reads the matrix once, row after row, because packing
// would cost more than the product. The order of the sums for a single column differs from the order for
// several columns, but does not depend on the number of rows of C.
func (g *gemm[T]) vector() bool {
	switch {
	case g.n == 1:
		g.column()
	case g.m == 1 && !g.transB:
		g.row()
	default:
		return false
	}
	return true
}

// gather returns k elements of s, step apart, as a vector.
func gather[T Float](w *workspace[T], s []T, k, step int) []T {
	if step == 1 {
		return s[:k]
	}
	w.b = grow(w.b, k)
	for i := range w.b {
		w.b[i] = s[i*step]
	}
	return w.b
}

// column computes the m elements of C from op(A)·x, where x is the single column of op(B).
func (g *gemm[T]) column() {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	step, _ := strides(g.transB, g.ldb)
	x := gather(w, g.b, g.k, step)
	if !g.transA {
		for i := range g.m {
			g.store(i*g.ldc, g.alpha*Dot(g.a[i*g.lda:][:len(x)], x))
		}
		return
	}
	w.a = grow(w.a, g.m)
	clear(w.a)
	axpyRows(w.a, g.a, g.lda, x)
	for i, v := range w.a {
		g.store(i*g.ldc, g.alpha*v)
	}
}

// store writes v to element i of C, or adds v to the element.
func (g *gemm[T]) store(i int, v T) {
	if g.add {
		v = T(v) + g.c[i]
	}
	g.c[i] = v
}

// RowDots sets dst to M·x for M [len(dst),len(x)].
func RowDots[T Float](dst, m []T, ldm int, x []T) {
	checkMatrix("RowDots", "M", m, len(dst), len(x), ldm)
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		dots(x, m[i*ldm:], ldm, (*[4]T)(dst[i:]))
	}
	for ; i < len(dst); i++ {
		dst[i] = Dot(m[i*ldm:][:len(x)], x)
	}
}

// AddRows computes y += Mᵀ·x for M [len(x),len(y)].
func AddRows[T Float](y, m []T, ldm int, x []T) {
	checkMatrix("AddRows", "M", m, len(x), len(y), ldm)
	axpyRows(y, m, ldm, x)
}

// AddSymmetric computes y += S·x for a symmetric S [n,n]. The rows lo to hi−1 of S, from the diagonal on,
// equal the rows of A. The columns lo to hi−1, from the diagonal on, equal these rows, and the other elements
// of S are 0. Calls for ranges that cover all rows add up to a product with the symmetric matrix that has
// the upper triangle of A. AddSymmetric does not read the lower triangle of A.
func AddSymmetric(lo, hi, n int, a []float64, lda int, x, y []float64) {
	checkMatrix("AddSymmetric", "A", a, n, n, lda)
	checkLength(n, len(x))
	checkLength(n, len(y))
	for ; lo+4 < min(hi+1, n); lo += 4 {
		var sums [4]float64
		symmetricBlock(a[lo*lda+lo:], lda, x[lo:], y[lo:])
		rows, right := a[lo*lda+lo+4:], y[lo+4:n]
		if fastSymv4(x[lo+4:n], right, rows, lda, x[lo:lo+4], &sums) {
			for i, v := range sums {
				y[lo+i] += v
			}
			continue
		}
		for i := lo; i < lo+4; i++ {
			row := a[i*lda+lo+4:][:len(right)]
			y[i] += Dot(row, x[lo+4:n])
			Axpy(x[i], row, right)
		}
	}
	for ; lo < hi; lo++ {
		symmetricRow(lo, a[lo*lda:][:n], x, y)
	}
}

// symmetricBlock adds the terms of the block of four rows on the diagonal.
func symmetricBlock(a []float64, lda int, x, y []float64) {
	r0, r1, r2, d := a[:4], a[lda+1:lda+4], a[2*lda+2:2*lda+4], a[3*lda+3]
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	y[0] += (r0[0]*x0 + r0[1]*x1) + (r0[2]*x2 + r0[3]*x3)
	y[1] += (r0[1]*x0 + r1[0]*x1) + (r1[1]*x2 + r1[2]*x3)
	y[2] += (r0[2]*x0 + r1[1]*x1) + (r2[0]*x2 + r2[1]*x3)
	y[3] += (r0[3]*x0 + r1[2]*x1) + (r2[1]*x2 + d*x3)
}

// symmetricRow adds the terms of row i from the diagonal on, and the terms of the equal column.
func symmetricRow(i int, row, x, y []float64) {
	sum := row[i] * x[i]
	for j := i + 1; j < len(row); j++ {
		sum += row[j] * x[j]
		y[j] += row[j] * x[i]
	}
	y[i] += sum
}

// axpyRows computes y += Mᵀ·x, four rows of M at a time.
func axpyRows[T Float](y, m []T, ldm int, x []T) {
	p := 0
	for ; p+4 <= len(x) && fastAxpy4(y, m[p*ldm:], ldm, x[p:]); p += 4 {
	}
	for ; p < len(x); p++ {
		Axpy(x[p], m[p*ldm:][:len(y)], y)
	}
}
