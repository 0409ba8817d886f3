//go:build noasm || !amd64

package kernel

// These are the functions for which only amd64 has assembly. Callers of fives and quad, and of the functions
// for tiles, ask the function before them whether there is assembly.

// strided reports whether tile takes panels that are not packed. On arm64 the elements of a packed panel are
// read as vectors.
func strided() bool { return false }

func packRows[T Float](dst, src []T, ld, k, width, height int) {
	packRowsGo(dst, src, ld, k, width, height)
}

func fillRegion[T Float](v view, r region, image, u []T, size int) {
	fillRegionGo(v, r, image, u, size)
}

func fastRow[T Float]([]T, []T, int, int, []T, int, int, bool) bool { return false }

func fastSymv4([]float64, []float64, []float64, int, []float64, *[4]float64) bool { return false }

func fastPoles([]float64, []float64, float64) (sum, squares float64, ok bool) { return 0, 0, false }

func hasFives() bool { return false }

func fives[T Float](_, _ []T, _, _ int, _ []T) {}

func hasQuads() bool { return false }

func quad[T Float](_ int, _ []T, _ int, _, _ []T, _, _, _ int, _ bool) {}

// fastTiles reports whether tiles have assembly. Without assembly, tiles are slower than other ways.
func fastTiles[T Float]() bool { return false }

func imageTiles[T Float](*tileBand, []T, []T, int, int, int, int) {}

func derivativeTiles[T Float](*tileBand, []T, []T, int, int, int, int) {}

func resultTiles[T Float](*tileBand, []T, []T, int, int, int, int) {}

func turnedTiles[T Float]([]T, int, int, []T, int, int, int) {}

func filterTiles[T Float]([]T, int, int, []T, int, int) {}

func tapTiles[T Float]([]T, int, []T, int, int) {}

func (p *tileProducts[T]) multiply() {}
