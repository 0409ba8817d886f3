package moe

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNeighbours: a grid of places shows which cells meet.
func TestNeighbours(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 3 + rng.IntN(8)
		p := make([]float64, 2*n)
		for i := range p {
			p[i] = rng.Float64()
		}
		near := neighbours(p)
		for i := range n {
			for j := range n {
				if got, want := slices.Contains(near[i], j), i != j && meet(p, i, j); got != want {
					t.Errorf("seed %d, %d cells: %d and %d are neighbours: %t, expected %t", seed, n, i, j, got, want)
				}
			}
		}
	}
}

// meet looks for a place that has i and j as its two nearest points at equal distance, along a
// line of many places out to far away.
func meet(p []float64, i, j int) bool {
	xi, yi, xj, yj := p[2*i], p[2*i+1], p[2*j], p[2*j+1]
	for k := -40000; k <= 40000; k++ {
		s := float64(k) / 8000
		s = s * s * s // dense near the middle, out to 125 times the distance
		at := []float64{(xi+xj)/2 + s*(yi-yj), (yi+yj)/2 + s*(xj-xi)}
		_, d := nearest(p, at)
		if own := (at[0]-xi)*(at[0]-xi) + (at[1]-yi)*(at[1]-yi); own <= d*(1+1e-9) {
			return true
		}
	}
	return false
}

// TestNeighboursOfFew: points on a line and fewer than three are all neighbours; the corners of
// a square are not so across it; cells in a row have those beside them.
func TestNeighboursOfFew(t *testing.T) {
	for name, c := range map[string]struct {
		near [][]int
		want [][]int
	}{
		"one":         {neighbours([]float64{1, 2}), [][]int{nil}},
		"two":         {neighbours([]float64{1, 2, 3, 3}), [][]int{{1}, {0}}},
		"on a line":   {neighbours([]float64{0, 0, 1, 1, 3, 3, 2, 2}), [][]int{{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}}},
		"in a square": {neighbours([]float64{0, 0, 1, 0, 1, 1, 0, 1}), [][]int{{1, 3}, {0, 2}, {1, 3}, {0, 2}}},
		"in a row":    {inRow(4), [][]int{{1}, {0, 2}, {1, 3}, {2}}},
	} {
		for i, own := range c.near {
			slices.Sort(own)
			if !slices.Equal(own, c.want[i]) || len(c.near) != len(c.want) {
				t.Errorf("%s: %v, expected %v", name, c.near, c.want)
			}
		}
	}
}

// TestCells: every cell holds rows, whatever number of cells is asked for.
func TestCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, rows := range []int{1, 2, 7, 40} {
		x := make([]float64, rows)
		for i := range x {
			x[i] = float64(rng.IntN(6)) // many are equal
		}
		for experts := 1; experts < 60; experts++ {
			g := newCells(x, experts)
			if g.experts() > experts || !slices.IsSorted(g.edges) {
				t.Fatalf("%d cells of %d: edges %v", g.experts(), experts, g.edges)
			}
			held := make([]bool, g.experts())
			for _, v := range x {
				k, _ := slices.BinarySearchFunc(g.edges, v, func(edge, v float64) int {
					if edge <= v {
						return -1
					}
					return 1
				})
				held[k] = true
			}
			if slices.Contains(held, false) {
				t.Fatalf("%d rows, %d cells: one holds none; edges %v, rows %v", rows, experts, g.edges, x)
			}
		}
	}
}

// TestNeighboursOfOne: the plan's number of neighbours is near the mean of normal points, which a fit has, and is the mean of cells in
// a row.
func TestNeighboursOfOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, n := range []int{1, 2, 3, 4, 8, 16, 40} {
		const draws = 100
		mean := 0.0
		for range draws {
			p := make([]float64, 2*n)
			for i := range p {
				p[i] = rng.NormFloat64()
			}
			for _, near := range neighbours(p) {
				mean += float64(len(near)) / float64(n*draws)
			}
		}
		line := 0.0
		for _, near := range inRow(n) {
			line += float64(len(near)) / float64(n)
		}
		if got := neighboursOfOne(n, true); math.Abs(got-line) > 1e-12 {
			t.Errorf("%d cells: planned neighbours of one %.2f, expected %.2f", n, got, line)
		}
		if got := neighboursOfOne(n, false); math.Abs(got-mean) > 0.2 {
			t.Errorf("%d clusters: planned neighbours of one %.2f, expected %.2f", n, got, mean)
		}
	}
}
