//go:build linux

package kernel

import (
	"syscall"
	"testing"
	"unsafe"
)

// atEdge returns n random elements, after which there is no memory: to read or to write past
// their end ends the program.
func atEdge[T Float](t *testing.T, n int) []T {
	t.Helper()
	page := syscall.Getpagesize()
	bytes := n * sizeOf[T]()
	size := (bytes+page-1)/page*page + page
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mprotect(mem[size-page:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	s := unsafe.Slice((*T)(unsafe.Pointer(&mem[size-page-bytes])), n)
	copy(s, newMatrix[T](source(uint64(n)), 1, n, 0).s())
	return s
}

// The assembly touches nothing past the end of its operands.
func TestEdges(t *testing.T) { bothTypes(t, testEdges[float32], testEdges[float64]) }

func testEdges[T Float](t *testing.T) {
	for n := 1; n < 40; n++ {
		x, y, z, w := atEdge[T](t, n), atEdge[T](t, n), atEdge[T](t, n), atEdge[T](t, n)
		for _, u := range unaries[T]() {
			u.f(z, x)
		}
		Add(z, x, y)
		MulAdd(z, x, y, z)
		Dot(x, y)
		Sum(x)
		Adam(x, y, z, w, &AdamCoefficients[T]{})
	}
	for _, s := range [][3]int{{1, 5, 9}, {9, 1, 5}, {5, 9, 3}, {13, 17, 11}, {30, 37, 20}, {24, 35, 7}} {
		m, n, k := s[0], s[1], s[2]
		a, b, c := atEdge[T](t, m*k), atEdge[T](t, k*n), atEdge[T](t, m*n)
		Gemm(false, false, m, n, k, 1, a, k, b, n, 1, c, n)
		Gemm(true, false, m, n, k, 1, a, m, b, n, 0, c, n)
		Gemm(false, true, m, n, k, 1, a, k, b, k, 0, c, n)
		panels := atEdge[T](t, PanelsLen(k, n))
		Panels(false, k, n, b, n, panels)
		GemmPanels(false, m, n, k, a, k, panels, c, n)
		Panels(true, k, n, b, k, panels)
		GemmPanels(true, m, n, k, a, m, panels, c, n)
		Syrk(false, m, k, 1, a, k, 0, atEdge[T](t, m*m), m)
		Trsm(false, false, m, n, atEdge[T](t, m*m), m, c, n)
		Trsm(true, true, m, n, atEdge[T](t, n*n), n, c, n)
		Transpose(atEdge[T](t, m*n), m, c, n, m, n)
	}
	Syrk(false, 7, 300, 1, atEdge[T](t, 7*300), 300, 0, atEdge[T](t, 7*7), 7)
	for stride := 1; stride <= 3; stride++ {
		c := Conv{3, 9, 11, 5, 3, 3, stride, 1, false}
		x, w, y := atEdge[T](t, c.imageSize()), atEdge[T](t, c.Out*c.taps()), atEdge[T](t, c.resultSize())
		ConvForward(c, ConvRows{X: 1, W: 1, Y: 1}, x, w, y)
		ConvInput(c, ConvRows{X: 1, W: 1, Y: 1}, y, w, x)
		ConvFilter(c, ConvRows{X: 1, W: 1, Y: 1}, x, y, w)
	}
}
