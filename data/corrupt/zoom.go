package corrupt

import "math"

// zoomBlur takes the mean of the image and of it at growing magnifications of 1,
// 1.01, 1.02, …: how many there are. As in the original, all is in float32.
func zoomBlur(severity int) effect {
	n := [5]int{7, 12, 16, 21, 26}[severity]
	step := 1.01
	step -= 1 // in float64, where it is not 0.01, as in NumPy's arange
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

// unit32 returns channel c as values of 0 to 1 that float32 holds.
func (f *frame) unit32(c int) []float64 {
	x := make([]float64, f.size())
	for i, v := range plane(f, f.src, c) {
		x[i] = float64(float32(float64(v) / 255))
	}
	return x
}

// zoomed returns x [h,w] magnified about its middle by a factor of at least 1, with
// bilinear interpolation, cut to its size.
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

// A place lies between two pixels: part is the weight of the next one.
type place struct {
	at, next int
	part     float64
}

// magnify returns where the n pixels of a magnified line come from. Like
// scipy.ndimage.zoom it puts the centres of the outermost pixels of the part that is
// magnified onto those of the result, whose size is rounded to whole pixels.
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
