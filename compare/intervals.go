package compare

import (
	"context"
	"fmt"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train/metric"
)

// quantileNetwork is the name of the network of two quantiles, see [valla.Model.Quantiles].
const quantileNetwork = "quantiles"

// Intervals say how a contender has done that has intervals of one target and no likelihood: a network of two quantiles, whose
// intervals rows that choose have corrected (conformalized quantile regression).
type Intervals struct {
	Name  string `json:"name"`  // see [Names]
	Label string `json:"label"` // name in a sentence

	Coverage float64 `json:"coverage"`       // share of the targets in their intervals of the Level
	Width    float64 `json:"width"`          // mean width, in the units of the target
	Score    float64 `json:"interval_score"` // mean of metric.IntervalScore, in the units of the target
	// Narrower is how much narrower the intervals are in the mean than those of the recommended contender, and NarrowerError
	// its standard error, from the rows' differences; 0 without a recommended contender.
	Narrower      float64 `json:"narrower"`
	NarrowerError float64 `json:"narrower_error"` // see Narrower
	FitSeconds    float64 `json:"fit_seconds"`    // of the training and the corrections

	spans spans // of the rows that judge
}

// spans are the intervals of one target on rows.
type spans struct {
	inside []float64 // 1 for targets inside, 0 for others [n]
	widths []float64 // [n]
	scores []float64 // interval scores [n]
}

// add adds the intervals of a level of targets y, [n] each.
func (s *spans) add(level float64, lower, upper, y []float64) {
	for i, v := range y {
		in := 0.0
		if lower[i] <= v && v <= upper[i] {
			in = 1
		}
		s.inside, s.widths = append(s.inside, in), append(s.widths, upper[i]-lower[i])
		s.scores = append(s.scores, metric.IntervalScore(level, lower[i], upper[i], v))
	}
}

// quantiles makes the intervals of the network of quantiles: one network, corrected for each fold.
func (c *contest) quantiles(ctx context.Context, one contender) error {
	start := time.Now()
	q, err := c.m.Quantiles(ctx, c.set, c.o.Level, c.progress(one.label))
	if err != nil {
		return err
	}
	out := Intervals{Name: one.name, Label: one.label}
	for _, f := range c.folds {
		own, err := q.Conform(ctx, f.choose)
		if err != nil {
			return err
		}
		lower, upper, err := own.Intervals(ctx, f.judge.X)
		if err != nil {
			return err
		}
		out.spans.add(c.o.Level, lower, upper, graph.Floats(f.judge.Y))
	}
	out.Coverage, out.Width, out.Score = kernel.Mean(out.spans.inside), kernel.Mean(out.spans.widths), kernel.Mean(out.spans.scores)
	out.FitSeconds = time.Since(start).Seconds()
	c.out.Intervals = &out
	return nil
}

// span adds the intervals of a prediction of one target to a result.
func (c *contest) span(out *Result, p *valla.Prediction, y []float64) error {
	if c.m.Task.Classifies() || len(c.out.Targets) > 1 || !p.Covers() {
		return nil
	}
	lower, upper, err := p.Interval(c.o.Level)
	if err != nil {
		return err
	}
	out.spans.add(c.o.Level, lower, upper, y)
	return nil
}

// narrower compares the widths of the intervals without a likelihood with those of the recommended result. It returns a sentence
// where they hold their level and are narrower by two standard errors, or "".
func (c *Comparison) narrower(than Result) string {
	q := c.Intervals
	if q == nil || len(than.spans.widths) == 0 {
		return ""
	}
	q.Narrower, q.NarrowerError = kernel.MeanDifference(than.spans.widths, q.spans.widths)
	if q.Coverage < c.enoughInside() || q.Narrower <= enough*q.NarrowerError {
		return ""
	}
	return fmt.Sprintf(" If only intervals matter: those of a %s hold %.1f %% and are narrower than those of %s by %.3g ± %.2g in the mean.",
		q.Label, 100*q.Coverage, than.title(), q.Narrower, q.NarrowerError)
}
