//go:build noasm || !amd64

package kernel

func fastSymv4[T Float]([]T, []T, []T, int, []T, *[4]T) bool { return false }

func fastPoles([]float64, []float64, float64) (sum, squares float64, ok bool) { return 0, 0, false }
