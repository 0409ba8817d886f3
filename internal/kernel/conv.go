package kernel

import "fmt"

// Conv describes the convolution (cross-correlation, as PyTorch's conv2d) of an
// image [In,Height,Width] with filters [Out,In,KernelHeight,KernelWidth]. The
// image is surrounded by Padding rows and columns of zeros, and filters move by
// Stride; the result is [Out,OutHeight,OutWidth].
type Conv struct {
	In, Height, Width         int // channels, rows and columns of an image
	Out                       int // channels of a result: the number of filters
	KernelHeight, KernelWidth int // rows and columns of a filter
	Stride, Padding           int // pixels from one place of a filter to the next, and zeros on each side of the image
	// ChannelsLast is set if filters are stored as [Out,KernelHeight,KernelWidth,In]. ConvFilter
	// computes them in this order.
	ChannelsLast bool
}

// ConvRows are the numbers of images, filters and results in three stacks. A call computes
// N convolutions, the terms, where N is the largest of the three numbers and each number
// divides N. Term r uses image r·X/N and filter r·W/N and belongs to result r·Y/N.
type ConvRows struct {
	X, W, Y int  // numbers of images, filters and results
	Own     bool // each term has filters of its own, even if there is only one term
}

// Then is work on a stack of results, which begins as soon as the first results are computed. It works on
// a few results at a time, while they are still in a cache. The zero value does nothing.
type Then struct {
	Rows  int                      // number of results that Run works on at a time
	Parts int                      // Run is called from parts 0…Parts−1 at most, see Job
	Run   func(part, from, to int) // works on the results from…to−1, once on each
}

// OutHeight returns the number of rows of a result.
func (c Conv) OutHeight() int { return (c.Height+2*c.Padding-c.KernelHeight)/c.Stride + 1 }

// OutWidth returns the number of columns of a result.
func (c Conv) OutWidth() int { return (c.Width+2*c.Padding-c.KernelWidth)/c.Stride + 1 }

// Check returns an error if a size is less than one or the padding is less than zero, if a
// filter is larger than the image with its padding, or if the elements of an image, of a
// result or of the filters cannot be counted in 31 bits.
func (c Conv) Check() error {
	if min(c.In, c.Height, c.Width, c.Out, c.KernelHeight, c.KernelWidth, c.Stride) < 1 || c.Padding < 0 {
		return fmt.Errorf("convolution %v: sizes and stride must be at least 1, padding at least 0", c)
	}
	if c.largest() >= 1<<31 {
		return fmt.Errorf("convolution %v: too large", c)
	}
	if c.KernelHeight > c.Height+2*c.Padding || c.KernelWidth > c.Width+2*c.Padding {
		return fmt.Errorf("convolution %v: a filter is larger than the image with its padding", c)
	}
	return nil
}

// largest returns a bound for the number of elements of the filters and of an unfolded or
// turned image or result, with the slack of its channels.
func (c Conv) largest() float64 {
	in, out := float64(c.In), float64(c.Out)
	kh, kw, pad := float64(c.KernelHeight), float64(c.KernelWidth), 2*float64(c.Padding)
	area := (float64(c.Height) + pad + kh) * (float64(c.Width) + pad + kw)
	return max(in*out*kh*kw, max(in, out)*(max(kh, kw)*area+unfoldSlack), float64(c.Stride))
}

// String returns a text with all sizes.
func (c Conv) String() string {
	order := ""
	if c.ChannelsLast {
		order = ", channels last"
	}
	return fmt.Sprintf("of %d×%d×%d by %d filters %d×%d, stride %d, padding %d%s",
		c.In, c.Height, c.Width, c.Out, c.KernelHeight, c.KernelWidth, c.Stride, c.Padding, order)
}

// element returns the place of an element in the filters.
func (c Conv) element(out, in, ky, kx int) int {
	if c.ChannelsLast {
		return ((out*c.KernelHeight+ky)*c.KernelWidth+kx)*c.In + in
	}
	return ((out*c.In+in)*c.KernelHeight+ky)*c.KernelWidth + kx
}

// ConvForward sets each result to the sum over its terms of conv(image, filter). The shapes are
// x [X,In,Height,Width], w [W,Out,In,KernelHeight,KernelWidth] and y [Y,Out,OutHeight,OutWidth].
// ChannelsLast changes the order of w. ConvForward, ConvInput and ConvFilter multiply the padding like
// other pixels, as PyTorch does: 0·Inf and 0·NaN make the sum NaN.
//
// With AVX-512 and in float32, the three functions use Winograd's algorithm for 3×3 filters with stride 1
// and padding 1, where the numbers of channels are multiples of 16: ConvForward and ConvInput where an image fills two thirds
// of its vectors of tiles, such as images of 7×7, 14×14, 28×28 or 56×56 pixels, if all images share the filters, and ConvFilter
// for rows of 8, 16 and 32 pixels. The rounding errors are then 0.8 to 1.7 times the errors of sums in order, and a sum with Inf may
// be NaN. In ConvFilter, Inf and NaN on the edge of an image may then reach other elements of filters as well.
func ConvForward[T Float](c Conv, n ConvRows, x, w, y []T) { ConvForwardThen(c, n, x, w, y, Then{}) }

// ConvForwardThen is ConvForward with work on the results. It returns false if the work was not done, which
// is the case where results are not computed one after the other.
func ConvForwardThen[T Float](c Conv, n ConvRows, x, w, y []T, then Then) bool {
	checkConv("ConvForward", c, n, x, w, y)
	if len(y) == 0 {
		return true
	}
	if tilesConv[T](c, n) {
		convTiles(c, n.X, x, w, y, false, then)
		return true
	}
	ws := spaces[T]().get()
	defer spaces[T]().put(ws)
	job := &ws.correlation
	job.n, job.images, job.filters, job.results = n, x, w, y
	job.out, job.height, job.width = c.Out, c.OutHeight(), c.OutWidth()
	job.filterSize, job.arow, job.stride = c.Out*c.taps(), c.taps(), 1
	p := pass{view: view{channels: c.In, rows: c.rows(), cols: c.columns()}}
	job.add(p, func(in, ky, kx int) int { return c.element(0, in, ky, kx) })
	job.run(ws)
	return false
}

// ConvInput sets each image to the sum over its terms of Aᵀ·result, where A is the linear
// map conv(·, filter). It carries gradients from the results to the images. The shapes are
// as in ConvForward.
func ConvInput[T Float](c Conv, n ConvRows, y, w, x []T) { ConvInputThen(c, n, y, w, x, Then{}) }

// ConvInputThen is ConvInput with work on the images. It returns false if the work was not done.
func ConvInputThen[T Float](c Conv, n ConvRows, y, w, x []T, then Then) bool {
	checkConv("ConvInput", c, n, x, w, y)
	if len(x) == 0 {
		return true
	}
	if tilesConv[T](c, n) {
		convTiles(c, n.X, y, w, x, true, then)
		return true
	}
	ws := spaces[T]().get()
	defer spaces[T]().put(ws)
	job := &ws.correlation
	job.n, job.images, job.filters, job.results = ConvRows{n.Y, n.W, n.X, n.Own}, y, w, x
	job.out, job.height, job.width = c.In, c.Height, c.Width
	job.filterSize, job.arow, job.stride = c.Out*c.taps(), c.element(0, 1, 0, 0), c.Stride
	for row := range min(c.Stride, c.Height) {
		for column := range min(c.Stride, c.Width) {
			inputPass(job, c, row, column)
		}
	}
	job.run(ws)
	return false
}

// inputPass adds the pass for every Stride-th pixel from row and column on. The taps are
// taken in reverse order, because the last tap belongs to the first result.
func inputPass[T Float](job *correlation[T], c Conv, row, column int) {
	rows, a := c.rows().transposed(row)
	cols, b := c.columns().transposed(column)
	p := pass{view: view{channels: c.Out, rows: rows, cols: cols}, row: row, column: column}
	job.add(p, func(out, ky, kx int) int {
		return c.element(out, 0, a+(rows.taps-1-ky)*c.Stride, b+(cols.taps-1-kx)*c.Stride)
	})
}

// ConvFilter sets each filter to the sum over its terms of the derivative of the inner
// product <result, conv(image, filter)> with respect to the filter. The shapes are as in
// ConvForward.
func ConvFilter[T Float](c Conv, n ConvRows, x, y, w []T) {
	checkConv("ConvFilter", c, n, x, w, y)
	if len(w) > 0 {
		convFilter(c, n, x, y, w, fastTiles[T]() && c.wholeTiles())
	}
}

func convFilter[T Float](c Conv, n ConvRows, x, y, w []T, tiled bool) {
	ws := spaces[T]().get()
	defer spaces[T]().put(ws)
	job := &ws.filterSums
	job.Conv, job.n, job.x, job.y, job.w, job.tiled = c, n, x, y, w, tiled
	job.prepare()
	job.run()
}

// share reports whether the columns of the filter can share one copy of the pixels (see
// view). For that, each row of places must fill whole vectors.
func share[T Float](columns axis) bool {
	return columns.stride == 1 && columns.places%(windowCols[T]()/3) == 0
}

func (c Conv) rows() axis {
	return axis{c.Height, c.OutHeight(), c.KernelHeight, c.Stride, c.Padding}
}

func (c Conv) columns() axis {
	return axis{c.Width, c.OutWidth(), c.KernelWidth, c.Stride, c.Padding}
}

func (c Conv) imageSize() int  { return c.In * c.Height * c.Width }
func (c Conv) resultSize() int { return c.Out * c.OutHeight() * c.OutWidth() }

// taps returns the number of elements of one filter.
func (c Conv) taps() int { return c.In * c.KernelHeight * c.KernelWidth }

// checkConv panics unless the stacks have their sizes.
func checkConv[T Float](fn string, c Conv, n ConvRows, x, w, y []T) {
	if err := c.Check(); err != nil {
		panic("kernel: " + fn + ": " + err.Error())
	}
	terms := max(n.X, n.W, n.Y)
	if terms > 0 && (n.X < 1 || n.W < 1 || n.Y < 1 || terms%n.X != 0 || terms%n.W != 0 || terms%n.Y != 0) {
		panic(fmt.Sprintf("kernel: %s: %d images, %d filters and %d results do not match", fn, n.X, n.W, n.Y))
	}
	if len(x) != n.X*c.imageSize() || len(w) != n.W*c.Out*c.taps() || len(y) != n.Y*c.resultSize() {
		panic(fmt.Sprintf("kernel: %s: %d, %d and %d elements of x, w and y, expected %d, %d and %d", fn,
			len(x), len(w), len(y), n.X*c.imageSize(), n.W*c.Out*c.taps(), n.Y*c.resultSize()))
	}
}
