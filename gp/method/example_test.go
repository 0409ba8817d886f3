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

// The methods with the types of their settings.
func ExampleAll() {
	for _, m := range method.All()[:3] {
		fmt.Printf("%s: %T\n", m.Name, m.New())
	}
	// Output:
	// valla: *valla.Settings
	// lla: *laplace.Settings
	// gp-subset: *laplace.SubsetSettings
}
