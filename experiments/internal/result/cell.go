package result

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ID identifies a cell.
type ID struct {
	Data     string `json:"data"`               // the data set, with the network's form where the form is no perceptron
	Method   string `json:"method"`             // a method of the experiments
	Row      string `json:"row"`                // the name of its row in a table
	Inducing int    `json:"inducing,omitempty"` // number of inducing points; 0 where the method has none
	Seed     uint64 `json:"seed"`               // of the fit, and of the split where it is random
	Hash     string `json:"hash"`               // of the settings
}

// Same reports whether two cells stand in the same place of a table.
func (id ID) Same(o ID) bool {
	id.Hash, o.Hash = "", ""
	return id == o
}

// Name returns the name of the cell's file without its extension.
func (id ID) Name() string {
	name := id.Data + "-" + Slug(id.Row)
	if id.Inducing > 0 {
		name += fmt.Sprintf("-m%d", id.Inducing)
	}
	return fmt.Sprintf("%s-seed%d-%s", name, id.Seed, id.Hash)
}

// Slug returns a text as a part of a file name: its lower-case letters and digits, with hyphens between the words.
func Slug(s string) string {
	fields := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	return strings.Join(fields, "-")
}

// Hash returns a short hash of the JSON of settings.
func Hash(settings ...any) (string, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("result: settings: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6]), nil
}

// Number is a float64 that goes through JSON also if it is not finite.
type Number float64

// MarshalJSON writes NaN and the infinities as text.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil {
		return fmt.Errorf("result: expected a number, found %.40s", text)
	}
	*n = Number(v)
	return nil
}

// Scores are metrics by name, such as NLL.
type Scores map[string]Number

// Cell is one finished cell.
type Cell struct {
	Experiment string `json:"experiment"` // the experiment's name
	Profile    string `json:"profile"`    // the profile under which the cell was computed
	ID
	Settings json.RawMessage `json:"settings,omitempty"` // see Setup

	// Refused is the reason why the cell has no scores: the memory that the method needs.
	Refused string `json:"refused,omitempty"`
	// HyperRefused is the reason why another method, whose hyper-parameters the method was to
	// take, was refused; the cell has the method's own.
	HyperRefused string `json:"hyper_refused,omitempty"`
	// Limit is the memory in bytes that was allowed when a method was refused; 0 means the
	// default of the method. It is Busy where not the limit but the machine refused.
	Limit int64 `json:"limit,omitempty"`

	// Scores holds the scores on the test rows by kind. Class probabilities are of the kinds
	// probit and mc, or of the kind own; regression has the one kind "".
	Scores map[string]Scores `json:"scores,omitempty"`
	N      int               `json:"n,omitempty"` // test rows
	Facts  Facts             `json:"facts"`       // what the fit found
	Curves Curves            `json:"curves"`      // the data of pictures

	Fit     Cost    `json:"fit"`     // for MAP, of the network's training
	Predict Cost    `json:"predict"` // and scoring
	Machine Machine `json:"machine"` // where the cell was computed

	key string // what Key found in the settings
}

// Repeats reports whether c has the place of another cell in its table: the row of the same name of the same data set under the
// same profile, and the same seed. The settings may differ.
func (c *Cell) Repeats(other *Cell) bool {
	return other != nil && c.Experiment == other.Experiment && c.Profile == other.Profile && c.Data == other.Data && c.Row == other.Row && c.Seed == other.Seed
}

// Busy is the limit of cells that were refused because the machine had too little memory left. No
// run has this limit, so that every run tries them again.
const Busy = -1

// Valid reports whether a run under the given limit of memory would give the cell again. A fit that
// was refused may succeed under another limit.
func (c *Cell) Valid(limit int64) bool {
	return c.Refused == "" && c.HyperRefused == "" || c.Limit == limit
}

// Facts are results of a fit beside its scores.
type Facts struct {
	PriorStd Number `json:"prior_std,omitempty"` // σ₀
	NoiseStd Number `json:"noise_std,omitempty"` // σ of the targets, in their units
	Steps    int    `json:"steps,omitempty"`     // made
	Best     int    `json:"best,omitempty"`      // steps before the state that was kept
	Stopped  string `json:"stopped,omitempty"`   // see train.Stopped
	Note     string `json:"note,omitempty"`      // such as the origin of the weights

	Found map[string]Number `json:"found,omitempty"` // what the method found besides, by name
}

// Point is one validation of a fit.
type Point struct {
	Step       int     `json:"step"`       // number of steps before the validation
	Seconds    float64 `json:"seconds"`    // since the fit began
	Loss       Number  `json:"loss"`       // mean since the point before
	Validation Number  `json:"validation"` // mean loss of the validation rows
}

// Curves are the data of pictures. Those that a cell lacks are nil.
type Curves struct {
	History   []Point   `json:"history,omitempty"`     // the validations of the fit
	Coverage  []float64 `json:"coverage,omitempty"`    // of central intervals of 0.1, 0.2 … 0.9
	Band      *Band     `json:"band,omitempty"`        // for one input alone
	Rotations []Turned  `json:"rotations,omitempty"`   // one for each angle
	Corrupted []Corrupt `json:"corrupted,omitempty"`   // one for each corruption and severity
	Reliable  []XY      `json:"reliability,omitempty"` // confidence and accuracy of 15 bins, probit or own
	Entropy   *Entropy  `json:"entropy,omitempty"`     // for images alone
}

// Band is a predictive distribution of y along a one-dimensional grid, in the data's units.
type Band struct {
	Grid   []float64 `json:"grid"`             // inputs, equally spaced
	Mean   []float64 `json:"mean"`             // predictive mean at each point of the grid
	Std    []float64 `json:"std"`              // of y
	Latent []float64 `json:"latent"`           // standard deviation of the function alone
	Before []float64 `json:"before,omitempty"` // inducing inputs before the fit
	After  []float64 `json:"after,omitempty"`  // inducing inputs after the fit
	X      []float64 `json:"x"`                // inputs of the training rows
	Y      []float64 `json:"y"`                // targets of the training rows
	HeldX  []float64 `json:"held_x,omitempty"` // inputs of the validation rows
	HeldY  []float64 `json:"held_y,omitempty"` // targets of the validation rows
}

// Check refuses a band whose parts differ in length.
func (b *Band) Check() error {
	n := len(b.Grid)
	if n == 0 || len(b.Mean) != n || len(b.Std) != n || len(b.Latent) != n {
		return fmt.Errorf("band of %d points with %d means and %d and %d standard deviations, expected as many", n, len(b.Mean), len(b.Std), len(b.Latent))
	}
	if len(b.X) != len(b.Y) || len(b.HeldX) != len(b.HeldY) {
		return fmt.Errorf("band with %d inputs of %d targets and %d of %d held out, expected as many", len(b.X), len(b.Y), len(b.HeldX), len(b.HeldY))
	}
	return nil
}

// StdError is the mean absolute difference of two bands' latent standard deviations along
// their grid, as a fraction of the first one's mean.
func StdError(exact, approx *Band) float64 {
	diff, sum := 0.0, 0.0
	for i := range min(len(exact.Latent), len(approx.Latent)) {
		diff += math.Abs(exact.Latent[i] - approx.Latent[i])
		sum += exact.Latent[i]
	}
	return diff / sum
}

// Changed holds the scores on changed test images, of probit probabilities.
type Changed struct {
	ACC Number `json:"acc"` // accuracy
	NLL Number `json:"nll"` // negative log-likelihood, in nats
	ECE Number `json:"ece"` // expected calibration error
}

// Turned holds the scores on test images that are turned by an angle.
type Turned struct {
	Degrees float64 `json:"degrees"` // the angle
	Changed
}

// Corrupt holds the scores on test images under one corruption of one severity.
type Corrupt struct {
	Name  string `json:"name"`  // of the corruption
	Level int    `json:"level"` // 1 to 5
	Changed
}

// XY is a point of a plot.
type XY struct {
	X float64 `json:"x"` // horizontal
	Y float64 `json:"y"` // vertical
}

// Entropy holds histograms of the predictive entropy in nats, of probit or own probabilities. The
// bins are equal and divide the range from 0 to Max; their heights are densities.
type Entropy struct {
	Max float64   `json:"max"`           // end of the last bin, in nats
	In  []float64 `json:"in"`            // densities for the test images
	Out []float64 `json:"out,omitempty"` // densities for images out of distribution; nil where there are none
}

// Cost is the time and the memory of a piece of work. Interrupted parts are added up.
type Cost struct {
	Wall  float64 `json:"wall_s"`     // seconds of the clock
	CPU   float64 `json:"cpu_s"`      // of all threads, user and system
	Peak  int64   `json:"peak_bytes"` // most memory in bytes
	Runs  int     `json:"runs"`       // 1, and 1 more for each interruption
	Cores int     `json:"cores"`      // number of threads of Go

	Needed Operations `json:"needed,omitzero"` // what the work needs at least; zero where that is not known
}

// MadeNote is the note of cells whose rows were made in place of a data set that is not there.
const MadeNote = "made rows"

// Operations are floating-point operations of products, by the type of their numbers.
type Operations struct {
	Double float64 `json:"float64,omitempty"` // of float64
	Single float64 `json:"float32,omitempty"` // of float32
}

// Add returns the cost of both pieces of work.
func (c Cost) Add(o Cost) Cost {
	return Cost{c.Wall + o.Wall, c.CPU + o.CPU, max(c.Peak, o.Peak), c.Runs + o.Runs, max(c.Cores, o.Cores),
		Operations{c.Needed.Double + o.Needed.Double, c.Needed.Single + o.Needed.Single}}
}

// Machine describes the machine and the program that computed a cell.
type Machine struct {
	Program  string    `json:"program"`  // the program's version
	Go       string    `json:"go"`       // version of Go
	Platform string    `json:"platform"` // operating system and architecture
	CPU      string    `json:"cpu"`      // name of the processor
	Cores    int       `json:"cores"`    // number of threads of Go
	Memory   string    `json:"memory"`   // how peaks are measured
	Finished time.Time `json:"finished"` // when the cell was finished, in UTC
}
