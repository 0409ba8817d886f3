package corrupt

import "math"

// zoomBlur takes the mean of the image and of its magnifications by 1, 1.01, 1.02, …. The
// severity sets their number. All computations are in float32, as in the original.
func zoomBlur(severity int) effect {
	n := [5]int{7, 12, 16, 21, 26}[severity]
	step := 1.01
	step -= 1 // as in NumPy's arange: in float64 the difference is not exactly 0.01
	return func(f *frame) {
		for c := range channels {
			x := f.unit32(c)
			sum := make([]float32, len(x))
			for i := range n {
				for p, v := range zoomed(x, f.h, f.w, 1+float64(i)*step) {
					sum[p] += float32(v)
				}
			}
			out := plane(f, f.dst, c)
			for p, v := range sum {
				mean := (float32(x[p]) + v) / float32(n+1)
				out[p] = uint8(min(max(mean, 0), 1) * 255)
			}
		}
	}
}

// unit32 returns channel c as values of 0 to 1, rounded to float32.
func (f *frame) unit32(c int) []float64 {
	x := make([]float64, f.size())
	for i, v := range plane(f, f.src, c) {
		x[i] = float64(float32(float64(v) / 255))
	}
	return x
}

// zoomed returns x [h,w] magnified about its middle by a factor of at least 1, with bilinear
// interpolation, and cropped to [h,w].
func zoomed(x []float64, h, w int, factor float64) []float64 {
	rows, columns := magnify(h, factor), magnify(w, factor)
	out := make([]float64, 0, h*w)
	for _, y := range rows {
		for _, x0 := range columns {
			at, next := y.at*w+x0.at, y.next*w+x0.at
			step := x0.next - x0.at
			out = append(out, x[at]*(1-y.part)*(1-x0.part)+x[at+step]*(1-y.part)*x0.part+
				x[next]*y.part*(1-x0.part)+x[next+step]*y.part*x0.part)
		}
	}
	return out
}

// A place lies between the pixels at and next; part is the weight of next.
type place struct {
	at, next int     // numbers of two neighbouring pixels
	part     float64 // weight of next, from 0 to 1
}

// magnify returns the places from which the n pixels of a magnified line come. Like
// scipy.ndimage.zoom it maps the centres of the outermost pixels of the magnified part to
// the outermost pixels of the result. The size of the result is rounded to whole pixels.
func magnify(n int, factor float64) []place {
	part := int(math.Ceil(float64(n) / factor))
	whole := int(math.RoundToEven(float64(part) * factor))
	first, skip := (n-part)/2, (whole-n)/2
	ratio := 1.0
	if whole > 1 {
		ratio = float64(part-1) / float64(whole-1)
	}
	out := make([]place, n)
	for i := range out {
		position := ratio * float64(i+skip)
		at := min(int(position), part-1)
		out[i] = place{first + at, first + min(at+1, part-1), position - float64(at)}
	}
	return out
}
