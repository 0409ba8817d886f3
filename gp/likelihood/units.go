package likelihood

// Rescaler is implemented by a Scalar whose targets have more than one number in the units of the target.
type Rescaler interface {
	// Rescale replaces the numbers of y [W] that have the units of the target by their values under f, which
	// increases.
	Rescale(y []float64, f func(float64) float64)
}

// Rescale replaces the numbers of the target y [W] of one output that have the units of the target by their values
// under f, which increases: the first number, unless the model is a [Rescaler].
func Rescale(l Likelihood, y []float64, f func(float64) float64) {
	if s, ok := Of(l); ok {
		if r, ok := s.(Rescaler); ok {
			r.Rescale(y, f)
			return
		}
	}
	y[0] = f(y[0])
}

// Rescale implements Rescaler: bounds that are open stay open.
func (censored) Rescale(y []float64, f func(float64) float64) {
	for i, v := range y {
		if v > -openFrom && v < openFrom {
			y[i] = f(v)
		}
	}
}

// Parts divides the variance of the predictive distribution of output c into the part epistemic, which comes from
// the variance of the latent value and which more data would take away, and the rest: the law of total variance.
func Parts(l Likelihood, c int, mean, variance float64) (epistemic, aleatoric float64) {
	total := l.Predict(c, mean, variance).Variance()
	if Noisy(l) {
		return variance, max(total-variance, 0)
	}
	s, ok := Of(l)
	if !ok {
		return 0, total
	}
	given := s.Given()
	sum, squares := 0.0, 0.0
	eachPoint(mean, variance, func(w, f float64) {
		v := given.Mean(f)
		sum, squares = sum+w*v, squares+w*v*v
	})
	epistemic = min(max(squares-sum*sum, 0), total)
	return epistemic, total - epistemic
}
