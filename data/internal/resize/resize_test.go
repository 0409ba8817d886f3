package resize

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Pillow 9.4 resized the 7×5 image with pixel (37i² + 11i) mod 256 at place i.
func TestResizeLikePillow(t *testing.T) {
	const h, w = 7, 5
	src := make([]uint8, h*w)
	for i := range src {
		src[i] = uint8(37*i*i + 11*i)
	}
	var r Resizer
	for _, c := range []struct {
		by       Filter
		toH, toW int
		want     []uint8
	}{
		{Box, 3, 4, []uint8{106, 109, 131, 74, 147, 171, 173, 188, 99, 125, 170, 171}},
		{Box, 9, 8, []uint8{0, 0, 48, 170, 170, 110, 124, 124, 212, 212, 118, 98, 98, 152, 24, 24,
			212, 212, 118, 98, 98, 152, 24, 24, 226, 226, 246, 84, 84, 252, 238, 238,
			42, 42, 176, 128, 128, 154, 254, 254, 172, 172, 164, 230, 230, 114, 72, 72,
			104, 104, 210, 134, 134, 132, 204, 204, 104, 104, 210, 134, 134, 132, 204, 204,
			94, 94, 58, 96, 96, 208, 138, 138}},
		{Box, 7, 2, []uint8{73, 117, 143, 88, 185, 245, 115, 204, 189, 93, 149, 168, 83, 173}},
		{Box, 2, 5, []uint8{120, 147, 120, 167, 160, 123, 144, 153, 151, 138}},
		{Triangle, 3, 4, []uint8{135, 121, 142, 119, 144, 168, 155, 185, 123, 144, 149, 153}},
		{Triangle, 9, 8, []uint8{0, 21, 56, 132, 151, 114, 118, 124, 141, 121, 97, 113, 127, 137, 93, 57,
			218, 199, 170, 118, 125, 190, 153, 119, 185, 205, 222, 137, 137, 222, 236, 242,
			42, 101, 173, 143, 136, 152, 210, 254, 143, 154, 169, 194, 181, 128, 117, 112,
			134, 158, 189, 181, 160, 127, 136, 145, 101, 126, 157, 133, 132, 155, 172, 182,
			94, 78, 60, 84, 131, 201, 169, 138}},
		{Triangle, 7, 2, []uint8{63, 125, 145, 97, 203, 209, 121, 181, 179, 129, 155, 159, 85, 153}},
		{Triangle, 2, 5, []uint8{141, 149, 124, 166, 140, 118, 163, 146, 155, 167}},
	} {
		dst := make([]uint8, c.toH*c.toW)
		r.Resize(dst, c.toH, c.toW, src, h, w, c.by)
		if !slices.Equal(dst, c.want) {
			t.Errorf("filter %d to %d×%d: %d, want %d", c.by, c.toH, c.toW, dst, c.want)
		}
	}
}

// between interpolates linearly in both directions, without rounding; beyond the
// outermost pixels' centres the value is theirs.
func between(src []uint8, h, w int, y, x float64) float64 {
	y, x = min(max(y, 0), float64(h-1)), min(max(x, 0), float64(w-1))
	top, left := int(y), int(x)
	down, right := y-float64(top), x-float64(left)
	at := func(i, j int) float64 { return float64(src[min(i, h-1)*w+min(j, w-1)]) }
	return (1-down)*((1-right)*at(top, left)+right*at(top, left+1)) +
		down*((1-right)*at(top+1, left)+right*at(top+1, left+1))
}

// Triangle is the bilinear interpolation at the centres where nothing gets smaller. The two
// roundings add up to at most 1.
func TestResizeIsInterpolation(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var r Resizer
	for range 200 {
		h, w, toH, toW := 1+rng.IntN(12), 1+rng.IntN(12), 12+rng.IntN(9), 12+rng.IntN(9)
		src := make([]uint8, h*w)
		for i := range src {
			src[i] = uint8(rng.Uint32())
		}
		dst := make([]uint8, toH*toW)
		r.Resize(dst, toH, toW, src, h, w, Triangle)
		for i, got := range dst {
			y := (float64(i/toW)+0.5)*float64(h)/float64(toH) - 0.5
			x := (float64(i%toW)+0.5)*float64(w)/float64(toW) - 0.5
			if want := between(src, h, w, y, x); math.Abs(float64(got)-want) > 1.001 {
				t.Fatalf("%d×%d to %d×%d, pixel %d: %d, want %g", h, w, toH, toW, i, got, want)
			}
		}
	}
}

// A whole factor makes Box the mean of blocks; the same size changes nothing;
// each image of several is resized on its own.
func TestResizeBlocks(t *testing.T) {
	src := []uint8{1, 3, 10, 20, 5, 7, 30, 40, 0, 0, 255, 255, 0, 0, 255, 255}
	var r Resizer
	dst := make([]uint8, 4)
	r.Resize(dst, 1, 2, src, 2, 4, Box)
	if want := []uint8{4, 25, 0, 255}; !slices.Equal(dst, want) {
		t.Errorf("means %v, want %v", dst, want)
	}
	for by := Box; by <= Triangle; by++ {
		same := make([]uint8, len(src))
		r.Resize(same, 4, 2, src, 4, 2, by)
		if !slices.Equal(same, src) {
			t.Errorf("filter %d changed an image that keeps its size: %v", by, same)
		}
	}
}

func TestResizeKeepsConstants(t *testing.T) {
	var r Resizer
	for by := Box; by <= Triangle; by++ {
		for _, v := range []uint8{0, 1, 127, 255} {
			src, dst := slices.Repeat([]uint8{v}, 3*9*11), make([]uint8, 3*13*5)
			r.Resize(dst, 13, 5, src, 9, 11, by)
			if want := slices.Repeat([]uint8{v}, len(dst)); !slices.Equal(dst, want) {
				t.Errorf("filter %d does not keep %d: %v", by, v, dst)
			}
		}
	}
}

func TestResizeReusesMemory(t *testing.T) {
	src, dst := make([]uint8, 3*32*32), make([]uint8, 3*32*32)
	var r Resizer
	r.Resize(dst, 32, 32, src, 32, 32, Triangle)
	if n := testing.AllocsPerRun(10, func() { r.Resize(dst, 32, 32, src[:3*20*25], 20, 25, Triangle) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestResizePanics(t *testing.T) {
	for name, f := range map[string]func(*Resizer){
		"pixels": func(r *Resizer) { r.Resize(make([]uint8, 4), 2, 2, make([]uint8, 8), 3, 3, Box) },
		"size":   func(r *Resizer) { r.Resize(nil, 0, 2, make([]uint8, 9), 3, 3, Box) },
		"short":  func(r *Resizer) { r.Resize(make([]uint8, 3), 2, 2, make([]uint8, 9), 3, 3, Box) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(new(Resizer))
		}()
	}
}

func BenchmarkResize(b *testing.B) {
	src, dst := make([]uint8, 3*24*20), make([]uint8, 3*32*32)
	var r Resizer
	for b.Loop() {
		r.Resize(dst, 32, 32, src, 24, 20, Triangle)
	}
}
