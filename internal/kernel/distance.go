package kernel

// DistanceRoom returns how many differences of d numbers [SquaredDistance] best takes at a time: with more, rows of float64 push each
// other out of the first level cache.
func DistanceRoom(d int) int { return min(d, 512) }

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
