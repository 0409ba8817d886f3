package corrupt

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/go-valla/valla/internal/fixture"
)

// The authors' plasma_fractal(mapsize=8, wibbledecay=1.75), with the random number k
// (from 0) being 7919k mod 1000, in thousandths of the interval.
func TestPlasmaLikeTheAuthors(t *testing.T) {
	k := 0
	x, side := plasma(7, 1.75, func(low, high float64) float64 {
		u := float64(k*7919%1000) / 1000
		k++
		return low + (high-low)*u
	})
	if side != 8 || k != 63 {
		t.Fatalf("side %d, %d random numbers, want 8, 63", side, k)
	}
	got := []float64{x[0], x[8+2], x[16+5], x[24+3], x[40+6], x[56+7], x[4], x[36]}
	fixture.Close(t, "plasma", got, []float64{0.747384155456, 0.71323274036, 0.479891298173,
		0.396365233656, 0.57277632786, 0.784460565136, 1, 0}, 1e-11)
}

// Fog keeps the brightest value within reach: a white image stays between
// 1/(1+thickness) and white.
func TestFogOnWhite(t *testing.T) {
	src := slices.Repeat([]uint8{255}, channels*32*32)
	dst := make([]uint8, len(src))
	for severity, thick := range []float64{.2, .5, .75, 1, 1.5} {
		must(t, "fog", severity+1, 1).Apply(dst, src, 32, 32, 0)
		least := 255 / (1 + thick)
		if low, high := slices.Min(dst), slices.Max(dst); low != uint8(least) || high < 254 {
			t.Errorf("severity %d: %d to %d, want %g to 255", severity+1, low, high, least)
		}
	}
}

// Snow adds: no pixel gets darker than its share of the whitened image.
func TestSnowBrightens(t *testing.T) {
	src := picture(32, 32, 4)
	dst := make([]uint8, len(src))
	for severity := 1; severity <= Severities; severity++ {
		white := 0
		must(t, "snow", severity, 1).Apply(dst, src, 32, 32, 0)
		for i := range dst {
			if int(dst[i]) < int(src[i])-1 {
				t.Fatalf("severity %d: value %d became %d", severity, src[i], dst[i])
			}
			if dst[i] == 255 {
				white++
			}
		}
		if white == 0 {
			t.Errorf("severity %d: no flake", severity)
		}
	}
}

func TestWhitenByHand(t *testing.T) {
	// Grey is .299·.2 + .587·.4 + .114·.6 = .363; times 1.5, plus .5: 1.0445. With
	// half kept, red is .5·.2 + .5·1.0445 = .62225, and so on; the layer adds 51 at
	// the first pixel and at the last.
	f := &frame{h: 1, w: 2, src: []uint8{51, 51, 102, 102, 153, 153}, dst: make([]uint8, 6)}
	f.whiten(.5, []uint8{51, 0})
	if want := []uint8{209, 209, 235, 235, 255, 255}; !slices.Equal(f.dst, want) {
		t.Errorf("%v, want %v", f.dst, want)
	}
}

// Ice covers the whole image unevenly, in blue rather than red, and another one
// every time.
func TestIce(t *testing.T) {
	black := make([]uint8, channels*32*32)
	n := len(black) / channels
	var before []uint8
	for index := range 5 {
		ice := make([]uint8, len(black))
		must(t, "frost", 5, 1).Apply(ice, black, 32, 32, index)
		red, blue := 0, 0
		for i := range n {
			if ice[i] > ice[n+i] || ice[n+i] > ice[2*n+i] {
				t.Fatalf("red %d, green %d, blue %d", ice[i], ice[n+i], ice[2*n+i])
			}
			red, blue = red+int(ice[i]), blue+int(ice[2*n+i])
		}
		// .45·.2·255 = 22.95 is the thinnest ice, .45·255 = 114.75 the thickest.
		if low, high := slices.Min(ice[2*n:]), slices.Max(ice[2*n:]); low < 22 || high > 114 || high < 90 {
			t.Errorf("blue is %d to %d", low, high)
		}
		if red >= blue || slices.Equal(ice, before) {
			t.Errorf("image %d: red %d, blue %d, or the same ice again", index, red/n, blue/n)
		}
		before = ice
	}
}

// The worse the frost, the less the result goes with the image: the correlation
// over all values of some images falls.
func TestFrostHides(t *testing.T) {
	var clean []uint8
	for i := range uint64(30) {
		clean = append(clean, picture(32, 32, i)...)
	}
	before := 1.0
	for severity := 1; severity <= Severities; severity++ {
		out := make([]uint8, len(clean))
		if err := must(t, "frost", severity, 1).All(t.Context(), out, clean, 32, 32); err != nil {
			t.Fatal(err)
		}
		now := stat.Correlation(floats(clean), floats(out), nil)
		if now >= before {
			t.Errorf("severity %d: correlation %.3f after %.3f", severity, now, before)
		}
		before = now
	}
}

// A needle starts bright where it is put, gets thinner along its way, and ends.
func TestNeedle(t *testing.T) {
	f := &frame{h: 9, w: 30, rng: rand.New(rand.NewPCG(1, 1))}
	ice := make([]float64, f.size())
	f.needle(ice, 4.5, 2.5, 0, 20, 0)
	row := ice[4*30 : 5*30]
	if row[1] != 0 || row[2] != 1 || row[21] <= .3 || row[23] != 0 || !slices.IsSortedFunc(row[2:22], func(a, b float64) int {
		return int(math.Copysign(1, b-a))
	}) {
		t.Errorf("the needle is %.2f", row)
	}
	for i, v := range ice {
		if v != 0 && i/30 != 4 {
			t.Errorf("a needle without branches reaches pixel %d", i)
		}
	}
	f.needle(ice, 4.5, 2.5, 0, 20, 1)
	if ice[3*30+8] == 0 && ice[3*30+6] == 0 && ice[3*30+7] == 0 {
		t.Error("no branch near the start")
	}
}
