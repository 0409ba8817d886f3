package likelihood

// Rescaler is implemented by a Scalar whose targets have more than one number in the units of the target.
type Rescaler interface {
	// Rescale replaces the numbers of y [W] that have the units of the target by their values under f, which
	// increases. density reports whether p(y | f) is a density and not a probability.
	Rescale(y []float64, f func(float64) float64) (density bool)
}

// Rescale replaces the numbers of the target y [W] of one output that have the units of the target by their values
// under f, which increases: the first number, unless the model is a [Rescaler]. density reports whether p(y | f) is a
// density and not a probability.
func Rescale(l Likelihood, y []float64, f func(float64) float64) (density bool) {
	if s, ok := Of(l); ok {
		if r, ok := s.(Rescaler); ok {
			return r.Rescale(y, f)
		}
	}
	y[0] = f(y[0])
	return l.Kind() == Number
}

// Rescale implements Rescaler: bounds that are open stay open.
func (censored) Rescale(y []float64, f func(float64) float64) (density bool) {
	density = y[0] == y[1]
	for i, v := range y {
		if v > -openFrom && v < openFrom {
			y[i] = f(v)
		}
	}
	return density
}

// Epistemic returns the part of the variance of the predictive distribution of an output that comes from the variance of
// the latent value, Var E[y | f] for f ~ N(mean, variance), and that more data would take away: the law of total
// variance.
func Epistemic(l Likelihood, mean, variance float64) float64 {
	s, ok := Of(l)
	if !ok || Noisy(l) {
		return variance // E[y | f] differs from f by a constant
	}
	if d, ok := predict(s, mean, variance).(counts); ok {
		return d.epistemic()
	}
	m := newMixed(s, mean, variance)
	centre := m.expect(m.given.Mean)
	return m.expect(func(f float64) float64 {
		r := m.given.Mean(f) - centre
		return r * r
	})
}
