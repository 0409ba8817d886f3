package resize_test

import (
	"fmt"

	"github.com/go-valla/valla/data/internal/resize"
)

// An image of 4 pixels becomes an image of 2, each the mean of the pixels that it covers.
func ExampleResizer() {
	var r resize.Resizer
	half := make([]uint8, 2)
	r.Resize(half, 1, 2, []uint8{0, 10, 100, 200}, 1, 4, resize.Box)
	fmt.Println(half)
	// Output: [5 150]
}
