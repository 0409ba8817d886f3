package task

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
)

// The names of a [Transform].
const (
	Log        = "log"         // log y, for y > 0
	Log1p      = "log1p"       // log(1 + y), for y > −1
	YeoJohnson = "yeo-johnson" // Yeo and Johnson (2000), for every y; the training rows give the exponent
)

// Transforms returns the names of all transforms.
func Transforms() []string { return []string{Log, Log1p, YeoJohnson} }

// Transform is an increasing function T of a target y. The network, its fit and the laws of residuals work with T(y),
// which is then standardised. A prediction is in the units of y again.
type Transform struct {
	Name string `json:"name"` // Log, Log1p or YeoJohnson
	// Exponent is λ of YeoJohnson, from 0 to 2; 0 for the others. For other λ there are numbers which are T(y) of
	// no y.
	Exponent float64 `json:"exponent,omitempty"`
}

// FitTransform returns the transform with a name for the training targets y, in the units of the data. λ of YeoJohnson
// is the maximum of the likelihood under which T(y) is Gaussian, among 0 ≤ λ ≤ 2, to six digits (Yeo and Johnson 2000, eq. 3.1).
func FitTransform(name string, y []float64) (Transform, error) {
	switch name {
	case Log, Log1p:
		return Transform{Name: name}, nil
	case YeoJohnson:
		loss := func(exponent float64) float64 { return Transform{YeoJohnson, exponent}.gaussianNLL(y) }
		const digits = 1e6
		return Transform{YeoJohnson, math.Round(kernel.Golden(loss, 0, 2)*digits) / digits}, nil
	}
	return Transform{}, settings.Errorf("target transform %q, expected %s", name, strings.Join(Transforms(), ", "))
}

// gaussianNLL is the mean negative log-likelihood of y, without constants, where T(y) is Gaussian with the mean and the
// variance of the values T(y).
func (t Transform) gaussianNLL(y []float64) float64 {
	u, slope := make([]float64, len(y)), 0.0
	for i, v := range y {
		u[i] = t.Apply(v)
		slope += t.LogSlope(v) / float64(len(y))
	}
	nll := math.Log(kernel.StandardError(u)) - slope
	if math.IsNaN(nll) {
		return math.Inf(1)
	}
	return nll
}

// String names the transform for people.
func (t Transform) String() string {
	if t.Name == YeoJohnson {
		return fmt.Sprintf("%s with the exponent %.4g", t.Name, t.Exponent)
	}
	return t.Name
}

// check returns an error if a field is wrong.
func (t Transform) check() error {
	most := 0.0
	if t.Name == YeoJohnson {
		most = 2
	}
	if !slices.Contains(Transforms(), t.Name) || !(t.Exponent >= 0 && t.Exponent <= most) {
		return fmt.Errorf("target transform %q with the exponent %g, expected %s, and an exponent from 0 to 2 for %s alone",
			t.Name, t.Exponent, strings.Join(Transforms(), ", "), YeoJohnson)
	}
	return nil
}

// lowest returns the infimum of the numbers that T takes.
func (t Transform) lowest() float64 {
	switch t.Name {
	case Log:
		return 0
	case Log1p:
		return -1
	}
	return math.Inf(-1)
}

// refuses returns an error if T does not take the target y.
func (t Transform) refuses(y float64) error {
	if low := t.lowest(); !(y > low) {
		return fmt.Errorf("expected a number above %g for the target transform %s, found %g", low, t.Name, y)
	}
	return nil
}

// Apply returns T(y). T(y) is −∞ or NaN for a y that T does not take.
func (t Transform) Apply(y float64) float64 {
	switch {
	case t.Name == Log:
		return math.Log(y)
	case t.Name == Log1p:
		return math.Log1p(y)
	case y < 0:
		return -power(-y, 2-t.Exponent)
	}
	return power(y, t.Exponent)
}

// Invert returns the y with T(y) = u. For a y beyond the numbers of a float64 it returns the nearest of these numbers.
func (t Transform) Invert(u float64) float64 {
	return max(-math.MaxFloat64, min(math.MaxFloat64, t.invert(u)))
}

// invert is Invert, which may be infinite.
func (t Transform) invert(u float64) float64 {
	switch {
	case t.Name == Log:
		return math.Exp(u)
	case t.Name == Log1p:
		return math.Expm1(u)
	case u < 0:
		return -root(-u, 2-t.Exponent)
	}
	return root(u, t.Exponent)
}

// LogSlope returns log T'(y), which a log density of T(y) needs in addition to be a log density of y.
func (t Transform) LogSlope(y float64) float64 {
	switch t.Name {
	case Log:
		return -math.Log(y)
	case Log1p:
		return -math.Log1p(y)
	}
	if y < 0 {
		return (1 - t.Exponent) * math.Log1p(-y)
	}
	return (t.Exponent - 1) * math.Log1p(y)
}

// power is ((1+y)^λ − 1)/λ for y ≥ 0, and its limit log(1+y) for λ = 0.
func power(y, lambda float64) float64 {
	log := math.Log1p(y)
	if !(lambda*log >= 1e-300) {
		return log
	}
	return math.Expm1(lambda*log) / lambda
}

// root is the inverse of power for u ≥ 0.
func root(u, lambda float64) float64 {
	if !(lambda*u >= 1e-300) {
		return math.Expm1(u)
	}
	return math.Expm1(math.Log1p(lambda*u) / lambda)
}
