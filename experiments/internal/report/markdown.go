package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

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
	b.WriteString("# Experiments\n\nPrinted in the paper, in its authors’ released runs, and measured here: mean ± standard deviation over seeds. ** best, * second best of a column.\n")
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n## %s, profile %s\n\n%s. %d of %d cells.\n\n```sh\n%s\n```\n", s.Name, s.Profile, s.About, s.Done, s.Expected, strings.Join(s.Commands, "\n"))
		for _, d := range s.Data {
			fmt.Fprintf(&b, "\n### %s\n\n%s\n", d.Table.Title, d.Table.pretty().RenderMarkdown())
			for _, v := range d.Table.Says {
				fmt.Fprintf(&b, "\n* %s", v)
			}
			b.WriteString("\n")
			if d.Note != "" {
				fmt.Fprintf(&b, "\n%s\n", d.Note)
			}
			for _, f := range d.Figures {
				name := slug(s.ID + " " + d.Table.Title + " " + f.Title)
				if err := figure.Save(filepath.Join(dir, "figures", name), f.Charts...); err != nil {
					return "", err
				}
				fmt.Fprintf(&b, "\n![%s](figures/%s.png)\n\n%s: %s\n", f.Title, name, f.Title, f.Caption)
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
		fmt.Fprintf(&b, "\nComputed with %s.\n", m)
	}
	return b.String(), nil
}

// measured returns the table without the published numbers.
func (t Table) measured() Table {
	m := Table{Title: t.Title, Probs: t.Probs}
	var kept []int
	for i, c := range t.Columns {
		if c.Source == here {
			m.Columns, kept = append(m.Columns, c), append(kept, i)
		}
	}
	for _, r := range t.Rows {
		if r.Seeds == "" {
			continue
		}
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

// WriteText prints the measured numbers of an experiment under a profile.
func (r *Report) WriteText(w io.Writer, experiment, profile string) {
	for _, s := range r.Sections {
		if s.Name != experiment || s.Profile != profile {
			continue
		}
		for _, d := range s.Data {
			fmt.Fprintf(w, "%s\n%s\n", d.Table.Title, d.Table.measured().pretty().Render())
		}
	}
}
