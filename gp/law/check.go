package law

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// Check returns an error if the numbers of the law do not describe a distribution with mean 0 and a finite variance,
// or if the law has numbers of another family.
func (l Law) Check() error {
	if err := l.checkFamily(); err != nil {
		return err
	}
	if l.Own != nil {
		return l.Own.check()
	}
	return nil
}

// checkFamily checks the numbers of the family.
func (l Law) checkFamily() error {
	single := l.Family == Gaussian || l.Family == StudentT
	parts := len(l.Weights) + len(l.Shifts) + len(l.Scales)
	switch {
	case !single && l.Family != Mixture:
		return fmt.Errorf("law %q, expected %q, %q or %q", l.Family, Gaussian, StudentT, Mixture)
	case l.Family != StudentT && l.DoF != 0:
		return fmt.Errorf("%g degrees of freedom of a law %q, expected none", l.DoF, l.Family)
	case l.Family != StudentT && l.Skew != 0:
		return fmt.Errorf("skew %g of a law %q, expected none", l.Skew, l.Family)
	case !(math.Abs(l.Skew) <= maxSkew):
		return fmt.Errorf("skew %g of a law, expected %d to %d", l.Skew, -maxSkew, maxSkew)
	case single && parts > 0:
		return fmt.Errorf("%d numbers of a mixture in a law %q, expected none", parts, l.Family)
	case single && !positive(l.Scale):
		return fmt.Errorf("scale %g of a law, expected a finite number above 0", l.Scale)
	case l.Family == StudentT && !(l.DoF >= MinDoF && l.DoF <= maxDoF):
		return fmt.Errorf("%g degrees of freedom of a law, expected %g to %g", l.DoF, MinDoF, float64(maxDoF))
	case l.Family == Mixture && l.Scale != 0:
		return fmt.Errorf("scale %g of a mixture, expected none", l.Scale)
	case l.Family == Mixture:
		return l.parts().check()
	}
	return nil
}

// check returns an error if the parts are not a mixture with mean 0.
func (m mixture) check() error {
	k := len(m.weights)
	if k < 1 || k > MaxParts || len(m.shifts) != k || len(m.scales) != k {
		return fmt.Errorf("a mixture of %d weights, %d shifts and %d scales, expected 1 to %d of each",
			k, len(m.shifts), len(m.scales), MaxParts)
	}
	sum, mean, size := 0.0, 0.0, 0.0
	for i, w := range m.weights {
		if !positive(w) || !positive(m.scales[i]) || !kernel.Finite(m.shifts[i]) {
			return fmt.Errorf("part %d of a mixture has weight %g, shift %g and scale %g, expected finite numbers and the weight and the scale above 0",
				i, w, m.shifts[i], m.scales[i])
		}
		sum, mean, size = sum+w, mean+w*m.shifts[i], size+w*(math.Abs(m.shifts[i])+m.scales[i])
	}
	if math.Abs(sum-1) > 1e-9 || !(math.Abs(mean) <= 1e-9*size) {
		return fmt.Errorf("the weights of a mixture sum to %g and its mean is %g, expected 1 and 0", sum, mean)
	}
	return nil
}

// positive reports whether v is finite and above 0.
func positive(v float64) bool { return v > 0 && kernel.Finite(v) }
