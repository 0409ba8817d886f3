package spec

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// Experiment is an experiment under one of its profiles.
type Experiment struct {
	Name  string   `set:"name"`
	About string   `set:"about"`
	Data  []string `set:"data"`  // names of data sets
	Seeds []uint64 `set:"seeds"` // one cell of each row and data set for each; 0 alone where absent

	Network Network
	MAP     Training
	Scoring Scoring
	Methods []Row

	Profile  string
	Profiles []string // all of the file, in its order
	File     string
}

// Network says which network is trained, or read.
type Network struct {
	valla.Network
	// Weights is a file; what it holds replaces the training. An asterisk in it stands for
	// the name of the data set, NET for the form. A file below the data folder's parent
	// need not exist: then the network is trained.
	Weights string `set:"weights"`
}

// Training says how the network comes to its MAP weights. Its validation rows are shared by
// the methods.
type Training struct {
	valla.Training
	Seed *uint64 `set:"seed"` // of the network, the same for all cells; absent: that of each cell
}

// Scoring says what is measured besides the usual.
type Scoring struct {
	MonteCarlo  int `set:"monte-carlo" min:"0"` // samples for class probabilities; 0: probit only
	Rotations   int `set:"rotations" min:"0"`   // test images scored turned by each angle, first seed
	Corruptions int `set:"corruptions" min:"0"` // test images scored under each corruption, first seed
}

// MAP is the name of the row that is the network as it is.
const MAP = "map"

// Row is one method with its settings: several rows of a table where a setting has several
// values.
type Row struct {
	Method string   `set:"method"`
	Label  string   `set:"label"` // of the row in tables, {} standing for the number of inducing points; "": the method's own
	Data   []string `set:"data"`  // the data sets it is for; nil: all
	// HyperFrom names a method, fitted with its default settings and the marginal likelihood, whose prior std and noise
	// std this one takes; "" for none.
	HyperFrom string `set:"hyper-from"`

	Settings []Setting // of the method
}

// Setting is a setting of a method with the values that rows have.
type Setting struct {
	Name   string
	Values []string
}

// Variant is one row of a table.
type Variant struct {
	Settings gp.Settings // nil for MAP
	Label    string
	Inducing int // number of inducing points; 0 where there are none
}

// Methods lists the methods that a row can have.
func Methods() []string { return append([]string{MAP}, method.Names()...) }

// Has says whether the row's method has a setting.
func (r Row) Has(name string) bool {
	how, err := method.Lookup(r.Method)
	return err == nil && settings.Lookup(how.New(), name) != nil
}

// Set gives a setting other values.
func (r *Row) Set(name string, values ...string) {
	i := slices.IndexFunc(r.Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		r.Settings = append(r.Settings, Setting{name, values})
		return
	}
	r.Settings = slices.Clone(r.Settings)
	r.Settings[i].Values = values
}

// Variants returns the rows of the table: one for each combination of values, those of the
// last setting changing first.
func (r Row) Variants() ([]Variant, error) {
	if r.Method == MAP {
		return []Variant{{Label: r.label("MAP", 0)}}, nil
	}
	how, err := method.Lookup(r.Method)
	if err != nil {
		return nil, err
	}
	var out []Variant
	return out, r.combine(how, nil, func(s gp.Settings) {
		inducing := 0
		if f := settings.Lookup(s, "inducing"); f != nil {
			if _, err := fmt.Sscan(f.Text(), &inducing); err != nil {
				_, _ = fmt.Sscan(f.Default, &inducing)
			}
		}
		out = append(out, Variant{s, r.label(s.Label(), inducing), inducing})
	})
}

// combine calls with for each combination of values, of which the first are chosen.
func (r Row) combine(how gp.Method, chosen []string, with func(gp.Settings)) error {
	if len(chosen) < len(r.Settings) {
		for _, v := range r.Settings[len(chosen)].Values {
			if err := r.combine(how, append(chosen, v), with); err != nil {
				return err
			}
		}
		return nil
	}
	s := how.New()
	for i, v := range chosen {
		if err := settings.Lookup(s, r.Settings[i].Name).Set(v); err != nil {
			return settings.Errorf("%s: %w", r.Settings[i].Name, err)
		}
	}
	with(s)
	return nil
}
