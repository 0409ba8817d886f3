package corrupt

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

// sample is the [h,w] image with pixel (37i² + 11i) mod 256 at place i.
func sample(h, w int) []uint8 {
	x := make([]uint8, h*w)
	for i := range x {
		x[i] = uint8(37*i*i + 11*i)
	}
	return x
}

func floats(x []uint8) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// What SciPy 1.10 makes of the 5×4 sample:
// np.uint8(np.clip(gaussian_filter(x/255., sigma, mode="nearest", truncate=4), 0, 1)*255).
func TestGaussianBlurLikeSciPy(t *testing.T) {
	x := sample(5, 4)
	src := slices.Concat(x, x, x)
	for i, want := range [][]uint8{
		{7, 57, 160, 111, 123, 191, 126, 105, 143, 52, 215, 231, 96, 231, 227, 65, 170, 135, 159, 241},
		{30, 80, 137, 117, 115, 144, 142, 127, 128, 119, 186, 190, 124, 183, 198, 129, 158, 153, 173, 210},
		{39, 86, 131, 119, 110, 133, 144, 135, 127, 135, 177, 178, 131, 172, 188, 148, 156, 157, 176, 201},
		{46, 89, 127, 120, 106, 128, 144, 139, 127, 142, 171, 170, 135, 166, 182, 159, 154, 160, 177, 197},
		{57, 92, 121, 123, 102, 123, 141, 141, 128, 145, 163, 162, 140, 159, 174, 168, 153, 161, 177, 193},
	} {
		dst := make([]uint8, len(src))
		must(t, "gaussian_blur", i+1, 0).Apply(dst, src, 5, 4, 0)
		if !slices.Equal(dst, slices.Concat(want, want, want)) {
			t.Errorf("severity %d: %d, want %d three times", i+1, dst, want)
		}
	}
}

// SciPy keeps flat regions at these two values (it need not: the weights add up to
// 1 but for the last digit).
func TestGaussianBlurKeepsFlatRegions(t *testing.T) {
	for _, v := range []uint8{200, 255} {
		src := slices.Repeat([]uint8{v}, 3*9)
		for severity := 1; severity <= Severities; severity++ {
			dst := make([]uint8, len(src))
			must(t, "gaussian_blur", severity, 0).Apply(dst, src, 3, 3, 0)
			if !slices.Equal(dst, src) {
				t.Errorf("severity %d: %d becomes %d", severity, v, dst)
			}
		}
	}
}

// The filter is the sum over all pixels of an endless image, in two dimensions.
func TestSmoothIsASum(t *testing.T) {
	const h, w = 6, 5
	k := gaussian(.9, 3)
	for name, at := range map[string]border{"nearest": nearest, "reflect": reflect, "reflect101": reflect101} {
		x := floats(sample(h, w))
		want := make([]float64, h*w)
		for i := range want {
			for dy := -3; dy <= 3; dy++ {
				for dx := -3; dx <= 3; dx++ {
					want[i] += k[3+dy] * k[3+dx] * x[at(i/w+dy, h)*w+at(i%w+dx, w)]
				}
			}
		}
		smooth(x, h, w, k, at)
		fixture.Close(t, name, x, want, 1e-14)
	}
	// SciPy's gaussian_filter(x, .96, mode="reflect", truncate=3) on four values.
	line := []float64{0. / 255, 48. / 255, 170. / 255, 110. / 255}
	smooth(line, 1, 4, gaussian(.96, reach(.96, 3)), reflect)
	fixture.Close(t, "reflect", line, []float64{0.0894969781544899, 0.261714615677519, 0.449341351857309, 0.485721564114604}, 1e-14)
}

func TestBorders(t *testing.T) {
	for name, c := range map[string]struct {
		at   border
		want []int
	}{
		"nearest":    {nearest, []int{0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2}},
		"reflect":    {reflect, []int{1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0}},
		"reflect101": {reflect101, []int{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}},
	} {
		var got []int
		for i := -5; i < 7; i++ {
			got = append(got, c.at(i, 3))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: places -5 to 6 of three are %v, want %v", name, got, c.want)
		}
		for i := -3; i < 4; i++ {
			if c.at(i, 1) != 0 {
				t.Errorf("%s: place %d of one is %d", name, i, c.at(i, 1))
			}
		}
	}
}

// Correct rounding, from values computed with 50 digits; math.Exp misses the last
// digit of e⁻⁸ on amd64.
func TestExp(t *testing.T) {
	for x, want := range map[float64]float64{
		0: 1, -.5: 0x1.368b2fc6f960ap-1, -2: 0x1.152aaa3bf81ccp-3, -4.5: 0x1.6c0504695c417p-7,
		-8: 0x1.5fc21041027adp-12, -2000: 0,
	} {
		if got := exp(x); got != want {
			t.Errorf("exp(%g) = %x, want %x", x, got, want)
		}
	}
	for x := -700.0; x < 0; x += 3.7 {
		if got, want := exp(x), math.Exp(x); math.Abs(got/want-1) > 1e-15 {
			t.Errorf("exp(%g) = %g, want %g", x, got, want)
		}
	}
}

func TestDisk(t *testing.T) {
	alone := []float64{0, 1, 0} // no softening
	for radius, want := range map[float64]int{.5: 1, 1: 5, 1.5: 9} {
		k, n := disk(radius, alone), 0
		for _, row := range k {
			for _, v := range row {
				if v != 0 {
					n++
				}
			}
		}
		if n != want || math.Abs(k[2][2]-1/float64(want)) > 1e-7 {
			t.Errorf("radius %g: %d pixels of %g, want %d", radius, n, k[2][2], want)
		}
	}
	sum, soft := 0.0, disk(1, gaussian(.5, 1))
	for _, row := range soft {
		for _, v := range row {
			sum += v
		}
	}
	if math.Abs(sum-1) > 1e-6 || soft[0][2] == 0 || soft[0][0] != 0 {
		t.Errorf("softened disk %v of sum %g", soft, sum)
	}
}

func TestCorrelateIsASum(t *testing.T) {
	var k patch
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 25 {
		k[i/5][i%5] = rng.Float64()
	}
	for _, c := range [][2]int{{1, 1}, {2, 7}, {5, 4}} {
		h, w := c[0], c[1]
		x := floats(sample(h, w))
		got, want := make([]float64, h*w), make([]float64, h*w)
		for i := range want {
			for j := range 25 {
				want[i] += k[j/5][j%5] * x[reflect101(i/w+j/5-2, h)*w+reflect101(i%w+j%5-2, w)]
			}
		}
		correlate(got, x, h, w, k)
		fixture.Close(t, "correlation", got, want, 1e-14)
	}
}

// Glass moves colours as a whole, by one step at most in each round.
func TestScatterMovesColours(t *testing.T) {
	const h, w = 8, 9
	dst := make([]uint8, channels*h*w)
	for i := range dst {
		dst[i] = uint8(i % (h * w)) // the colour is the place
	}
	f := &frame{h: h, w: w, dst: dst, rng: rand.New(rand.NewPCG(1, 2))}
	f.scatter()
	moved := 0
	for i := range h * w {
		v := int(dst[i])
		if int(dst[h*w+i]) != v || int(dst[2*h*w+i]) != v {
			t.Fatalf("the colour at %d is mixed", i)
		}
		dy, dx := i/w-v/w, i%w-v%w
		if dy < 0 || dy > 1 || dx < 0 || dx > 1 {
			t.Errorf("the colour at %d comes from %d", i, v)
		}
		if v != i {
			moved++
		}
	}
	if moved < 20 || moved > 42 { // three quarters of 42 are expected
		t.Errorf("%d colours moved", moved)
	}
}

// ImageMagick 6.9 drew out the 5×4 sample with these radii, deviations and angles.
func TestMotionLikeImageMagick(t *testing.T) {
	for _, c := range []struct {
		radius       int
		sigma, angle float64
		want         []uint8
	}{
		{2, 1, 30, []uint8{26, 94, 143, 109, 163, 182, 121, 110, 113, 95, 217, 228, 148, 247, 171, 59, 158, 147, 196, 254}},
		{3, 2, -100, []uint8{0, 39, 149, 120, 41, 94, 131, 116, 87, 79, 152, 162, 97, 133, 177, 135, 127, 134, 192, 170}},
		{1, 1.5, 200, []uint8{0, 21, 94, 120, 100, 140, 130, 95, 146, 88, 133, 232, 96, 172, 227, 109, 158, 137, 131, 217}},
	} {
		dst := make([]uint8, 20)
		motion(dst, sample(5, 4), 5, 4, halfGaussian(c.sigma, c.radius), c.angle)
		if !slices.Equal(dst, c.want) {
			t.Errorf("angle %g: %d, want %d", c.angle, dst, c.want)
		}
	}
}

// What the authors' clipped_zoom makes of the 6×6 sample with SciPy 1.10.
func TestZoomedLikeSciPy(t *testing.T) {
	for factor, want := range map[float64][]float64{
		1.25: {0, 38.4, 121.2, 146, 112.8, 124, 94.4, 89.28, 128.56, 109.84, 74.08, 205.6,
			97.6, 171.84, 198.32, 136.08, 67.04, 196, 112, 224.64, 228.08, 163.28, 112.16, 197.6,
			137.6, 206.72, 197.36, 170.96, 168.48, 210.4, 72, 97.6, 167.6, 179.6, 133.6, 132},
		2.25: {98, 116, 134, 152, 109.3333333, 66.66666667, 149.3333333, 159.7777778, 170.2222222, 180.6666667, 130.4444444, 80.22222222,
			200.6666667, 203.5555556, 206.4444444, 209.3333333, 151.5555556, 93.77777778, 252, 247.3333333, 242.6666667, 238, 172.6666667, 107.3333333,
			252.6666667, 240.4444444, 228.2222222, 216, 171.5555556, 127.1111111, 253.3333333, 233.5555556, 213.7777778, 194, 170.4444444, 146.8888889},
		1: floats(sample(6, 6)),
	} {
		fixture.Close(t, "zoom", zoomed(floats(sample(6, 6)), 6, 6, factor), want, 1e-9)
	}
}
