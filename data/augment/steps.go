package augment

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// A Step changes an image. Its random numbers depend on the seed of the [Augmenter]. The steps
// are [RandomCrop], [RandomFlip] and [RandomResizedCrop].
type Step interface {
	// apply changes v. All random numbers come from rng.
	apply(v *view, rng *rand.Rand)
}

// RandomCrop crops H×W pixels at a random place of the image with Padding black pixels
// around it. All places are equally likely. It panics if the padded image is smaller than
// H×W.
type RandomCrop struct {
	H, W    int // size of the result in pixels
	Padding int // width of the black border in pixels
}

// apply crops v.
func (c RandomCrop) apply(v *view, rng *rand.Rand) {
	free, freeX := v.h+2*c.Padding-c.H, v.w+2*c.Padding-c.W
	if min(free, freeX, c.Padding) < 0 {
		panic(fmt.Sprintf("augment: crop of %d×%d out of %d×%d pixels with a padding of %d", c.H, c.W, v.h, v.w, c.Padding))
	}
	top, left := rng.IntN(free+1), rng.IntN(freeX+1)
	v.crop(top-c.Padding, left-c.Padding, c.H, c.W)
}

// RandomFlip exchanges left and right with a probability, which is usually one half.
type RandomFlip struct {
	Probability float64 // of an exchange, from 0 to 1
}

// apply mirrors v or leaves it.
func (f RandomFlip) apply(v *view, rng *rand.Rand) {
	if rng.Float64() < f.Probability {
		v.mirror()
	}
}

// RandomResizedCrop crops a random part of the image and resizes it to H×W. The area of the
// part is a fraction of the image's area, which is uniform between the two numbers of Scale.
// The logarithm of the width over the height is uniform between the logarithms of
// the two numbers of Ratio. All places where the part fits are equally likely. If no part
// fits in ten attempts, the crop is the largest part in the middle whose ratio is in bounds
// (Szegedy and others 2015, "Going Deeper with Convolutions", in torchvision's form). The
// filter is the filter of torchvision for images that are no tensors, with antialiasing.
//
// [Standard] gives the usual numbers.
type RandomResizedCrop struct {
	H, W         int        // size of the result in pixels
	Scale, Ratio [2]float64 // bounds of the part: its area as a fraction, its width over its height
}

// Standard returns the random resized crop to side×side with torchvision's default
// area of 0.08 to 1 and ratio of 3/4 to 4/3.
func Standard(side int) RandomResizedCrop {
	return RandomResizedCrop{side, side, [2]float64{.08, 1}, [2]float64{3. / 4, 4. / 3}}
}

// apply crops and resizes v.
func (c RandomResizedCrop) apply(v *view, rng *rand.Rand) {
	top, left, h, w := c.part(v.h, v.w, rng)
	v.crop(top, left, h, w)
	v.resize(c.H, c.W)
}

// part draws the part of an image of H×W pixels: its first row and column and its size.
func (c RandomResizedCrop) part(H, W int, rng *rand.Rand) (top, left, h, w int) {
	low, high := math.Log(c.Ratio[0]), math.Log(c.Ratio[1])
	for range 10 {
		area := float64(H*W) * (c.Scale[0] + (c.Scale[1]-c.Scale[0])*rng.Float64())
		ratio := math.Exp(low + (high-low)*rng.Float64())
		w, h = rounded(math.Sqrt(area*ratio)), rounded(math.Sqrt(area/ratio))
		if w > 0 && w <= W && h > 0 && h <= H {
			return rng.IntN(H - h + 1), rng.IntN(W - w + 1), h, w
		}
	}
	h, w = H, W
	switch ratio := float64(W) / float64(H); {
	case ratio < c.Ratio[0]:
		h = rounded(float64(W) / c.Ratio[0])
	case ratio > c.Ratio[1]:
		w = rounded(float64(H) * c.Ratio[1])
	}
	return (H - h) / 2, (W - w) / 2, h, w
}

// rounded rounds halves to even, as Python does.
func rounded(x float64) int { return int(math.RoundToEven(x)) }
