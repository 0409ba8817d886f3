package corrupt

import (
	"bytes"
	stdimage "image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Flat colours survive compression but for the rounding of the colour model, which
// Pillow has as well.
func TestJPEGKeepsFlatColours(t *testing.T) {
	for _, rgb := range [][3]uint8{{0, 0, 0}, {255, 255, 255}, {128, 128, 128}, {200, 40, 90}} {
		var src []uint8
		for _, v := range rgb {
			src = append(src, bytes.Repeat([]byte{v}, 17*13)...)
		}
		dst := make([]uint8, len(src))
		must(t, "jpeg_compression", 1, 0).Apply(dst, src, 17, 13, 0)
		for i := range dst {
			// The steps of the constant term at quality 80 are 6/8 and 7/8, so that
			// brightness and colour are off by half of it and blue by 1.77 as much.
			if d := int(dst[i]) - int(src[i]); d < -2 || d > 2 {
				t.Fatalf("colour %v: value %d became %d", rgb, src[i], dst[i])
			}
		}
	}
}

// The weights 9:3:3:1, the nearest first, by hand; outside the plane it goes on as
// at its edge.
func TestChroma(t *testing.T) {
	f := &frame{h: 4, w: 3}
	c := []uint8{0, 160, 99, 80, 240, 99} // 2×2 in rows of 3
	for _, x := range []struct {
		y, x int
		want uint8
	}{
		{0, 0, 0},
		{0, 2, 120}, // (12·160 + 4·0 + 8)/16 = 120.5
		{1, 1, 60},  // (9·0 + 3·80 + 3·160 + 240 + 7)/16 = 60.4
		{2, 0, 60},  // (12·80 + 4·0 + 8)/16 = 60.5
		{3, 0, 80},
		{3, 1, 120}, // (12·80 + 4·240 + 7)/16 = 120.4
	} {
		if got := f.chroma(c, 3, x.y, x.x); got != x.want {
			t.Errorf("pixel %d, %d: %d, want %d", x.y, x.x, got, x.want)
		}
	}
}

// A grey picture needs no colours and comes out as its brightness.
func TestFromYCbCr(t *testing.T) {
	p := stdimage.NewYCbCr(stdimage.Rect(0, 0, 3, 2), stdimage.YCbCrSubsampleRatio420)
	copy(p.Y, []uint8{1, 20, 255, 40, 50, 60})
	for i := range p.Cb {
		p.Cb[i], p.Cr[i] = 128, 128
	}
	f := &frame{h: 2, w: 3, dst: make([]uint8, 18)}
	f.fromYCbCr(p)
	if want := []uint8{1, 20, 255, 40, 50, 60}; !slices.Equal(f.dst, slices.Concat(want, want, want)) {
		t.Errorf("%v, want %v three times", f.dst, want)
	}
}

// 20 of 32 pixels are left at severity 5: no more different rows and columns.
func TestPixelate(t *testing.T) {
	src := picture(32, 32, 2)
	for severity, left := range []int{30, 28, 27, 24, 20} {
		dst := make([]uint8, len(src))
		must(t, "pixelate", severity+1, 0).Apply(dst, src, 32, 32, 0)
		rows := map[string]bool{}
		for y := range 32 {
			rows[string(dst[y*32:(y+1)*32])] = true
		}
		// Pillow gives a pixel that lies on the border of two the mean of neither.
		if len(rows) != left {
			t.Errorf("severity %d: %d different rows, want %d", severity+1, len(rows), left)
		}
	}
}

// The affine course takes the moved corners back to where they were, up to the
// rounding to 1/32.
func TestAffineTakesCornersBack(t *testing.T) {
	for seed := range uint64(20) {
		f := &frame{h: 32, w: 32, rng: rand.New(rand.NewPCG(seed, 0))}
		back := f.affine(2.5)
		again := rand.New(rand.NewPCG(seed, 0))
		for _, corner := range [3][2]float64{{26, 26}, {26, 6}, {6, 6}} {
			x := corner[0] - 2.5 + 5*again.Float64()
			y := corner[1] - 2.5 + 5*again.Float64()
			// Between whole pixels the course is linear: interpolate it.
			fromY, fromX := 0.0, 0.0
			for i := range 4 {
				dy, dx := i/2, i%2
				weight := math.Abs(1-float64(dy)-(y-math.Floor(y))) * math.Abs(1-float64(dx)-(x-math.Floor(x)))
				py, px := back(int(math.Floor(y))+dy, int(math.Floor(x))+dx)
				fromY, fromX = fromY+weight*py, fromX+weight*px
			}
			if math.Abs(fromX-corner[0]) > .04 || math.Abs(fromY-corner[1]) > .04 {
				t.Errorf("seed %d: corner %v comes from %g, %g", seed, corner, fromX, fromY)
			}
		}
	}
}

// Warping by whole pixels moves them, by half a pixel takes means, and outside the
// border counts.
func TestWarp(t *testing.T) {
	f := &frame{h: 2, w: 3}
	x := []float64{1, 2, 4, 8, 16, 32, 0, 0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 5}
	f.warp(x, reflect, func(y, x int) (float64, float64) { return float64(y) - 1, float64(x) + .5 })
	want := []float64{1.5, 3, 4, 1.5, 3, 4, 0, 0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 5}
	if !slices.Equal(x, want) {
		t.Errorf("%v, want %v", x, want)
	}
}

// The steps of elastic motion have the spread of smoothed uniform numbers: the
// variance is 1/3 times the sum of the squared weights.
func TestWander(t *testing.T) {
	f := &frame{h: 200, w: 200, rng: rand.New(rand.NewPCG(3, 3))}
	course := f.wander(2, 1.5)
	squares := 0.0
	for _, v := range gaussian(1.5, reach(1.5, 3)) {
		squares += v * v
	}
	want := 2 * squares / math.Sqrt(3) // in two dimensions the sum of squares is squared
	sum := 0.0
	for i := range 200 * 200 {
		y, x := course(i/200, i%200)
		dy, dx := y-float64(i/200), x-float64(i%200)
		sum += (dy*dy + dx*dx) / (2 * 200 * 200)
	}
	if got := math.Sqrt(sum); math.Abs(got/want-1) > .03 {
		t.Errorf("standard deviation %.4f, want %.4f", got, want)
	}
}
