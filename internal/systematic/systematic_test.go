package systematic

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSample: the probabilities sum to k, those below 1 are in proportion to the sizes, and k different items with a size are drawn.
func TestSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-12, 1), rapid.Float64Range(1, 1e12)), 1, 12).Draw(t, "sizes")
		k, u := rapid.IntRange(1, len(sizes)+1).Draw(t, "k"), rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "u")
		b, found := bound(sizes, k)
		n, sum, some := min(k, found), 0.0, 0
		for _, s := range sizes {
			if s > 0 {
				sum, some = sum+min(1, s/b), some+1
			}
		}
		if n != min(k, some) || math.Abs(sum-float64(n)) > 1e-9 {
			t.Fatalf("sizes %v: probabilities sum to %v, expected %d of %d", sizes, sum, k, some)
		}
		items, pi := Sample(sizes, k, u)
		if len(items) != n || !slices.IsSorted(items) || len(slices.Compact(slices.Clone(items))) != n {
			t.Fatalf("sizes %v: drawn %v, expected %d different items", sizes, items, n)
		}
		for j, i := range items {
			if sizes[i] == 0 || pi[j] != min(1, sizes[i]/b) {
				t.Fatalf("sizes %v: item %d with probability %g", sizes, i, pi[j])
			}
		}
	})
}

// TestMean: over all u the weight of an item is 1 on average, and large items are always drawn.
func TestMean(t *testing.T) {
	const steps, k = 200_000, 5
	sizes := []float64{0.3, 0, 8, 0.01, 0.5, 0.5, 2, 0.001, 0.2, 0.9, 30, 0.4}
	mean, most := make([]float64, len(sizes)), make([]float64, len(sizes))
	for step := range steps {
		items, pi := Sample(sizes, k, (float64(step)+0.5)/steps)
		for j, i := range items {
			mean[i] += 1 / pi[j] / steps
			most[i] = max(most[i], 1/pi[j])
		}
	}
	for i, size := range sizes {
		want := 1.0
		if size == 0 {
			want = 0
		}
		if math.Abs(mean[i]-want) > most[i]/steps*2+1e-9 { // up to two of the u
			t.Errorf("item %d of size %g: mean weight %g, expected %g", i, size, mean[i], want)
		}
	}
	if most[2] != 1 || most[10] != 1 || most[6] != 1 {
		t.Errorf("weights up to %g", most)
	}
}

// TestSizes: sizes of any scale, and none.
func TestSizes(t *testing.T) {
	if b, _ := bound([]float64{3, 1e-12, 1e20, 2e-12}, 3); math.Abs(b-3e-12) > 1e-27 {
		t.Errorf("a bound of %g, expected 3e-12", b)
	}
	if items, pi := Sample(make([]float64, 4), 2, 0.5); items != nil || pi != nil {
		t.Errorf("without sizes: %v with %v", items, pi)
	}
	if items, pi := Sample([]float64{0, 5, 0, 2e-300}, 3, 0.9); !slices.Equal(items, []int{1, 3}) || !slices.Equal(pi, []float64{1, 1}) {
		t.Errorf("two with a size: %v with %v", items, pi)
	}
}
