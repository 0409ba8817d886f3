package kernel

// A window is the part of a product that a micro-kernel keeps in registers: windowRows rows
// of windowBytes bytes, which are three vectors. The factors are not packed. A table of
// steps holds their places.
const (
	windowRows  = 8
	windowBytes = 192

	// windowSteps is the number of steps that are taken at a time. These steps read a part of
	// B for all rows of the result, and the part stays in the first level cache.
	windowSteps = 160
)

// step holds the places of the factors of one step of a product, counted in elements. Row r of A
// is at a + r·arow, and column j of B is at b + j.
type step struct {
	a, b int32 // places of the factors
}

// windowCols returns the number of columns of a window, which is 48 in float32 and 24 in float64.
func windowCols[T Float]() int { return windowBytes / sizeOf[T]() }

// windows computes C = A·B, or C += A·B if add is set, for rows×cols elements of C. If
// pitch is not 0, the columns of B come in runs that are pitch elements apart. A run has run
// columns, which fill whole vectors. The product reads up to windowCols elements past the last
// column of B.
type windows[T Float] struct {
	steps      []step // one for each product of a sum
	a          []T    // A
	arow       int    // elements between the rows of A
	b          []T    // B
	run, pitch int    // columns of a run of B, and elements from run to run
	c          []T    // C [rows,cols]
	ldc        int    // elements between the rows of c
	rows, cols int    // size of C
	add        bool   // whether the product is added to C
}

// multiply computes the product, which is zero if there are no steps.
func (p windows[T]) multiply() {
	if len(p.steps) == 0 && !p.add {
		scale(p.rows, p.cols, 0, p.c, p.ldc)
	}
	steps := p.steps
	blocks := (len(steps) + windowSteps - 1) / windowSteps
	for i := range blocks {
		p.steps = steps[len(steps)*i/blocks : len(steps)*(i+1)/blocks]
		p.block()
		p.add = true
	}
}

// block computes the product for one block of steps. If C is narrow, all of B stays in the
// first level cache while it is multiplied by one band of A after the other. Otherwise a
// piece of B stays in this cache while it is multiplied by all of A.
func (p *windows[T]) block() {
	height := evenly(p.rows, windowRows)
	if p.cols > 2*windowCols[T]() {
		p.bands(height)
		return
	}
	h := *p
	for i := 0; i < p.rows; i += height {
		h.a, h.c, h.rows = p.a[i*p.arow:], p.c[i*p.ldc:], min(height, p.rows-i)
		h.bands(height)
	}
}

// bands computes bands of height rows, window by window.
func (p *windows[T]) bands(height int) {
	vector := windowCols[T]() / 3
	row, column := 0, 0
	for j := 0; j < p.cols; {
		width := windowWidth(p.cols-j, vector)
		var at [3]int
		for v := range (width + vector - 1) / vector {
			at[v] = row + column
			if column += vector; p.pitch > 0 && column == p.run {
				row, column = row+p.pitch, 0
			}
		}
		for i := 0; i < p.rows; i += height {
			window(p.steps, p.a[i*p.arow:], p.arow, p.b, &at, p.c[i*p.ldc+j:], p.ldc, min(height, p.rows-i), width, p.add)
		}
		j += width
	}
}

// evenly returns the size of the pieces into which n is cut. There are as few pieces as possible, of
// about equal size, and none is larger than most.
func evenly(n, most int) int {
	pieces := (n + most - 1) / most
	return (n + pieces - 1) / pieces
}

// windowWidth returns the number of columns to take next when n columns are left. It takes three
// vectors of columns, or two vectors where four are left, because a last window of a single vector
// would make poor use of the processor.
func windowWidth(n, vector int) int {
	if n > 3*vector && n <= 4*vector {
		return 2 * vector
	}
	return min(n, 3*vector)
}

// windowGo computes C = A·B, or C += A·B if add is set, for rows×cols elements
// of C. The columns of B are three vectors, which begin at the three places in at.
func windowGo[T Float](steps []step, a []T, arow int, b []T, at *[3]int, c []T, ldc, rows, cols int, add bool) {
	vector := windowCols[T]() / 3
	for i := range rows {
		for j := 0; j < cols; j += 4 {
			s := windowSums(steps, a[i*arow:], b[at[j/vector]+j%vector:])
			for q, v := range s[:min(4, cols-j)] {
				if add {
					v += c[i*ldc+j+q]
				}
				c[i*ldc+j+q] = v
			}
		}
	}
}

// windowSums returns the products of one row of A with four columns of B.
func windowSums[T Float](steps []step, a, b []T) [4]T {
	var s0, s1, s2, s3 T
	for _, at := range steps {
		x, y := a[at.a], b[at.b:at.b+4:at.b+4]
		s0 += x * y[0]
		s1 += x * y[1]
		s2 += x * y[2]
		s3 += x * y[3]
	}
	return [4]T{s0, s1, s2, s3}
}
