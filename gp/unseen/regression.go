package unseen

import (
	"context"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// neighbours is how many of a row's neighbours its kernel regression uses.
const neighbours = 100

// mostTried bounds the rows on which the kernel is chosen.
const mostTried = 200

// shape is the kernel exp(−|x−x'|²/(2 l² s)) + ρδ of a regression. s is the squared distance of a row to the
// neighbour that is in the middle by distance.
type shape struct {
	length float64 // l, in distances to the middle neighbour
	ridge  float64 // ρ, added to the diagonal
}

// shapes returns the kernels to choose from.
func shapes() (out []shape) {
	for _, length := range []float64{0.25, 0.5, 1, 2, 4} {
		for _, ridge := range []float64{1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1, 3} {
			out = append(out, shape{length, ridge})
		}
	}
	return out
}

// leftOut returns the residuals [n,C] of the rows of the sample. Each row is predicted from its neighbours by
// kernel ridge regression of the targets y [N,C]. The kernel is the kernel with the smallest mean square of up to
// mostTried residuals.
func (s *sample) leftOut(ctx context.Context, y []float64, c int) ([]float64, error) {
	every := (len(s.rows) + mostTried - 1) / mostTried
	best, least := shape{}, math.Inf(1)
	for _, k := range shapes() {
		sum := 0.0
		for i := 0; i < len(s.rows); i += every {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for _, r := range s.residual(i, k, y, c) {
				sum += r * r
			}
		}
		if sum < least {
			best, least = k, sum
		}
	}
	var out []float64
	for i := range s.rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, s.residual(i, best, y, c)...)
	}
	return out, nil
}

// residual returns the residuals [c] of row i of the sample: y_i − m − k_iᵀ (K + ρI)⁻¹ (y − m)
// with the mean m of the neighbours' targets. A row that has no neighbours is predicted by 0.
func (s *sample) residual(i int, by shape, y []float64, c int) []float64 {
	near := s.near[i]
	n := len(near)
	out := append([]float64(nil), y[s.rows[i]*c:(s.rows[i]+1)*c]...)
	if n == 0 {
		return out
	}
	right := make([]float64, n*(c+1)) // columns: k_i, then the centred targets
	for a, v := range near {
		copy(right[a*(c+1)+1:(a+1)*(c+1)], y[s.of[v.at]*c:(s.of[v.at]+1)*c])
	}
	for k := range c {
		out[k] -= centre(right[k+1:], c+1)
	}
	scale := 2 * by.length * by.length * max(near[n/2].distance, math.SmallestNonzeroFloat32)
	gram, room := make([]float64, n*n), make([]float64, kernel.DistanceRoom(s.d))
	for a, v := range near {
		for b, w := range near[:a] {
			gram[a*n+b] = -kernel.SquaredDistance(s.input(v.at), s.input(w.at), room) / scale
		}
		right[a*(c+1)] = math.Exp(-v.distance / scale)
	}
	kernel.Exp(gram, gram) // zeros beyond the lower triangle become ones, which are not read
	for a := range n {
		gram[a*n+a] = 1 + by.ridge
	}
	if kernel.Cholesky(n, gram, n) >= 0 {
		return out
	}
	kernel.Trsm(false, false, n, c+1, gram, n, right, c+1)
	for a := range n {
		for k := range c {
			out[k] -= right[a*(c+1)] * right[a*(c+1)+1+k]
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
