package kernel

import "math"

// Syrk computes C = alpha·A·Aᵀ + beta·C for A [n,k]. If trans is set, it computes
// C = alpha·Aᵀ·A + beta·C for A [k,n]. It reads only the lower triangle of C, and does not read C
// if beta is 0. It writes both triangles, which are exactly equal.
func Syrk[T Float](trans bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	rows, cols := shape(trans, n, k)
	checkMatrix("Syrk", "A", a, rows, cols, lda)
	checkMatrix("Syrk", "C", c, n, n, ldc)
	s := symmetric[T]{whole: true, trans: trans, n: n, k: k, alpha: alpha, beta: beta, a: a, lda: lda, c: c, ldc: ldc}
	switch {
	case trans || n > smallSyrk || k == 0:
		s.share()
	case n >= 5 && k >= gramLeast && beta == 0 && hasFives():
		s.gram()
	default:
		s.small()
	}
}

// smallSyrk is the number of rows up to which inner products of rows are faster than
// tiles, which need transposed rows.
const smallSyrk = 16

// small computes all of C by inner products.
func (s *symmetric[T]) small() {
	for i := range s.n {
		row := s.a[i*s.lda:][:s.k]
		for j := 0; j <= i; j += 4 {
			var sums [4]T
			first := max(0, min(j, s.n-4)) // the first of four rows, if there are four
			if s.n >= 4 {
				dots(row, s.a[first*s.lda:], s.lda, &sums)
			} else {
				for r := range i + 1 {
					sums[r] = Dot(row, s.a[r*s.lda:][:s.k])
				}
			}
			for c := j; c <= min(i, j+3); c++ {
				v := s.alpha * sums[c-first]
				if s.beta != 0 {
					v += s.beta * s.c[i*s.ldc+c]
				}
				s.c[i*s.ldc+c], s.c[c*s.ldc+i] = v, v
			}
		}
	}
}

// symmetric computes one triangle of the n×n matrix alpha·op(A)·op(A)ᵀ + beta·C. This is the upper
// triangle if upper is set, and the lower triangle otherwise. Unless exact is set, symmetric also writes
// the other triangle of the blocks on the diagonal. If whole is set, it copies the computed triangle to
// the other triangle.
type symmetric[T Float] struct {
	upper, exact, whole, trans bool // see above; trans is set if op transposes A
	n, k                       int  // C is [n,n]; each element is a sum of k products
	alpha, beta                T    // factors of the product and of the old C
	a                          []T  // A, [n,k] or transposed
	lda                        int  // elements between the rows of a
	c                          []T  // C [n,n]
	ldc                        int  // elements between the rows of c
}

// share computes the triangle on several threads if it is large enough.
func (s *symmetric[T]) share() {
	work := s.n * s.n * s.k // about twice the elements, but blocks on the diagonal are computed as a whole
	parts := shares(work)
	if parts < 2 {
		s.Run(0, 1)
		return
	}
	w := spaces[T]().get()
	w.symmetric = *s
	Share(parts, Nanoseconds(work), &w.symmetric)
	spaces[T]().put(w)
}

// Run computes one part, which is some rows of the lower triangle, or some columns of the upper
// triangle. All parts have about the same area.
func (s *symmetric[T]) Run(part, parts int) {
	lo, hi := s.edge(part, parts), s.edge(part+1, parts)
	if lo == hi {
		return
	}
	step, _ := strides(s.trans, s.lda)
	below, c := from(s.a, lo*step), s.c[lo*s.ldc+lo:]
	s.beside(lo, hi-lo, s.a, below, s.c)
	s.triangle(hi-lo, below, c)
	if !s.whole {
		return
	}
	if lo > 0 {
		transpose(s.c[lo:], s.ldc, s.c[lo*s.ldc:], s.ldc, hi-lo, lo)
	}
	if s.beta == 0 {
		copyLower(hi-lo, c, s.ldc, syrkBlock, false) // a product alone is exactly symmetric
	} else {
		CopyLower(hi-lo, c, s.ldc)
	}
}

// edge returns the first row of a part. A part of one row would be a product with a vector, which is summed in
// another order, so that the part before takes this row.
func (s *symmetric[T]) edge(part, parts int) int {
	rows := float64(s.n) * math.Sqrt(float64(part)/float64(parts))
	row := min(s.n, (int(math.Round(rows))+tileRows-1)/tileRows*tileRows)
	if row > 0 && row == s.n-1 {
		return s.n
	}
	return row
}

// beside computes the block that lies beside two triangles on the diagonal. The first triangle has h
// rows, and the second triangle, below, has n rows.
func (s *symmetric[T]) beside(h, n int, a, below, c []T) {
	switch {
	case h == 0 || n == 0:
	case s.upper:
		Gemm(s.trans, !s.trans, h, n, s.k, s.alpha, a, s.lda, below, s.lda, s.beta, c[h:], s.ldc)
	default:
		Gemm(s.trans, !s.trans, n, h, s.k, s.alpha, below, s.lda, a, s.lda, s.beta, c[h*s.ldc:], s.ldc)
	}
}

// syrkBlock is the size up to which a symmetric product is done as a whole:
// large enough for Gemm's full speed, small enough to skip most of the other
// triangle.
const syrkBlock = 96

// half returns the smallest multiple of unit that is at least n/2.
func half(n, unit int) int { return (n/2 + unit - 1) / unit * unit }

// triangle computes the triangle of n rows and columns of C: two half triangles and the
// block beside them.
func (s *symmetric[T]) triangle(n int, a, c []T) {
	if n <= syrkBlock {
		s.diagonal(n, a, c)
		return
	}
	h := half(n, syrkBlock/2)
	step, _ := strides(s.trans, s.lda)
	below := from(a, h*step)
	s.triangle(h, a, c)
	s.triangle(n-h, below, c[h*s.ldc+h:])
	s.beside(h, n-h, a, below, c)
}

// diagonal computes a block on the diagonal. If it must not touch the other triangle, it
// computes the block in other memory, from a copy of the triangle, and copies the triangle back.
func (s *symmetric[T]) diagonal(n int, a, c []T) {
	if !s.exact {
		Gemm(s.trans, !s.trans, n, n, s.k, s.alpha, a, s.lda, a, s.lda, s.beta, c, s.ldc)
		return
	}
	w := spaces[T]().get()
	w.x = grow(w.x, n*n)
	if s.beta != 0 {
		s.copyTriangle(n, w.x, n, c, s.ldc)
	}
	Gemm(s.trans, !s.trans, n, n, s.k, s.alpha, a, s.lda, a, s.lda, s.beta, w.x, n)
	s.copyTriangle(n, c, s.ldc, w.x, n)
	spaces[T]().put(w)
}

// copyTriangle copies the triangle of n rows and columns.
func (s *symmetric[T]) copyTriangle(n int, dst []T, ldd int, src []T, lds int) {
	for i := range n {
		lo, hi := 0, i+1
		if s.upper {
			lo, hi = i, n
		}
		copy(dst[i*ldd+lo:i*ldd+hi], src[i*lds+lo:i*lds+hi])
	}
}
