package command

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// newTable returns a table for the terminal with a header, whose words stay as they are.
func newTable(header table.Row) table.Writer {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Format.Header = text.FormatDefault
	w.AppendHeader(header)
	return w
}

// alignRight aligns all columns of numbers, which are all but the first column, to the right.
func alignRight(w table.Writer, columns int) {
	var right []table.ColumnConfig
	for n := 2; n <= columns; n++ {
		right = append(right, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.SetColumnConfigs(right)
}
