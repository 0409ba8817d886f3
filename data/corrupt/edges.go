package corrupt

import "math"

// edges finds the edges of the picture x [h,w] after Canny (1986, "A Computational Approach
// to Edge Detection"). An edge is a ridge of the gradient's length that exceeds high somewhere
// and low everywhere. As in OpenCV the gradient (dx, dy) is Sobel's, its length is |dx|+|dy|,
// and its direction is rounded to one of four.
func edges(x []uint8, h, w int, low, high int) []bool {
	g := gradient(x, h, w)
	edge := make([]bool, len(x))
	var weak func(i int)
	weak = func(i int) { // follows the ridge from i
		if edge[i] {
			return
		}
		edge[i] = true
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				y, x := i/w+dy, i%w+dx
				if y >= 0 && y < h && x >= 0 && x < w && g.length(y, x) > low && g.ridge(y, x) {
					weak(y*w + x)
				}
			}
		}
	}
	for i := range edge {
		if g.length(i/w, i%w) > high && g.ridge(i/w, i%w) {
			weak(i)
		}
	}
	return edge
}

// A slope is the gradient of a picture.
type slope struct {
	h, w   int   // height and width in pixels
	dx, dy []int // [h,w], the derivatives along columns and along rows
}

func gradient(x []uint8, h, w int) slope {
	g := slope{h, w, make([]int, len(x)), make([]int, len(x))}
	at := func(y, c int) int { return int(x[nearest(y, h)*w+nearest(c, w)]) }
	for i := range x {
		y, c := i/w, i%w
		for k := -1; k <= 1; k++ {
			weight := 2 - k*k
			g.dx[i] += weight * (at(y+k, c+1) - at(y+k, c-1))
			g.dy[i] += weight * (at(y+1, c+k) - at(y-1, c+k))
		}
	}
	return g
}

// length returns the length of the gradient at a pixel. It is 0 outside the picture.
func (g *slope) length(y, x int) int {
	if y < 0 || y >= g.h || x < 0 || x >= g.w {
		return 0
	}
	i := y*g.w + x
	return max(g.dx[i], -g.dx[i]) + max(g.dy[i], -g.dy[i])
}

// ridge says whether the gradient is longer at a pixel than at its two neighbours along the
// gradient's direction. The first of two equal gradients in a row or a column counts.
func (g *slope) ridge(y, x int) bool {
	i := y*g.w + x
	dx, dy, here := g.dx[i], g.dy[i], g.length(y, x)
	steep := math.Abs(float64(dy)) / math.Abs(float64(dx)) // NaN only where here is 0
	switch {
	case steep < math.Sqrt2-1: // tan 22.5°
		return here > g.length(y, x-1) && here >= g.length(y, x+1)
	case steep > math.Sqrt2+1:
		return here > g.length(y-1, x) && here >= g.length(y+1, x)
	case (dx < 0) != (dy < 0):
		return here > g.length(y-1, x+1) && here > g.length(y+1, x-1)
	default:
		return here > g.length(y-1, x-1) && here > g.length(y+1, x+1)
	}
}

// distances returns the distance of each pixel from the nearest edge. It is the length of the
// shortest way in steps to the side (length 1), along the diagonal (1.4) and of a knight in
// chess (2.1969) (Borgefors 1986, "Distance Transformations in Digital Images").
func distances(edge []bool, h, w int) []float64 {
	d := make([]float64, h*w)
	for i := range d {
		if !edge[i] {
			d[i] = math.Inf(1)
		}
	}
	steps := [8]struct {
		dy, dx int     // rows and columns of the step
		length float64 // of the step, in pixels
	}{{-1, -1, 1.4}, {-1, 0, 1}, {-1, 1, 1.4}, {0, -1, 1}, {-2, -1, 2.1969}, {-2, 1, 2.1969}, {-1, -2, 2.1969}, {-1, 2, 2.1969}}
	visit := func(i, sign int) {
		for _, s := range steps {
			y, x := i/w+sign*s.dy, i%w+sign*s.dx
			if y >= 0 && y < h && x >= 0 && x < w {
				d[i] = min(d[i], d[y*w+x]+s.length)
			}
		}
	}
	for i := range d {
		visit(i, 1)
	}
	for i := len(d) - 1; i >= 0; i-- {
		visit(i, -1)
	}
	return d
}
