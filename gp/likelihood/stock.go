package likelihood

import "gorgonia.org/tensor"

func init() {
	for _, m := range stock {
		Register(m)
	}
}

// stock are the models of the project.
var stock = []Model{
	{
		Name: "gaussian", Title: "Gaussian noise", Formula: "N(y; f, σ²)", Targets: "a real number",
		Summary: "Targets scatter around the function with one variance.",
		Use:     "The default of regressions.",
		New:     func() Settings { return &gaussianSettings{} },
	},
	{
		Name: "softmax", Title: "Classes", Formula: "log softmax(f)_y", Targets: "one of C classes",
		Summary: "Each row has exactly one of C classes, whose logits are the outputs.",
		Use:     "The default of classifications.",
		New:     func() Settings { return &softmaxSettings{} },
	},
	{
		Name: "student-t", Title: "Student's t", Formula: "log t_ν((y−f)/s)/s", Targets: "a real number",
		Summary: "Targets scatter with heavy tails, which the degrees of freedom ν describe.",
		Use:     "For targets with outliers or heavy tails.",
		Source:  "Jylänki, Vanhatalo and Vehtari 2011",
		New:     func() Settings { return &studentSettings{} },
	},
	{
		Name: "bernoulli", Title: "Yes or no", Formula: "−log(1 + e^∓f)", Targets: "0 or 1 for each output",
		Summary: "Each output is the logit of a yes, independently of the other outputs.",
		Use:     "For one yes-or-no question, and for several labels of a row.",
		New:     func() Settings { return &bernoulliSettings{} },
	},
	{
		Name: "poisson", Title: "Poisson counts", Formula: "y log μ − μ − log y!, μ = e·exp(f)", Targets: "a count, 0, 1, 2, …",
		Summary: "Counts whose mean and variance are the exponential of the output, times an exposure.",
		Use:     "For counts of events.",
		New:     func() Settings { return &poissonSettings{} },
	},
	{
		Name: "negative-binomial", Title: "Negative binomial counts", Formula: "log NB(y; mean μ, variance μ + μ²/r), μ = e·exp(f)",
		Targets: "a count, 0, 1, 2, …",
		Summary: "Counts with more variance than Poisson's, by a size r.",
		Use:     "For counts of events that come in clusters.",
		New:     func() Settings { return &negativeBinomialSettings{} },
	},
	{
		Name: "ordinal", Title: "Ordered classes", Formula: "log[σ(b_y − f) − σ(b_{y−1} − f)]", Targets: "a class 0, 1, …, K−1",
		Summary: "Ordered classes, which thresholds b cut out of the real line.",
		Use:     "For grades, ratings and other classes with an order.",
		Source:  "McCullagh 1980",
		New:     func() Settings { return &ordinalSettings{} },
	},
	{
		Name: "mixture", Title: "Mixture of Gaussians", Formula: "log Σ_k w_k N(y; f + δ_k, s_k²), Σ_k w_k δ_k = 0", Targets: "a real number",
		Summary: "Targets scatter by a mixture of Gaussians, whose mean is the function.",
		Use:     "For noise that is skew or has several humps.",
		New:     func() Settings { return &mixtureSettings{} },
	},
	{
		Name: "censored", Title: "Censored Gaussian", Formula: "log[Φ((u−f)/σ) − Φ((l−f)/σ)], where l = u log N(y; f, σ²)",
		Targets: "a lower and an upper bound, equal where the value was seen; ±1e30 where there is no bound",
		Summary: "Gaussian noise, where of some targets only bounds are known.",
		Use:     "For times that have not ended, and for values beyond a limit of detection.",
		Source:  "Tobin 1958",
		New:     func() Settings { return &censoredSettings{} },
	},
	{
		Name: "heteroscedastic", Title: "Noise of known scales", Formula: "log p((y−f)/e^h) − h", Targets: "a real number and the logarithm h of its scale",
		Summary: "Each row has noise of its own scale s·e^h, of which h is known.",
		Use:     "For targets that were measured with different precision.",
		New:     func() Settings { return &heteroscedasticSettings{} },
	},
}

// gaussianSettings are the settings of Gaussian noise.
type gaussianSettings struct{}

// Start implements Settings: targets are scaled to variance 1.
func (*gaussianSettings) Start(int, []float64) (Likelihood, error) {
	return NewGaussian(1, tensor.Float64), nil
}

// softmaxSettings are the settings of classes.
type softmaxSettings struct{}

// Start implements Settings.
func (*softmaxSettings) Start(int, []float64) (Likelihood, error) { return Softmax{}, nil }
