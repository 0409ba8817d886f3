package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/go-valla/valla/experiments/internal/result"
)

// report is the outcome of a comparison.
type report struct {
	session
	Versions map[string]string `json:"their_versions,omitempty"` // versions of Python and its modules
	Note     string            `json:"note,omitempty"`           // why there is only our side
	CPU      bool              `json:"cpu,omitempty"`            // CPU time on one thread
	Rows     []row             `json:"rows"`                     // the measurements, in the order of the table
}

// text returns a table with a line for each benchmark and element type, in Markdown if that is asked for.
func (r report) text(markdown bool) string {
	if markdown {
		return r.markdown()
	}
	w := newTable()
	w.AppendHeader(table.Row{"ms", "", "ours", "1 thread", "theirs", "their threads", "ratio", "of fastest", "aim", "steps", "differ by"})
	var right []table.ColumnConfig
	for _, column := range []int{3, 4, 5, 7, 8, 9, 10, 11} {
		right = append(right, table.ColumnConfig{Number: column, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.SetColumnConfigs(right)
	for i, x := range r.Rows {
		if i > 0 && x.Group != r.Rows[i-1].Group {
			w.AppendSeparator()
		}
		w.AppendRow(x.cells())
	}
	var s strings.Builder
	s.WriteString(r.line(r.Machine.CPU, result.Plural(r.Machine.Cores, "thread"), r.Machine.Go))
	if r.Versions != nil {
		fmt.Fprintf(&s, "theirs: Python %s, torch %s, numpy %s, whose product of 512×512 in float64 makes %s on one thread\n",
			r.Versions["python"], r.Versions["torch"], r.Versions["numpy"], r.Versions["product"])
	}
	fmt.Fprintln(&s, w.Render())
	if r.CPU {
		s.WriteString("CPU time on one thread. ")
	}
	s.WriteString("Medians. The ratio is that of our faster column to theirs, the next that of the fastest steps.\n")
	for _, note := range r.notes() {
		fmt.Fprintln(&s, note)
	}
	return s.String()
}

// cells returns the columns of a row.
func (r row) cells() table.Row {
	c := table.Row{r.Name, r.Dtype, milliseconds(r.Ours), milliseconds(r.OursOne), milliseconds(r.Theirs), "", "", "", "≤ " + digits(r.Wanted), r.Ours.Steps, ""}
	if r.Theirs != nil {
		c[5] = r.Theirs.Setting
		c[7] = digits(min(r.Ours.Fastest, r.one().Fastest) / r.Theirs.Fastest)
	}
	if ratio, known := r.ratio(); known {
		c[6] = digits(ratio)
	}
	if r.Difference != nil {
		c[10] = fmt.Sprintf("%.0e", *r.Difference)
	}
	return c
}

// notes returns the reasons why the other side was not measured, each once.
func (r report) notes() []string {
	var notes []string
	if r.Note != "" {
		notes = append(notes, "Only ours: "+r.Note+".")
	}
	for _, rows := range result.Grouped(r.Rows, func(x row) string { return x.Note }) {
		var names []string
		for _, x := range rows {
			names = append(names, x.Name)
		}
		if note := rows[0].Note; note != "" {
			notes = append(notes, "Without theirs, "+note+": "+strings.Join(names, "; "))
		}
	}
	return notes
}

// markdown returns a table with a line for each benchmark, for the README.
func (r report) markdown() string {
	var s strings.Builder
	s.WriteString("| | float64: here | authors' | ratio | float32: here | authors' | ratio |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, rows := range result.Grouped(r.Rows, func(x row) string { return x.Name }) {
		fmt.Fprintf(&s, "| %s |%s|%s|\n", rows[0].Name, cellsOf(rows, "float64"), cellsOf(rows, "float32"))
	}
	return s.String()
}

// cellsOf returns three cells of Markdown for the row of an element type, which are empty if nothing was measured.
func cellsOf(rows []row, dtype string) string {
	for _, x := range rows {
		if x.Dtype != dtype {
			continue
		}
		best := x.Ours
		if one := x.one(); one.Median < best.Median {
			best = one
		}
		ratio := ""
		if v, known := x.ratio(); known {
			ratio = digits(v)
		}
		return fmt.Sprintf(" %s | %s | %s ", milliseconds(best), milliseconds(x.Theirs), ratio)
	}
	return " | | "
}
