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
