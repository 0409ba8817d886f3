// Package compare finds out which method suits a network and its data. It calibrates the network by rows
// held out, fits methods to the rows of the training, the cheapest first, as long as a budget of time lasts,
// and scores all methods on the same rows.
package compare

import (
	"context"
	"fmt"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/train"
)

// Options say what [Run] does. The zero value compares everything that [Names] lists within five minutes.
type Options struct {
	Methods []string      // names of [Names] to compare beside the network alone; nil means all
	Budget  time.Duration // wall time of the whole comparison; 0 means 5 minutes
	// Held are rows that neither the training nor a fit has used. With nil they are the rows that the
	// training of the network held out, where the set is the table of the training; otherwise they are a
	// tenth of the set, which the network may have seen.
	Held *data.Set
	// Shift judges by rows that lie outside of the rows of the training: the tenth of the set that is farthest out along
	// the first principal component of the inputs. The network is trained again on the other rows, in the way that its
	// history tells, and all that is fitted to these sees the outer rows no more than the network. A network from
	// elsewhere is an error.
	Shift bool
	// Folds is the number of parts of the rows held out. Each part judges what the other parts have
	// chosen and calibrated. With 1, one half of the rows judges and the other half chooses. 0 means 1
	// for 2,000 rows or more, and 2 for fewer rows.
	Folds  int
	Level  float64 // probability of the intervals, or of the sets of classes; 0 means 0.95
	Memory int64   // bytes that a fit may need beside the data; 0 means the method's default
	Seed   uint64  // of everything random

	OnProgress func(contender string, p train.Progress) // if not nil, it is called after each step of a fit
}

// Comparison is the result of [Run].
type Comparison struct {
	Rows    int      `json:"rows"`    // rows that judge
	Train   int      `json:"train"`   // rows to which posteriors are fitted
	Folds   int      `json:"folds"`   // with 1, other rows choose than judge
	Shift   bool     `json:"shift"`   // the rows that judge lie outside of the others, see [Options]
	Seen    bool     `json:"seen"`    // the network may have been trained on the rows that judge
	Level   float64  `json:"level"`   // probability of the intervals
	Targets []string `json:"targets"` // names of the targets

	Results []Result `json:"results"` // sorted by NLL, the smallest first
	// Intervals are those of the network of quantiles, which has no likelihood and is never recommended; nil if it is no contender.
	Intervals *Intervals `json:"intervals,omitempty"`
	LeftOut   []LeftOut  `json:"left_out"` // contenders without a result
	Seconds   float64    `json:"seconds"`  // wall time
	// Recommended is the name of the simplest contender that surely loses little: the mean of the rows' differences to the
	// default method and two of its standard errors are at most 0.02, and the share of the targets in the intervals is not
	// below the Level by more than two standard errors. Where another contender is better than the default method by two
	// standard errors, or the default method is no contender, the contender with the smallest NLL takes its place. The
	// network alone is simplest, then come calibrations, then posteriors. A posterior is simpler than another one if its fit
	// takes less than a quarter of the processor time. A calibration costs nothing: it is preferred to the network alone where it is
	// better by one standard error.
	Recommended string `json:"recommended"`
	Advice      string `json:"advice"` // the recommendation in a sentence
}

// Result says how a contender has done. Times without a word are wall times, whatever else the machine did.
type Result struct {
	Name  string `json:"name"`  // see [Names]
	Label string `json:"label"` // as in a table of scores
	// Settings make the contender: the method of Fit or Calibrate, and a setting that is not the method's
	// default, such as "method=lla structure=kfac"; "" for the network alone.
	Settings string `json:"settings,omitempty"`

	NLL           float64      `json:"nll"`            // mean over the rows that judge
	StandardError float64      `json:"standard_error"` // of NLL
	Behind        float64      `json:"behind"`         // NLL less the smallest NLL of all results
	BehindError   float64      `json:"behind_error"`   // standard error of Behind, from the rows' differences
	Scores        valla.Scores `json:"scores"`         // on the rows that judge
	// Details are further scores, and standard errors, see valla.Scores.Details.
	Details map[string]any `json:"details"`

	// Coverage is the share of the targets in intervals of the Level; with a conformal calibration of a
	// classifier it is the share of the classes in their sets. nil where there are no intervals and sets.
	Coverage *float64 `json:"coverage,omitempty"`
	// Width is the mean width of these intervals, for several targets in standard deviations of their
	// predictions, or the mean size of the sets. nil where Coverage is nil.
	Width *float64 `json:"width,omitempty"`

	// IntervalScore is the mean of metric.IntervalScore of these intervals, in the units of the only target; nil for several
	// targets and where there are no intervals.
	IntervalScore *float64 `json:"interval_score,omitempty"`

	FitSeconds   float64 `json:"fit_seconds"`     // of one fit, training or calibration; 0 for the network alone
	FitCPU       float64 `json:"fit_cpu_seconds"` // processor time of the longest fit, which other programs hardly change; 0 where there is no fit
	FitBytes     int64   `json:"fit_bytes"`       // most bytes that objects of a fit took at once; 0 where there is no fit
	MicrosPerRow float64 `json:"micros_per_row"`  // microseconds of a prediction

	nlls    []float64 // of the rows that judge [n]
	spans   spans     // intervals of the rows that judge, where there is an IntervalScore
	simpler int       // rank: 0 is the network alone, then come calibrations, then posteriors
}

// LeftOut is a contender without a result.
type LeftOut struct {
	Name   string `json:"name"`   // see [Names]
	Label  string `json:"label"`  // as in a table of scores
	Reason string `json:"reason"` // one line
}

// Run compares methods for the network of m and its data: it fits them to the set on which the network
// was trained, see [Options]. The network stays as it is, and Run ignores a posterior and a calibration of
// m. A method that cannot be fitted, or not within the budget or the memory, is in LeftOut with the reason.
//
// If ctx ends first, Run returns what has finished with an error that wraps ctx's; with any other error
// the Comparison is nil.
func Run(ctx context.Context, m *valla.Model, set *data.Set, o Options) (*Comparison, error) {
	start := time.Now()
	c, err := newContest(ctx, m, set, o)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	limited, cancel := context.WithDeadline(ctx, start.Add(c.o.Budget))
	defer cancel()
	if err := c.run(ctx, limited); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	c.out.conclude()
	c.out.Seconds = time.Since(start).Seconds()
	if ctx.Err() != nil {
		return c.out, fmt.Errorf("compare: %w", ctx.Err())
	}
	return c.out, nil
}
