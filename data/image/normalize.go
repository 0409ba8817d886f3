package image

import "fmt"

// Float is the type of the values that networks take.
type Float interface{ float32 | float64 }

// Normalize turns the pixels 0 to 255 of the three channels into the values a
// network takes: (pixel/255 - Mean) / Std.
type Normalize struct {
	Mean, Std [3]float64 // of red, green, blue
}

// Unit is the normalisation to pixel/255.
var Unit = Normalize{Std: [3]float64{1, 1, 1}}

// A Table holds the normalised value of every pixel of every channel. Looking up
// is faster than computing, and the rounding is settled in one place.
type Table[T Float] [3][256]T

// NewTable returns the table of n. Each of the three operations is rounded to T,
// as torchvision's ToTensor and Normalize do it in float32. It panics where a
// standard deviation is not positive.
func NewTable[T Float](n Normalize) *Table[T] {
	var t Table[T]
	for c := range t {
		if !(n.Std[c] > 0) {
			panic(fmt.Sprintf("image: standard deviation %g of channel %d", n.Std[c], c))
		}
		for v := range t[c] {
			t[c][v] = (T(v)/255 - T(n.Mean[c])) / T(n.Std[c])
		}
	}
	return &t
}

// Convert writes the normalised values of pixels [N,3,size] to the front of dst; size is the
// number of pixels of a channel. It panics if pixels is not a whole number of images or dst
// is too short.
func (t *Table[T]) Convert(dst []T, pixels []uint8, size int) {
	if len(pixels)%(3*size) != 0 {
		panic(fmt.Sprintf("image: %d pixels, expected images of 3×%d", len(pixels), size))
	}
	for at := 0; at < len(pixels); at += size {
		value, to := &t[at/size%3], dst[at:at+size]
		for i, v := range pixels[at : at+size] {
			to[i] = value[v]
		}
	}
}
