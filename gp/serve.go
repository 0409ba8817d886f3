package gp

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
)

// CannotServe returns the error of a method, named by its title, that has no formulas for the observation
// model l. The error wraps ErrProblem.
func CannotServe(method string, l likelihood.Likelihood) error {
	return fmt.Errorf("%w: %s cannot serve the likelihood %v", ErrProblem, method, l)
}

// CheckNoiseStd returns an error that wraps settings.ErrSetting if the setting noise-std has the value std, which
// is not 0, and the observation model l has no noise, or if its square is no positive number.
func CheckNoiseStd(std float64, l likelihood.Likelihood) error {
	if square := std * std; std != 0 && (square == 0 || math.IsInf(square, 0)) {
		return settings.Errorf("noise-std %g, expected a number with a positive and finite square", std)
	}
	if std == 0 || likelihood.Noisy(l) {
		return nil
	}
	return withoutNoise(fmt.Sprintf("noise-std %g", std), l)
}

// CheckTrainable returns an error that wraps settings.ErrSetting if the setting name, which says whether parameters of
// the observation model l are learned, is given and l has no parameters.
func CheckTrainable(name string, given bool, l likelihood.Likelihood) error {
	if !given || len(l.Params()) > 0 {
		return nil
	}
	return withoutNoise(name, l)
}

// withoutNoise returns the error of a setting of the noise with a likelihood without noise.
func withoutNoise(setting string, l likelihood.Likelihood) error {
	if likelihood.IsClass(l) {
		return settings.Errorf("%s with classes, which have no noise", setting)
	}
	return settings.Errorf("%s with the likelihood %v, which has no noise", setting, l)
}
