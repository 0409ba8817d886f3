package unseen

import (
	"context"
	"math"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// neighbours is how many of a row's neighbours its kernel regression uses.
const neighbours = 100

// mostTried bounds the rows on which the kernel is chosen.
const mostTried = 200

// The kernel of a regression is exp(−|x−x'|²/(2 l² s)) + ρδ, where s is the squared distance of a row to the neighbour that is in the
// middle by distance. These are the l, in distances to that neighbour, and the ρ to choose from.
var (
	lengths = []float64{0.25, 0.5, 1, 2, 4}
	ridges  = []float64{1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1, 3}
)

// leftOut returns the residuals [n,C] of the rows of the sample. Each row is predicted from its neighbours by
// kernel ridge regression of the targets y [N,C]. The kernel is the kernel with the smallest mean square of up to
// mostTried residuals.
func (s *sample) leftOut(ctx context.Context, y []float64, c int) ([]float64, error) {
	every := (len(s.rows) + mostTried - 1) / mostTried
	sums := make([]float64, len(lengths)*len(ridges))
	r := &regression{sample: s, y: y, c: c}
	for i := 0; i < len(s.rows); i += every {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.take(i)
		for k := range sums {
			if k%len(ridges) == 0 {
				r.form(lengths[k/len(ridges)])
			}
			for _, v := range r.residual(ridges[k%len(ridges)]) {
				sums[k] += v * v
			}
		}
	}
	best := kernel.Least(sums)
	var out []float64
	for i := range s.rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.take(i)
		r.form(lengths[best/len(ridges)])
		out = append(out, r.residual(ridges[best%len(ridges)])...)
	}
	return out, nil
}

// regression predicts a row of a sample from its n neighbours.
type regression struct {
	*sample
	y []float64 // targets of all rows [N,C]
	c int       // C

	near      []neighbour // of the row
	distances []float64   // squared, among the neighbours; the lower triangle of [n,n]
	alone     []float64   // y_i − m [C] with the mean m of the neighbours' targets
	targets   []float64   // [n,C] of the neighbours, without their mean
	gram      []float64   // K, the lower triangle of [n,n] below the diagonal
	cross     []float64   // k_i [n]

	factor, right, room []float64 // memory
}

// take prepares for row i of the sample. A row that has no neighbours is predicted by 0.
func (r *regression) take(i int) {
	r.near = r.sample.near[i]
	n, c := len(r.near), r.c
	r.alone = append(r.alone[:0], r.y[r.rows[i]*c:(r.rows[i]+1)*c]...)
	if n == 0 {
		return
	}
	r.targets = r.targets[:0]
	for _, v := range r.near {
		r.targets = append(r.targets, r.y[r.of[v.at]*c:(r.of[v.at]+1)*c]...)
	}
	for k := range c {
		r.alone[k] -= centre(r.targets[k:], c)
	}
	r.distances, r.gram = dense.Resized(r.distances, n*n), dense.Resized(r.gram, n*n)
	r.factor, r.cross = dense.Resized(r.factor, n*n), dense.Resized(r.cross, n)
	r.right, r.room = dense.Resized(r.right, n*(c+1)), dense.Resized(r.room, kernel.DistanceRoom(r.d))
	for a, v := range r.near {
		for b, w := range r.near[:a] {
			r.distances[a*n+b] = kernel.SquaredDistance(r.input(v.at), r.input(w.at), r.room)
		}
	}
}

// form computes the kernel with a length l.
func (r *regression) form(length float64) {
	n := len(r.near)
	if n == 0 {
		return
	}
	scale := 2 * length * length * max(r.near[n/2].distance, math.SmallestNonzeroFloat32)
	for a, v := range r.near {
		row := r.gram[a*n : a*n+a]
		for b, d := range r.distances[a*n : a*n+a] {
			row[b] = -d / scale
		}
		kernel.Exp(row, row)
		r.cross[a] = math.Exp(-v.distance / scale)
	}
}

// residual returns the residuals [C] of the row, y_i − m − k_iᵀ (K + ρI)⁻¹ (y − m).
func (r *regression) residual(ridge float64) []float64 {
	n, c := len(r.near), r.c
	out := append([]float64(nil), r.alone...)
	if n == 0 {
		return out
	}
	copy(r.factor, r.gram)
	for a := range n {
		r.factor[a*n+a] = 1 + ridge
		r.right[a*(c+1)] = r.cross[a]
		copy(r.right[a*(c+1)+1:(a+1)*(c+1)], r.targets[a*c:(a+1)*c])
	}
	if kernel.Cholesky(n, r.factor, n) >= 0 {
		return out
	}
	kernel.Trsm(false, false, n, c+1, r.factor, n, r.right, c+1)
	for a := range n {
		for k := range c {
			out[k] -= r.right[a*(c+1)] * r.right[a*(c+1)+1+k]
		}
	}
	return out
}

// centre takes every step-th value of v, from the first value on. It subtracts the mean of these values from them
// and returns the mean.
func centre(v []float64, step int) float64 {
	sum, n := 0.0, 0
	for i := 0; i < len(v); i += step {
		sum, n = sum+v[i], n+1
	}
	mean := sum / float64(n)
	for i := 0; i < len(v); i += step {
		v[i] -= mean
	}
	return mean
}
