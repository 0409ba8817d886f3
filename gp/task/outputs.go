package task

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Outputs describe what a network's C outputs mean: [Regression] or [Classification].
type Outputs interface {
	// Kind is "regression" or "classification".
	Kind() string
	// Size is C.
	Size() int
	// Targets names the columns of the targets.
	Targets() []string
	// Check returns what is wrong with the parts.
	Check() error

	// Likelihood says how targets scatter around the network, its noise included.
	Likelihood() likelihood.Likelihood
	// Loss is the loss that the training of the network minimises.
	Loss() train.Loss
	// HeldLoss is Loss of one example, targets y [C] and outputs f [C], as numbers.
	HeldLoss(y, f []float64) float64
	// Encode converts targets [N,T] in the units of the data to the targets [N,C] of the
	// network, in the element type dt.
	Encode(y *tensor.Dense, dt tensor.Dtype) (*tensor.Dense, error)
	// Decode is the inverse of Encode: it returns targets [N,T] in the units of the data.
	Decode(y *tensor.Dense) *tensor.Dense
	// Fill turns the distribution of the latent function and the noise variance, both in the
	// network's units, into a prediction p in the units of the data. The slices of p are used
	// again where they are long enough.
	Fill(ctx context.Context, g gp.Gaussian, noiseVariance float64, o PredictOptions, p *Prediction) error
	// NLLs returns the negative log-likelihood of each row's targets [N,T], in the units
	// of the data, a finite number: a row counts 1e6 at most.
	NLLs(p *Prediction, y *tensor.Dense) ([]float64, error)
	// Score compares a prediction with the targets [N,T] in the units of the data.
	Score(p *Prediction, y *tensor.Dense) (Scores, error)
	// Scorer returns a new one, which does this batch by batch.
	Scorer() Scorer
}

// Scorer gathers the scores of predictions, batch by batch.
type Scorer interface {
	// Add compares a prediction with the targets [N,T] in the units of the data.
	Add(p *Prediction, y *tensor.Dense) error
	// Scores returns the scores of all that was added.
	Scores() (Scores, error)
}

// scored is Score by a scorer.
func scored(o Outputs, p *Prediction, y *tensor.Dense) (Scores, error) {
	s := o.Scorer()
	if err := s.Add(p, y); err != nil {
		return Scores{}, err
	}
	return s.Scores()
}

// Link says how class probabilities are computed: from the Gaussian of the logits, or by the
// posterior itself.
type Link string

// The links.
const (
	Probit     Link = "probit" // gp.ProbitProbs; the default, unless the posterior has Own
	MonteCarlo Link = "mc"     // the mean of softmax over samples, gp.MonteCarloProbs
	Bridge     Link = "bridge" // the Laplace bridge, gp.Bridge
	Own        Link = "own"    // gp.Gaussian.Probs, which only some posteriors have
)

// PredictOptions say how predictions are made. The zero value is ready to use.
type PredictOptions struct {
	Link    Link   // of classes; "" means Own where the posterior has it, and else Probit
	Samples int    // of MonteCarlo; 0 means gp.Samples
	Seed    uint64 // of MonteCarlo
	// First is the number of the first row in the whole set, of which it is a part. The samples
	// of MonteCarlo and the numbers in errors count from there.
	First int
	// OnRows, if not nil, is called from time to time with the number of rows that are done, out of
	// total. Where work takes several passes over the rows, as Model.Calibrate does, those of all
	// passes are counted. Outputs, which see one part at a time, do not call it, nor does a
	// valla.Predictor, which predicts for many callers at once.
	OnRows func(done, total int)
}

// Prediction is the predictive distribution of the targets at N inputs, in the units of
// the data: a Gaussian for each of T numbers, or the probabilities of C classes.
type Prediction struct {
	Targets []string // T names

	Mean     []float64 // [N,T]; nil for classes
	Variance []float64 // [N,T] of the targets: that of the latent function plus the noise
	Latent   []float64 // [N,T] of the latent function; 0 without a posterior, never below 0
	// Epistemic is the part of Variance that more data would take away, Aleatoric the rest,
	// that of the noise, [N,T] each, none below 0. Latent and the fitted noise variance are
	// these two parts for most methods; docs/uncertainty.md says for which they are not.
	Epistemic, Aleatoric []float64

	Classes []float64 // C; nil for numbers
	Labels  []string  // C, of classes that are text; nil for others
	Probs   []float64 // [N,C]
	Link    Link      // that made Probs

	// Conformal makes the bounds of Interval, and the sets of Sets, ones of guaranteed
	// coverage; nil where the model was not calibrated so.
	Conformal *calibrate.Conformal
}

// Scores are those of N predictions. Which there are depends on the task.
type Scores struct {
	N    int
	List []Score
	// Coverage is the share of one target's values that lie inside the central intervals
	// of probability 0.1, 0.2 … 0.9; nil for classes and for several targets.
	Coverage []float64
}

// Score is one of Scores.
type Score struct {
	Name  string // NLL, RMSE, CRPS, CQM; ACC, NLL, ECE, Brier
	Value float64
}

// Get returns the score of a name, and whether there is one.
func (s Scores) Get(name string) (float64, bool) {
	for _, v := range s.List {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

// NLL returns the mean negative log-likelihood, which every task has.
func (s Scores) NLL() float64 {
	v, _ := s.Get("NLL")
	return v
}
