package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// Experiment is an experiment under one of its profiles.
type Experiment struct {
	Name  string   `set:"name"`  // lower-case letters, digits and hyphens
	About string   `set:"about"` // what the experiment shows
	Data  []string `set:"data"`  // names of data sets
	Seeds []uint64 `set:"seeds"` // each row has a cell for each seed and data set; the default is 0 alone

	Network Network  // the network of all methods
	MAP     Training // the training of the network
	Scoring Scoring  // what is scored beyond the usual
	Methods []Row    // the rows of the table

	// ShiftSeed is the seed whose cells also score shifted images: the first seed of the file,
	// whichever seeds are run.
	ShiftSeed uint64

	Profile  string   // the profile that was applied
	Profiles []string // all profiles of the file, in its order
	File     string   // the name of the file in errors
}

// FullProfile is the name of the only profile of a file that lists none. It changes nothing.
const FullProfile = "full"

// Network describes the network, which is trained or read from a file.
type Network struct {
	valla.Network
	// Weights is a file below the parent of the data folder. If it exists, the network is
	// read from it and is not trained. An asterisk in the name is replaced by the name of the
	// data set, and NET by the form of the network.
	Weights string `set:"weights"`
}

// Training describes how the network is trained. The methods use the same validation rows.
type Training struct {
	valla.Training
	Seed       *uint64 `set:"seed"`       // of the network of all cells; nil means the seed of each cell
	Likelihood string  `set:"likelihood"` // observation model of a regression; "" means Gaussian noise
}

// Scoring lists measurements beyond the usual scores.
type Scoring struct {
	MonteCarlo  int `set:"monte-carlo" min:"0"` // samples for class probabilities; 0 means that only probit is used
	Rotations   int `set:"rotations" min:"0"`   // test images that are scored turned by each angle, with the ShiftSeed
	Corruptions int `set:"corruptions" min:"0"` // test images that are scored under each corruption, with the ShiftSeed
}

// autoLaw is the name of the law that the held-out rows choose.
const autoLaw = "auto"

// MAP is the name of the method of a row without a posterior: the trained network alone.
const MAP = "map"

// Row is one method with its settings. It makes several rows of a table where a setting has
// several values.
type Row struct {
	Method string `set:"method"` // name of the method, or MAP
	// Label names the row in tables; {} in it is replaced by the number of inducing points.
	// The default is the label of the method.
	Label string   `set:"label"`
	Data  []string `set:"data"` // the data sets that have this row; nil means all
	// HyperFrom names a method that is fitted first, with its default settings and, where it
	// has one, the marginal likelihood. Its prior std and noise std become settings of this row. "" means none.
	HyperFrom string `set:"hyper-from"`
	// Law is the law of the residuals of a regression, see valla.FitOptions. "auto" means that the held-out rows
	// choose the law; "" means "gaussian", the model of the paper.
	Law string `set:"law" choice:"gaussian student-t mixture auto"`
	// Likelihood is the observation model that the fit learns in place of Gaussian noise, see valla.FitOptions; ""
	// means the observation model of the network.
	Likelihood string `set:"likelihood"`

	Settings []Setting // of the method
}

// Setting is a setting of a method. Each of its values makes a row of a table.
type Setting struct {
	Name   string   // as on the command line
	Values []string // texts as on the command line
}

// Variant is one row of a table.
type Variant struct {
	Settings gp.Settings // nil for MAP
	Label    string      // name of the row
	Inducing int         // number of inducing points; 0 where the method has none
}

// FitLaw returns the law of the row as valla.FitOptions name it.
func (r Row) FitLaw() string {
	switch r.Law {
	case "":
		return law.Gaussian
	case autoLaw:
		return ""
	}
	return r.Law
}

// Methods lists the methods that a row can have.
func Methods() []string { return append([]string{MAP}, method.Names()...) }

// Has reports whether the row's method has a setting.
func (r Row) Has(name string) bool {
	how, err := method.Lookup(r.Method)
	return err == nil && settings.Lookup(how.New(), name) != nil
}

// For reports whether the table of a data set has the row.
func (r Row) For(data string) bool { return r.Data == nil || slices.Contains(r.Data, data) }

// CheckLabels refuses an experiment in which two rows of one table have the same label.
func (e *Experiment) CheckLabels() error {
	for _, data := range e.Data {
		seen := map[string]bool{}
		for _, row := range e.Methods {
			if !row.For(data) {
				continue
			}
			variants, err := row.Variants()
			if err != nil {
				return err
			}
			for _, v := range variants {
				if seen[v.Label] {
					return &Error{File: e.File, Key: "methods", Expected: fmt.Sprintf("one row with the label %q in the table of %s", v.Label, data), Found: "two"}
				}
				seen[v.Label] = true
			}
		}
	}
	return nil
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

// maxVariants bounds the rows of a table that one Row makes: their number is a product.
const maxVariants = 10_000

// Variants returns the rows of the table: one for each combination of values. The values of
// the last setting change fastest. Where several rows would have the same label, each is
// followed by the values that distinguish it.
func (r Row) Variants() ([]Variant, error) {
	if r.Method == MAP {
		return []Variant{{Label: r.label("MAP", 0)}}, nil
	}
	how, err := method.Lookup(r.Method)
	if err != nil {
		return nil, err
	}
	rows := 1
	for _, s := range r.Settings {
		if rows *= len(s.Values); rows > maxVariants {
			return nil, settings.Errorf("the values of the settings make more than %d rows of a table", maxVariants)
		}
	}
	var out []Variant
	var values []string // of each variant, as they stand in a label
	count := map[string]int{}
	err = r.combine(how, nil, func(s gp.Settings, chosen []string) {
		inducing := inducingPoints(s)
		v := Variant{s, r.label(s.Label(), inducing), inducing}
		out, values = append(out, v), append(values, r.distinction(chosen))
		count[v.Label]++
	})
	for i := range out {
		if count[out[i].Label] > 1 {
			out[i].Label += values[i]
		}
	}
	return out, err
}

// usualInducing is the number of inducing points of rows that give none, unless a fit of them is costly.
const usualInducing = "100"

// inducingPoints returns the number of inducing points, 0 where the method has none.
func inducingPoints(s gp.Settings) int {
	f := settings.Lookup(s, "inducing")
	if f == nil {
		return 0
	}
	n, err := strconv.Atoi(cmp.Or(f.Text(), f.Default, usualInducing))
	if err != nil {
		return 0
	}
	return n
}

// distinction returns the chosen values of the settings that have several, as the end of a
// label.
func (r Row) distinction(chosen []string) string {
	text := ""
	for i, s := range r.Settings {
		if len(s.Values) > 1 {
			text += fmt.Sprintf(", %s %s", s.Name, chosen[i])
		}
	}
	return text
}

// label returns the row's label, or the method's own where the row has none.
func (r Row) label(own string, inducing int) string {
	if r.Label == "" {
		return own
	}
	return strings.Replace(r.Label, "{}", strconv.Itoa(inducing), 1)
}

// combine calls with for each combination of values that begins with the chosen ones.
func (r Row) combine(how gp.Method, chosen []string, with func(s gp.Settings, chosen []string)) error {
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
	with(s, chosen)
	return nil
}
