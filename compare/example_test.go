package compare_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/compare"
	"github.com/go-valla/valla/data"
)

// Which method suits a network and its data: here a few, on rows of their own.
func ExampleRun() {
	ctx, set, held := context.Background(), data.Toy(1), data.Toy(2)
	m, err := valla.Train(ctx, set, valla.TrainOptions{Training: valla.Training{Iterations: 500}})
	if err != nil {
		log.Fatal(err)
	}
	c, err := compare.Run(ctx, m, set, compare.Options{Methods: []string{"temperature", "lla", "lla-kfac"}, Held: held, Budget: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range c.Results {
		if r.Name == "map" {
			fmt.Printf("%s on %d rows: NLL below 0.5: %t\n", r.Label, c.Rows, r.NLL < 0.5)
		}
	}
	fmt.Println(len(c.Results), "results, one of them recommended:", c.Recommended != "")
	// Output:
	// MAP on 200 rows: NLL below 0.5: true
	// 4 results, one of them recommended: true
}
