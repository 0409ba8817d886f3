package augment_test

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/data/augment"
	"github.com/go-valla/valla/data/image"
)

// The change of an image depends on the seed, the time and its number alone, so that a training
// that is resumed sees the same images.
func Example() {
	images := make([]uint8, 2*3*8*8)
	for i := range images {
		images[i] = uint8(i)
	}
	crop := augment.New[float32](1, image.Unit, augment.RandomCrop{H: 8, W: 8, Padding: 2}, augment.RandomFlip{Probability: 0.5})
	batch := func(time int) []float32 {
		out := make([]float32, len(images))
		crop.Batch(out, images, 8, 8, []int{0, 1}, time)
		return out
	}
	fmt.Println("at the same time:", slices.Equal(batch(7), batch(7)))
	fmt.Println("later:", slices.Equal(batch(7), batch(8)))
	// Output:
	// at the same time: true
	// later: false
}
