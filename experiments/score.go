package experiments

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/go-valla/valla/train/metric"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Score is one row of a regression table: how one method predicts a test set. NLL
// and CRPS are of the Gaussian predictive distribution of y, in the data's units.
type Score struct {
	Dataset string  `json:"dataset"`
	Method  string  `json:"method"`
	N       int     `json:"n"` // test points
	NLL     float64 `json:"nll"`
	RMSE    float64 `json:"rmse"`
	CRPS    float64 `json:"crps"`
	CQM     float64 `json:"cqm"`
	// Seconds is the time to fit the method, that of the network included for MAP.
	Seconds float64 `json:"seconds"`
}

// score evaluates predictions of y with the given means and variances.
func score(dataset, method string, mean, variance, y []float64, took time.Duration) (Score, error) {
	var r metric.Regression
	if err := r.Add(mean, variance, y); err != nil {
		return Score{}, fmt.Errorf("experiments: %s on %s: %w", method, dataset, err)
	}
	s, err := r.Result()
	if err != nil {
		return Score{}, fmt.Errorf("experiments: %s on %s: %w", method, dataset, err)
	}
	return Score{Dataset: dataset, Method: method, N: s.N, NLL: s.NLL, RMSE: s.RMSE, CRPS: s.CRPS, CQM: s.CQM,
		Seconds: math.Round(took.Seconds()*1000) / 1000}, nil
}

// WriteScores prints the rows as a table; the best NLL, CRPS and CQM of each data
// set are marked with a star.
func WriteScores(w io.Writer, rows []Score) {
	render(w, scoreTable(rows))
}

// render prints a table with its header as it is.
func render(w io.Writer, t table.Writer) {
	style := table.StyleRounded
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	fmt.Fprintln(w, t.Render())
}

// MarkdownScores returns the same table in Markdown.
func MarkdownScores(rows []Score) string { return scoreTable(rows).RenderMarkdown() }

func scoreTable(rows []Score) table.Writer {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"data", "method", "NLL", "RMSE", "CRPS", "CQM", "fit, s"})
	columns := []func(Score) float64{
		func(s Score) float64 { return s.NLL },
		func(s Score) float64 { return s.RMSE },
		func(s Score) float64 { return s.CRPS },
		func(s Score) float64 { return s.CQM },
	}
	for i, r := range rows {
		if i > 0 && rows[i-1].Dataset != r.Dataset {
			t.AppendSeparator()
		}
		cells := table.Row{r.Dataset, r.Method}
		for _, value := range columns {
			cells = append(cells, cell(rows, r, value))
		}
		t.AppendRow(append(cells, strconv.FormatFloat(r.Seconds, 'f', 2, 64)))
	}
	return t
}

// cell formats one number with a star if no row of its data set prints a smaller one
// and some prints a larger one.
func cell(rows []Score, r Score, value func(Score) float64) string {
	shown := func(s Score) float64 {
		v, _ := strconv.ParseFloat(strconv.FormatFloat(value(s), 'f', 4, 64), 64)
		return v
	}
	best, worse := true, false
	for _, o := range rows {
		if o.Dataset == r.Dataset {
			best = best && shown(o) >= shown(r)
			worse = worse || shown(o) > shown(r)
		}
	}
	if best && worse {
		return fmt.Sprintf("%.4f *", value(r))
	}
	return fmt.Sprintf("%.4f", value(r))
}
