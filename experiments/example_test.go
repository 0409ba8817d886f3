package experiments_test

import (
	"fmt"
	"log"

	"github.com/go-valla/valla/experiments"
)

// An experiment of the paper, with the profiles under which it can be run.
func ExampleOpen() {
	e, err := experiments.Open("toy", "quick")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Name, e.Profiles)
	// Output: toy [full quick]
}
