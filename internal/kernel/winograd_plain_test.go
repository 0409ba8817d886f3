package kernel

import (
	"fmt"
	"testing"
)

// The plain loops of this file say what the assembly for tiles computes.

// TestTileTransforms compares each function of the assembly for tiles with plain loops.
func TestTileTransforms(t *testing.T) { withTiles(t, testTileTransforms) }

func testTileTransforms(t *testing.T) {
	const channels, vectors, component, slack = 16, 1, 4*tileLanes*16 + componentSlack, 64
	random := func(seed uint64, n int) []float32 { return newMatrix[float32](source(seed), 1, n, 0).s() }
	for _, c := range tiledShapes {
		plane := c.Height * c.Width
		x, v := random(1, channels*plane+slack), random(2, (components+1)*component)
		taps := random(3, 9*channels)
		for i, b := range c.appendBands(nil) {
			what := fmt.Sprint(c, ", band ", i, ": ")
			compareTiles(t, what+"pixels", len(v), func(out []float32) { imageTiles(&b, x, out, channels, plane, tileLanes, component) },
				func(out []float32) { imageTilesGo(&b, x, out, channels, plane, tileLanes, component) })
			if c.wholeTiles() {
				compareTiles(t, what+"derivatives", len(v), func(out []float32) { derivativeTiles(&b, x, out, channels, plane, tileLanes, component) },
					func(out []float32) { derivativeTilesGo(&b, x, out, channels, plane, tileLanes, component) })
			}
			compareTiles(t, what+"results", len(x), func(out []float32) { resultTiles(&b, v, out, channels, plane, tileLanes, component) },
				func(out []float32) { resultTilesGo(&b, v, out, channels, plane, tileLanes, component) })
		}
		row := (c.Width + 2) * channels
		turned := random(4, 4*row)
		compareTiles(t, "turned pixels", len(v), func(out []float32) { turnedTiles(turned, row, channels, out, component, c.Width/2, vectors) },
			func(out []float32) { turnedTilesGo(turned, row, channels, out, component, c.Width/2, vectors) })
		for _, turn := range []struct{ first, tap int }{{0, channels}, {8 * channels, -channels}} {
			compareTiles(t, "filters", len(v), func(out []float32) { filterTiles(taps, turn.first, turn.tap, out, component, vectors) },
				func(out []float32) { filterTilesGo(taps, turn.first, turn.tap, out, component, vectors) })
		}
		compareTiles(t, "taps", len(taps), func(out []float32) { tapTiles(v, component, out, channels, vectors) },
			func(out []float32) { tapTilesGo(v, component, out, channels, vectors) })
		for _, add := range []bool{false, true} {
			p := tileProducts[float32]{a: v, arow: 16, astep: 1, acomponent: component, b: v[7:], bstep: 2 * tileLanes, bcomponent: component,
				crow: 2 * tileLanes, ccomponent: component, rows: 16, vectors: 2, steps: 16, add: add}
			compareTiles(t, fmt.Sprint("products, add ", add), len(v), func(out []float32) { p.c = out; p.multiply() },
				func(out []float32) { p.c = out; p.multiplyGo() })
		}
	}
}

// compareTiles compares n numbers that both functions write over the same numbers.
func compareTiles(t *testing.T, what string, n int, fast, plain func(out []float32)) {
	t.Helper()
	got, want := newMatrix[float32](source(5), 1, n, 0).s(), newMatrix[float32](source(5), 1, n, 0).s()
	fast(got)
	plain(want)
	for i, v := range got {
		if !within(float64(v), float64(want[i]), 1e-4) {
			t.Fatalf("%s: element %d is %g, by plain loops %g", what, i, v, want[i])
		}
	}
}

// tileMatrix is one of the matrices A, B and G of Winograd's algorithm.
type tileMatrix struct {
	rows, cols int         // size of the matrix
	elements   [16]float32 // row by row
}

var (
	tileA = tileMatrix{4, 2, [16]float32{1, 0, 1, 1, 1, -1, 0, 1}}
	tileB = tileMatrix{4, 4, [16]float32{1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, -1, 0, 1}} // Bᵀ
	tileG = tileMatrix{4, 3, [16]float32{1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1}}
)

func (m *tileMatrix) transposed() *tileMatrix {
	t := tileMatrix{rows: m.cols, cols: m.rows}
	for i := range m.rows {
		for j := range m.cols {
			t.elements[j*m.rows+i] = m.elements[i*m.cols+j]
		}
	}
	return &t
}

// timesTile returns M·d·Mᵀ, where zeros of M stand for no product.
func timesTile[T Float](m *tileMatrix, d [16]T) (p [16]T) {
	for i := range m.rows {
		for j := range m.rows {
			for k := range m.cols * m.cols {
				if e := m.elements[i*m.cols+k/m.cols] * m.elements[j*m.cols+k%m.cols]; e != 0 {
					p[i*m.rows+j] += T(e) * d[k]
				}
			}
		}
	}
	return p
}

// pixel returns the pixel of tile t that lies row rows and column columns from the first result of the
// tile. It returns zero outside the image.
func pixel[T Float](b *tileBand, x []T, t, row, column int) T {
	if column < 0 && b.left>>laneOf(t)&1 == 0 || column > 1 && b.right>>laneOf(t)&1 == 0 {
		return 0
	}
	at := 2*t + column // among the pixels of a row of the band
	if b.pixels[row+1][at/8]>>(at%16)&1 == 0 {
		return 0
	}
	return x[b.at[at/8]+row*b.row+at%8]
}

// imageTilesGo sets v to the components of Bᵀ·d·B for the tiles of a band of x.
func imageTilesGo[T Float](b *tileBand, x, v []T, channels, xchannel, vchannel, component int) {
	for ch := range channels {
		for t := range tileLanes {
			var d [16]T
			for k := range d {
				d[k] = pixel(b, x[ch*xchannel:], t, k/4-1, k%4-1)
			}
			for k, e := range timesTile(&tileB, d) {
				v[k*component+ch*vchannel+laneOf(t)] = e
			}
		}
	}
}

// derivativeTilesGo sets v to the components of A·r·Aᵀ for the tiles of a band of y.
func derivativeTilesGo[T Float](b *tileBand, y, v []T, channels, ychannel, vchannel, component int) {
	for ch := range channels {
		for t := range tileLanes {
			var r [16]T
			for k := range 4 {
				r[k] = pixel(b, y[ch*ychannel:], t, k/2, k%2)
			}
			for k, e := range timesTile(&tileA, r) {
				v[k*component+ch*vchannel+t] = e
			}
		}
	}
}

// resultTilesGo sets the tiles of a band of y to Aᵀ·m·A.
func resultTilesGo[T Float](b *tileBand, m, y []T, channels, ychannel, mchannel, component int) {
	for ch := range channels {
		for t := range tileLanes {
			var d [16]T
			for k := range d {
				d[k] = m[k*component+ch*mchannel+laneOf(t)]
			}
			r := timesTile(tileA.transposed(), d)
			for k, v := range r[:4] {
				if at := 2*(t%4) + k%2; b.results[k/2][t/4]>>at&1 == 1 {
					y[ch*ychannel+b.at[t/4]+k/2*b.row+at] = v
				}
			}
		}
	}
}

// turnedTilesGo sets v to the components of Bᵀ·d·B for a row of tiles of a turned image. In this image,
// rows are row elements apart, pixels are pixel elements apart, and the channels of a pixel fill vectors.
func turnedTilesGo[T Float](x []T, row, pixel int, v []T, component, tiles, vectors int) {
	n := vectors * tileLanes
	for i := range tiles * n {
		var d [16]T
		for k := range d {
			d[k] = x[k/4*row+(i/n*2+k%4)*pixel+i%n]
		}
		for k, e := range timesTile(&tileB, d) {
			v[k*component+i] = e
		}
	}
}

// filterTilesGo sets u to the components of G·g·Gᵀ for the filters of channels, whose taps are
// tap elements apart from g[first] on.
func filterTilesGo[T Float](g []T, first, tap int, u []T, component, vectors int) {
	for i := range vectors * tileLanes {
		var d [16]T
		for k := range 9 {
			d[k] = g[first+k*tap+i]
		}
		for k, e := range timesTile(&tileG, d) {
			u[k*component+i] = e
		}
	}
}

// tapTilesGo sets the filters g of channels, whose taps are tap elements apart, to Gᵀ·m·G.
func tapTilesGo[T Float](m []T, component int, g []T, tap, vectors int) {
	for i := range vectors * tileLanes {
		var d [16]T
		for k := range d {
			d[k] = m[k*component+i]
		}
		r := timesTile(tileG.transposed(), d)
		for k := range 9 {
			g[k*tap+i] = r[k]
		}
	}
}

// multiplyGo computes the products.
func (p *tileProducts[T]) multiplyGo() {
	for k := range components {
		for r := range p.rows {
			row := p.c[k*p.ccomponent+r*p.crow:][:p.vectors*tileLanes]
			if !p.add {
				clear(row)
			}
			for s := range p.steps {
				x := p.a[k*p.acomponent+r*p.arow+s*p.astep]
				for j, y := range p.b[k*p.bcomponent+s*p.bstep:][:len(row)] {
					row[j] += x * y
				}
			}
		}
	}
}
