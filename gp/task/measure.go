package task

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/train/metric"
)

// measure is a row of the table of scores.
type measure struct {
	name   string // see Score
	help   string // a sentence
	main   bool   // the score stands in tables; other scores stand in documents alone
	larger bool   // larger is better
	of     func(t *totals) metric.Estimate
}

// totals are the scores of one target, of which a measure takes one.
type totals struct {
	numbers metric.RegressionScores     // of all targets but classes
	yes     metric.BinaryScores         // of labels, and of two classes
	right   metric.Estimate             // share of ordered classes whose most probable class is the right one
	classes metric.ClassificationScores // of classes
}

// nll is the score that all kinds of targets have.
const nllHelp = "Negative log-likelihood: the mean of −log p(target), in nats."

// measures is the table of scores by the kind of the targets. Scores that a target does not have, such as the AUC of
// labels that are all the same, are left out. With several targets, the NLL is the sum over the targets.
var measures = map[likelihood.Kind][]measure{
	likelihood.Number: slices.Concat([]measure{rmse, crps, cqm}, coverages, intervalScores, pinballs),
	likelihood.Count:  slices.Concat([]measure{rmse, crps, cqm, deviance}, coverages, intervalScores, pinballs),
	likelihood.Binary: {
		{"Brier", "The mean of (probability of yes − 1 or 0)².", true, false, func(t *totals) metric.Estimate { return t.yes.Brier }},
		{"ECE", "Expected calibration error: the mean distance between the probability of yes and the share of yes, in 15 bins.", true, false,
			func(t *totals) metric.Estimate { return t.yes.ECE }},
		auc(true), precision(true),
	},
	likelihood.Ordered: slices.Concat([]measure{
		{"RPS", "Ranked probability score: the sum over the classes k of the mean of (P(class ≤ k) − 1 or 0)².", true, false, crps.of},
		{"ACC", "Accuracy: the share of rows whose most probable class is the right one.", true, true, func(t *totals) metric.Estimate { return t.right }},
		cqm}, coverages),
	likelihood.Class: {
		{"ACC", "Accuracy: the share of rows whose most probable class is the right one.", true, true,
			func(t *totals) metric.Estimate {
				return metric.Estimate{Value: t.classes.ACC, StandardError: t.classes.Errors.ACC}
			}},
		{"NLL", nllHelp, true, false,
			func(t *totals) metric.Estimate {
				return metric.Estimate{Value: t.classes.NLL, StandardError: t.classes.Errors.NLL}
			}},
		{"ECE", "Expected calibration error: the mean distance between the probability of the answer and the share of right answers, in 15 bins.", true, false,
			func(t *totals) metric.Estimate {
				return metric.Estimate{Value: t.classes.ECE, StandardError: t.classes.Errors.ECE}
			}},
		{"Brier", "The mean over rows of the sum over classes of (probability − 1 or 0)².", true, false,
			func(t *totals) metric.Estimate {
				return metric.Estimate{Value: t.classes.Brier, StandardError: t.classes.Errors.Brier}
			}},
		auc(false), precision(false),
	},
}

var (
	rmse = measure{"RMSE", "Root of the mean squared residual, in the units of the target.", true, false,
		func(t *totals) metric.Estimate {
			return metric.Estimate{Value: t.numbers.RMSE, StandardError: t.numbers.Errors.RMSE}
		}}
	crps = measure{"CRPS", "Continuous ranked probability score: the distance between the predictive distribution and the target, in its units.", true, false,
		func(t *totals) metric.Estimate {
			return metric.Estimate{Value: t.numbers.CRPS, StandardError: t.numbers.Errors.CRPS}
		}}
	cqm = measure{"CQM", "The area between the coverage curve and its diagonal.", true, false,
		func(t *totals) metric.Estimate {
			return metric.Estimate{Value: t.numbers.CQM, StandardError: t.numbers.Errors.CQM}
		}}
	deviance = measure{"deviance", "Mean Poisson deviance, 2[y log(y/mean) − (y − mean)].", true, false,
		func(t *totals) metric.Estimate { return t.numbers.Deviance }}
	coverages, intervalScores = ofIntervals()
	pinballs                  = ofQuantiles()
)

// auc is the AUC of labels.
func auc(main bool) measure {
	return measure{"AUC", "Area under the ROC curve: the probability that a yes has a larger probability than a no.", main, true,
		func(t *totals) metric.Estimate { return t.yes.AUC }}
}

// precision is the average precision of labels.
func precision(main bool) measure {
	return measure{"AP", "Average precision: the area under the precision-recall curve.", main, true,
		func(t *totals) metric.Estimate { return t.yes.AP }}
}

// ofIntervals are the coverages and the scores of central intervals.
func ofIntervals() (covered, scored []measure) {
	for i, level := range metric.IntervalLevels {
		covered = append(covered, measure{name: fmt.Sprintf("coverage_%g", 100*level), help: fmt.Sprintf("Share of the targets in their %g %% intervals.", 100*level),
			of: func(t *totals) metric.Estimate { return t.numbers.Held[i] }})
		scored = append(scored, measure{name: fmt.Sprintf("interval_score_%g", 100*level), help: fmt.Sprintf("Mean score of the %g %% intervals, in the units of the target.", 100*level),
			of: func(t *totals) metric.Estimate { return t.numbers.IntervalScore[i] }})
	}
	return covered, scored
}

// ofQuantiles are the pinball losses.
func ofQuantiles() (out []measure) {
	for i, level := range metric.QuantileLevels {
		out = append(out, measure{name: fmt.Sprintf("pinball_%g", 100*level), help: fmt.Sprintf("Mean pinball loss of the %g %% quantiles, in the units of the target.", 100*level),
			of: func(t *totals) metric.Estimate { return t.numbers.Pinball[i] }})
	}
	return out
}

// add adds the scores of one target, whose names end with a suffix.
func (s *Scores) add(table []measure, t *totals, suffix string) {
	for _, m := range table {
		e := m.of(t)
		if math.IsNaN(e.Value) {
			continue
		}
		one := Score{m.name + suffix, e.Value, e.StandardError, m.larger, m.help}
		if m.main {
			s.List = append(s.List, one)
		} else {
			s.More = append(s.More, one)
		}
	}
}
