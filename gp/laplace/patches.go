package laplace

import (
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// patches sums up the second moments Σ patch patchᵀ [9C,9C] of the patches under a 3×3
// convolution that keeps the size of its images [C,H,W], without forming patches. An element of
// it is a sum over the places q of the image,
//
//	Σ_q x_c(q) x_c'(q+s),
//
// with the distance s between two taps. All pairs of taps at the same distance have the same sum,
// but for the first or last row or column, which a tap does not reach: that is taken off where two
// taps are in the same row or column, as elsewhere it meets a 0 beyond the edge. So 13 products of
// C×C take the place of 45, and of the edges few numbers are multiplied.
type patches[T kernel.Float] struct {
	c, h, w int // channels, height and width of an input
	pixels  []T // of some images, [·,H+2,W+2,C] with zeros after each row and after the last row
	line    []T // an edge of these images, [·,H+2 or W+2,C]
	images  int // the number of images in pixels and line
}

// The sums are [C,29·C]. Of all places they are those at the distances (0,0…2), (1,−2…2) and
// (2,−2…2). Then follow the sums of each edge at the distances 0…2 along it, and of each corner.
const (
	edgeSums   = 13
	cornerSums = edgeSums + 4*3
	patchSums  = cornerSums + 4
)

// patchPixels is the number of pixels that are turned at a time: they suit the cache.
const patchPixels = 2048

// newPatches returns nil for a convolution of another kind.
func newPatches[T kernel.Float](k block) *patches[T] {
	if k.images == nil {
		return nil
	}
	s := k.images.Shape()
	p := &patches[T]{c: s[1], h: s[2], w: s[3]}
	size := (p.h + 2) * (p.w + 2)
	p.images = max(1, patchPixels/size)
	p.pixels = make([]T, (p.images*size+2*p.w+8)*p.c)
	p.line = make([]T, (p.images*(max(p.h, p.w)+2)+2)*p.c)
	return p
}

// sizeKept says whether a convolution has filters of 3×3 and images as large as its results.
func sizeKept(use graph.FilterUse, size int) bool {
	return size == 3 && use.Stride == 1 && use.Padding == 1
}

// add adds the sums of images x [·,C,H,W].
func (p *patches[T]) add(x, sums []T) {
	size := p.c * p.h * p.w
	for len(x) > 0 {
		n := min(p.images, len(x)/size)
		p.turn(x[:n*size])
		p.inside(n, sums)
		for e := range 4 {
			p.edge(n, e, sums)
			p.corner(n, e, sums)
		}
		x = x[n*size:]
	}
}

// turn makes the channel the fastest index.
func (p *patches[T]) turn(x []T) {
	plane := p.h * p.w
	for i := range len(x) / (p.c * plane) {
		for y := range p.h {
			kernel.Transpose(p.pixels[p.at(i, y, 0):], p.c, x[i*p.c*plane+y*p.w:], plane, p.c, p.w)
		}
	}
}

// at is the index of a pixel of image i.
func (p *patches[T]) at(i, y, x int) int { return ((i*(p.h+2)+y)*(p.w+2) + x) * p.c }

// inside adds the sums over all places of n images. The pixels at the distances −2…2 from one
// follow each other in memory, so that the shifted images are rows that overlap.
func (p *patches[T]) inside(n int, sums []T) {
	places := n * (p.h + 2) * (p.w + 2)
	p.product(places, 3, p.pixels, p.pixels, sums)
	p.product(places, 5, p.pixels, p.pixels[p.at(0, 1, 0)-2*p.c:], sums[3*p.c:])
	p.product(places, 5, p.pixels, p.pixels[p.at(0, 2, 0)-2*p.c:], sums[8*p.c:])
}

// product adds uᵀv for the pixels u [places,C] and so many pixels v from each one on.
func (p *patches[T]) product(places, pixels int, u, v, sums []T) {
	kernel.Gemm(true, false, p.c, pixels*p.c, places, 1, u, p.c, v, p.c, 1, sums, patchSums*p.c)
}

// edge adds the sums along an edge: the last row, the first row, the last column, the first one.
func (p *patches[T]) edge(n, e int, sums []T) {
	length, step := p.w, p.c
	if e >= 2 {
		length, step = p.h, (p.w+2)*p.c
	}
	start := p.at(0, []int{p.h - 1, 0, 0, 0}[e], []int{0, 0, p.w - 1, 0}[e])
	for i := range n {
		for k := range length + 2 { // a zero beyond the edge is one here
			copy(p.line[(i*(length+2)+k)*p.c:][:p.c], p.pixels[p.at(i, 0, 0)+start+k*step:])
		}
	}
	p.product(n*(length+2), 3, p.line, p.line, sums[(edgeSums+3*e)*p.c:])
}

// corner adds the sums at a corner: the last row's last pixel and first one, the first row's.
func (p *patches[T]) corner(n, e int, sums []T) {
	start := p.at(0, []int{p.h - 1, 0}[e/2], []int{p.w - 1, 0}[e%2])
	image := p.at(1, 0, 0)
	kernel.Gemm(true, false, p.c, p.c, n, 1, p.pixels[start:], image, p.pixels[start:], image, 1, sums[(cornerSums+e)*p.c:], patchSums*p.c)
}

// spread adds the moments that sums belong to, the lower triangle of [9C,9C], to m. A patch has
// the channel as its slowest index, then the filter's row, then its column.
func (p *patches[T]) spread(sums []T, m []float64) {
	for ky := range 3 {
		for kx := range 3 {
			for ly := ky; ly < 3; ly++ {
				for lx := range 3 {
					if ly > ky || lx >= kx {
						p.pair(ky, kx, ly, lx, sums, m)
					}
				}
			}
		}
	}
}

// pair adds the moments of two taps, of which the second one does not come before the first.
func (p *patches[T]) pair(ky, kx, ly, lx int, sums []T, m []float64) {
	n, same := 9*p.c, ky == ly && kx == lx
	terms, count := parts(ky, kx, ly, lx)
	for c := range p.c {
		row, last := sums[c*patchSums*p.c:][:patchSums*p.c], p.c
		if same {
			last = c + 1
		}
		for d := range last {
			v := 0.0
			for _, t := range terms[:count] {
				v += t.sign * float64(row[t.at*p.c+d])
			}
			i, j := (c*3+ky)*3+kx, (d*3+ly)*3+lx
			m[max(i, j)*n+min(i, j)] += v
		}
	}
}

// term is a sum and how often it counts.
type term struct {
	at   int     // number of the sum
	sign float64 // how often the sum counts
}

// parts lists the sums that the moments of two taps are made of: that over all places, without
// those over the edges that the taps do not reach, and with the corner that was taken off twice.
func parts(ky, kx, ly, lx int) (terms [4]term, count int) {
	add := func(at int, sign float64) {
		terms[count] = term{at, sign}
		count++
	}
	sy, sx := ly-ky, lx-kx
	add([]int{sx, 5 + sx, 10 + sx}[sy], 1)
	row, column := sy == 0 && ky != 1, sx == 0 && kx != 1
	if row {
		add(edgeSums+3*(ky/2)+sx, -1)
	}
	if column {
		add(edgeSums+3*(2+kx/2)+sy, -1)
	}
	if row && column {
		add(cornerSums+ky/2*2+kx/2, 1)
	}
	return terms, count
}
