package corrupt

import "math"

// frost lays ice over the image. The severity sets the weights of the image and of the ice.
//
// The original takes parts of photographs of frozen windows. This function draws the ice anew
// for each image: a bluish cloud and white needles that branch at 60 degrees. It looks alike,
// but scores on these images are not comparable with published ones.
func frost(severity int) effect {
	image := [5]float64{1, 1, .9, .85, .75}[severity]
	much := [5]float64{.2, .3, .4, .4, .45}[severity]
	return onUnit(func(f *frame, x []float64) {
		ice := f.ice()
		// A larger power makes a channel darker: red remains in the bright needles only.
		for c, power := range [channels]float64{1.5, 1.2, 1} {
			for i, v := range plane(f, x, c) {
				x[c*f.size()+i] = image*v + much*math.Pow(ice[i], power)
			}
		}
	})
}

// ice returns the brightness of the ice, 0 to 1, [h,w].
func (f *frame) ice() []float64 {
	ice := make([]float64, f.size())
	side := float64(max(f.h, f.w))
	for range 5 {
		f.needle(ice, f.uniform(0, float64(f.h)), f.uniform(0, float64(f.w)), f.uniform(0, 2*math.Pi), side*f.uniform(.4, .8), 2)
	}
	smooth(ice, f.h, f.w, gaussian(.5, 2), nearest)
	cloud, stride := plasma(max(f.h, f.w), 2, f.uniform)
	for i, v := range ice {
		ice[i] = min(.2+.5*cloud[i/f.w*stride+i%f.w]+.7*v, 1)
	}
	return ice
}

// needle draws a line that gets thinner. Up to a depth it also draws smaller needles that
// branch to both sides.
func (f *frame) needle(ice []float64, y, x, angle, length float64, depth int) {
	sin, cos := math.Sincos(angle)
	between := f.uniform(2, 4) // pixels from branch to branch
	next := between
	for at := 0.0; at < length; at += .5 {
		row, column := int(math.Floor(y+at*sin)), int(math.Floor(x+at*cos))
		if row >= 0 && row < f.h && column >= 0 && column < f.w {
			i := row*f.w + column
			ice[i] = max(ice[i], 1-.7*at/length)
		}
		if depth > 0 && at >= next {
			next += between
			for _, turn := range [2]float64{-math.Pi / 3, math.Pi / 3} {
				f.needle(ice, y+at*sin, x+at*cos, angle+turn, (length-at)*.4, depth-1)
			}
		}
	}
}
