package task

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

func (r *Regression) scorer() Scorer {
	return &regressionScorer{of: r, targets: make([]targetScorer, r.size())}
}

// regressionScorer is the Scorer of a regression.
type regressionScorer struct {
	of      *Regression    // has the names of the targets
	targets []targetScorer // scores of each target [T]
	nll     metric.Mean    // of the sums over the targets
	n       int            // rows so far
}

// targetScorer accumulates the scores of one target.
type targetScorer struct {
	metric.Regression
	yes   metric.Binary // of labels
	right metric.Mean   // of ordered classes
}

// Add implements Scorer.
func (s *regressionScorer) Add(p *Prediction, y *tensor.Dense) error {
	if err := s.of.takes(y); err != nil {
		return err
	}
	t, w, values := s.of.size(), s.of.width(), graph.Floats(y)
	if len(p.Mean)*w != len(values) {
		return fmt.Errorf("%d means and %d targets of each output, expected equal numbers", len(p.Mean)/t, len(values)/(t*w))
	}
	nlls, err := s.of.nlls(p, y)
	if err != nil {
		return err
	}
	if d := &p.spread; d.likelihood == nil && d.laws == nil && d.under == nil && p.Conformal == nil {
		for k := range s.targets {
			if err := s.targets[k].Add(column(p.Mean, k, t), column(p.Variance, k, t), column(values, k, t)); err != nil {
				return err
			}
		}
	} else {
		j := &scoring{p: p, y: values, w: w, quantiles: p.scoredQuantiles()}
		for first := 0; first < len(p.Mean); first += scoredAtOnce {
			for k, v := range j.values(first, min(first+scoredAtOnce, len(p.Mean))) {
				s.targets[(first+k)%t].addValue(v)
			}
		}
	}
	for _, v := range nlls {
		s.nll.Add(v)
	}
	s.n += len(nlls)
	return nil
}

// scoredQuantiles returns the quantiles of all values at metric.QuantileLevels, NaN where a conformal calibration has
// too few rows; nil where each value has its own distribution.
func (p *Prediction) scoredQuantiles() [][]float64 {
	if p.spread.likelihood != nil && p.Conformal == nil {
		return nil
	}
	out := make([][]float64, len(metric.QuantileLevels))
	for k, level := range metric.QuantileLevels {
		out[k], _ = p.Bound(level)
	}
	return out
}

// addValue adds a value.
func (s *targetScorer) addValue(v scored) {
	switch v.kind {
	case likelihood.Binary:
		s.yes.Add(v.Mean, v.Y == 1)
	case likelihood.Ordered:
		s.right.Add(map[bool]float64{true: 1}[v.right])
	}
	s.AddRow(v.Row)
}

// mode returns the most probable class of a distribution of ordered classes, the first of equals.
func mode(d likelihood.Distribution) float64 {
	best, most := 0.0, 0.0
	for k := 0.0; ; k++ {
		if v := math.Exp(d.LogDensity(k)); v > most {
			best, most = k, v
		}
		if rest := 1 - d.CDF(k); !(rest > most) {
			return best
		}
	}
}

// crpsOf returns the CRPS of a distribution at a number between bounds, see likelihood.CRPSBetween.
func crpsOf(d likelihood.Distribution, lower, upper float64, kind likelihood.Kind) float64 {
	switch d := d.(type) {
	case *law.Law:
		return d.CRPS(lower)
	case inUnits:
		return d.scale * crpsOf(d.Distribution, (lower-d.shift)/d.scale, (upper-d.shift)/d.scale, kind)
	}
	return likelihood.CRPSBetween(d, lower, upper, kind)
}

// Scores implements Scorer.
func (s *regressionScorer) Scores() (Scores, error) {
	nll := s.nll.Estimate()
	out := Scores{N: s.n, targets: s.of.labels(), List: []Score{{"NLL", nll.Value, nll.StandardError, false, nllHelp}}}
	for k, name := range s.of.labels() {
		var all totals
		var err error
		if all.numbers, err = s.targets[k].Result(); err != nil {
			return Scores{}, err
		}
		all.yes, _ = s.targets[k].yes.Result() // without labels the table does not ask for their scores
		all.right = s.targets[k].right.Estimate()
		suffix := ""
		if len(s.targets) > 1 {
			suffix = " " + name
		}
		out.add(measures[s.of.model().Kind()], &all, suffix)
		out.PIT = append(out.PIT, all.numbers.PIT[:])
		if len(s.targets) == 1 {
			out.Coverage = all.numbers.Coverage[:]
		}
	}
	return out, nil
}

// column returns column k of rows of width t.
func column(v []float64, k, t int) []float64 {
	if t == 1 {
		return v
	}
	out := make([]float64, 0, len(v)/t)
	for i := k; i < len(v); i += t {
		out = append(out, v[i])
	}
	return out
}

// scorer has the scores of classes, and the AUC and the average precision of two classes.
func (c *Classification) scorer() Scorer { return &classScorer{of: c} }

// classScorer is the Scorer of a classification.
type classScorer struct {
	of *Classification // has the classes
	metric.Classification
	yes metric.Binary // the second of two classes is the yes
}

// Add implements Scorer.
func (s *classScorer) Add(p *Prediction, y *tensor.Dense) error {
	labels, err := s.of.Labels(y)
	if err != nil {
		return err
	}
	if err := s.Classification.Add(p.Probs, labels); err != nil || s.of.size() > 2 {
		return err
	}
	for i, label := range labels {
		s.yes.Add(p.Probs[2*i+1], label == 1)
	}
	return nil
}

// Scores implements Scorer.
func (s *classScorer) Scores() (Scores, error) {
	r, err := s.Result()
	if err != nil {
		return Scores{}, err
	}
	all := totals{classes: r}
	all.yes, _ = s.yes.Result() // NaN for more than two classes
	out := Scores{N: r.N}
	out.add(measures[likelihood.Class], &all, "")
	return out, nil
}
