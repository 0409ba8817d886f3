package report

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/figure"
)

// missing says what the tables lack and why.
//
//go:embed missing.md
var missing string

// causes says why numbers differ from published ones, where no number of the tables does.
//
//go:embed causes.md
var causes string

// inDocs are the figures that the page of results shows; the others are in the report.
var inDocs = []string{"bands", "points", "rotations", "entropy", "corruptions"}

// WriteDocs writes results.md to a folder, and its figures to the folder figures in it.
func (r *Report) WriteDocs(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "figures"), 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var b strings.Builder
	b.WriteString("# Results\n\nThis page is written by `go run ./experiments/publish` from the cells in `experiments/results`, which hold settings, scores, " +
		"curves, times, machine and commit of each run. `valla experiment report` makes a page of them with all columns, figures and costs.\n\n" + legend +
		" CPU seconds are those of the fit; for MAP, of the network's training where it was trained.\n")
	for _, s := range r.Sections {
		if len(s.Data) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", s.Name, s.About)
		for _, t := range s.Summary {
			fmt.Fprintf(&b, "\n**%s**\n\n%s\n", t.Title, t.pretty().RenderMarkdown())
		}
		for _, d := range s.Data {
			if err := d.docs(&b, s, dir); err != nil {
				return err
			}
		}
	}
	b.WriteString("\n## Deviations from published numbers\n\nRows whose NLL is farther from the released runs than three standard deviations over seeds, " +
		"or than one per cent where there is one seed:\n\n" + r.deviations() + "\n" + causes)
	b.WriteString("\n## What is missing\n\n" + missing)
	b.WriteString("\n## Machines\n\n")
	for _, m := range r.Machines {
		fmt.Fprintf(&b, "* %s: %d cells.\n", m.Name, m.Cells)
	}
	return write(filepath.Join(dir, "results.md"), []byte(b.String()))
}

// docs writes the table of a data set, unless a summary has it, and its figures.
func (d DataSection) docs(b *strings.Builder, s Section, dir string) error {
	if s.Summary == nil {
		fmt.Fprintf(b, "\n### %s\n\n%s\n", d.Table.Title, d.Table.brief().with(d.Costs, "CPU, s").pretty().RenderMarkdown())
		if d.Note != "" {
			fmt.Fprintf(b, "\n%s\n", d.Note)
		}
	}
	for _, f := range d.Figures {
		if !slices.Contains(inDocs, f.Name) {
			continue
		}
		name := slug(d.Table.Title + " " + f.Name)
		if err := figure.SavePNG(filepath.Join(dir, "figures", name+".png"), f.Charts...); err != nil {
			return err
		}
		fmt.Fprintf(b, "\n![%s](figures/%s.png)\n\n**%s** %s\n", f.Title, name, f.Title, f.Caption)
	}
	return nil
}

// compared are the metrics whose published numbers the page of results shows.
var compared = []string{"NLL", "ECE", "CQM", "OOD-AUC"}

// brief returns the table without the published columns of the metrics that are not compared.
func (t Table) brief() Table {
	return t.only(func(c Column) bool { return c.Source == here || slices.Contains(compared, c.Metric) })
}

// with returns the table with a column of another table, in the first row of each method.
func (t Table) with(o Table, metric string) Table {
	k := slices.IndexFunc(o.Columns, func(c Column) bool { return c.Metric == metric })
	if k < 0 {
		return t
	}
	t.Columns = append(slices.Clone(t.Columns), o.Columns[k])
	seen := ""
	for i, r := range t.Rows {
		c := Cell{Value: math.NaN()}
		if at := slices.IndexFunc(o.Rows, func(x Row) bool { return x.Method == r.Method }); at >= 0 && r.Method != seen {
			c, seen = o.Rows[at].Cells[k], r.Method
		}
		t.Rows[i].Cells = append(slices.Clone(r.Cells), c)
	}
	return t
}

// far tells which difference of a measured NLL from the released one is worth a word: more than
// three standard deviations over seeds, or one per cent where there are not two seeds.
func far(measured []float64, released float64) bool {
	mean, std := moments(measured)
	limit := 3 * std
	if len(measured) < 2 {
		limit = 0.01 * math.Abs(released)
	}
	return math.Abs(mean-released) > max(limit, 5e-4)
}

// deviations lists the rows whose NLL is far from that of the released runs.
func (r *Report) deviations() string {
	var b strings.Builder
	for _, e := range r.merged {
		for _, data := range e.Data {
			p := publishedFor(data)
			for _, l := range gather(e.Found, data) {
				want, got := l.values("NLL", runs, p), l.measured["NLL"]
				if want == nil || len(got) == 0 || !far(got, want[0]) {
					continue
				}
				mean, _ := moments(got)
				fmt.Fprintf(&b, "* %s, %s%s: NLL %s, released %s.%s\n", data, l.method, strings.TrimRight(", "+l.probs, ", "),
					format(mean, 4), format(want[0], 4), l.cause())
			}
		}
	}
	if b.Len() == 0 {
		return "None.\n"
	}
	return b.String()
}

// cause says why a line differs from the released runs, where that is known.
func (l *line) cause() string {
	switch {
	case l.probs == "mc":
		return " The released samples have the covariance LᵀL instead of LLᵀ."
	case l.far > 0:
		return " It is fitted by another algorithm than the released runs."
	}
	return ""
}
