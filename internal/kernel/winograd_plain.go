package kernel

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
	q := t / 4
	if row < 0 && b.outer[t/8]>>(q%2*8)&1 == 0 || row > 1 && b.outer[2+t/8]>>(q%2*8)&1 == 0 ||
		column < 0 && b.left>>laneOf(t)&1 == 0 || column > 1 && b.right>>laneOf(t)&1 == 0 {
		return 0
	}
	return x[b.at[q]+row*b.row+2*(t%4)+column]
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
			at := ch*ychannel + b.at[t/4] + 2*(t%4)
			y[at], y[at+1], y[at+b.row], y[at+b.row+1] = r[0], r[1], r[2], r[3]
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

// tileProducts computes C = A·B, or C += A·B if add is set, for each component. Element r of step s
// of A is at r·arow + s·astep. The number of rows is a multiple of 16. A row of C is vectors·tileLanes
// elements long.
type tileProducts[T Float] struct {
	a                       []T  // A
	arow, astep, acomponent int  // elements between rows, steps and components of A
	b                       []T  // B
	bstep, bcomponent       int  // elements between steps and components of B
	c                       []T  // C
	crow, ccomponent        int  // elements between rows and components of C
	rows, vectors, steps    int  // rows of C, vectors in a row, and steps of each sum
	add                     bool // whether the products are added to C
}

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
