package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// markdown returns the report, and writes its pictures below dir.
func (r *Report) markdown(dir string) (string, error) {
	var b strings.Builder
	b.WriteString("# Experiments\n\n" + legend + "\n\n" + wordTable(slices.Concat(glossary, costWords)))
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s. %d of %d runs.\n", s.Name, s.About, s.Done, s.Expected)
		if s.Commands != nil {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.Join(s.Commands, "\n"))
		}
		s.summary(&b)
		for _, d := range s.Data {
			if err := d.markdown(&b, s, dir); err != nil {
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
		fmt.Fprintf(&b, "\nComputed with %s\n", m)
	}
	return b.String(), nil
}

// legend says how numbers are marked.
const legend = "The best number of a column is **bold**, and the second best is in _italics_."

// markdown writes the tables and the figures of a data set.
func (d DataSection) markdown(b *strings.Builder, s Section, dir string) error {
	d.scores(b, s, d.Table)
	if d.Costs.Rows != nil {
		fmt.Fprintf(b, "\n%s\n", d.Costs.markdown())
	}
	for _, f := range d.Figures {
		name := result.Slug(s.ID + " " + d.Table.Title + " " + f.Name)
		if err := figure.Save(filepath.Join(dir, "figures", name), f.Charts...); err != nil {
			return err
		}
		f.markdown(b, name)
	}
	return nil
}

// scores writes the name of a data set, unless the section has the same name, the table t of the scores with its
// sentences, and the note.
func (d DataSection) scores(b *strings.Builder, s Section, t Table) {
	if t.Title != s.Name {
		fmt.Fprintf(b, "\n### %s\n", t.Title)
	}
	fmt.Fprintf(b, "\n%s\n", t.markdown())
	for _, v := range t.Says {
		fmt.Fprintf(b, "\n* %s", v)
	}
	if t.Says != nil {
		b.WriteString("\n")
	}
	if d.Note != "" {
		fmt.Fprintf(b, "\n%s\n", d.Note)
	}
}

// markdown writes the figure, whose picture has a name in the folder figures.
func (f Figure) markdown(b *strings.Builder, name string) {
	fmt.Fprintf(b, "\n![%s](figures/%s.png)\n\n**%s** %s\n", f.Title, name, f.Title, f.Caption)
}

// summary writes the tables that compare the data sets of an experiment.
func (s Section) summary(b *strings.Builder) {
	for _, t := range s.Summary {
		fmt.Fprintf(b, "\n**%s**\n\n%s\n", t.Title, t.markdown())
	}
}

// plainTable returns rows of text below a head as a table of Markdown.
func plainTable(head []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
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

// markdown returns the table as Markdown.
func (t Table) markdown() string {
	return t.pretty([]string{"%s", "**%s**", "_%s_"}).RenderMarkdown()
}

// text returns the table for a terminal.
func (t Table) text() string { return t.pretty([]string{"%s", "%s **", "%s *"}).Render() }

// pretty returns the table, whose numbers are written by the format of their rank.
func (t Table) pretty(ranks []string) table.Writer {
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
			row = append(row, fmt.Sprintf(ranks[c.Mark], c.Text))
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
					fmt.Fprintf(w, "%s\n%s\n", t.Title, t.measured().text())
				}
			}
		}
	}
	return nil
}
