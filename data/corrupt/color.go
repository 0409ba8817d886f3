package corrupt

import "math"

// brightness: what is added to the value of hue, saturation and value.
func brightness(severity int) effect {
	more := [5]float64{.05, .1, .15, .2, .3}[severity]
	return inHSV(func(_, _, v *float64) { *v = min(max(*v+more, 0), 1) })
}

// saturate: a factor of the saturation and what is added to it. The two lowest
// severities take colour away.
func saturate(severity int) effect {
	factor := [5]float64{.3, .1, 1.5, 2, 2.5}[severity]
	more := [5]float64{0, 0, 0, .1, .2}[severity]
	return inHSV(func(_, s, _ *float64) { *s = min(max(*s*factor+more, 0), 1) })
}

// contrast: how much of the difference to each channel's mean is left.
func contrast(severity int) effect {
	left := [5]float64{.75, .5, .4, .3, .15}[severity]
	return func(f *frame) {
		x := f.unit()
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
		f.finish(x)
	}
}

// inHSV changes the pixels by their hue, saturation and value, all 0 to 1.
func inHSV(change func(h, s, v *float64)) effect {
	return func(f *frame) {
		x, n := f.unit(), f.size()
		for i := range n {
			h, s, v := toHSV(x[i], x[n+i], x[2*n+i])
			change(&h, &s, &v)
			x[i], x[n+i], x[2*n+i] = toRGB(h, s, v)
		}
		f.finish(x)
	}
}

// toHSV follows Smith (1978, "Color Gamut Transform Pairs"); of equal channels the
// last one counts, as in scikit-image.
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
