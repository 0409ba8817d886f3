package method_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// A method is found by the name that it has on the command line and in files.
func ExampleLookup() {
	m, err := method.Lookup("lla")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Title)
	fmt.Println(m.New().Label())
	_, err = method.Lookup("mcmc")
	fmt.Println(errors.Is(err, settings.ErrSetting))
	// Output:
	// Linearized Laplace approximation (LLA)
	// LLA
	// true
}
