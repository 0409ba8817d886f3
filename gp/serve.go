package gp

import (
	"fmt"

	"github.com/go-valla/valla/gp/likelihood"
)

// CannotServe returns the error of a method, named by its title, that has no formulas for the observation
// model l. The error wraps ErrProblem.
func CannotServe(method string, l likelihood.Likelihood) error {
	return fmt.Errorf("%w: %s cannot serve the likelihood %v", ErrProblem, method, l)
}
