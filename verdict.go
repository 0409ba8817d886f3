package valla

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/coverage"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Verdict compares predictions of the posterior with predictions of the network alone, on the rows that
// [FitOptions] choose. NLLs are means over the rows, in the units of the data.
type Verdict struct {
	Rows          int     `json:"rows"`           // number of rows that judge
	MAPNLL        float64 `json:"map_nll"`        // negative log-likelihood of the network alone with what MAPWith says
	NLL           float64 `json:"nll"`            // negative log-likelihood of the posterior
	StandardError float64 `json:"standard_error"` // standard error of NLL − MAPNLL, from the rows' differences, see Seen
	Better        bool    `json:"better"`         // NLL is smaller than MAPNLL
	// MAPWith says what the rows that have chosen for the fit give the network alone, which one would take without a
	// posterior: a law such as "the law student-t", "one noise", "one temperature", or "" for nothing. The first of these
	// that suits the targets counts, unless another one has an NLL that is smaller by more than a standard error.
	MAPWith string `json:"map_with,omitempty"`

	MAPECE      float64 `json:"map_ece,omitempty"`      // expected calibration error of the network, in classification
	ECE         float64 `json:"ece,omitempty"`          // expected calibration error of the posterior
	MAPCoverage float64 `json:"map_coverage,omitempty"` // share of the targets inside the network's central 95 % intervals, in regression
	Coverage    float64 `json:"coverage,omitempty"`     // the same share for the posterior
	// Off says which intervals of the posterior do not hold their level, such as "50 % intervals hold 39.5 %"; "" where
	// they hold it as far as the rows tell.
	Off string `json:"off,omitempty"`

	// Seen says that the rows may have been used to train the network, or to choose the prior standard deviation
	// or the best state of the fit. This favours the posterior, and the standard error is [SeenError] times that of the
	// rows' differences.
	Seen bool `json:"seen"`
	// Pseudo says that the rows are pseudo-rows: they are made from the training rows, and stand for rows that
	// the network has not seen; see package gp/unseen.
	Pseudo bool   `json:"pseudo,omitempty"`
	Advice string `json:"advice,omitempty"` // a sentence on what to do
}

// LeastDifference is the least difference of two mean NLLs that matters, in nats for a row. A difference of 0.001 changes
// the probability of a target by a thousandth of itself. With many rows the standard error is often far below it.
const LeastDifference = 0.001

// SeenError is the factor of the standard error of a verdict by rows that may have been used before. With it the median
// difference between the printed gain and the gain on fresh rows has the size that the standard errors promise, over 147
// networks and tables; without it the difference is 1.28 times as large. See docs/honest.md.
const SeenError = 1.4

// telling is how many standard errors the difference of two mean NLLs must have before a verdict says which is better.
const telling = 2

// clearly reports whether an NLL lies below another clearly, and by more than LeastDifference.
func (v *Verdict) clearly(below, other float64) bool {
	return other-below > max(telling*v.StandardError, LeastDifference)
}

// Clearly reports whether the posterior is better than the network alone by more than two standard errors, and by more than
// LeastDifference. Where it is neither better nor [Verdict.Worse], the rows cannot tell.
func (v *Verdict) Clearly() bool { return v.clearly(v.NLL, v.MAPNLL) }

// Worse reports whether the posterior is worse than the network alone by more than two standard errors, and by more than
// LeastDifference.
func (v *Verdict) Worse() bool { return v.clearly(v.MAPNLL, v.NLL) }

// String is one line, without the advice.
func (v *Verdict) String() string {
	how := "not to be told from"
	switch {
	case math.Abs(v.MAPNLL-v.NLL) <= LeastDifference:
		how = "as good as"
	case v.Clearly():
		how = "better than"
	case v.Worse():
		how = "worse than"
	}
	rows := "rows"
	switch {
	case v.Pseudo:
		rows = "pseudo-rows made of the training rows, which the network may have seen"
	case v.Seen:
		rows = "rows that training or fit may have used"
	}
	alone := "the network alone"
	if v.MAPWith != "" {
		alone += " with " + v.MAPWith
	}
	text := fmt.Sprintf("%s %s: NLL %.4f instead of %.4f (± %.2g) on %d %s", how, alone, v.NLL, v.MAPNLL, v.StandardError, v.Rows, rows)
	if v.MAPCoverage > 0 || v.Coverage > 0 {
		text += fmt.Sprintf("; 95 %% intervals hold %.1f %% of them instead of %.1f %%", 100*v.Coverage, 100*v.MAPCoverage)
	}
	if v.Off != "" {
		text += "; calibrate: " + v.Off
	}
	if v.MAPECE > 0 || v.ECE > 0 {
		text += fmt.Sprintf("; calibration error %.3f instead of %.3f", v.ECE, v.MAPECE)
	}
	if v.Pseudo {
		text += "; pseudo-rows promise nothing for new rows"
	}
	return text
}

// intervalLevel is the probability of the intervals of a Verdict.
const intervalLevel = 0.95

// judged has a model's predictions for rows.
type judged struct {
	*Prediction
	variance float64   // mean of the latent variances, in the network's units
	nlls     []float64 // negative log-likelihood of each row [n]
}

// judged predicts the rows of a verdict.
func (m *Model) judged(ctx context.Context, rows jury) (j judged, err error) {
	c := m.Task.Size()
	n := float64(rows.x.Shape()[0] * c)
	j.Prediction, err = m.predict(ctx, rows.x, PredictOptions{OnRows: rows.pass()}, func(g gp.Gaussian) {
		for i := range g.Mean {
			j.variance += g.Variance(i/c, i%c) / n
		}
	})
	if err != nil {
		return j, err
	}
	j.nlls, err = m.Task.NLLs(j.Prediction, rows.y)
	return j, err
}

// judge compares predictions of the network alone with predictions of the posterior.
func (m *Model) judge(network, posterior judged, y *tensor.Dense) (*Verdict, error) {
	v := &Verdict{Rows: network.N(), MAPNLL: kernel.Mean(network.nlls), NLL: kernel.Mean(posterior.nlls)}
	_, v.StandardError = kernel.MeanDifference(posterior.nlls, network.nlls)
	v.Better = v.NLL < v.MAPNLL
	var err error
	if network.Classes != nil {
		v.MAPECE, v.ECE, err = m.eces(network.Prediction, posterior.Prediction, y)
		return v, err
	}
	if v.MAPCoverage, err = covered(network.Prediction, y); err != nil {
		return v, err
	}
	if v.Coverage, err = covered(posterior.Prediction, y); err != nil {
		return v, err
	}
	var off coverage.Check
	err = off.Add(posterior.Prediction, graph.Floats(y))
	v.Off = off.String()
	return v, err
}

// eces returns the expected calibration errors of two predictions of a classifier.
func (m *Model) eces(a, b *Prediction, y *tensor.Dense) (ofA, ofB float64, err error) {
	for _, p := range []struct {
		*Prediction
		ece *float64 // receives the error
	}{{a, &ofA}, {b, &ofB}} {
		s, err := m.Task.Score(p.Prediction, y)
		if err != nil {
			return 0, 0, err
		}
		*p.ece, _ = s.Get("ECE")
	}
	return ofA, ofB, nil
}

// covered returns the share of the targets inside their intervals; 0 where there are none.
func covered(p *Prediction, y *tensor.Dense) (float64, error) {
	if !p.Covers() {
		return 0, nil
	}
	inside, _, err := p.Covered(graph.Floats(y), intervalLevel)
	return inside / float64(len(p.Mean)), err
}

// cannotPredict wraps the error of a fitted model that does not predict rows.
func (m *Model) cannotPredict(err error) error {
	return fmt.Errorf("the fitted posterior cannot predict, %s: %w", remedies(m.Posterior.Method), err)
}

// advise fills in the advice for a verdict on a fit of a method.
func (v *Verdict) advise(method string, settings map[string]any) {
	switch {
	case v.Pseudo && !v.Worse():
		v.Advice = "Pseudo-rows stand for rows that the network has not seen, and promise nothing for these: judge by rows that neither training nor fit has seen."
	case !v.Worse() && v.Off != "":
		v.Advice = fmt.Sprintf("The error bars do not hold what they promise (%s): calibrate the model by rows that neither training nor fit has seen.", v.Off)
	case !v.Worse() && !v.Seen:
	case v.Worse():
		v.Advice = "These error bars are worse than none: " + remedies(method) + "."
		if method == "lla" && settings["hyper"] == "grid" {
			v.Advice = "These error bars are worse than none: try another method or structure, or more rows held out to choose by."
		}
	default:
		v.Advice = "The rows may have been used before: rows that neither training nor fit has seen judge better."
	}
}

// remedies returns what to try in place of a method that did not work.
func remedies(method string) string {
	if method == "lla" {
		return "try hyper=grid, another method, more data, or rows that the network has not seen"
	}
	return "try method=lla hyper=grid, more data, or rows that the network has not seen"
}
