package main

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/model"
)

// evalCommand is the command line of valla eval.
type evalCommand struct {
	model string
	link  model.Link
	json  bool
}

func newEval() *cobra.Command {
	c := &evalCommand{link: model.Probit}
	cmd := &cobra.Command{
		Use:   "eval DATA --model FILE",
		Short: "Score predictions against known targets",
		Long: `Score the predictions for a table that holds the target, in its units: the negative
log-likelihood (NLL) and the continuous ranked probability score (CRPS) of the
predictive distribution, the root mean squared error (RMSE) of its mean, and the
calibration error of its central intervals (CQM). Smaller is better. Classes are scored
by the NLL of their probabilities, the share of right answers (ACC, larger is better), the
expected calibration error (ECE) and the Brier score. MAP is the network with its noise
alone, the other row the same network with the posterior.`,
		Example: "  valla eval test.csv --model houses.valla",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.model, "model", "", "model `FILE`")
	linkFlag(f, &c.link)
	jsonFlag(f, &c.json)
	require(cmd, "model")
	return cmd
}

// evaluation is what eval prints.
type evaluation struct {
	Rows   int      `json:"rows"`
	Target string   `json:"target"`
	Link   string   `json:"link,omitempty"` // of classes
	Scores []scores `json:"scores"`
}

// scores are those of one method; which there are depends on the target.
type scores struct {
	Method string   `json:"method"`
	NLL    float64  `json:"nll"`
	RMSE   *float64 `json:"rmse,omitempty"`
	CRPS   *float64 `json:"crps,omitempty"`
	CQM    *float64 `json:"cqm,omitempty"`
	ACC    *float64 `json:"acc,omitempty"`
	ECE    *float64 `json:"ece,omitempty"`
	Brier  *float64 `json:"brier,omitempty"`
}

func (c *evalCommand) run(cmd *cobra.Command, args []string) error {
	m, err := model.Load(c.model)
	if err != nil {
		return err
	}
	tab, err := data.ReadTable(args[0])
	if err != nil {
		return err
	}
	set, err := m.Set(tab)
	if err != nil {
		return err
	}
	methods := []*model.Model{m.MAP()}
	if m.Posterior != nil {
		methods = append(methods, m)
	}
	e := evaluation{Rows: set.N(), Target: m.Target}
	if m.Classes != nil {
		e.Link = string(c.link)
	}
	for _, method := range methods {
		s, err := c.score(cmd.Context(), method, set)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		e.Scores = append(e.Scores, s)
	}
	if c.json {
		return printJSON(cmd.OutOrStdout(), e)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), e.text())
	return err
}

// score scores one method.
func (c *evalCommand) score(ctx context.Context, m *model.Model, set *data.Set) (scores, error) {
	if m.Classes != nil {
		s, err := m.EvaluateClasses(ctx, set, c.link)
		return scores{Method: nameOf(m), NLL: s.NLL, ACC: &s.ACC, ECE: &s.ECE, Brier: &s.Brier}, err
	}
	s, err := m.Evaluate(ctx, set)
	return scores{Method: nameOf(m), NLL: s.NLL, RMSE: &s.RMSE, CRPS: &s.CRPS, CQM: &s.CQM}, err
}

// nameOf names the method that makes a model's error bars.
func nameOf(m *model.Model) string {
	if m.Posterior == nil {
		return "MAP"
	}
	return m.Posterior.String()
}

// columns are the scores' names, and those of a method.
func (s scores) columns() (names []string, values []float64) {
	names, values = []string{"NLL"}, []float64{s.NLL}
	for _, c := range []struct {
		name  string
		value *float64
	}{{"RMSE", s.RMSE}, {"CRPS", s.CRPS}, {"CQM", s.CQM}, {"ACC", s.ACC}, {"ECE", s.ECE}, {"Brier", s.Brier}} {
		if c.value != nil {
			names, values = append(names, c.name), append(values, *c.value)
		}
	}
	return names, values
}

func (e evaluation) text() string {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	names, _ := e.Scores[0].columns()
	header := table.Row{""}
	var right []table.ColumnConfig
	for i, name := range names {
		header = append(header, name)
		right = append(right, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(right)
	for _, s := range e.Scores {
		row := table.Row{s.Method}
		_, values := s.columns()
		for _, v := range values {
			row = append(row, fmt.Sprintf("%.4f", v))
		}
		w.AppendRow(row)
	}
	units := "in its units, smaller is better"
	if e.Link != "" {
		units = e.Link + " probabilities of its classes"
	}
	return fmt.Sprintf("%d rows, scores of %q, %s\n%s\n", e.Rows, e.Target, units, w.Render())
}
