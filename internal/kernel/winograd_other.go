//go:build noasm || !amd64

package kernel

// fastTiles reports whether tiles have assembly. Without it they are slower than other ways.
func fastTiles[T Float]() bool { return false }

func imageTiles[T Float](b *tileBand, x, v []T, channels, xchannel, vchannel, component int) {
	imageTilesGo(b, x, v, channels, xchannel, vchannel, component)
}

func derivativeTiles[T Float](b *tileBand, y, v []T, channels, ychannel, vchannel, component int) {
	derivativeTilesGo(b, y, v, channels, ychannel, vchannel, component)
}

func resultTiles[T Float](b *tileBand, m, y []T, channels, ychannel, mchannel, component int) {
	resultTilesGo(b, m, y, channels, ychannel, mchannel, component)
}

func turnedTiles[T Float](x []T, row, pixel int, v []T, component, tiles, vectors int) {
	turnedTilesGo(x, row, pixel, v, component, tiles, vectors)
}

func filterTiles[T Float](g []T, first, tap int, u []T, component, vectors int) {
	filterTilesGo(g, first, tap, u, component, vectors)
}

func tapTiles[T Float](m []T, component int, g []T, tap, vectors int) {
	tapTilesGo(m, component, g, tap, vectors)
}

func (p *tileProducts[T]) multiply() { p.multiplyGo() }
