package experiments

// Experiment is one that `valla experiment run` knows.
type Experiment struct{ Name, About string }

// List returns the experiments in the order of the paper.
func List() []Experiment {
	return []Experiment{
		{"toy", "one-dimensional regression: VaLLA with 5, 10 and 20 inducing points against exact LLA"},
		{"uci", "six small regression tables: MAP, exact LLA and VaLLA"},
		{"mnist", "handwritten digits, out-of-distribution: Fashion-MNIST"},
		{"fmnist", "Fashion-MNIST, out-of-distribution: MNIST"},
	}
}

// DataFolder returns the folder below the data folder in which the experiments look
// for a data set.
func DataFolder(name string) string {
	if s, ok := imageSets[name]; ok {
		return s.folder
	}
	return name
}
