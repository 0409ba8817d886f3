package experiments

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// ImageScore is one row of a classification table: how one method, with one kind of
// class probabilities, predicts the test set.
type ImageScore struct {
	Dataset  string  `json:"dataset"`
	Method   string  `json:"method"`
	Probs    string  `json:"probs"` // probit or mc
	Inducing int     `json:"inducing,omitempty"`
	Seed     uint64  `json:"seed"`
	N        int     `json:"n"`
	ACC      float64 `json:"acc"` // a fraction
	NLL      float64 `json:"nll"`
	ECE      float64 `json:"ece"` // 15 bins
	Brier    float64 `json:"brier"`
	OODAUC   float64 `json:"ood_auc"`   // of the predictive entropy
	PriorStd float64 `json:"prior_std"` // learned σ₀; 0 for MAP
	// Steps is the number of training steps made, Best how many of them the kept
	// state had seen, Seconds the time they took.
	Steps   int     `json:"steps"`
	Best    int     `json:"best"`
	Seconds float64 `json:"seconds"`
}

// prediction holds class probabilities and their entropies for one set of images.
type prediction struct {
	probs     []float64 // [N,10]
	entropies []float64 // [N]
}

func newPrediction(probs *tensor.Dense) prediction {
	p := prediction{probs: probs.Float64s()}
	c := probs.Shape()[1]
	for i := 0; i < len(p.probs); i += c {
		p.entropies = append(p.entropies, metric.Entropy(p.probs[i:i+c]))
	}
	return p
}

// probit and monteCarlo turn latent Gaussians into class probabilities; both take
// any posterior, and neither is ever put in the other's place.
func probit(g gp.Gaussian) (prediction, error) { return newPrediction(gp.ProbitProbs(g)), nil }

func monteCarlo(samples int, seed uint64) func(gp.Gaussian) (prediction, error) {
	return func(g gp.Gaussian) (prediction, error) {
		probs, err := gp.MonteCarloProbs(g, samples, seed, 0)
		if err != nil {
			return prediction{}, err
		}
		return newPrediction(probs), nil
	}
}

// classification scores predictions for labelled images.
func classification(in prediction, s *idx.Set) (metric.ClassificationScores, error) {
	var c metric.Classification
	if err := c.Add(in.probs, s.Class()); err != nil {
		return metric.ClassificationScores{}, err
	}
	return c.Result()
}

// scoreImages fills row with the scores of a posterior's Gaussians on the test and
// the out-of-distribution images.
func (p *imageProblem) scoreImages(row ImageScore, in, out prediction) (ImageScore, error) {
	s, err := classification(in, p.test)
	if err != nil {
		return row, fmt.Errorf("%s: %s: %w", row.Dataset, row.Method, err)
	}
	if row.OODAUC, err = metric.OODAUC(in.entropies, out.entropies); err != nil {
		return row, fmt.Errorf("%s: %s: %w", row.Dataset, row.Method, err)
	}
	row.N, row.ACC, row.NLL, row.ECE, row.Brier = s.N, s.ACC, s.NLL, s.ECE, s.Brier
	return row, nil
}

// outcome is what a method predicts for the test and out-of-distribution images.
type outcome struct {
	in, out gp.Gaussian
}

func (p *imageProblem) predict(ctx context.Context, post gp.Posterior) (o outcome, err error) {
	if o.in, err = post.Predict(ctx, p.inputs(p.test)); err != nil {
		return o, err
	}
	o.out, err = post.Predict(ctx, p.inputs(p.ood))
	return o, err
}

// rows scores an outcome by the probit approximation and, if samples > 0, by Monte Carlo.
func (p *imageProblem) rows(row ImageScore, o outcome, samples int) ([]ImageScore, error) {
	kinds := []struct {
		name string
		of   func(gp.Gaussian) (prediction, error)
	}{{"probit", probit}}
	if samples > 0 {
		kinds = append(kinds, struct {
			name string
			of   func(gp.Gaussian) (prediction, error)
		}{"mc", monteCarlo(samples, row.Seed)})
	}
	var rows []ImageScore
	for _, k := range kinds {
		in, err := k.of(o.in)
		if err != nil {
			return nil, err
		}
		out, err := k.of(o.out)
		if err != nil {
			return nil, err
		}
		row.Probs = k.name
		scored, err := p.scoreImages(row, in, out)
		if err != nil {
			return nil, err
		}
		rows = append(rows, scored)
	}
	return rows, nil
}
