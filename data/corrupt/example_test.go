package corrupt_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/go-valla/valla/data/corrupt"
)

// A grey image gets brighter; the same seed gives the same image.
func Example() {
	grey := bytes.Repeat([]byte{100}, 3*32*32)
	c, err := corrupt.New("brightness", 3, 1)
	if err != nil {
		log.Fatal(err)
	}
	out := make([]uint8, len(grey))
	c.Apply(out, grey, 32, 32, 0)
	fmt.Println(grey[0], "becomes", out[0])

	_, err = corrupt.New("rain", 1, 1)
	fmt.Println(err != nil)
	// Output:
	// 100 becomes 138
	// true
}
