package bench

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
	Peak     peak              `json:"peak"`                     // the speed of a core
	Versions map[string]string `json:"their_versions,omitempty"` // versions of Python and its modules
	Note     string            `json:"note,omitempty"`           // why there is only our side
	CPU      bool              `json:"cpu,omitempty"`            // CPU time on one thread
	Rows     []row             `json:"rows,omitempty"`           // steps and predictions, in the order of the table
	Fits     []fitLine         `json:"fits,omitempty"`           // whole fits, in the order of the table
}

// text returns the machine and the tables, in Markdown if that is asked for.
func (r report) text(markdown bool) string {
	if markdown && r.Versions != nil {
		return r.markdown()
	}
	var s strings.Builder
	s.WriteString(r.line(r.Machine.CPU, result.Plural(r.Machine.Cores, "thread"), r.Machine.Go, "valla "+r.Machine.Program))
	fmt.Fprintf(&s, "A core makes %s GFLOP/s in float64 and %s in float32, in products of 512 × 512.\n", digits(r.Peak.Double/1e9), digits(r.Peak.Single/1e9))
	if len(r.Rows) > 0 {
		s.WriteString("\n" + r.stepsText(markdown))
	}
	if len(r.Fits) > 0 {
		s.WriteString("\n" + r.fitsText(markdown))
	}
	return s.String()
}

// stepsText returns a table with a line for each benchmark and element type.
func (r report) stepsText(markdown bool) string {
	w := newTable()
	one := "1 thread"
	if _, err := processClock(); err == nil && r.Versions == nil {
		one = "CPU, 1 thread" // see measureSteps
	}
	w.AppendHeader(table.Row{"ms", "", "ours", one, "theirs", "their threads", "ratio", "of fastest", "aim", "steps", "differ by", "floor", "above floor"})
	alignRight(w, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13)
	for i, x := range r.Rows {
		if i > 0 && x.Group != r.Rows[i-1].Group {
			w.AppendSeparator()
		}
		w.AppendRow(x.cells())
	}
	if markdown {
		return w.RenderMarkdown() + "\n" + r.paragraphs()
	}
	var s strings.Builder
	if r.Versions != nil {
		fmt.Fprintf(&s, "theirs: Python %s, torch %s, numpy %s, whose product of 512×512 in float64 makes %s on one thread\n",
			r.Versions["python"], r.Versions["torch"], r.Versions["numpy"], r.Versions["product"])
	}
	fmt.Fprintln(&s, w.Render())
	if r.CPU {
		s.WriteString("CPU time on one thread. ")
	}
	s.WriteString("Medians.")
	if r.Versions != nil {
		s.WriteString(" The ratio is that of our faster column to theirs, the next that of the fastest steps.")
	}
	s.WriteString(" The floor is the time of the operations at the speed of a core.\n")
	for _, note := range r.notes() {
		fmt.Fprintln(&s, note)
	}
	return s.String()
}

// alignRight aligns columns of numbers, which count from 1. Columns that no row has are left out.
func alignRight(w table.Writer, columns ...int) {
	w.SuppressEmptyColumns()
	var configs []table.ColumnConfig
	for _, n := range columns {
		configs = append(configs, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.SetColumnConfigs(configs)
}

// cells returns the columns of a row.
func (r row) cells() table.Row {
	c := table.Row{r.Name, r.Dtype, milliseconds(r.Ours), milliseconds(r.OursOne), milliseconds(r.Theirs), "", "", "", "", r.Ours.Steps, "", "", ""}
	if above, known := r.above(); known {
		c[11], c[12] = digits(1000*r.Floor), "× "+digits(above)
	}
	if r.Theirs != nil || r.Note != "" {
		c[8] = "≤ " + digits(r.Wanted)
	}
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

// paragraphs returns the notes as paragraphs of Markdown.
func (r report) paragraphs() (text string) {
	for _, note := range r.notes() {
		text += "\n" + note + "\n"
	}
	return text
}

// markdown returns a table with a line for each benchmark, for the README, and the notes.
func (r report) markdown() string {
	var s strings.Builder
	s.WriteString("| | float64: here | authors' | ratio | float32: here | authors' | ratio |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, rows := range result.Grouped(r.Rows, func(x row) string { return x.Name }) {
		fmt.Fprintf(&s, "| %s |%s|%s|\n", rows[0].Name, cellsOf(rows, "float64"), cellsOf(rows, "float32"))
	}
	return s.String() + r.paragraphs()
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
