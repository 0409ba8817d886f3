package likelihood

import "gorgonia.org/tensor"

func init() {
	for _, m := range []Model{
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
	} {
		Register(m)
	}
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
