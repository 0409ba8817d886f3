package image

import (
	"testing"
)

var some = Normalize{Mean: [3]float64{.4914, .4822, .4465}, Std: [3]float64{.2023, .1994, .2010}}

// Convert gives the value of the obvious expression for every pixel.
func testConvert[T Float](t *testing.T, n Normalize) {
	const size = 100
	pixels := make([]uint8, 2*3*size)
	for i := range pixels {
		pixels[i] = uint8(i * 7)
	}
	dst := make([]T, len(pixels)+1)
	NewTable[T](n).Convert(dst, pixels, size)
	for i, v := range pixels {
		c := i / size % 3
		x := T(v) / T(255)
		if want := (x - T(n.Mean[c])) / T(n.Std[c]); dst[i] != want {
			t.Errorf("%T: pixel %d of value %d is %g, want %g", want, i, v, dst[i], want)
		}
	}
	if dst[len(pixels)] != 0 {
		t.Error("wrote behind the last value")
	}
}

func TestConvert(t *testing.T) {
	for _, n := range []Normalize{some, Unit} {
		testConvert[float32](t, n)
		testConvert[float64](t, n)
	}
}

// What PyTorch 1.13 computes in float32 for the pixels 0, 100 and 255, one in
// each channel: (torch.tensor([0,100,255.])/255 - mean) / std.
func TestConvertLikeTorch(t *testing.T) {
	var dst [3]float32
	NewTable[float32](some).Convert(dst[:], []uint8{0, 100, 255}, 1)
	if want := [3]float32{-2.4290657, -0.451570362, 2.75373125}; dst != want {
		t.Errorf("%.9g, want %.9g", dst, want)
	}
}

func TestTableNeedsAStandardDeviation(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a table without standard deviations")
		}
	}()
	NewTable[float32](Normalize{})
}

func BenchmarkConvert(b *testing.B) {
	pixels, dst := make([]uint8, 100*3*32*32), make([]float32, 100*3*32*32)
	table := NewTable[float32](some)
	b.SetBytes(int64(len(pixels)))
	for b.Loop() {
		table.Convert(dst, pixels, 32*32)
	}
}
