//go:build noasm || !amd64

package kernel

// fastTiles reports whether tiles have assembly. Nothing calls the other functions without assembly.
func fastTiles[T Float]() bool { return false }

func imageTiles[T Float](*tileBand, []T, []T, int, int, int, int) {}

func derivativeTiles[T Float](*tileBand, []T, []T, int, int, int, int) {}

func resultTiles[T Float](*tileBand, []T, []T, int, int, int, int) {}

func turnedTiles[T Float]([]T, int, int, []T, int, int, int) {}

func filterTiles[T Float]([]T, int, int, []T, int, int) {}

func tapTiles[T Float]([]T, int, []T, int, int) {}

func (p *tileProducts[T]) multiply() {}
