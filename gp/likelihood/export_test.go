package likelihood

// Models of one output, for tests outside the package.
var (
	Bernoulli Scalar = bernoulli{}
	Poisson   Scalar = count{exposure: true}
)
