package image_test

import (
	"fmt"
	"log"

	"github.com/go-valla/valla/data/image"
)

// Images turn counter-clockwise.
func ExampleRotate() {
	turned, err := image.Rotate([]uint8{
		1, 2,
		3, 4,
	}, 2, 2, 90, image.Bilinear)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turned)
	// Output: [2 4 1 3]
}

// An image of 4 pixels becomes one of 2, each the mean of the pixels that it covers.
func ExampleResizer() {
	var r image.Resizer
	half := make([]uint8, 2)
	r.Resize(half, 1, 2, []uint8{0, 10, 100, 200}, 1, 4, image.Box)
	fmt.Println(half)
	// Output: [5 150]
}
