//go:build !noasm

package kernel

// The assembly for AVX-512 reads tileLane. The first two rows hold the lanes of the tiles to the left and to the right of
// each lane's tile. The last two rows hold the places of the left and right columns of 16 tiles in a row among
// their 32 pixels.
var tileLane [4][tileLanes]uint32

func init() {
	for t := range tileLanes {
		lane := laneOf(t)
		tileLane[0][lane], tileLane[1][lane] = uint32(laneOf((t+15)%16)), uint32(laneOf((t+1)%16))
		tileLane[2][t], tileLane[3][t] = uint32(2*t), uint32(2*t+1)
	}
}

//go:noescape
func imageTilesAVX512(b *tileBand, x, v *float32, channels, xchannel, vchannel, component int)

//go:noescape
func derivativeTilesAVX512(b *tileBand, y, v *float32, channels, ychannel, vchannel, component int)

//go:noescape
func resultTilesAVX512(b *tileBand, m, y *float32, channels, ychannel, mchannel, component int)

//go:noescape
func turnedTilesAVX512(x *float32, row, pixel int, v *float32, component, tiles, vectors int)

//go:noescape
func filterTilesAVX512(taps *float32, tap int, u *float32, component, vectors int)

//go:noescape
func tapTilesAVX512(m *float32, component int, taps *float32, tap, vectors int)

//go:noescape
func multiplyTilesAVX512(a *float32, arow, astep, acomponent int, b *float32, bstep, bcomponent int, c *float32, crow, ccomponent, rows, vectors, steps, add int)

//go:noescape
func imageTilesAVX2(b *tileBand, x, v *float32, channels, xchannel, vchannel, component int)

//go:noescape
func derivativeTilesAVX2(b *tileBand, y, v *float32, channels, ychannel, vchannel, component int)

//go:noescape
func resultTilesAVX2(b *tileBand, m, y *float32, channels, ychannel, mchannel, component int)

//go:noescape
func turnedTilesAVX2(x *float32, row, pixel int, v *float32, component, tiles, vectors int)

//go:noescape
func filterTilesAVX2(taps *float32, tap int, u *float32, component, vectors int)

//go:noescape
func tapTilesAVX2(m *float32, component int, taps *float32, tap, vectors int)

//go:noescape
func multiplyTilesAVX2(a *float32, arow, astep, acomponent int, b *float32, bstep, bcomponent int, c *float32, crow, ccomponent, rows, vectors, steps, add int)

// fastTiles reports whether tiles have assembly. Without assembly, tiles are slower than other ways.
func fastTiles[T Float]() bool { return simd != none && sizeOf[T]() == 4 }

// The functions below serve where fastTiles holds.

// imageTiles sets v to the components of Bᵀ·d·B for the tiles of a band of x.
func imageTiles[T Float](b *tileBand, x, v []T, channels, xchannel, vchannel, component int) {
	if simd == avx512 {
		imageTilesAVX512(b, f32(&x[0]), f32(&v[0]), channels, xchannel, vchannel, component)
		return
	}
	imageTilesAVX2(b, f32(&x[0]), f32(&v[0]), channels, xchannel, vchannel, component)
}

// derivativeTiles sets v to the components of A·r·Aᵀ for the tiles of a band of y.
func derivativeTiles[T Float](b *tileBand, y, v []T, channels, ychannel, vchannel, component int) {
	if simd == avx512 {
		derivativeTilesAVX512(b, f32(&y[0]), f32(&v[0]), channels, ychannel, vchannel, component)
		return
	}
	derivativeTilesAVX2(b, f32(&y[0]), f32(&v[0]), channels, ychannel, vchannel, component)
}

// resultTiles sets the tiles of a band of y to Aᵀ·m·A.
func resultTiles[T Float](b *tileBand, m, y []T, channels, ychannel, mchannel, component int) {
	if simd == avx512 {
		resultTilesAVX512(b, f32(&m[0]), f32(&y[0]), channels, ychannel, mchannel, component)
		return
	}
	resultTilesAVX2(b, f32(&m[0]), f32(&y[0]), channels, ychannel, mchannel, component)
}

// turnedTiles sets v to the components of Bᵀ·d·B for a row of tiles of a turned image. In this image,
// rows are row elements apart, pixels are pixel elements apart, and the channels of a pixel fill vectors.
func turnedTiles[T Float](x []T, row, pixel int, v []T, component, tiles, vectors int) {
	if simd == avx512 {
		turnedTilesAVX512(f32(&x[0]), row, pixel, f32(&v[0]), component, tiles, vectors)
		return
	}
	turnedTilesAVX2(f32(&x[0]), row, pixel, f32(&v[0]), component, tiles, vectors)
}

// filterTiles sets u to the components of G·g·Gᵀ for the filters of channels, whose taps are
// tap elements apart from g[first] on.
func filterTiles[T Float](g []T, first, tap int, u []T, component, vectors int) {
	if simd == avx512 {
		filterTilesAVX512(f32(&g[first]), tap, f32(&u[0]), component, vectors)
		return
	}
	filterTilesAVX2(f32(&g[first]), tap, f32(&u[0]), component, vectors)
}

// tapTiles sets the filters g of channels, whose taps are tap elements apart, to Gᵀ·m·G.
func tapTiles[T Float](m []T, component int, g []T, tap, vectors int) {
	if simd == avx512 {
		tapTilesAVX512(f32(&m[0]), component, f32(&g[0]), tap, vectors)
		return
	}
	tapTilesAVX2(f32(&m[0]), component, f32(&g[0]), tap, vectors)
}

// multiply computes the products.
func (p *tileProducts[T]) multiply() {
	if simd == avx512 {
		multiplyTilesAVX512(f32(&p.a[0]), p.arow, p.astep, p.acomponent, f32(&p.b[0]), p.bstep, p.bcomponent,
			f32(&p.c[0]), p.crow, p.ccomponent, p.rows, p.vectors, p.steps, flag(p.add))
		return
	}
	multiplyTilesAVX2(f32(&p.a[0]), p.arow, p.astep, p.acomponent, f32(&p.b[0]), p.bstep, p.bcomponent,
		f32(&p.c[0]), p.crow, p.ccomponent, p.rows, p.vectors, p.steps, flag(p.add))
}
