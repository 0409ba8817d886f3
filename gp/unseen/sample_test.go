package unseen

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"pgregory.net/rapid"
)

// TestNeighbours: the neighbours are the nearest other inputs in the order of their distances, as a search through
// all inputs finds them.
func TestNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d, k := rapid.IntRange(1, 30).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "d"), rapid.IntRange(1, 12).Draw(t, "k")
		s := &sample{d: d, x: rapid.SliceOfN(rapid.Float64Range(-3, 3), n*d, n*d).Draw(t, "x"), of: make([]int, n)}
		at := rapid.IntRange(0, n-1).Draw(t, "at")
		var all []float64
		for j := range n {
			if j != at {
				all = append(all, kernel.SquaredDistance(s.input(at), s.input(j), make([]float64, kernel.DistanceRoom(d))))
			}
		}
		slices.Sort(all)
		got := s.neighbours(dense.Indices(n), k)[at]
		if len(got) != min(k, n-1) {
			t.Fatalf("%d neighbours of %d inputs", len(got), n)
		}
		for i, v := range got {
			if v.distance != all[i] || v.at == at || v.distance != kernel.SquaredDistance(s.input(at), s.input(v.at), make([]float64, kernel.DistanceRoom(d))) {
				t.Errorf("neighbour %d is %+v, expected the distance %g", i, v, all[i])
			}
		}
	})
}

// TestSpread: a row of the sample keeps its residuals, and another row has the residuals of some row of the sample.
func TestSpread(t *testing.T) {
	s := &sample{rows: []int{1, 4}}
	residuals := []float64{1, 10, 2, 20}
	out := s.spread(residuals, 6, 2, rand.New(rand.NewPCG(1, 1)))
	if len(out) != 12 || !slices.Equal(out[2:4], residuals[:2]) || !slices.Equal(out[8:10], residuals[2:]) {
		t.Fatalf("residuals %v", out)
	}
	for row := range slices.Chunk(out, 2) {
		if row[1] != 10*row[0] || row[0] != 1 && row[0] != 2 {
			t.Errorf("a row has the residuals %v", row)
		}
	}
}

// TestCentre: only every step-th value changes, and the mean of these values becomes 0.
func TestCentre(t *testing.T) {
	v := []float64{1, 7, 2, 7, 6, 7}
	if mean := centre(v, 2); mean != 3 || !slices.Equal(v, []float64{-2, 7, -1, 7, 3, 7}) {
		t.Errorf("mean %g, values %v", mean, v)
	}
}

// TestPixels: a place between two pixels has both, with shares by its distance, and a place outside has the pixel at
// the border.
func TestPixels(t *testing.T) {
	for at, want := range map[float64][3]float64{-1: {0, 1, 0}, 0: {0, 1, 0}, 0.25: {0, 1, 0.25}, 1.5: {1, 2, 0.5}, 2: {2, 2, 0}, 9: {2, 2, 0}} {
		first, second, share := pixels(at, 3)
		if got := [3]float64{float64(first), float64(second), share}; got != want {
			t.Errorf("place %g: %v, expected %v", at, got, want)
		}
	}
}

// TestResizeWhole: a part that is the whole plane leaves the plane as it is, and a part of a constant plane is
// constant.
func TestResizeWhole(t *testing.T) {
	src := []float64{1, 2, 3, 4, 5, 6}
	out := make([]float64, 6)
	resize(out, src, 3, 0, 0, 1, 1)
	if !slices.Equal(out, src) {
		t.Errorf("the whole plane became %v", out)
	}
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		top, left, height, width := part(5, 8, rng)
		if top < 0 || left < 0 || top+height > 5+1e-12 || left+width > 8+1e-12 || height*width < leastPart*40*(1-1e-12) {
			t.Errorf("part of %g×%g at (%g, %g)", height, width, top, left)
		}
		flat, out := slices.Repeat([]float64{2.5}, 40), make([]float64, 40)
		resize(out, flat, 8, top, left, height/5, width/8)
		for _, v := range out {
			if math.Abs(v-2.5) > 1e-12 {
				t.Errorf("a constant plane became %v", out)
			}
		}
	})
}
