package data_test

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
)

// A table is read from a file, and one of its columns becomes the target.
func ExampleReadTable() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "houses.csv")
	if err := os.WriteFile(path, []byte("rooms,price,age\n3,210,12\n5,340,3\n4,255,30\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	table, err := data.ReadTable(path)
	if err != nil {
		log.Fatal(err)
	}
	houses, err := table.Set("price")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(houses.N(), "rows of", houses.Features)
	fmt.Println(houses.Targets, houses.Y.Float64s())
	// Output:
	// 3 rows of [rooms age]
	// [price] [210 340 255]
}

// A network is trained on standardised numbers. The standardiser is fitted on the training
// rows alone.
func ExampleFitStandardizer() {
	train := tensor.New(tensor.WithShape(4, 1), tensor.WithBacking([]float64{10, 20, 30, 40}))
	s, err := data.FitStandardizer(train)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean %.0f, standard deviation %.2f\n", s.Mean[0], s.Std[0])
	// Output:
	// mean 25, standard deviation 11.18
}

// A tenth of the rows is kept for testing. The seed decides which.
func ExampleSplit() {
	toy := data.Toy(0)
	rows, held := data.Split(toy.N(), 0.1, rand.New(rand.NewPCG(1, 0)))
	train, test := toy.Rows(rows), toy.Rows(held)
	fmt.Println(train.N(), "rows for training,", test.N(), "for testing")
	// Output:
	// 180 rows for training, 20 for testing
}

// The centres of k-means are where inducing points start.
func ExampleKMeans() {
	x := tensor.New(tensor.WithShape(6, 2), tensor.WithBacking([]float64{
		0, 0, 0, 1, 1, 0.5, // three points near the origin
		10, 10, 10, 11, 13, 9, // and three far from it
	}))
	z, err := data.KMeans(x, 2, data.KMeansPlusPlus, rand.New(rand.NewPCG(4, 0)))
	if err != nil {
		log.Fatal(err)
	}
	centres := z.Float64s()
	if centres[0] > centres[2] {
		centres = append(centres[2:], centres[:2]...)
	}
	fmt.Printf("(%.2f, %.2f) and (%.2f, %.2f)\n", centres[0], centres[1], centres[2], centres[3])
	// Output:
	// (0.33, 0.50) and (11.00, 10.00)
}

// A sampler deals out every row once before it repeats one.
func ExampleSampler() {
	s, err := data.NewSampler(6, 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	seen := map[int]bool{}
	for iteration := range 3 {
		for _, row := range s.Batch(iteration, nil) {
			seen[row] = true
		}
	}
	fmt.Println(len(seen), "of 6 rows in 3 batches of 2")
	// Output:
	// 6 of 6 rows in 3 batches of 2
}
