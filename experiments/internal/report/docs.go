package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
)

// inDocs are the figures that the page of results shows; the others are in the report.
var inDocs = []string{"bands", "points", "rotations", "entropy", "corruptions"}

// WriteDocs writes results.md to a folder, its figures to the folder figures in it, and the tables of laws to
// likelihoods.md, if this page is there.
func (r *Report) WriteDocs(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "figures"), 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var b strings.Builder
	b.WriteString("# Results\n\nEach table compares methods on one data set, with numbers from the paper, from the runs that its authors released, and from this program. " +
		"[What they say](quality.md) has the conclusions, and [methods](methods.md) explains the methods. The end of this page lists [deviations and their causes](#deviations-from-published-numbers) " +
		"and [what is missing](#what-is-missing).\n\n" + legend + "\n\n" + wordTable(glossary) +
		"\n`go run ./experiments/publish` writes this page from the cells in `experiments/results`. A cell is one method on one data set with one seed. It has the settings, the scores, the " +
		"curves, the times, the machine and the commit. `valla experiment report` makes a page with all columns, figures and costs of the cells.\n")
	for _, s := range r.Sections {
		if len(s.Data) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", s.Name, s.About)
		s.summary(&b)
		for _, d := range s.Data {
			if err := d.docs(&b, s, dir); err != nil {
				return err
			}
		}
	}
	if err := r.writeDeviations(&b); err != nil {
		return err
	}
	b.WriteString("\n## What is missing\n\n" + missing)
	b.WriteString("\n## Machines\n\n")
	for _, m := range r.Machines {
		fmt.Fprintf(&b, "* %s\n", m)
	}
	if err := result.WriteFile(filepath.Join(dir, "results.md"), []byte(b.String())); err != nil {
		return err
	}
	return r.writeLaws(dir)
}

// docs writes the table of a data set, unless a summary has it, and its figures.
func (d DataSection) docs(b *strings.Builder, s Section, dir string) error {
	if s.Summary == nil {
		d.scores(b, s, d.Table.brief().with(d.Costs, "CPU, s"))
	}
	for _, f := range d.Figures {
		if !slices.Contains(inDocs, f.Name) {
			continue
		}
		name := result.Slug(d.Table.Title + " " + f.Name)
		if err := figure.SavePNG(filepath.Join(dir, "figures", name+".png"), f.Charts...); err != nil {
			return err
		}
		f.markdown(b, name)
	}
	return nil
}

// wordTable returns words and their meanings as a table of Markdown.
func wordTable(words []Word) string {
	var rows [][]string
	for _, w := range words {
		rows = append(rows, []string{w.Name, strings.ReplaceAll(w.Text, "|", `\|`)})
	}
	return plainTable([]string{"word", "meaning"}, rows)
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
