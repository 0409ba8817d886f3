package corrupt

import (
	"math"
	"slices"
	"testing"
)

// By the definition: hue 0 is red, 1/3 green, 2/3 blue.
func TestHSV(t *testing.T) {
	for _, c := range [][6]float64{
		{1, 0, 0, 0, 1, 1}, {0, 1, 0, 1. / 3, 1, 1}, {0, 0, 1, 2. / 3, 1, 1},
		{1, 1, 0, 1. / 6, 1, 1}, {0, .5, .5, .5, 1, .5}, {.5, 0, .5, 5. / 6, 1, .5},
		{.8, .4, .4, 0, .5, .8}, {.3, .3, .3, 0, 0, .3}, {0, 0, 0, 0, 0, 0},
		{1, .5, 0, 1. / 12, 1, 1}, {1, 0, .5, 11. / 12, 1, 1},
	} {
		h, s, v := toHSV(c[0], c[1], c[2])
		if math.Abs(h-c[3]) > 1e-15 || math.Abs(s-c[4]) > 1e-15 || v != c[5] {
			t.Errorf("RGB %v is HSV %g, %g, %g, want %v", c[:3], h, s, v, c[3:])
		}
	}
}

func TestHSVAndBack(t *testing.T) {
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 15 {
			for b := 0; b < 256; b += 15 {
				x := [3]float64{float64(r) / 255, float64(g) / 255, float64(b) / 255}
				h, s, v := toHSV(x[0], x[1], x[2])
				y0, y1, y2 := toRGB(h, s, v)
				if max(math.Abs(y0-x[0]), math.Abs(y1-x[1]), math.Abs(y2-x[2])) > 1e-15 {
					t.Fatalf("%v comes back as %g, %g, %g", x, y0, y1, y2)
				}
			}
		}
	}
}

// one returns what becomes of an image of one pixel.
func one(t *testing.T, name string, severity int, rgb [3]uint8) [3]uint8 {
	var out [3]uint8
	must(t, name, severity, 0).Apply(out[:], rgb[:], 1, 1, 0)
	return out
}

// By hand. (102, 51, 51) has the value 0.4 and the saturation 0.5.
func TestPixelByHand(t *testing.T) {
	for _, c := range []struct {
		name     string
		severity int
		want     [3]uint8
	}{
		{"brightness", 5, [3]uint8{178, 89, 89}}, // value 0.7: 178.5, 89.25
		{"saturate", 1, [3]uint8{102, 86, 86}},   // saturation 0.15: 102·0.85 = 86.7
		{"saturate", 3, [3]uint8{102, 25, 25}},   // 0.75: 25.5
		{"saturate", 5, [3]uint8{102, 0, 0}},     // 1.45, clipped
	} {
		if got := one(t, c.name, c.severity, [3]uint8{102, 51, 51}); got != c.want {
			t.Errorf("%s %d: %v, want %v", c.name, c.severity, got, c.want)
		}
	}
	if got := one(t, "brightness", 5, [3]uint8{250, 250, 250}); got != [3]uint8{255, 255, 255} {
		t.Errorf("white became %v", got)
	}
}

// Contrast is per channel: the means are 100.5, 50.5 and 20; half of the differences
// is left at severity 2, and the rest of .25 or .75 cut off.
func TestContrast(t *testing.T) {
	src := []uint8{0, 201, 40, 61, 20, 20}
	dst := make([]uint8, len(src))
	must(t, "contrast", 2, 0).Apply(dst, src, 1, 2, 0)
	if want := []uint8{50, 150, 45, 55, 20, 20}; !slices.Equal(dst, want) {
		t.Errorf("%v, want %v", dst, want)
	}
}
