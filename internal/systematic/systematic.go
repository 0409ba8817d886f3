// Package systematic draws samples with unequal probabilities.
package systematic

import (
	"math"
	"slices"
)

// Sample draws k items, or all that have a size where these are fewer, without replacement. An item
// is drawn with a probability π in proportion to its size, or certainly where π would exceed 1. So
// Σ v_i/π_i over the drawn items has the mean Σ v_i over all that have a size. Sample goes through
// the items in their order and draws one at each whole number plus u that Σ π passes, for u in [0,1)
// (Madow 1949). It returns the drawn items, in ascending order, and their π. Sizes are 0 or positive.
func Sample(sizes []float64, k int, u float64) (items []int, pi []float64) {
	b, left := bound(sizes, k)
	n := min(k, left)
	if n == 0 {
		return nil, nil
	}
	items, pi = make([]int, 0, n), make([]float64, 0, n)
	sum, next := 0.0, u
	for i, size := range sizes {
		if size == 0 {
			continue
		}
		p := min(1, size/b)
		sum += p
		// Rounding of the sum must not change the number of items.
		if rest := n - len(items); rest > 0 && (p == 1 || sum > next || left == rest) {
			items, pi, next = append(items, i), append(pi, p), next+1
		}
		left--
	}
	return items, pi
}

// bound returns the number of sizes above 0, and the b with Σ min(1, size/b) = k, or with the number of these sizes for the sum
// where they are fewer.
func bound(sizes []float64, k int) (b float64, some int) {
	sorted := slices.Sorted(slices.Values(sizes))
	first, _ := slices.BinarySearch(sorted, math.SmallestNonzeroFloat64)
	sorted = sorted[first:]
	if k >= len(sorted) {
		if len(sorted) > 0 {
			b = sorted[0]
		}
		return b, len(sorted)
	}
	upTo, sum := make([]float64, len(sorted)), 0.0
	for i, size := range sorted {
		sum += size
		upTo[i] = sum
	}
	for certain := range k {
		last := len(sorted) - 1 - certain
		if b = upTo[last] / float64(k-certain); sorted[last] <= b {
			break
		}
	}
	return b, len(sorted)
}
