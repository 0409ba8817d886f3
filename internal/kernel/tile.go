package kernel

import "unsafe"

// A tile is the part of C that a micro-kernel keeps in registers: tileRows rows of
// tileBytes bytes. All micro-kernels share one packed format. A is packed in panels of
// tileRows rows, where element i of step p is at p·tileRows+i. B is packed in panels of
// tileCols columns. The assembly can also read an unpacked A, where element i of step p is
// at i·arow+p·astep.
const (
	tileRows  = 12
	tileBytes = 128
)

// sizeOf returns the size of an element in bytes.
func sizeOf[T Float]() int {
	var x T
	return int(unsafe.Sizeof(x))
}

// tileCols returns the number of columns of a tile, 32 or 16.
func tileCols[T Float]() int { return tileBytes / sizeOf[T]() }

// tileGo computes C = alpha·A·B, or C += alpha·A·B if add is set, for rows×cols
// elements of C, from k steps of a packed panel of A and of B, whose steps are
// ldb elements apart. It works on 4×2 elements at a time; lanes of the panels
// beyond rows and cols are computed and dropped.
func tileGo[T Float](k int, alpha T, a, b []T, ldb int, c []T, ldc, rows, cols int, add bool) {
	var s [8]T
	for i := 0; i < rows; i += 4 {
		for j := 0; j < cols; j += 2 {
			tileSums(k, a[i:], b[j:], ldb, &s)
			for r := range min(4, rows-i) {
				for q := range min(2, cols-j) {
					v, at := alpha*s[2*r+q], (i+r)*ldc+j+q
					if add {
						v = T(v) + c[at]
					}
					c[at] = v
				}
			}
		}
	}
}

// tileSums sets s to the 4×2 product of k steps of a and b.
func tileSums[T Float](k int, a, b []T, ldb int, s *[8]T) {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	for p := range k {
		x, y := a[p*tileRows:p*tileRows+4:p*tileRows+4], b[p*ldb:p*ldb+2:p*ldb+2]
		u, v := y[0], y[1]
		s0 += x[0] * u
		s1 += x[0] * v
		s2 += x[1] * u
		s3 += x[1] * v
		s4 += x[2] * u
		s5 += x[2] * v
		s6 += x[3] * u
		s7 += x[3] * v
	}
	*s = [8]T{s0, s1, s2, s3, s4, s5, s6, s7}
}

// packRowsGo copies k rows of height elements, which are ld apart, to rows of width elements.
func packRowsGo[T Float](dst, src []T, ld, k, width, height int) {
	for p := range k {
		copy(dst[p*width:p*width+height], src[p*ld:p*ld+height])
	}
}

// packColsGo transposes: it copies height rows of k elements, which are ld apart, to the
// columns of k rows of width elements.
func packColsGo[T Float](dst, src []T, ld, k, width, height int) {
	for i := range height {
		row := src[i*ld : i*ld+k]
		for p, v := range row {
			dst[p*width+i] = v
		}
	}
}

// interleaveGo copies k elements of each of four rows to the first four columns of k rows
// of width elements.
func interleaveGo[T Float](dst []T, width int, r0, r1, r2, r3 []T, k int) {
	for p := range k {
		d := dst[p*width : p*width+4 : p*width+4]
		d[0], d[1], d[2], d[3] = r0[p], r1[p], r2[p], r3[p]
	}
}
