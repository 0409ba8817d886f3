package task

import (
	"context"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Outputs describe what a network's C outputs mean: [*Regression] or [*Classification]. The methods of [Task]
// use them.
type Outputs interface {
	kind() string                                                   // see Task.Kind
	size() int                                                      // C
	targets() []string                                              // see Task.Targets
	labels() []string                                               // see Task.Predicted
	check() error                                                   // what is wrong with the fields
	likelihood() likelihood.Likelihood                              // see Task.Likelihood
	loss() train.Loss                                               // see Task.Loss
	heldLoss(y, f []float64) float64                                // the same loss of one example
	encode(y *tensor.Dense, dt tensor.Dtype) (*tensor.Dense, error) // targets [N,T] of the data as targets [N,C] of the network
	takes(y *tensor.Dense) error                                    // see Task.CheckSet
	decode(y *tensor.Dense) *tensor.Dense                           // see Task.Decode
	fill(ctx context.Context, g gp.Gaussian, by Observation, o PredictOptions, p *Prediction) error
	nlls(p *Prediction, y *tensor.Dense) ([]float64, error) // see Task.NLLs
	scorer() Scorer                                         // see Task.Scorer
}

// Kind returns what the outputs are: "regression", "classification", "counts", "labels" or "ordered classes".
func (t Task) Kind() string { return t.Outputs.kind() }

// Classifies reports whether the task is a classification.
func (t Task) Classifies() bool {
	_, ok := t.Outputs.(*Classification)
	return ok
}

// Gaussian reports whether the targets are numbers with Gaussian noise, whose residuals can have a law.
func (t Task) Gaussian() bool {
	r, ok := t.Outputs.(*Regression)
	return ok && r.Model == nil
}

// Size returns the number C of the network's outputs.
func (t Task) Size() int { return t.Outputs.size() }

// Targets returns the names of the T columns of targets.
func (t Task) Targets() []string { return t.Outputs.targets() }

// Predicted returns the names of the targets that predictions have: those of Targets but for the further columns of a
// target, such as its exposure.
func (t Task) Predicted() []string { return t.Outputs.labels() }

// Likelihood returns the observation model, which has the noise of the network alone.
func (t Task) Likelihood() likelihood.Likelihood { return t.Outputs.likelihood() }

// Loss returns the loss that the training of the network minimises, and a function that returns this loss for
// the targets y [C] and the outputs f [C] of one example.
func (t Task) Loss() (loss train.Loss, one func(y, f []float64) float64) {
	return t.Outputs.loss(), t.Outputs.heldLoss
}

// Decode converts targets [N,C] of the network to targets [N,T] in the units of the data.
func (t Task) Decode(y *tensor.Dense) *tensor.Dense { return t.Outputs.decode(y) }

// Observation says how the targets of a model scatter around the latent function, in the network's units.
type Observation struct {
	// NoiseVariance is the squared scale of the noise, see likelihood.LocationScale; 0 for models without noise.
	NoiseVariance float64
	// Likelihood is the observation model; nil means Gaussian noise with NoiseVariance, or classes.
	Likelihood likelihood.Likelihood
	// Laws are the laws of the residuals of each target [T], in place of the Gaussian; nil means none.
	Laws []law.Law
}

// Fill turns the distribution g of the latent function in the network's units into a prediction p in the units of
// the data. Fill uses the slices of p again where they are long enough.
func (t Task) Fill(ctx context.Context, g gp.Gaussian, by Observation, o PredictOptions, p *Prediction) error {
	return t.Outputs.fill(ctx, g, by, o, p)
}

// NLLs returns the negative log-likelihood of each row's targets y [N,T], in the units of the data. A row
// counts 1e6 at most, so that all values are finite.
func (t Task) NLLs(p *Prediction, y *tensor.Dense) ([]float64, error) { return t.Outputs.nlls(p, y) }

// Scorer returns a new [Scorer] without predictions. The scores depend on the kind of the targets: numbers have NLL,
// RMSE, CRPS and CQM, counts also the deviance; labels have NLL, Brier, ECE, AUC and AP; ordered classes have NLL, RPS,
// ACC and CQM; classes have ACC, NLL, ECE and Brier. With several targets, the NLL is the sum over the targets, which is
// the joint NLL if the targets are independent given the input, and each target has the other scores, such as "RMSE
// price". Targets that are known by bounds have those scores that do not need the number.
func (t Task) Scorer() Scorer { return t.Outputs.scorer() }

// Score compares a prediction with the targets y [N,T] in the units of the data.
func (t Task) Score(p *Prediction, y *tensor.Dense) (Scores, error) {
	s := t.Scorer()
	if err := s.Add(p, y); err != nil {
		return Scores{}, err
	}
	return s.Scores()
}

// Scorer computes the scores of predictions that it gets batch by batch.
type Scorer interface {
	// Add compares a prediction with the targets [N,T] in the units of the data.
	Add(p *Prediction, y *tensor.Dense) error
	// Scores returns the scores of all added predictions.
	Scores() (Scores, error)
}

// Link says how class probabilities are computed: from the Gaussian distribution of the logits, or by the
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
	Link    Link   // link of class probabilities; "" means Own where the posterior has it, and else Probit
	Samples int    // number of samples of the link MonteCarlo; 0 means gp.Samples
	Seed    uint64 // seed of the link MonteCarlo
	// First is the number of the first row in the whole set, of which the rows are a part. The samples of
	// MonteCarlo depend on the number of a row, and errors name this number.
	First int
	// OnRows, if not nil, is called from time to time with the number of finished rows, out of total. Where
	// the work takes several passes over the rows, as in Model.Calibrate, the rows of all passes count. A
	// Task, which sees one part of the rows at a time, does not call OnRows. A valla.Predictor, which
	// predicts for many callers at once, does not call OnRows either.
	OnRows func(done, total int)
	// Inputs are the inputs of the rows [N·D] in the units of the data. [valla.Model.Fill] needs them for a conformal calibration
	// by groups or with weights; the functions that predict set them themselves.
	Inputs []float64
	// Abstain is the rule that says which rows need a look, in place of the rule of the model; nil: the rule of the model.
	Abstain *calibrate.Abstain
}

// Prediction is the predictive distribution of the targets at N inputs, in the units of the data: a distribution
// for each of T targets of a regression, see [Prediction.Distribution], or the probabilities of C classes.
type Prediction struct {
	Targets []string // names of the targets [T]

	Mean     []float64 // means of the targets [N,T], for some transformed targets medians, see Medians; nil in classification
	Variance []float64 // variances of the targets [N,T]; +Inf where the distribution has none
	Latent   []float64 // variances of the latent function [N,T]; 0 without a posterior, never below 0
	// Epistemic [N,T] is the part of Variance that more data would take away, Aleatoric [N,T] is the rest.
	// Neither is below 0. For most methods these two parts are Latent and the fitted noise variance;
	// docs/uncertainty.md says for which methods they are not. For transformed targets all three have the shares that
	// they have in the variance of T(target).
	Epistemic, Aleatoric []float64

	Classes []float64 // values of the classes [C]; nil in regression
	Labels  []string  // texts of the classes [C]; nil for classes that are numbers
	Probs   []float64 // probabilities of the classes [N,C]
	Link    Link      // link that made Probs

	spread spreads // what Distribution needs beside the above

	// Conformal gives the bounds of Interval, or the sets of Sets, their guaranteed coverage; nil without a
	// conformal calibration.
	Conformal *calibrate.Conformal

	// Groups [N] are the groups of the rows, if Conformal has groups.
	Groups []int
	// Weights [N] are the weights of the rows, if Conformal has a shift.
	Weights []float64

	// Unfamiliar [N] is the share of the training rows whose epistemic variance is smaller; nil without a posterior, and
	// where the model does not know the variances of the training rows.
	Unfamiliar []float64
	// Abstain is the rule of [Prediction.Abstains]; nil: there is none.
	Abstain *calibrate.Abstain
}

// Scores are the scores of N predictions. The kinds of scores depend on the targets.
type Scores struct {
	N    int     // number of predictions
	List []Score // main scores by name
	More []Score // further scores by name: coverages, interval scores and pinball losses, each with the level in percent
	// Coverage is the share of one target's values inside the central intervals of the probabilities 0.1,
	// 0.2 … 0.9; nil in classification and for several targets.
	Coverage []float64
	// PIT has for each target [T] the histogram of the CDF at the target in ten bins, as shares of the rows, all equal
	// if the predictions are right; nil in classification.
	PIT [][]float64

	targets []string // names of the targets of PIT
}

// Score is a score with its name.
type Score struct {
	Name          string  // such as NLL; with several targets also the name of the target, such as "RMSE price"
	Value         float64 // mean over the predictions, or a score of all predictions together
	StandardError float64 // of Value; NaN where it is not known
	Larger        bool    // larger is better
	Help          string  // what the score is, in a sentence
}

// Get returns the score with a name, and whether there is such a score.
func (s Scores) Get(name string) (float64, bool) {
	for _, v := range slices.Concat(s.List, s.More) {
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
