package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/figure"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// write writes a file. After an error the file is what it was before.
func write(path string, content []byte) error {
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error { _, err := w.Write(content); return err })
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// markdown returns the report, and writes its pictures below dir.
func (r *Report) markdown(dir string) (string, error) {
	var b strings.Builder
	b.WriteString("# Experiments\n\n" + legend + "\n")
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s. %d of %d cells.\n", s.Name, s.About, s.Done, s.Expected)
		if s.Commands != nil {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.Join(s.Commands, "\n"))
		}
		for _, t := range s.Summary {
			fmt.Fprintf(&b, "\n**%s**\n\n%s\n", t.Title, t.pretty().RenderMarkdown())
		}
		for _, d := range s.Data {
			if err := d.markdown(&b, s.ID, dir); err != nil {
				return "", err
			}
		}
	}
	for _, k := range r.NotRun {
		fmt.Fprintf(&b, "\n## %s: not run\n\n%s\n\n```sh\nvalla experiment run %s\n```\n", k.Name, k.About, k.Name)
	}
	for _, d := range r.Damaged {
		fmt.Fprintf(&b, "\nDamaged, and computed again by the next run: %s\n", d)
	}
	for _, m := range r.Machines {
		fmt.Fprintf(&b, "\nComputed with %s: %d cells.\n", m.Name, m.Cells)
	}
	return b.String(), nil
}

// legend explains the tables.
const legend = "Numbers are those printed in the paper, the means of the runs that authors released, and those measured here " +
	"(mean ± standard deviation over seeds). Probabilities of classes are by the probit approximation, means over samples (mc), or those of a network " +
	"that was trained further for them (own). ** is the best and * the second best of a column; † is no run of this program's experiments."

// markdown writes the tables and the figures of a data set.
func (d DataSection) markdown(b *strings.Builder, section, dir string) error {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", d.Table.Title, d.Table.pretty().RenderMarkdown())
	for _, v := range d.Table.Says {
		fmt.Fprintf(b, "\n* %s", v)
	}
	if d.Table.Says != nil {
		b.WriteString("\n")
	}
	if d.Note != "" {
		fmt.Fprintf(b, "\n%s\n", d.Note)
	}
	if d.Costs.Rows != nil {
		fmt.Fprintf(b, "\n%s\n", d.Costs.pretty().RenderMarkdown())
	}
	for _, f := range d.Figures {
		name := slug(section + " " + d.Table.Title + " " + f.Name)
		if err := figure.Save(filepath.Join(dir, "figures", name), f.Charts...); err != nil {
			return err
		}
		fmt.Fprintf(b, "\n![%s](figures/%s.png)\n\n**%s** %s\n", f.Title, name, f.Title, f.Caption)
	}
	return nil
}

// measured returns the table without the published numbers.
func (t Table) measured() Table {
	m := t.only(func(c Column) bool { return c.Source == here })
	m.Rows = slices.DeleteFunc(m.Rows, func(r Row) bool { return r.Seeds == "" })
	return m
}

// only returns the table with some of its columns.
func (t Table) only(keep func(Column) bool) Table {
	m := Table{Title: t.Title, Probs: t.Probs}
	var kept []int
	for i, c := range t.Columns {
		if keep(c) {
			m.Columns, kept = append(m.Columns, c), append(kept, i)
		}
	}
	for _, r := range t.Rows {
		cells := r.Cells
		r.Cells = nil
		for _, i := range kept {
			r.Cells = append(r.Cells, cells[i])
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}

// pretty returns the table for text and Markdown.
func (t Table) pretty() table.Writer {
	w := table.NewWriter()
	style := table.StyleRounded
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	head := table.Row{"method", "probs", "seeds"}
	for _, c := range t.Columns {
		name := c.Metric
		if c.Source != here {
			name += ", " + c.Source
		}
		head = append(head, name)
	}
	w.AppendHeader(head)
	for _, r := range t.Rows {
		row := table.Row{r.Method, r.Probs, r.Seeds}
		for _, c := range r.Cells {
			row = append(row, c.Text+[]string{"", " **", " *"}[c.Mark])
		}
		w.AppendRow(row)
	}
	w.SuppressEmptyColumns()
	return w
}

// WriteText prints the measured numbers of an experiment under a profile, whose results lie below
// a folder.
func WriteText(w io.Writer, dir, name, profile string) error {
	found, _, err := result.ReadAll(dir)
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Experiment != name || f.Profile != profile {
			continue
		}
		for _, data := range f.Data {
			scores, took := tables(f, data)
			for _, t := range []Table{scores, took} {
				if len(t.Rows) > 0 {
					fmt.Fprintf(w, "%s\n%s\n", t.Title, t.measured().pretty().Render())
				}
			}
		}
	}
	return nil
}
