package kernel

import "fmt"

// panelled returns n rounded up to whole tiles of either element type.
func panelled(n int) int {
	const width = tileBytes / 4
	return (n + width - 1) / width * width
}

// PanelsLen returns the number of elements of the panels of a k×n matrix, see Panels.
func PanelsLen(k, n int) int { return panelled(n)*k + packSlack }

// PanelsPay reports whether GemmPanels takes less time than Gemm for m×n elements of C, and whether panels
// take not much more memory than the matrix. B is transposed if transB is set. The order of the sums in
// quads is their own, and where panels have quads, the answer does not depend on m.
func PanelsPay(transB bool, m, n int) bool {
	pays := m > directRows || transB || hasQuads() && n <= stridedCols
	return pays && external32 == nil && external64 == nil && 2*panelled(n) <= 3*n
}

// Panels sets dst, of length PanelsLen, to op(B) [k,n] in the order in which products read B. A
// matrix that several products have in common is packed once. The shape of b is as in Gemm.
func Panels[T Float](transB bool, k, n int, b []T, ldb int, dst []T) {
	rows, cols := shape(transB, k, n)
	checkMatrix("Panels", "B", b, rows, cols, ldb)
	checkPanels("Panels", k, n, dst)
	if k > 0 && n > 0 {
		quads, width := quadded[T](n), tileCols[T]()
		whole, wide := n, n-quads
		if quads > 0 { // the last panel may have half the width
			whole = wide / width * width
		}
		pack(dst, b, transB, ldb, 0, whole, 0, k, width)
		pack(dst[whole*k:], b, transB, ldb, whole, wide-whole, 0, k, width/2)
		packQuads(dst[wide*k:], b, transB, ldb, k, wide, quads)
	}
}

// GemmPanels computes C = op(A)·B for the panels of a k×n matrix B, as Gemm does with alpha = 1 and
// beta = 0. With AVX-512 it sums a few last columns in another order than Gemm, see quadCols. If n > 1,
// all other elements have the same bits as from Gemm. The order depends neither on m nor on the number
// of threads.
func GemmPanels[T Float](transA bool, m, n, k int, a []T, lda int, panels, c []T, ldc int) {
	rows, cols := shape(transA, m, k)
	checkMatrix("GemmPanels", "A", a, rows, cols, lda)
	checkPanels("GemmPanels", k, n, panels)
	checkMatrix("GemmPanels", "C", c, m, n, ldc)
	switch {
	case m == 0 || n == 0:
	case k == 0:
		scale(m, n, 0, c, ldc)
	default:
		g := gemm[T]{transA: transA, m: m, n: n, k: k, alpha: 1, a: a, lda: lda, b: panels, panels: true, quads: quadded[T](n), c: c, ldc: ldc}
		if m == 1 {
			g.row()
		} else {
			g.share()
		}
	}
}

func checkPanels[T Float](fn string, k, n int, panels []T) {
	if len(panels) != PanelsLen(k, n) {
		panic(fmt.Sprintf("kernel: %s: panels of %d elements, expected %d", fn, len(panels), PanelsLen(k, n)))
	}
}
