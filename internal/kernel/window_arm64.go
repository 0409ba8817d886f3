//go:build !noasm

package kernel

// The assembly computes up to 4 rows of up to three pairs of vectors of 16 bytes, which begin
// at b0, b1 and b2. It adds them to C if add is 1 and writes them if add is 0.

//go:noescape
func window32(count int, steps *step, a *float32, arow int, b0, b1, b2, c *float32, ldc, rows, pairs, add int)

//go:noescape
func window64(count int, steps *step, a *float64, arow int, b0, b1, b2, c *float64, ldc, rows, pairs, add int)

// A call of the assembly computes pairRows rows of windowBytes/2 bytes.
const (
	pairRows = 4
	pairMost = pairRows * windowBytes / (2 * 4) // elements at most, in float32
)

// window is windowGo on the best instructions of this processor: up to four calls of the
// assembly, each of half the height and width. The assembly writes whole pairs of vectors,
// so that the last columns take a detour.
func window[T Float](steps []step, a []T, arow int, b []T, at *[3]int, c []T, ldc, rows, cols int, add bool) {
	if simd == none {
		windowGo(steps, a, arow, b, at, c, ldc, rows, cols, add)
		return
	}
	pair := windowCols[T]() / 6
	// The three vectors are six pairs, which begin here.
	pairs := [6]int{at[0], at[0] + pair, at[1], at[1] + pair, at[2], at[2] + pair}
	half := 3 * pair
	for j := 0; j < cols; j += half {
		p := [3]*T{&b[pairs[j/pair]], &b[pairs[j/pair+1]], &b[pairs[j/pair+2]]}
		n := min(half, cols-j)
		for i := 0; i < rows; i += pairRows {
			r, x, y := min(pairRows, rows-i), &a[i*arow], c[i*ldc+j:]
			if n%pair == 0 {
				windowPairs(steps, x, arow, p, y, ldc, r, n/pair, add)
				continue
			}
			var t [pairMost]T
			windowPairs(steps, x, arow, p, t[:], half, r, n/pair+1, false)
			putColumns(y, ldc, t[:], half, r, n, add)
		}
	}
}

// windowPairs computes a number of pairs of vectors.
func windowPairs[T Float](steps []step, a *T, arow int, b [3]*T, c []T, ldc, rows, pairs int, add bool) {
	if sizeOf[T]() == 4 {
		window32(len(steps), &steps[0], f32(a), arow, f32(b[0]), f32(b[1]), f32(b[2]), f32(&c[0]), ldc, rows, pairs, flag(add))
	} else {
		window64(len(steps), &steps[0], f64(a), arow, f64(b[0]), f64(b[1]), f64(b[2]), f64(&c[0]), ldc, rows, pairs, flag(add))
	}
}
