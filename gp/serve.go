package gp

import (
	"fmt"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
)

// CannotServe returns the error of a method, named by its title, that has no formulas for the observation
// model l. The error wraps ErrProblem.
func CannotServe(method string, l likelihood.Likelihood) error {
	return fmt.Errorf("%w: %s cannot serve the likelihood %v", ErrProblem, method, l)
}

// CheckNoiseStd returns an error that wraps settings.ErrSetting if the setting noise-std has the value std, which
// is not 0, and the observation model l has no noise.
func CheckNoiseStd(std float64, l likelihood.Likelihood) error {
	switch {
	case std == 0 || likelihood.Noisy(l):
		return nil
	case likelihood.IsClass(l):
		return settings.Errorf("noise-std %g with classes, which have no noise", std)
	}
	return settings.Errorf("noise-std %g with the likelihood %v, which has no noise", std, l)
}
