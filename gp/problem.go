package gp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// ErrProblem is wrapped by errors about problems that cannot be fitted as they are.
var ErrProblem = errors.New("bad problem")

// Problem is what a method is fitted to: a trained network, whose weights stay as they
// are, the observation model, and examples.
type Problem struct {
	Net layers.Network
	// Likelihood says how targets scatter around the latent function. The noise variance
	// of a Gaussian one is that beside the network alone, the mean squared residual.
	// Methods do not change it.
	Likelihood likelihood.Likelihood
	Train      Examples
	Validation *Examples // held out; nil where there are none
}

// Examples are inputs X [N,…] and targets Y [N,C] as the network takes them, both of its
// element type. Classes are one-hot rows.
type Examples struct{ X, Y *tensor.Dense }

// N returns the number of examples.
func (e Examples) N() int { return e.X.Shape()[0] }

// Rows returns the examples with the given numbers, as a copy.
func (e Examples) Rows(rows []int) Examples {
	return Examples{data.TakeRows(e.X, rows), data.TakeRows(e.Y, rows)}
}

// Labels returns the class of each example, the largest target of its row.
func (e Examples) Labels() []int {
	c := e.Y.Shape()[1]
	var out []int
	for row := range slices.Chunk(graph.Floats(e.Y), c) {
		out = append(out, slices.Index(row, slices.Max(row)))
	}
	return out
}

// Dtype returns the element type of the network, the examples and the posterior.
func (p Problem) Dtype() tensor.Dtype { return p.Train.X.Dtype() }

// Outputs returns C.
func (p Problem) Outputs() int { return p.Train.Y.Shape()[1] }

// Check returns an error that wraps ErrProblem where a part is missing, the parts do not fit
// together, or numbers are not finite. The targets of a Softmax likelihood must be one-hot.
func (p Problem) Check() error {
	if p.Net == nil || p.Likelihood == nil || p.Train.X == nil || p.Train.Y == nil {
		return fmt.Errorf("%w: expected a network, a likelihood and training examples", ErrProblem)
	}
	for _, w := range p.Net.Params() {
		if dt := w.Value.Dtype(); dt != p.Dtype() {
			return fmt.Errorf("%w: training inputs are %v, expected %v as the network's %s", ErrProblem, p.Dtype(), dt, w.Name)
		}
	}
	if err := p.check(p.Train); err != nil {
		return fmt.Errorf("%w: training examples: %w", ErrProblem, err)
	}
	if p.Validation == nil {
		return nil
	}
	if err := p.check(*p.Validation); err != nil {
		return fmt.Errorf("%w: validation examples: %w", ErrProblem, err)
	}
	return nil
}

// check compares examples with those of training, and looks at their numbers.
func (p Problem) check(e Examples) error {
	x, y, dt := e.X, e.Y, p.Dtype()
	switch {
	case x == nil || y == nil:
		return errors.New("inputs or targets are nil")
	case dt != tensor.Float32 && dt != tensor.Float64 || x.Dtype() != dt || y.Dtype() != dt:
		return fmt.Errorf("inputs are %v and targets %v, expected float32 or float64 for all examples", x.Dtype(), y.Dtype())
	case x.Dims() < 2 || y.Dims() != 2 || x.Shape()[0] < 1 || x.Shape()[0] != y.Shape()[0] || y.Shape()[1] != p.Train.Y.Shape()[1]:
		return fmt.Errorf("inputs of shape %v with targets of shape %v, expected [N,…] and [N,C], N ≥ 1", x.Shape(), y.Shape())
	case !slices.Equal(x.Shape()[1:], p.Train.X.Shape()[1:]):
		return fmt.Errorf("inputs of shape %v, expected [N,…] like those of training, %v", x.Shape(), p.Train.X.Shape())
	}
	if i := notFinite(x); i >= 0 {
		return fmt.Errorf("the inputs of example %d are not finite", i)
	}
	if i := notFinite(y); i >= 0 {
		return fmt.Errorf("the targets of example %d are not finite", i)
	}
	if _, classes := p.Likelihood.(likelihood.Softmax); classes {
		return checkOneHot(y)
	}
	return nil
}

// notFinite returns the first row of t [N,…] that has a number which is not finite, or −1.
func notFinite(t *tensor.Dense) int {
	i := -1
	if t.Dtype() == tensor.Float64 {
		i = slices.IndexFunc(t.Float64s(), func(v float64) bool { return v-v != 0 })
	} else {
		i = slices.IndexFunc(t.Float32s(), func(v float32) bool { return v-v != 0 })
	}
	if i < 0 {
		return i
	}
	return i / (t.Shape().TotalSize() / t.Shape()[0])
}

// checkOneHot refuses targets [N,C] of which a row is not a 1 among zeros.
func checkOneHot(y *tensor.Dense) error {
	c := y.Shape()[1]
	if c < 2 {
		return fmt.Errorf("targets of shape %v, expected at least two classes", y.Shape())
	}
	v := graph.Floats(y)
	for i := range y.Shape()[0] {
		if row := v[i*c : (i+1)*c]; slices.Max(row) != 1 || slices.Min(row) != 0 || kernel.Sum(row) != 1 {
			return fmt.Errorf("the targets of example %d are %v, expected one 1 among zeros", i, row)
		}
	}
	return nil
}

// Run says how a fit is to go about its work. What it finds does not depend on it, but
// for the seed.
type Run struct {
	Seed   uint64 // of everything random
	Memory int64  // bytes that the fit may need beside the data; 0 means the method's default

	// Checkpoint is a file from which an interrupted fit goes on where Resume is set and
	// the problem and the settings are the same; "" means none. Methods that make one
	// pass over the data write none.
	Checkpoint string
	Resume     bool

	OnProgress func(train.Progress) // is called after each step or batch; nil means not
}

// Fitted is what a fit returns.
type Fitted struct {
	Posterior Stored
	// NoiseVariance is that of the targets around the latent function; 0 with classes.
	NoiseVariance float64
	Record        Record
}

// Record says how a fit went, for people to read and for reports.
type Record struct {
	Rows           int            `json:"rows"`                 // that the posterior was fitted to
	ValidationRows int            `json:"validation_rows"`      // held out
	Settings       map[string]any `json:"settings,omitempty"`   // as completed, see Settings
	Groups         []string       `json:"groups,omitempty"`     // of weights with a prior of their own; nil: one for all
	PriorStds      []float64      `json:"prior_stds,omitempty"` // σ₀ of each group
	Facts          []Fact         `json:"facts,omitempty"`      // in the method's own words
	Notes          []string       `json:"notes,omitempty"`      // what the user should know, a sentence each

	Result *train.Result `json:"result,omitempty"` // of a fit in steps; nil for a pass over the data
}

// Fact is a number that a fit found, with its name.
type Fact struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Stored is a posterior that a file can hold.
type Stored interface {
	Posterior
	// String names the posterior as in a table of scores, such as "VaLLA 100".
	String() string
	// State takes the posterior apart. Its method's Restore puts it together again.
	State() (State, error)
}

// State is, beside the network, all of a posterior.
type State struct {
	Header any // a struct that JSON can hold
	Arrays []Array
}

// Array is an array of a State, float32 or float64.
type Array struct {
	Name  string
	Value *tensor.Dense
}

// Saved gives Restore what State returned, as read from a file.
type Saved interface {
	// Header decodes the header into the struct that v points to. An unknown key is an
	// error.
	Header(v any) error
	// Array returns the array of a name, which holds finite numbers of the given element
	// type and shape; everything else is an error. Nothing is allocated for a shape that
	// the file does not have.
	Array(name string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error)
}

// Settings are the settings of a method: a pointer to a struct whose fields have the tags
// set, default or auto, min, max, above, below, choice and help, from which flags, files,
// checks and documentation are made. The zero value of a field means its default.
type Settings interface {
	// Label names the posterior to be, as Stored's String does.
	Label() string
	// Fit fits the method. Where ctx ends early, a method that has a best state so far
	// returns it with an error that wraps ctx's; on every other error Fitted is nil. A
	// problem that needs more memory than it may have is a *graph.MemoryError.
	Fit(ctx context.Context, p Problem, r Run) (*Fitted, error)
}

// Method is one post-hoc method: what the table of methods says of it.
type Method struct {
	Name    string // on the command line and in files
	Title   string // in text
	Summary string // a sentence
	Formula string // of the posterior covariance
	Cost    string // time and memory of fit and prediction, a sentence
	Use     string // when to choose it, a sentence
	Source  string // the publication

	New     func() Settings // with zero values
	Restore func(ctx context.Context, net layers.Network, l likelihood.Likelihood, s Saved) (Stored, error)
}
