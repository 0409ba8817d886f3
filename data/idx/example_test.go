package idx_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/go-valla/valla/data/idx"
)

// Two images of 1×2 pixels: the type and the number of dimensions, the dimensions, the bytes.
func ExampleDecodeImages() {
	file := []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 51, 102, 255}
	images, err := idx.DecodeImages(bytes.NewReader(file), "two-images")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(idx.Dense[float64](images).Float64s())

	_, err = idx.DecodeImages(bytes.NewReader(file[:18]), "two-images")
	fmt.Println(err)
	// Output:
	// [0 0.2 0.4 1]
	// two-images: malformed IDX data: byte 18: expected 4 bytes of values of shape [2 1 2], found the end after 2
}
