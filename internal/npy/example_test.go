package npy_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/go-valla/valla/internal/npy"
	"gorgonia.org/tensor"
)

// An archive as NumPy's savez writes it.
func Example() {
	var file bytes.Buffer
	x := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{1, 2, 3, 4}))
	if err := npy.EncodeArchive(&file, []string{"X"}, []*tensor.Dense{x}); err != nil {
		log.Fatal(err)
	}
	a, err := npy.DecodeArchive(bytes.NewReader(file.Bytes()), int64(file.Len()), "x.npz")
	if err != nil {
		log.Fatal(err)
	}
	again, _ := a.Get("X")
	fmt.Println(a.Names, again.Shape(), again.Float64s())
	// Output: [X] (2, 2) [1 2 3 4]
}
