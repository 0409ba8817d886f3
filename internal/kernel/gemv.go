package kernel

// vector computes the product if C is a single row or column, and reports whether it did.
// It reads the matrix once, row after row, because packing would cost more than such a
// product.
func (g *gemm[T]) vector() bool {
	if g.m > 1 && g.n > 1 {
		return false
	}
	w := spaces[T]().get()
	if g.m == 1 {
		_, step := strides(g.transA, g.lda)
		x := gather(w, g.a, g.k, step)
		g.multiply(w, !g.transB, g.b, g.ldb, x, g.n, 1)
	} else {
		step, _ := strides(g.transB, g.ldb)
		x := gather(w, g.b, g.k, step)
		g.multiply(w, g.transA, g.a, g.lda, x, g.m, g.ldc)
	}
	spaces[T]().put(w)
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

// multiply computes the n elements of C, which are step apart, from M·x, or from Mᵀ·x if
// trans is set.
func (g *gemm[T]) multiply(w *workspace[T], trans bool, m []T, ldm int, x []T, n, step int) {
	if !trans {
		for i := range n {
			g.store(i*step, g.alpha*Dot(m[i*ldm:][:len(x)], x))
		}
		return
	}
	w.a = grow(w.a, n)
	clear(w.a)
	axpyRows(w.a, m, ldm, x)
	for i, v := range w.a {
		g.store(i*step, g.alpha*v)
	}
}

// store writes v to element i of C, or adds it there.
func (g *gemm[T]) store(i int, v T) {
	if g.add {
		v = T(v) + g.c[i]
	}
	g.c[i] = v
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
