package cifar_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/image"
)

// A record is the label and three planes of pixels, which a table normalises.
func ExampleDecode() {
	frog := append([]byte{6}, bytes.Repeat([]byte{51}, 3*32*32)...)
	set, err := cifar.Decode(bytes.NewReader(frog), "frog.bin", 1)
	if err != nil {
		log.Fatal(err)
	}
	x := cifar.Dense(&set.Images, image.NewTable[float32](image.Unit))
	fmt.Println("class", set.Labels[0], x.Shape(), x.Float32s()[0])
	// Output: class 6 (1, 3, 32, 32) 0.2
}
