package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/model"
)

// evalCommand is the command line of valla eval.
type evalCommand struct {
	model string
	json  bool
}

func newEval() *cobra.Command {
	c := &evalCommand{}
	cmd := &cobra.Command{
		Use:   "eval DATA --model FILE",
		Short: "Score predictions against known targets",
		Long: `Score the predictions for a table that holds the target, in its units: the negative
log-likelihood (NLL) and the continuous ranked probability score (CRPS) of the
predictive distribution, the root mean squared error (RMSE) of its mean, and the
calibration error of its central intervals (CQM). Smaller is better. MAP is the network
with its noise alone, VaLLA the same network with the posterior.`,
		Example: "  valla eval test.csv --model houses.valla",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.model, "model", "", "model `FILE`")
	jsonFlag(f, &c.json)
	require(cmd, "model")
	return cmd
}

// evaluation is what eval prints.
type evaluation struct {
	Rows   int      `json:"rows"`
	Target string   `json:"target"`
	Scores []scores `json:"scores"`
}

type scores struct {
	Method string  `json:"method"`
	NLL    float64 `json:"nll"`
	RMSE   float64 `json:"rmse"`
	CRPS   float64 `json:"crps"`
	CQM    float64 `json:"cqm"`
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
	if m.Layer != nil {
		methods = append(methods, m)
	}
	e := evaluation{Rows: set.N(), Target: m.Target}
	for _, method := range methods {
		s, err := method.Evaluate(cmd.Context(), set)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		e.Scores = append(e.Scores, scores{nameOf(method), s.NLL, s.RMSE, s.CRPS, s.CQM})
	}
	if c.json {
		return printJSON(cmd.OutOrStdout(), e)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), e.text())
	return err
}

// nameOf names the method that makes a model's error bars.
func nameOf(m *model.Model) string {
	if m.Layer == nil {
		return "MAP"
	}
	return fmt.Sprintf("VaLLA %d", m.Layer.Inducing())
}

func (e evaluation) text() string {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.AppendHeader(table.Row{"", "NLL", "RMSE", "CRPS", "CQM"})
	for _, s := range e.Scores {
		row := table.Row{s.Method}
		for _, v := range []float64{s.NLL, s.RMSE, s.CRPS, s.CQM} {
			row = append(row, fmt.Sprintf("%.4f", v))
		}
		w.AppendRow(row)
	}
	var right []table.ColumnConfig
	for i := range 4 {
		right = append(right, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.SetColumnConfigs(right)
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows, scores of %q in its units, smaller is better\n%s\n", e.Rows, e.Target, w.Render())
	return b.String()
}
