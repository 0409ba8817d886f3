package tabular_test

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-valla/valla/data/internal/tabular"
)

// Each set says which data the set holds and which files hold the data.
func Example() {
	for _, s := range tabular.Sets() {
		_, _, _, err := s.Open("no-such-folder")
		fmt.Println(s.Name, len(s.Features), "features,", s.Target, errors.Is(err, fs.ErrNotExist))
	}
	// Output:
	// airline 8 features, ArrDelay true
	// airline-nycflights13 8 features, ArrDelay true
	// taxi 8 features, total_amount true
	// taxi-green 8 features, total_amount true
	// year 90 features, Year true
}
