package unseen

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// A pseudo-row of images is a part of an image, drawn at random and made as large as the whole,
// with the image's label. It has from 0.6 of the area on, and 3/4 to 4/3 of the proportions.
// Networks for small images are trained on images that are moved and mirrored, but not resized. They have not seen
// resized images. docs/honest.md compares parts with other changes of images.
const (
	leastPart = 0.6
	mostRatio = 4.0 / 3
)

// mostNumbers bounds the numbers in all pseudo-rows of images; but there are fewImages in any case.
const mostNumbers, fewImages = 1 << 25, 100

// LeastSide is the least height and width of images that have pseudo-rows.
const LeastSide = 16

// parts returns pseudo-rows of images.
func parts(p gp.Problem, rng *rand.Rand) gp.Examples {
	rows := rng.Perm(p.Train.N())
	rows = rows[:min(len(rows), mostRows, max(fewImages, mostNumbers*len(rows)/p.Train.X.Size()))]
	slices.Sort(rows)
	e := p.Train.Rows(rows)
	s := e.X.Shape()
	h, w := s[2], s[3]
	in := graph.Floats(e.X)
	out := make([]float64, len(in))
	for i := range rows {
		top, left, height, width := part(float64(h), float64(w), rng)
		for c := range s[1] {
			plane := (i*s[1] + c) * h * w
			resize(out[plane:plane+h*w], in[plane:plane+h*w], w, top, left, height/float64(h), width/float64(w))
		}
	}
	return gp.Examples{X: like(e.X, out), Y: e.Y}
}

// part draws a part of an image: its first row and column, and its extent.
func part(h, w float64, rng *rand.Rand) (top, left, height, width float64) {
	for {
		area := leastPart + (1-leastPart)*rng.Float64()
		ratio := math.Exp(math.Log(mostRatio) * (2*rng.Float64() - 1))
		height, width = h*math.Sqrt(area/ratio), w*math.Sqrt(area*ratio)
		if height <= h && width <= w {
			return (h - height) * rng.Float64(), (w - width) * rng.Float64(), height, width
		}
	}
}

// resize fills the plane dst of width w with a part of the plane src, bilinearly between the middles of pixels. The
// part begins at (top, left). Its height and width are the fractions tall and wide of the whole.
func resize(dst, src []float64, w int, top, left, tall, wide float64) {
	h := len(src) / w
	for i := range h {
		y0, y1, fy := pixels(top+(float64(i)+0.5)*tall-0.5, h)
		for j := range w {
			x0, x1, fx := pixels(left+(float64(j)+0.5)*wide-0.5, w)
			upper := (1-fx)*src[y0*w+x0] + fx*src[y0*w+x1]
			lower := (1-fx)*src[y1*w+x0] + fx*src[y1*w+x1]
			dst[i*w+j] = (1-fy)*upper + fy*lower
		}
	}
}

// pixels returns the two neighbours, among n pixels, of the place at, and the share of the second pixel.
func pixels(at float64, n int) (first, second int, share float64) {
	at = min(max(at, 0), float64(n-1))
	first = int(at)
	return first, min(first+1, n-1), at - float64(first)
}

// images reports whether the inputs x are images that have pseudo-rows.
func images(x *tensor.Dense) bool {
	return x.Dims() == 4 && min(x.Shape()[2], x.Shape()[3]) >= LeastSide
}
