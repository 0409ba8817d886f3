package kernel

import "fmt"

// Conv describes the convolution (cross-correlation, as PyTorch's conv2d) of an
// image [In,Height,Width] with filters [Out,In,KernelHeight,KernelWidth]. The
// image is surrounded by Padding rows and columns of zeros, and filters move by
// Stride; the result is [Out,OutHeight,OutWidth].
type Conv struct {
	In, Height, Width         int
	Out                       int
	KernelHeight, KernelWidth int
	Stride, Padding           int
}

// ConvRows are the numbers of images, filters and results in three stacks. With
// N the largest of them (each divides N), term r of N uses image r·X/N, filter
// r·W/N and result r·Y/N.
type ConvRows struct{ X, W, Y int }

// OutHeight is the number of rows of a result.
func (c Conv) OutHeight() int { return (c.Height+2*c.Padding-c.KernelHeight)/c.Stride + 1 }

// OutWidth is the number of columns of a result.
func (c Conv) OutWidth() int { return (c.Width+2*c.Padding-c.KernelWidth)/c.Stride + 1 }

// Check returns an error if a size is impossible: less than one (a padding, less
// than zero), or a filter larger than the image with its padding.
func (c Conv) Check() error {
	least := min(c.In, c.Height, c.Width, c.Out, c.KernelHeight, c.KernelWidth, c.Stride)
	if least < 1 || c.Padding < 0 {
		return fmt.Errorf("convolution %v has an impossible size", c)
	}
	if c.KernelHeight > c.Height+2*c.Padding || c.KernelWidth > c.Width+2*c.Padding {
		return fmt.Errorf("convolution %v has filters larger than the padded image", c)
	}
	return nil
}

// String names all sizes.
func (c Conv) String() string {
	return fmt.Sprintf("of %d×%d×%d with %d filters %d×%d, stride %d, padding %d",
		c.In, c.Height, c.Width, c.Out, c.KernelHeight, c.KernelWidth, c.Stride, c.Padding)
}

// ConvForward sets each result to the sum over its terms of conv(image, filter):
// x is [X,In,Height,Width], w [W,Out,In,KernelHeight,KernelWidth] and y
// [Y,Out,OutHeight,OutWidth].
func ConvForward[T Float](c Conv, n ConvRows, x, w, y []T) {
	checkConv("ConvForward", c, n, x, w, y)
	ws := spaces[T]().get()
	defer spaces[T]().put(ws)
	m, k, p := c.Out, c.taps(), c.OutHeight()*c.OutWidth()
	ws.x = grow(ws.x, k*p)
	n.terms(n.Y, func(i, j, l int, first bool) {
		unfold(c, x[i*c.imageSize():], ws.x)
		Gemm(false, false, m, p, k, 1, w[j*m*k:], k, ws.x, p, beta[T](first), y[l*m*p:], p)
	})
}

// ConvInput sets each image to the sum over its terms of the transpose of
// conv(·, filter) at the result.
func ConvInput[T Float](c Conv, n ConvRows, y, w, x []T) {
	checkConv("ConvInput", c, n, x, w, y)
	ws := spaces[T]().get()
	defer spaces[T]().put(ws)
	m, k, p := c.Out, c.taps(), c.OutHeight()*c.OutWidth()
	ws.x = grow(ws.x, k*p)
	n.terms(n.X, func(i, j, l int, first bool) {
		Gemm(true, false, k, p, m, 1, w[j*m*k:], k, y[l*m*p:], p, 0, ws.x, p)
		image := x[i*c.imageSize():][:c.imageSize()]
		if first {
			clear(image)
		}
		fold(c, ws.x, image)
	})
}

// ConvFilter sets each filter to the sum over its terms of the derivative of
// <result, conv(image, filter)> by the filter.
func ConvFilter[T Float](c Conv, n ConvRows, x, y, w []T) {
	checkConv("ConvFilter", c, n, x, w, y)
	ws := spaces[T]().get()
	defer spaces[T]().put(ws)
	m, k, p := c.Out, c.taps(), c.OutHeight()*c.OutWidth()
	ws.x = grow(ws.x, k*p)
	n.terms(n.W, func(i, j, l int, first bool) {
		unfold(c, x[i*c.imageSize():], ws.x)
		Gemm(false, true, m, k, p, 1, y[l*m*p:], p, ws.x, p, beta[T](first), w[j*m*k:], k)
	})
}

func (c Conv) imageSize() int  { return c.In * c.Height * c.Width }
func (c Conv) resultSize() int { return c.Out * c.OutHeight() * c.OutWidth() }

// taps is the number of elements of one filter.
func (c Conv) taps() int { return c.In * c.KernelHeight * c.KernelWidth }

// terms calls f for every term with its image, filter and result; first is set
// for the first term of each of the outputs.
func (n ConvRows) terms(outputs int, f func(i, j, l int, first bool)) {
	terms := max(n.X, n.W, n.Y)
	for r := range terms {
		f(r*n.X/terms, r*n.W/terms, r*n.Y/terms, r%(terms/outputs) == 0)
	}
}

// unfold copies the pixels under each tap of a filter, row after row of the
// results, to a row of cols [taps, OutHeight·OutWidth].
func unfold[T Float](c Conv, image, cols []T) {
	c.pixels(func(at, pixel int) {
		if pixel < 0 {
			cols[at] = 0
		} else {
			cols[at] = image[pixel]
		}
	})
}

// fold is the transpose of unfold; it adds to image.
func fold[T Float](c Conv, cols, image []T) {
	c.pixels(func(at, pixel int) {
		if pixel >= 0 {
			image[pixel] += cols[at]
		}
	})
}

// pixels calls f for every element of cols with the index of its pixel, or -1
// in the padding.
func (c Conv) pixels(f func(at, pixel int)) {
	at := 0
	for tap := range c.taps() {
		kx, ky, ch := tap%c.KernelWidth, tap/c.KernelWidth%c.KernelHeight, tap/(c.KernelWidth*c.KernelHeight)
		for oy := range c.OutHeight() {
			y := oy*c.Stride + ky - c.Padding
			for ox := range c.OutWidth() {
				x := ox*c.Stride + kx - c.Padding
				if y < 0 || y >= c.Height || x < 0 || x >= c.Width {
					f(at, -1)
				} else {
					f(at, (ch*c.Height+y)*c.Width+x)
				}
				at++
			}
		}
	}
}

// beta is the factor of what an output holds before a term is added.
func beta[T Float](first bool) T {
	if first {
		return 0
	}
	return 1
}

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
