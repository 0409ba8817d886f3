package sets_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/go-valla/valla/data/sets"
)

// A set is found by its name and read. This one is built in, so that the data folder may
// be empty.
func ExampleLookup() {
	s, err := sets.Lookup("toy1d")
	if err != nil {
		log.Fatal(err)
	}
	parts, err := s.Table("", 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(parts.Train.N(), "rows of", parts.Train.Features, "and", parts.Train.Targets)
	// Output:
	// 400 rows of [x] and [y]
}

// Where the files of a set are missing, the error says how to get them.
func ExampleMissingError() {
	s, err := sets.Lookup("mnist")
	if err != nil {
		log.Fatal(err)
	}
	_, err = s.Images("no such folder")
	_, advice, _ := strings.Cut(err.Error(), "; ")
	fmt.Println(advice)
	// Output:
	// get it with "valla data get mnist", or name the folder that has it by the setting data
}
