package experiments

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/experiments/spec"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Score is one row of the demonstration's table: how one method predicts a test set. NLL
// and CRPS are of the Gaussian predictive distribution of y, in the data's units.
type Score struct {
	Method  string  `json:"method"`
	N       int     `json:"n"` // test points
	NLL     float64 `json:"nll"`
	RMSE    float64 `json:"rmse"`
	CRPS    float64 `json:"crps"`
	CQM     float64 `json:"cqm"`
	Seconds float64 `json:"seconds"` // to fit the method; for MAP, to train the network
}

// score evaluates a fitted method on a test set.
func score(ctx context.Context, p *Problem, method string, f *Fitted, test *data.Set) (Score, error) {
	r := *p.Task.(*regression)
	r.sets.test = test
	c := &result.Cell{}
	if err := r.Score(ctx, p, f, spec.Scoring{}, c); err != nil {
		return Score{}, fmt.Errorf("experiments: %s: %w", method, err)
	}
	s := c.Scores[""]
	return Score{Method: method, N: c.N, NLL: float64(s["NLL"]), RMSE: float64(s["RMSE"]), CRPS: float64(s["CRPS"]), CQM: float64(s["CQM"])}, nil
}

// WriteScores prints the rows as a table.
func WriteScores(w io.Writer, rows []Score) {
	t, style := table.NewWriter(), table.StyleRounded
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.AppendHeader(table.Row{"method", "NLL", "RMSE", "CRPS", "CQM", "fit, s"})
	for _, r := range rows {
		cells := table.Row{r.Method}
		for _, v := range []float64{r.NLL, r.RMSE, r.CRPS, r.CQM} {
			cells = append(cells, strconv.FormatFloat(v, 'f', 4, 64))
		}
		t.AppendRow(append(cells, strconv.FormatFloat(r.Seconds, 'f', 2, 64)))
	}
	fmt.Fprintln(w, t.Render())
}
