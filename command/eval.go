package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/command/internal/assess"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/coverage"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
	"github.com/go-valla/valla/train/metric"
)

// evalCommand is the command line of valla eval.
type evalCommand struct {
	Level float64 `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the intervals, or of the sets of classes, for the coverage"` // probability
	reading
	features featureFile // features that are computed once
}

func newEval() *cobra.Command {
	c := &evalCommand{}
	cmd := &cobra.Command{
		Use:   "eval DATA --model FILE",
		Short: "Score predictions against known targets",
		Long: `Score the predictions for data that contain the targets, in the units of the targets. The
scores are the negative log-likelihood (NLL) and the continuous ranked probability score (CRPS) of
the predictive distribution, the root mean squared error (RMSE) of its mean, and the calibration
error of its central intervals (CQM). Smaller is better. The NLL of a row counts as 1e6 at most.
With several targets the NLL is the sum over them, and each target has its own scores beside it.
Counts have the deviance as well. Labels have the Brier score, the expected calibration error
(ECE), and the area under the ROC curve (AUC) and the average precision (AP), which are larger for
better predictions. Ordered classes have the ranked probability score (RPS) and the accuracy (ACC).
A classification is scored by the NLL of the class probabilities, the ACC, the ECE and the Brier
score. The row MAP is the network alone. The next rows are the network with the posterior and,
after valla calibrate, the calibrated predictions. A conformal calibration changes none of these
scores; it changes the coverage, which is the share of the targets inside their intervals, or of
the classes inside their sets.

With --json, statistics has further scores: coverage, interval score and pinball losses at several
levels, which a conformal calibration changes, too, the histogram of the PIT (the CDF at the
target) in ten bins, and the standard error of each score. nll_gain is how much smaller the NLL is
than the NLL of the network alone on the same rows.
Where the posterior has a law of the residuals other than the Gaussian, the network alone also has
a row with a law of this family, with which the posterior is compared.`,
		Example: "  valla eval test.csv --model houses.valla",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	c.flags(cmd, c)
	c.features.flag(cmd.Flags())
	alias(cmd, "interval", "level")
	return cmd
}

// evaluation is the result of valla eval.
type evaluation struct {
	targets []string         // names of the targets
	classes bool             // classification instead of regression
	methods []string         // MAP and, if the model has them, the posterior and the calibration
	links   []task.Link      // link of each method; "" for a regression
	own     string           // sentence about a posterior with a mean of its own; may be ""
	scores  []valla.Scores   // scores of each method
	network int              // the method that is the network alone, with a law of the residuals if the posterior has one
	gains   []metric.Mean    // NLL of this network less the NLL of each later method
	level   float64          // probability of the intervals or sets
	covered []coverage.Tally // coverage of each method
	off     coverage.Check   // levels that the intervals of the last method do not hold
	remedy  string           // what to do about them, a sentence
	seen    *valla.Seen      // finds rows of the training
	medians int              // predictions of the last method whose mean is the median
}

func (c *evalCommand) run(cmd *cobra.Command, args []string) error {
	m, rows, err := c.open(cmd.Context(), args[0], true)
	if err != nil {
		return err
	}
	if err := cmp.Or(settings.Complete(c), c.features.use(m)); err != nil {
		rows.Close()
		return err
	}
	defer m.CloseFeatures()
	models, network := assess.Models(m)
	e := evaluation{network: network, seen: m.Seen(), remedy: assess.Remedy(m), targets: m.Task.Targets(), classes: m.Task.Classifies(), level: c.Level, links: make([]task.Link, len(models))}
	e.covered = slices.Repeat([]coverage.Tally{{Level: c.Level}}, len(models))
	if m.Posterior != nil {
		e.own = gp.MeanOf(m.Posterior.Stored)
	}
	if err := c.score(cmd, models, rows, &e); err != nil {
		return err
	}
	return c.print(cmd, e.document(), e.text())
}

// score fills in the scores of models for the rows.
func (c *evalCommand) score(cmd *cobra.Command, models []*valla.Model, rows *valla.Rows, e *evaluation) error {
	var scorers []task.Scorer
	for _, m := range models {
		e.methods, scorers = append(e.methods, m.String()), append(scorers, m.Task.Scorer())
	}
	e.gains = make([]metric.Mean, len(models))
	err := c.each(cmd, models[0], rows, func(set *data.Set, o valla.PredictOptions) error {
		var network []float64 // NLLs
		e.seen.Add(set)
		for i, m := range models {
			p, err := m.Predict(cmd.Context(), set.X, o)
			if err == nil {
				e.links[i], err = p.Link, scorers[i].Add(p, set.Y)
			}
			if err == nil {
				err = e.cover(i, p, set)
			}
			if err == nil {
				network, err = e.gain(i, m, p, set, network)
			}
			if err != nil {
				return fmt.Errorf("evaluate: %w", inSource(set, o.First, err))
			}
		}
		return nil
	})
	for _, s := range scorers {
		scores, ofScores := s.Scores()
		if err == nil && ofScores != nil {
			err = fmt.Errorf("%s: %w", rows.Path, ofScores)
		}
		e.scores = append(e.scores, scores)
	}
	return err
}

// cover counts the targets of a set in the intervals of the predictions p of method i. Of the last method, which is
// the posterior, it also counts what notes speak of.
func (e *evaluation) cover(i int, p *valla.Prediction, set *data.Set) error {
	y := graph.Floats(set.Y)
	if i == len(e.gains)-1 {
		e.medians += p.Medians()
		if err := e.off.Add(p, y); err != nil {
			return err
		}
	}
	return e.covered[i].Add(p, y)
}

// gain adds the gains of method i, whose model m has the predictions p for a set, over the NLLs of the network alone.
// It returns these NLLs.
func (e *evaluation) gain(i int, m *valla.Model, p *valla.Prediction, set *data.Set, network []float64) ([]float64, error) {
	nlls, err := m.Task.NLLs(p, set.Y)
	if i <= e.network {
		network = nlls
	}
	for k, v := range nlls {
		e.gains[i].Add(network[k] - v)
	}
	return network, err
}

// document returns what --json prints: the scores of each method under the names of the table
// in lower case. With several targets the keys are rmse_TARGET, crps_TARGET and so on, where
// TARGET keeps its case.
func (e evaluation) document() map[string]any {
	var methods, details []map[string]any
	for i, name := range e.methods {
		all := e.scores[i]
		if g := e.gains[i].Estimate(); i > e.network {
			all.More = append(slices.Clone(all.More), task.Score{Name: "nll_gain", Value: g.Value, StandardError: g.StandardError})
		}
		scores, more := all.Document(), all.Details()
		scores["method"], more["method"] = name, name
		details = append(details, more)
		if share, size := e.covered[i].Means(); share != nil {
			scores["level"], scores["coverage"] = e.level, *share
			if e.classes {
				scores["set_size"] = *size
			}
		}
		methods = append(methods, scores)
	}
	doc := map[string]any{"rows": e.scores[0].N, "targets": e.targets, "scores": methods, "statistics": details}
	if e.classes {
		doc["link"] = e.links[len(e.links)-1]
	}
	if e.own != "" {
		doc["own_mean"] = e.own
	}
	if share := e.seen.Share(); share > 0 {
		doc["seen"] = share
	}
	if off := e.off.String(); off != "" {
		doc["off"] = off
	}
	if e.medians > 0 {
		doc["medians"] = e.medians
	}
	return doc
}

func (e evaluation) text() string {
	header := table.Row{""}
	for _, s := range e.scores[0].List {
		header = append(header, s.Name)
		if s.Name == "NLL" {
			header = append(header, "± s.e.")
		}
	}
	w := newTable(header)
	alignRight(w, len(header))
	for i, name := range e.methods {
		row := table.Row{name}
		for _, s := range e.scores[i].List {
			row = append(row, assess.ScoreText(s.Value))
			if s.Name == "NLL" {
				row = append(row, assess.ErrorText(s.StandardError))
			}
		}
		w.AppendRow(row)
	}
	units := "in the units of the data, smaller is better"
	if e.classes {
		units = e.link() + " probabilities of the classes"
	}
	own := ""
	if e.own != "" {
		own = e.own + "\n"
	}
	for _, n := range medianNotes(e.medians) {
		own += n + "\n"
	}
	return fmt.Sprintf("%d rows, scores of %s, %s\n%s\n%s%s", e.scores[0].N, tablefile.Listed(e.targets), units, w.Render(), e.coverage()+e.difference()+e.doubts(), own)
}

// difference returns a line about the NLLs of the methods on the same rows.
func (e evaluation) difference() string {
	var parts []string
	for i, name := range e.methods[e.network+1:] {
		g := e.gains[e.network+1+i].Estimate()
		spread := ""
		if !math.IsNaN(g.StandardError) { // of two rows or more
			spread = fmt.Sprintf(" ± %.2g", g.StandardError)
		}
		parts = append(parts, fmt.Sprintf("%+.4f%s by %s", -g.Value, spread, name))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("the NLL of %s changes by %s\n", e.methods[e.network], strings.Join(parts, "; "))
}

// doubts returns lines about rows that trained the model, and about intervals that do not hold their level.
func (e evaluation) doubts() string {
	text := ""
	if off := e.off.String(); off != "" {
		text = strings.TrimSpace(off+" by "+e.methods[len(e.methods)-1]+". "+e.remedy) + "\n"
	}
	for _, note := range e.seen.Notes(assess.Seen) {
		text += note + "\n"
	}
	return text
}

// inSource makes an error about a row of a set, whose rows are predicted from number first on, name the row of the file.
func inSource(set *data.Set, first int, err error) error {
	number := func(i int) int {
		if set.Origins == nil {
			return first + i
		}
		return set.Origins[i]
	}
	if at := (*task.TargetError)(nil); errors.As(err, &at) {
		at.Row = number(at.Row)
	}
	if at := (*gp.RowsError)(nil); errors.As(err, &at) {
		at.First = number(at.First - first)
	}
	return err
}

// link returns the names of the links of the methods, each once.
func (e evaluation) link() string {
	var names []string
	for _, l := range slices.Compact(slices.Clone(e.links)) {
		names = append(names, string(l))
	}
	return strings.Join(names, " and ")
}

// coverage returns a line about the targets inside the intervals or the sets.
func (e evaluation) coverage() string {
	var parts []string
	for i, name := range e.methods {
		share, size := e.covered[i].Means()
		if share == nil {
			continue
		}
		part := fmt.Sprintf("%.1f %% by %s", 100**share, name)
		if e.classes {
			part += fmt.Sprintf(", of %.2f classes on average", *size)
		}
		parts = append(parts, part)
	}
	switch {
	case parts == nil:
		return ""
	case e.classes:
		return fmt.Sprintf("%g %% sets hold the class of %s\n", 100*e.level, strings.Join(parts, "; "))
	}
	return fmt.Sprintf("%g %% intervals hold %s\n", 100*e.level, strings.Join(parts, "; "))
}
