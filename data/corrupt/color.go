package corrupt

import "math"

// brightness adds a number, which the severity sets, to the value of a pixel in the colour
// model of hue, saturation and value.
func brightness(severity int) effect {
	more := [5]float64{.05, .1, .15, .2, .3}[severity]
	return inHSV(func(_, _, v *float64) { *v = min(max(*v+more, 0), 1) })
}

// saturate multiplies the saturation by a factor and adds a number to it. The severity sets
// both. The two lowest severities make the colours weaker.
func saturate(severity int) effect {
	factor := [5]float64{.3, .1, 1.5, 2, 2.5}[severity]
	more := [5]float64{0, 0, 0, .1, .2}[severity]
	return inHSV(func(_, s, _ *float64) { *s = min(max(*s*factor+more, 0), 1) })
}

// contrast shrinks the difference of each pixel from its channel's mean by a factor, which
// the severity sets.
func contrast(severity int) effect {
	left := [5]float64{.75, .5, .4, .3, .15}[severity]
	return onUnit(func(f *frame, x []float64) {
		for c := range channels {
			p, mean := plane(f, x, c), 0.0
			for _, v := range p {
				mean += v
			}
			mean /= float64(len(p))
			for i, v := range p {
				p[i] = (v-mean)*left + mean
			}
		}
	})
}

// inHSV changes the hue, the saturation and the value of each pixel, which are 0 to 1.
func inHSV(change func(h, s, v *float64)) effect {
	return onUnit(func(f *frame, x []float64) {
		n := f.size()
		for i := range n {
			h, s, v := toHSV(x[i], x[n+i], x[2*n+i])
			change(&h, &s, &v)
			x[i], x[n+i], x[2*n+i] = toRGB(h, s, v)
		}
	})
}

// toHSV converts a pixel after Smith (1978, "Color Gamut Transform Pairs"). If several
// channels are the largest, the last channel counts, as in scikit-image.
func toHSV(r, g, b float64) (h, s, v float64) {
	v = max(r, g, b)
	spread := v - min(r, g, b)
	if spread == 0 {
		return 0, 0, v
	}
	switch v {
	case b:
		h = 4 + (r-g)/spread
	case g:
		h = 2 + (b-r)/spread
	default:
		h = (g - b) / spread
	}
	h /= 6
	return h - math.Floor(h), spread / v, v
}

func toRGB(h, s, v float64) (r, g, b float64) {
	sector := math.Floor(h * 6)
	part := h*6 - sector
	low, down, up := v*(1-s), v*(1-part*s), v*(1-(1-part)*s)
	switch int(sector) % 6 {
	case 0:
		return v, up, low
	case 1:
		return down, v, low
	case 2:
		return low, v, up
	case 3:
		return low, down, v
	case 4:
		return up, low, v
	default:
		return v, low, down
	}
}
