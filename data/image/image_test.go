package image

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

func rotate[T pixel](t testing.TB, images []T, h, w int, degrees float64) []T {
	t.Helper()
	out, err := Rotate(images, h, w, degrees)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// noise returns n random grey values.
func noise[T pixel](n int) []T {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]T, n)
	for i := range out {
		out[i] = T(rng.Float64() * 255)
	}
	return out
}

// turned returns the square images of side n turned counter-clockwise by 90
// degrees: what was on the right comes to the top.
func turned[T pixel](images []T, n int) (out []T) {
	for image := range slices.Chunk(images, n*n) {
		for y := range n {
			for x := range n {
				out = append(out, image[x*n+(n-1-y)])
			}
		}
	}
	return out
}

// Multiples of 90 degrees are permutations, exactly, in every type, with even
// and odd sides, and beyond a full turn.
func testRightAngles[T pixel](t *testing.T) {
	for _, n := range []int{1, 2, 3, 28} {
		images := noise[T](3 * n * n)
		want := images
		for quarter := range 8 {
			for _, turns := range []int{0, 2, -2} {
				degrees := float64(90*quarter + 360*turns)
				if got := rotate(t, images, n, n, degrees); !slices.Equal(got, want) {
					t.Errorf("%T, side %d, %g degrees: not the permutation", want[0], n, degrees)
				}
			}
			want = turned(want, n)
		}
	}
}

func TestRightAngles(t *testing.T) {
	testRightAngles[uint8](t)
	testRightAngles[float32](t)
	testRightAngles[float64](t)
}

func TestOblongHalfTurn(t *testing.T) {
	image := noise[float64](4 * 7)
	want := slices.Clone(image)
	slices.Reverse(want)
	got := rotate(t, image, 4, 7, 180)
	if !slices.Equal(got, want) {
		t.Error("half a turn is not the reversed image")
	}
	if again := rotate(t, got, 4, 7, -180); !slices.Equal(again, image) {
		t.Error("two half turns are not the image")
	}
}

// A 3×3 image turned by 45 degrees, by hand, with r = √½: the pixel at the top
// left comes from the point (1, 1-2r) above the top middle, the pixel at the top
// middle from (1+r, 1-r), and the others by symmetry.
func TestHandComputed45(t *testing.T) {
	r := math.Sqrt(0.5)
	const (
		a, b, c = 10.0, 20.0, 40.0
		d, e, f = 80.0, 160.0, 5.0
		g, h, i = 15.0, 30.0, 60.0
	)
	corner := 2 - 2*r
	middle := func(first, corner, second float64) float64 {
		return r*(1-r)*(first+second) + r*r*corner + (1-r)*(1-r)*e
	}
	want := []float64{
		corner * b, middle(b, c, f), corner * f,
		middle(b, a, d), e, middle(f, i, h),
		corner * d, middle(d, g, h), corner * h,
	}
	got := rotate(t, []float64{a, b, c, d, e, f, g, h, i}, 3, 3, 45)
	fixture.Close(t, "3×3 at 45 degrees", got, want, 1e-14)
	bytes := rotate(t, []uint8{a, b, c, d, e, f, g, h, i}, 3, 3, 45)
	for k, v := range want {
		if bytes[k] != uint8(math.RoundToEven(v)) {
			t.Errorf("pixel %d is %d, want %g rounded", k, bytes[k], v)
		}
	}
}

// slow interpolates by summing over all pixels, whose weights are products of two triangles.
func slow(image []float64, h, w int, degrees float64) []float64 {
	phi := degrees * math.Pi / 180
	cx, cy := float64(w-1)/2, float64(h-1)/2
	out := make([]float64, h*w)
	for k := range out {
		dx, dy := float64(k%w)-cx, float64(k/w)-cy
		x, y := cx+math.Cos(phi)*dx-math.Sin(phi)*dy, cy+math.Sin(phi)*dx+math.Cos(phi)*dy
		for from, v := range image {
			tx, ty := math.Abs(x-float64(from%w)), math.Abs(y-float64(from/w))
			out[k] += v * max(0, 1-tx) * max(0, 1-ty)
		}
	}
	return out
}

func TestAgainstSlow(t *testing.T) {
	for _, size := range []frame{{9, 9}, {8, 8}, {5, 12}, {1, 6}} {
		images := noise[float64](2 * size.h * size.w)
		for _, degrees := range []float64{-200, -33, 1e-3, 10, 77, 123, 179.5, 361, 1000} {
			got := rotate(t, images, size.h, size.w, degrees)
			half := size.h * size.w
			want := append(slow(images[:half], size.h, size.w, degrees), slow(images[half:], size.h, size.w, degrees)...)
			fixture.Close(t, "rotation", got, want, 1e-11)
		}
	}
}

// blob returns a round Gaussian of standard deviation 2.5 in the middle.
func blob(n int) []float64 {
	out := make([]float64, n*n)
	c := float64(n-1) / 2
	for k := range out {
		dx, dy := float64(k%n)-c, float64(k/n)-c
		out[k] = math.Exp(-(dx*dx + dy*dy) / (2 * 2.5 * 2.5))
	}
	return out
}

// What lies well inside keeps its intensity in all: to 1e-3, where a matrix that
// stretches by 1 % would change it by 2e-2. The way back restores a smooth image
// up to the blur. Linear interpolation of a Gaussian with standard
// deviation s errs by at most 1/8 of the second derivative 1/s² in each of two
// directions and each of two turns: 1/(2s²) = 0.08.
func TestIntensity(t *testing.T) {
	const n = 41
	image := blob(n)
	for degrees := 10.0; degrees <= 180; degrees += 10 {
		out := rotate(t, image, n, n, degrees)
		fixture.Close(t, "intensity", []float64{sum(out)}, []float64{sum(image)}, 1e-3)
		for k, v := range rotate(t, out, n, n, -degrees) {
			if math.Abs(v-image[k]) > 0.08 {
				t.Fatalf("%g degrees and back: pixel %d is %g, was %g", degrees, k, v, image[k])
			}
		}
	}
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// Beyond the frame there is zero: in the corners of a white image turned by 45
// degrees, not in the middles of its sides.
func TestOutsideIsZero(t *testing.T) {
	const n = 28
	white := slices.Repeat([]uint8{255}, n*n)
	out := rotate(t, white, n, n, 45)
	if out[0] != 0 || out[n-1] != 0 || out[n*n-1] != 0 || out[n/2] != 255 || out[n*n/2+n/2] != 255 {
		t.Errorf("corner %d, side %d, middle %d", out[0], out[n/2], out[n*n/2+n/2])
	}
}

func TestErrors(t *testing.T) {
	image := make([]float32, 12)
	for name, c := range map[string]struct {
		h, w    int
		degrees float64
		say     string
	}{
		"height":       {0, 4, 10, "expected images of 0×4 pixels"},
		"width":        {3, -4, 10, "expected images of 3×-4 pixels"},
		"part":         {3, 3, 10, "12 pixels, expected images of 3×3 pixels"},
		"not a number": {3, 4, math.NaN(), "angle NaN"},
		"infinite":     {3, 4, math.Inf(-1), "angle -Inf"},
	} {
		if out, err := Rotate(image, c.h, c.w, c.degrees); out != nil || err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.say)
		}
	}
	if out, err := Rotate([]uint8(nil), 3, 4, 10); err != nil || len(out) != 0 {
		t.Errorf("no images: %v (%v)", out, err)
	}
}

// Rotating bytes and rotating pixels/255 in float32 differ by the rounding alone.
func TestBytesAndFloats(t *testing.T) {
	images := noise[uint8](20 * 28 * 28)
	floats := make([]float32, len(images))
	for k, v := range images {
		floats[k] = float32(v) / 255
	}
	floats = rotate(t, floats, 28, 28, 30)
	for k, v := range rotate(t, images, 28, 28, 30) {
		if math.Abs(float64(v)-255*float64(floats[k])) > 0.5001 {
			t.Fatalf("pixel %d is %d, from floats %g", k, v, 255*floats[k])
		}
	}
}

func BenchmarkRotate(b *testing.B) {
	images := noise[uint8](10000 * 28 * 28)
	for b.Loop() {
		rotate(b, images, 28, 28, 30)
	}
}
