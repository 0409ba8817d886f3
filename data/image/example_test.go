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
	}, 2, 2, 90)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turned)
	// Output: [2 4 1 3]
}
