package gp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// ErrProblem is wrapped by errors about a problem that no method can be fitted to.
var ErrProblem = errors.New("bad problem")

// Problem is the input of a fit: a trained network, with weights that the fit does not change,
// the observation model, and examples.
type Problem struct {
	Net layers.Network // trained; a fit does not change it
	// Likelihood says how targets scatter around the latent function. The parameters of the
	// likelihood, such as the noise variance, suit the network alone. Methods do not change
	// Likelihood; the parameters that they find are in Fitted.
	Likelihood likelihood.Likelihood
	// KnownNoise says that the noise variance of Likelihood is that on rows that the network
	// has not seen, see gp/unseen: a fit that would learn it from residuals keeps it.
	KnownNoise bool
	// Tempered says that the network has not seen the rows of Validation, and that they may choose a temperature of the
	// logits of classes, too: a fit that compares prior standard deviations compares each at its best temperature, see calibrate.Cautious.
	Tempered   bool
	Train      Examples  // the training rows
	More       int       // number of further rows: Train is a random sample of these and its own, see All
	Validation *Examples // held out; nil where there are none
	// Augmented gives the inputs of Train moved and mirrored at random, otherwise in each
	// iteration, for methods that train the network; nil where they are no images of bytes.
	Augmented train.Source
}

// ForwardFlops returns how many floating-point operations the network takes for one example: what a
// pass back through the network, a Jacobian and a prediction cost is in proportion to it.
func ForwardFlops(p Problem) (int, error) {
	cost, err := ForwardCost(p)
	return int(cost.Each.Products + cost.Each.Elements), err
}

// ForwardCost returns the cost of the network's outputs at one example.
func ForwardCost(p Problem) (graph.Cost, error) {
	b := graph.NewBuilder(p.Dtype())
	x := b.Input("x", append([]int{1}, p.Train.X.Shape()[1:]...)...)
	out := p.Net.Forward(b, x)
	if err := b.Err(); err != nil {
		return graph.Cost{}, err
	}
	return graph.CostOf(b, []*graph.Node{out}, graph.Options{Varying: []*graph.Node{x}})
}

// Examples are inputs X [N,…] and targets Y [N,W·C] in the network's units and element type, where W is
// the width of the likelihood, which is mostly 1. In classification each row of Y is 1 at the class and
// 0 elsewhere (one-hot).
type Examples struct{ X, Y *tensor.Dense }

// N returns the number of examples.
func (e Examples) N() int { return e.X.Shape()[0] }

// Rows returns the examples with the given numbers, as a copy.
func (e Examples) Rows(rows []int) Examples {
	return Examples{data.TakeRows(e.X, rows), data.TakeRows(e.Y, rows)}
}

// Sample returns at most the given number of examples, drawn without repetition, or all examples in their order, as [SampleRows] does.
func (e Examples) Sample(most int, rng *rand.Rand) Examples {
	return e.Rows(sampleRows(e.N(), most, rng))
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

// All returns the number of rows of which Train is a random sample, its own with them. A fit by mini-batches has all of them in its
// objective: a mini-batch of the sample is a mini-batch of all rows, as long as the fit takes no more rows than the sample has.
func (p Problem) All() int { return p.Train.N() + p.More }

// Held returns the number of rows held out.
func (p Problem) Held() int {
	if p.Validation == nil {
		return 0
	}
	return p.Validation.N()
}

// Outputs returns C, the number of outputs of the network.
func (p Problem) Outputs() int { return p.Train.Y.Shape()[1] / p.Likelihood.Width() }

// Check returns an error that wraps ErrProblem if a part is missing, if the parts do not fit
// together, if a number is not finite, or if a target is none of the likelihood.
func (p Problem) Check() error {
	if p.Net == nil || p.Likelihood == nil || p.Train.X == nil || p.Train.Y == nil {
		return fmt.Errorf("%w: expected a network, a likelihood and training examples", ErrProblem)
	}
	if p.More < 0 {
		return fmt.Errorf("%w: %d more rows than the training examples, expected 0 or more", ErrProblem, p.More)
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

// check compares the shapes and types of examples with the training examples, and
// checks their values.
func (p Problem) check(e Examples) error {
	if err := e.checkForm(); err != nil {
		return err
	}
	switch of := p.Train; {
	case e.X.Dtype() != of.X.Dtype():
		return fmt.Errorf("inputs are %v, expected %v like those of training", e.X.Dtype(), of.X.Dtype())
	case !slices.Equal(e.X.Shape()[1:], of.X.Shape()[1:]):
		return fmt.Errorf("inputs of shape %v, expected [N,…] like those of training, %v", e.X.Shape(), of.X.Shape())
	case e.Y.Shape()[1] != of.Y.Shape()[1]:
		return fmt.Errorf("inputs of shape %v with targets of shape %v, expected [N,C] like those of training, %v", e.X.Shape(), e.Y.Shape(), of.Y.Shape())
	}
	return e.checkValues(p.Likelihood)
}

// Check returns an error if the examples are not inputs [N,…] and targets [N,C] of one element
// type, float32 or float64, if a number is not finite, or if a target is none of the likelihood l.
func (e Examples) Check(l likelihood.Likelihood) error {
	if err := e.checkForm(); err != nil {
		return err
	}
	return e.checkValues(l)
}

// checkForm returns an error if the shapes or the element types do not fit together.
func (e Examples) checkForm() error {
	x, y := e.X, e.Y
	switch {
	case x == nil || y == nil:
		return errors.New("inputs or targets are nil")
	case x.Dtype() != tensor.Float32 && x.Dtype() != tensor.Float64 || y.Dtype() != x.Dtype():
		return fmt.Errorf("inputs are %v and targets %v, expected float32 or float64 for all examples", x.Dtype(), y.Dtype())
	case x.Dims() < 2 || y.Dims() != 2 || x.Shape()[0] < 1 || x.Shape()[0] != y.Shape()[0]:
		return fmt.Errorf("inputs of shape %v with targets of shape %v, expected [N,…] and [N,C], N ≥ 1", x.Shape(), y.Shape())
	}
	return cmp.Or(dense.CheckRows(x), dense.CheckRows(y))
}

// checkValues returns an error if a number is not finite, or if the targets of an example are none of l.
func (e Examples) checkValues(l likelihood.Likelihood) error {
	x, y := e.X, e.Y
	if i, _ := graph.FirstNonFinite(x); i >= 0 {
		return fmt.Errorf("the inputs of example %d are not finite", i/(x.Size()/x.Shape()[0]))
	}
	if i, _ := graph.FirstNonFinite(y); i >= 0 {
		return fmt.Errorf("the targets of example %d are not finite", i/y.Shape()[1])
	}
	width := y.Shape()[1]
	if width%l.Width() != 0 {
		return fmt.Errorf("targets of shape %v, expected a multiple of %d numbers in a row for the likelihood %v", y.Shape(), l.Width(), l)
	}
	v := graph.Floats(y)
	for i := range y.Shape()[0] {
		if err := l.Check(v[i*width : (i+1)*width]); err != nil {
			return fmt.Errorf("the targets of example %d are %w", i, err)
		}
	}
	return nil
}

// Run says how a fit does its work. Of its fields, only the seed changes the result.
type Run struct {
	Seed   uint64 // of everything random
	Memory int64  // bytes that the fit may need beside the data; 0 means 4 GiB, see Limit

	// Checkpoint is the path of a file that keeps the state of the fit; "" means none. An
	// interrupted fit goes on from there if Resume is set and the problem and the settings
	// are the same. Methods that make a single pass over the data write none.
	Checkpoint string
	Resume     bool // go on from Checkpoint

	OnProgress func(train.Progress) // if not nil, it is called after each step or batch
}

// Limit returns how many bytes a fit may need beside the data: Memory, or 4 GiB where Memory is 0.
func (r Run) Limit() int64 { return cmp.Or(r.Memory, 4<<30) }

// Tell returns a function that reports how much of a part of the work without a loss is done,
// counted in unit. It does nothing where nobody listens.
func (r Run) Tell(unit string) func(done, total int) {
	return func(done, total int) {
		if r.OnProgress != nil {
			r.OnProgress(train.Progress{Unit: unit, Done: done, Total: total, Loss: math.NaN(), Validation: math.NaN()})
		}
	}
}

// Part returns a run whose progress goes from one part of 1,000 of r to another, for a step of a longer fit.
func (r Run) Part(from, to int) Run {
	if report := r.OnProgress; report != nil {
		r.OnProgress = func(q train.Progress) {
			q.Done, q.Total, q.Unit = max(1, from+(to-from)*q.Done/max(1, q.Total)), 1000, "parts"
			report(q)
		}
	}
	return r
}

// Fitted is the result of a fit.
type Fitted struct {
	Posterior Stored // what was fitted
	// NoiseVariance is the squared scale of the targets around the latent function, see
	// likelihood.LocationScale: the noise variance of Gaussian noise. It is 0 for likelihoods without noise,
	// such as classes.
	NoiseVariance float64
	// Likelihood has the other parameters that the fit learned; nil means the likelihood of the problem.
	Likelihood likelihood.Likelihood
	Record     Record // how the fit went
}

// Record describes a fit, for people to read and for reports.
type Record struct {
	Rows           int            `json:"rows"`                 // the number of rows that the posterior was fitted to
	DrawnFrom      int            `json:"drawn_from,omitempty"` // the number of rows of which the rows of the fit are a random sample; 0 without a sample
	ValidationRows int            `json:"validation_rows"`      // the number of rows held out
	Untouched      bool           `json:"untouched,omitempty"`  // the fit has not looked at the rows held out
	Settings       map[string]any `json:"settings,omitempty"`   // the settings with their defaults filled in
	Groups         []string       `json:"groups,omitempty"`     // names of the groups of weights with a prior each; nil: one prior for all
	PriorStds      []float64      `json:"prior_stds,omitempty"` // the prior standard deviation σ₀ of each group
	Facts          []Fact         `json:"facts,omitempty"`      // numbers that the method adds
	Notes          []string       `json:"notes,omitempty"`      // sentences that the user should read

	Result *train.Result `json:"result,omitempty"` // the run of a fit in steps; nil for a fit in one pass
}

// Fact is a number that a fit found, with its name.
type Fact struct {
	Name  string  `json:"name"`  // of the number, for people
	Value float64 `json:"value"` // the number
}

// Stored is a posterior that a file can hold.
type Stored interface {
	Posterior
	// String names the posterior as in a table of scores, such as "VaLLA 100".
	String() string
	// State returns the posterior as data. Its method's Restore makes it a posterior again.
	State() (State, error)
}

// State holds all data of a posterior except the network.
type State struct {
	Header any     // a struct that JSON can hold
	Arrays []Array // what is not in Header
}

// Array is an array of a State, float32 or float64.
type Array = train.Array

// Saved gives Restore the parts of a State that was read from a file.
type Saved interface {
	// Header decodes the header into the struct that v points to. An unknown key is an
	// error.
	Header(v any) error
	// Array returns the array with the given name, element type and shape. Another type or
	// shape and numbers that are not finite are errors. Nothing is allocated for a shape
	// that the file does not have.
	Array(name string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error)
}

// Settings are the settings of a method: a pointer to a struct. Tags of its fields (set,
// default or auto, min, max, above, below, choice and help) describe them; flags, keys of
// files, checks and documentation are made from these tags. The zero value of a field means
// its default.
type Settings interface {
	// Label returns the name that the fitted posterior will have: the result of its String.
	Label() string
	// Fit fits the method to p. If ctx ends early and the method has a best state so far,
	// Fit returns that state with an error that wraps ctx's. With every other error Fitted
	// is nil. If the fit needs more memory than r allows, the error is a *graph.MemoryError.
	Fit(ctx context.Context, p Problem, r Run) (*Fitted, error)
}

// Method is one post-hoc method, as a row of the table of methods describes it.
type Method struct {
	Name    string // the name on the command line and in files
	Title   string // the name in text
	Summary string // a sentence
	Formula string // of the posterior covariance
	Symbols string // what the letters of the formula stand for, a sentence
	Cost    string // time and memory of fit and prediction, a sentence
	Use     string // when to choose it, a sentence
	Source  string // the publication
	Joint   bool   // its posteriors are [JointPosterior], so that they have samples of functions
	Batches bool   // its fits go by mini-batches, and their objective has all rows of which the training rows are a sample, see Problem.All

	New     func() Settings                                                                                 // returns settings with zero values
	Restore func(ctx context.Context, net layers.Network, l likelihood.Likelihood, s Saved) (Stored, error) // makes a posterior of what its State returned
}
