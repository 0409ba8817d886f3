package augment

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/data/internal/resize"
)

// A plain image has its pixels in memory, and every change makes a new image. The tests
// compare a view with it.
type plain struct {
	h, w   int
	pixels []uint8
}

func (p plain) at(c, y, x int) uint8 {
	if y < 0 || y >= p.h || x < 0 || x >= p.w {
		return 0
	}
	return p.pixels[(c*p.h+y)*p.w+x]
}

func (p plain) crop(top, left, h, w int) plain {
	out := plain{h: h, w: w}
	for i := range channels * h * w {
		out.pixels = append(out.pixels, p.at(i/(h*w), top+i/w%h, left+i%w))
	}
	return out
}

func (p plain) mirror() plain {
	out := plain{h: p.h, w: p.w}
	for i := range p.pixels {
		out.pixels = append(out.pixels, p.at(i/(p.h*p.w), i/p.w%p.h, p.w-1-i%p.w))
	}
	return out
}

func (p plain) resize(h, w int) plain {
	out := plain{h, w, make([]uint8, channels*h*w)}
	new(resize.Resizer).Resize(out.pixels, h, w, p.pixels, p.h, p.w, resize.Triangle)
	return out
}

func noise(h, w int, rng *rand.Rand) plain {
	p := plain{h: h, w: w}
	for range channels * h * w {
		p.pixels = append(p.pixels, uint8(1+rng.IntN(255))) // no black: it is for padding
	}
	return p
}

// check takes random steps, as many as ops has bytes, and compares after each.
func check(t *testing.T, seed uint64, ops []byte) {
	rng := rand.New(rand.NewPCG(seed, 1))
	want := noise(1+rng.IntN(9), 1+rng.IntN(9), rng)
	source, before := slices.Clone(want.pixels), want.pixels
	v := view{scratch: &scratch{}}
	v.show(source, want.h, want.w)
	for k, op := range ops {
		switch op % 4 {
		case 0, 1:
			top, left, h, w := rng.IntN(16)-8, rng.IntN(16)-8, 1+rng.IntN(12), 1+rng.IntN(12)
			v.crop(top, left, h, w)
			want = want.crop(top, left, h, w)
		case 2:
			v.mirror()
			want = want.mirror()
		case 3:
			h, w := 1+rng.IntN(12), 1+rng.IntN(12)
			v.resize(h, w)
			want = want.resize(h, w)
		}
		if v.h != want.h || v.w != want.w {
			t.Fatalf("seed %d, steps %v: size %d×%d, want %d×%d", seed, ops[:k+1], v.h, v.w, want.h, want.w)
		}
		got := slices.Repeat([]uint8{99}, len(want.pixels))
		render(&v, got, &identity)
		if !slices.Equal(got, want.pixels) {
			t.Fatalf("seed %d, steps %v: pixels %v, want %v", seed, ops[:k+1], got, want.pixels)
		}
	}
	if !slices.Equal(source, before) {
		t.Fatal("the source changed")
	}
}

func TestViewIsThePlainImage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for seed := range uint64(500) {
		ops := make([]byte, 1+rng.IntN(6))
		for i := range ops {
			ops[i] = byte(rng.IntN(4))
		}
		check(t, seed, ops)
	}
}

func FuzzView(f *testing.F) {
	f.Add(uint64(1), []byte{0, 2, 0})
	f.Add(uint64(2), []byte{2, 0, 3, 0, 2, 3})
	f.Add(uint64(3), []byte{3, 3, 0, 0, 2})
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) { check(t, seed, ops[:min(len(ops), 20)]) })
}

// Pixels that a crop cut off are black, even where the store still has them.
func TestCropForgets(t *testing.T) {
	v := view{scratch: &scratch{}}
	v.show(slices.Repeat([]uint8{9}, channels*4), 1, 4)
	v.crop(0, 1, 1, 2)
	v.crop(0, -1, 1, 4)
	got := make([]uint8, channels*4)
	render(&v, got, &identity)
	if want := []uint8{0, 9, 9, 0}; !slices.Equal(got[:4], want) {
		t.Errorf("%v, want %v", got[:4], want)
	}
}
