package moe

import "math"

// neighbours lists, for each of the centres [E,2], the centres whose Voronoi cells share an
// edge with its own: the edges of the Delaunay triangulation. Of fewer than three centres, and
// of centres on a line, all are neighbours of each other.
func neighbours(centres []float64) [][]int {
	n := len(centres) / 2
	out, any := make([][]int, n), onLine(centres)
	for i := range n {
		for j := range i {
			if any || shareEdge(centres, i, j) {
				out[i], out[j] = append(out[i], j), append(out[j], i)
			}
		}
	}
	return out
}

// inRow is the same for n cells in a row.
func inRow(n int) [][]int {
	out := make([][]int, n)
	for i := 1; i < n; i++ {
		out[i], out[i-1] = append(out[i], i-1), append(out[i-1], i)
	}
	return out
}

// rounding is the relative size of numbers that count as 0.
const rounding = 1e-12

// onLine reports whether all points [n,2] lie on a line.
func onLine(p []float64) bool {
	var far []float64 // the vector from the first point to the farthest one
	length := 0.0
	for i := 2; i < len(p); i += 2 {
		if d := math.Hypot(p[i]-p[0], p[i+1]-p[1]); d > length {
			far, length = []float64{p[i] - p[0], p[i+1] - p[1]}, d
		}
	}
	for i := 2; i < len(p); i += 2 {
		if math.Abs(far[0]*(p[i+1]-p[1])-far[1]*(p[i]-p[0])) > rounding*length*length {
			return false
		}
	}
	return true
}

// shareEdge reports whether a piece of the line of equal distance to the points i and j is nearer
// to them than to all others. A place on it is m + t·v, for the point m half-way between them
// and v at right angles to their difference, and another point allows the t on one side of a
// bound.
func shareEdge(p []float64, i, j int) bool {
	xi, yi, xj, yj := p[2*i], p[2*i+1], p[2*j], p[2*j+1]
	mx, my, vx, vy := (xi+xj)/2, (yi+yj)/2, yi-yj, xj-xi
	lo, hi := math.Inf(-1), math.Inf(1)
	for k := 0; k < len(p)/2; k++ {
		if k == i || k == j {
			continue
		}
		xk, yk := p[2*k], p[2*k+1]
		ahead := (mx-xk)*(mx-xk) + (my-yk)*(my-yk) - (vx*vx+vy*vy)/4
		switch slope := 2 * (vx*(xi-xk) + vy*(yi-yk)); {
		case slope > 0:
			lo = max(lo, -ahead/slope)
		case slope < 0:
			hi = min(hi, -ahead/slope)
		case ahead <= 0:
			return false // between them
		}
	}
	return hi-lo > rounding*min(max(1, math.Abs(lo)), max(1, math.Abs(hi)))
}
