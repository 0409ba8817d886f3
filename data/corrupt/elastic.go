package corrupt

import "math"

// elasticTransform stretches the image by a random affine map, and then moves every pixel by
// random steps, which a Gaussian smooths over the image. The severity sets the size of the
// steps, the standard deviation of the Gaussian, and how far at most the three points move
// that define the affine map. All three are fractions of the shorter side.
func elasticTransform(severity int) effect {
	far := [5]float64{0, .05, .08, .1, .1}[severity]
	smoothing := [5]float64{0, .2, .06, .04, .03}[severity]
	jitter := [5]float64{.08, .07, .06, .05, .03}[severity]
	return onUnit(func(f *frame, x []float64) {
		side := float64(min(f.h, f.w))
		f.warp(x, reflect101, f.affine(jitter*side))
		if far > 0 {
			f.warp(x, reflect, f.wander(far*side, smoothing*side))
		}
	})
}

// A course returns the place of the original from which a pixel of the result comes.
type course func(y, x int) (fromY, fromX float64)

// affine returns the inverse of the affine map that moves three corners of the
// square about the middle by up to jitter in both directions.
func (f *frame) affine(jitter float64) course {
	cy, cx, s := float64(f.h/2), float64(f.w/2), float64(min(f.h, f.w)/3)
	from := [3][2]float64{{cx + s, cy + s}, {cx + s, cy - s}, {cx - s, cy - s}}
	to := from
	for i := range to {
		for j := range to[i] {
			to[i][j] += f.uniform(-jitter, jitter)
		}
	}
	// The coordinates a and b of a place in the basis of the moved sides equal the coordinates of its
	// origin in the basis of the sides before.
	ux, uy := to[1][0]-to[0][0], to[1][1]-to[0][1]
	vx, vy := to[2][0]-to[0][0], to[2][1]-to[0][1]
	det := ux*vy - uy*vx
	if det == 0 { // the three points are in a line, and there is no such map
		return func(y, x int) (float64, float64) { return float64(y), float64(x) }
	}
	return func(y, x int) (float64, float64) {
		dx, dy := float64(x)-to[0][0], float64(y)-to[0][1]
		a, b := (dx*vy-dy*vx)/det, (ux*dy-uy*dx)/det
		return coarse(from[0][1] + a*(from[1][1]-from[0][1]) + b*(from[2][1]-from[0][1])),
			coarse(from[0][0] + a*(from[1][0]-from[0][0]) + b*(from[2][0]-from[0][0]))
	}
}

// coarse rounds to 1/32 of a pixel, as OpenCV's warpAffine does.
func coarse(v float64) float64 { return math.Floor(v*32+0.5) / 32 }

// wander returns random steps of up to far pixels in both directions, smoothed with a
// Gaussian of standard deviation sigma.
func (f *frame) wander(far, sigma float64) course {
	k := gaussian(sigma, reach(sigma, 3))
	step := func() []float64 {
		x := make([]float64, f.size())
		for i := range x {
			x[i] = f.uniform(-1, 1)
		}
		smooth(x, f.h, f.w, k, reflect)
		return x
	}
	dx, dy := step(), step()
	return func(y, x int) (float64, float64) {
		i := y*f.w + x
		return float64(y) + far*dy[i], float64(x) + far*dx[i]
	}
}

// warp replaces each pixel of x [3,h,w] by the value, interpolated bilinearly, at the place
// from which it comes.
func (f *frame) warp(x []float64, at border, from course) {
	out := make([]float64, len(x))
	for i := range f.size() {
		y, x0 := from(i/f.w, i%f.w)
		top, left := math.Floor(y), math.Floor(x0)
		down, right := y-top, x0-left
		rows := [2]int{at(int(top), f.h) * f.w, at(int(top)+1, f.h) * f.w}
		columns := [2]int{at(int(left), f.w), at(int(left)+1, f.w)}
		for c := range channels {
			p := plane(f, x, c)
			out[c*f.size()+i] = (1-down)*((1-right)*p[rows[0]+columns[0]]+right*p[rows[0]+columns[1]]) +
				down*((1-right)*p[rows[1]+columns[0]]+right*p[rows[1]+columns[1]])
		}
	}
	copy(x, out)
}
