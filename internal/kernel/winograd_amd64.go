//go:build !noasm

package kernel

// The assembly reads tileLane. The first two rows hold the lanes of the tiles to the left and to the right of
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
func imageTiles32(b *tileBand, x, v *float32, channels, xchannel, vchannel, component int)

//go:noescape
func derivativeTiles32(b *tileBand, y, v *float32, channels, ychannel, vchannel, component int)

//go:noescape
func resultTiles32(b *tileBand, m, y *float32, channels, ychannel, mchannel, component int)

//go:noescape
func turnedTiles32(x *float32, row, pixel int, v *float32, component, tiles, vectors int)

//go:noescape
func filterTiles32(taps *float32, tap int, u *float32, component, vectors int)

//go:noescape
func tapTiles32(m *float32, component int, taps *float32, tap, vectors int)

//go:noescape
func multiplyTiles32(a *float32, arow, astep, acomponent int, b *float32, bstep, bcomponent int, c *float32, crow, ccomponent, rows, vectors, steps, add int)

// fastTiles reports whether tiles have assembly. Without it they are slower than other ways.
func fastTiles[T Float]() bool { return simd == avx512 && sizeOf[T]() == 4 }

// The functions below do the same as the functions of winograd_plain.go on the best instructions of this
// processor.

func imageTiles[T Float](b *tileBand, x, v []T, channels, xchannel, vchannel, component int) {
	if fastTiles[T]() {
		imageTiles32(b, f32(&x[0]), f32(&v[0]), channels, xchannel, vchannel, component)
		return
	}
	imageTilesGo(b, x, v, channels, xchannel, vchannel, component)
}

func derivativeTiles[T Float](b *tileBand, y, v []T, channels, ychannel, vchannel, component int) {
	if fastTiles[T]() {
		derivativeTiles32(b, f32(&y[0]), f32(&v[0]), channels, ychannel, vchannel, component)
		return
	}
	derivativeTilesGo(b, y, v, channels, ychannel, vchannel, component)
}

func resultTiles[T Float](b *tileBand, m, y []T, channels, ychannel, mchannel, component int) {
	if fastTiles[T]() {
		resultTiles32(b, f32(&m[0]), f32(&y[0]), channels, ychannel, mchannel, component)
		return
	}
	resultTilesGo(b, m, y, channels, ychannel, mchannel, component)
}

func turnedTiles[T Float](x []T, row, pixel int, v []T, component, tiles, vectors int) {
	if fastTiles[T]() {
		turnedTiles32(f32(&x[0]), row, pixel, f32(&v[0]), component, tiles, vectors)
		return
	}
	turnedTilesGo(x, row, pixel, v, component, tiles, vectors)
}

func filterTiles[T Float](g []T, first, tap int, u []T, component, vectors int) {
	if fastTiles[T]() {
		filterTiles32(f32(&g[first]), tap, f32(&u[0]), component, vectors)
		return
	}
	filterTilesGo(g, first, tap, u, component, vectors)
}

func tapTiles[T Float](m []T, component int, g []T, tap, vectors int) {
	if fastTiles[T]() {
		tapTiles32(f32(&m[0]), component, f32(&g[0]), tap, vectors)
		return
	}
	tapTilesGo(m, component, g, tap, vectors)
}

func (p *tileProducts[T]) multiply() {
	if !fastTiles[T]() {
		p.multiplyGo()
		return
	}
	multiplyTiles32(f32(&p.a[0]), p.arow, p.astep, p.acomponent, f32(&p.b[0]), p.bstep, p.bcomponent,
		f32(&p.c[0]), p.crow, p.ccomponent, p.rows, p.vectors, p.steps, flag(p.add))
}
