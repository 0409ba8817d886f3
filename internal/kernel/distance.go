package kernel

// SquaredDistance returns |a-b|². It needs room for some of the differences, or for all.
func SquaredDistance[T Float](a, b, room []T) float64 {
	sum := 0.0
	for i := 0; i < len(a); i += len(room) {
		end := min(i+len(room), len(a))
		some := room[:end-i]
		Sub(some, a[i:end], b[i:end])
		sum += float64(Dot(some, some))
	}
	return sum
}
