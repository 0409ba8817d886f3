package spec

// Experiment is an experiment under one of its profiles.
type Experiment struct {
	Name    string   `yaml:"name"`
	About   string   `yaml:"about"`
	Data    []string `yaml:"data"`  // names of data sets
	Seeds   []uint64 `yaml:"seeds"` // one cell of each row and data set for each
	Network Network  `yaml:"network"`
	MAP     Training `yaml:"map"`
	Scoring Scoring  `yaml:"scoring"`
	Methods []Row    `yaml:"-"`

	Profile  string   `yaml:"-"`
	Profiles []string `yaml:"-"` // all of the file, in its order
	File     string   `yaml:"-"`
}

// Network says which network is trained, or read.
type Network struct {
	Form       string `yaml:"form" json:"form"`                          // a name of the registry of networks
	Hidden     []int  `yaml:"hidden" json:"hidden" min:"1" empty:"true"` // widths of the hidden layers, where the form has them
	Activation string `yaml:"activation" json:"activation"`
	Dtype      string `yaml:"dtype" json:"dtype" choice:"float32 float64"`
	// Normalize names the constants of images that the weights were made with, Shortcut
	// the way around a block of a residual network; absent: those of the paper's networks.
	Normalize string `yaml:"normalize" json:"normalize,omitempty" choice:"chenyaofo akamaster"`
	Shortcut  string `yaml:"shortcut" json:"shortcut,omitempty" choice:"projection zero-pad"`
	// Weights is a file; what it holds replaces the training. An asterisk in it stands
	// for the name of the data set, NET for the form. A file below the data folder's parent need not exist:
	// then the network is trained.
	Weights string `yaml:"weights" json:"-"`
}

// Training says how the network comes to its maximum a posteriori (MAP) weights.
type Training struct {
	Iterations  int     `yaml:"iterations" json:"iterations" min:"1"`
	Batch       int     `yaml:"batch" json:"batch" min:"1"`
	Rate        float64 `yaml:"rate" json:"rate" above:"0"`
	WeightDecay float64 `yaml:"weight-decay" json:"weight_decay" min:"0"`
	Schedule    string  `yaml:"schedule" json:"schedule" choice:"constant cosine"` // of the rate
	// Optimizer is Adam where absent; SGD has the momentum given.
	Optimizer string  `yaml:"optimizer" json:"optimizer,omitempty" choice:"adam sgd"`
	Momentum  float64 `yaml:"momentum" json:"momentum,omitempty" min:"0" below:"1"`
	// Augment moves and mirrors the training images at random, where there are some.
	Augment bool `yaml:"augment" json:"augment,omitempty"`
	// Validation is the fraction of the training rows held out, where the data set has
	// no validation rows of its own; of CIFAR-10's the fraction that is used. MAP and
	// methods share it.
	Validation float64 `yaml:"validation" json:"validation" min:"0" below:"1"`
	// Every is the number of iterations between two validations, of which the best
	// state is kept; 0: the last state is kept.
	Every int `yaml:"validate-every" json:"validate_every" min:"0"`
	// Seed of the network, the same for all cells; absent: that of each cell.
	Seed *uint64 `yaml:"seed" json:"seed"`
}

// Scoring says what is measured besides the usual.
type Scoring struct {
	MonteCarlo int `yaml:"monte-carlo" json:"monte_carlo" min:"0"` // samples for class probabilities; 0: probit only
	// Rotations is how many test images are scored turned by each angle, first seed.
	Rotations int `yaml:"rotations" json:"rotations,omitempty" min:"0"`
	// Corruptions is how many test images are scored under each corruption, first seed.
	Corruptions int `yaml:"corruptions" json:"corruptions,omitempty" min:"0"`
}

// Row is one method with its settings.
type Row struct {
	Method   string
	Label    string   // of the row in tables; "": the method makes one
	Data     []string // the data sets it is for; nil: all
	Settings any      // a pointer, from the Settings function
}

// common are the keys of a row that are not the method's settings.
type common struct {
	Method string   `yaml:"method"`
	Label  string   `yaml:"label"`
	Data   []string `yaml:"data"`
}
