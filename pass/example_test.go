package pass_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/pass"
)

// A table is predicted in parts. Two workers, which share a folder and nothing else, each do every
// second part.
func Example() {
	dir, err := os.MkdirTemp("", "pass")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	model, table, shards := filepath.Join(dir, "toy.valla"), filepath.Join(dir, "rows.csv"), filepath.Join(dir, "shards")
	ctx := context.Background()
	m, err := valla.Train(ctx, data.Toy(1), valla.TrainOptions{Training: valla.Training{Iterations: 50}})
	if err != nil {
		log.Fatal(err)
	}
	if err := m.Save(model); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(table, []byte("x\n0.5\n1.5\n2.5\n3.5\n4.5\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	job, err := pass.New(pass.Options{Task: pass.Predict, PartSize: 8}, model, table)
	if err != nil {
		log.Fatal(err)
	}
	for worker := range 2 {
		r, err := job.NewRunner(shards)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := r.Run(ctx, job.Share(worker, 2), 1, nil); err != nil {
			log.Fatal(err)
		}
	}
	manifest, err := job.Finish(shards)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(manifest.Rows, "rows in", len(manifest.Shards), "shards")
	// Output: 5 rows in 3 shards
}
