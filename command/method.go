package command

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// methodDoc is the documentation of a method, which method list and method show print as JSON.
type methodDoc struct {
	Name     string       `json:"name"`     // name on the command line
	Title    string       `json:"title"`    // full name
	Summary  string       `json:"summary"`  // what the method does
	Formula  string       `json:"formula"`  // formula of the posterior covariance
	Symbols  string       `json:"symbols"`  // meaning of the symbols in the formula
	Cost     string       `json:"cost"`     // time and memory
	Use      string       `json:"use"`      // cases for which the method is good
	Source   string       `json:"source"`   // publication
	Settings []settingDoc `json:"settings"` // settings with their defaults
}

// settingDoc is the documentation of a setting.
type settingDoc struct {
	Name    string   `json:"name"`              // name of the flag
	Kind    string   `json:"kind"`              // INT, NUMBER, NAME or TEXT, with an s for lists, or SWITCH
	Default string   `json:"default,omitempty"` // constant default
	Auto    string   `json:"auto,omitempty"`    // description of a computed default
	Limits  string   `json:"limits,omitempty"`  // limits of numbers
	Choices []string `json:"choices,omitempty"` // possible names
	Help    string   `json:"help"`              // meaning
}

// newMethodDoc returns the documentation of m.
func newMethodDoc(m gp.Method) methodDoc {
	doc := methodDoc{Name: m.Name, Title: m.Title, Summary: m.Summary, Formula: m.Formula, Symbols: m.Symbols, Cost: m.Cost, Use: m.Use, Source: m.Source}
	for _, s := range settings.Of(m.New()) {
		kind := s.Kind()
		if s.IsBool() {
			kind = "SWITCH"
		}
		doc.Settings = append(doc.Settings, settingDoc{s.Name, kind, s.Default, s.Auto, s.Limits(), s.Choices, s.Help})
	}
	return doc
}

func newMethod() *cobra.Command {
	list := newMethodCommand("list", "List the methods, the default first", cobra.NoArgs, func([]string) (any, string, error) {
		var docs []methodDoc
		text := ""
		for _, m := range method.All() {
			docs = append(docs, newMethodDoc(m))
			text += fmt.Sprintf("%-10s %s\n", m.Name, m.Summary)
		}
		return docs, text, nil
	})
	show := newMethodCommand("show NAME", "Describe a method and its settings", oneMethod, func(args []string) (any, string, error) {
		m, err := method.Lookup(args[0])
		if err != nil {
			return nil, "", err
		}
		doc := newMethodDoc(m)
		return doc, doc.String(), nil
	})
	return group("method", "List and describe the methods that make error bars", list, show)
}

// newMethodCommand returns a command that prints what describe returns: a document or a text.
func newMethodCommand(use, short string, check cobra.PositionalArgs, describe func(args []string) (any, string, error)) *cobra.Command {
	var form asJSON
	cmd := &cobra.Command{
		Use: use, Short: short, Args: check,
		RunE: running(func(cmd *cobra.Command, args []string) error {
			document, text, err := describe(args)
			if err != nil {
				return err
			}
			return form.print(cmd, document, text)
		}),
	}
	settingsFlags(cmd.Flags(), &form, "", nil)
	return cmd
}

// oneMethod checks the arguments of method show.
func oneMethod(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("expected the name of one method, found %d arguments; valla method list names them", len(args))
	}
	return nil
}

// String returns the documentation of a method for people.
func (d methodDoc) String() string {
	return fmt.Sprintf("%s: %s\n\n%s\n\nCovariance  %s\n            %s\nCost        %s\nUse         %s\nSource      %s\n\n%s\n",
		d.Name, d.Title, wrap(d.Summary, 0), d.Formula, wrap(d.Symbols, 12), wrap(d.Cost, 12), wrap(d.Use, 12), wrap(d.Source, 12), d.table())
}

// wrap breaks text into lines. The first begins at a column; the others are indented to there.
func wrap(s string, column int) string {
	lines := strings.Split(text.WrapSoft(s, 90-column), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", column))
}

// table returns the settings as a table for the terminal.
func (d methodDoc) table() string {
	w := newTable(table.Row{"setting", "kind", "default", "values", "meaning"})
	var columns []table.ColumnConfig
	for i, width := range []int{16, 8, 24, 24, 48} {
		columns = append(columns, table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft})
	}
	w.SetColumnConfigs(columns)
	for _, s := range d.Settings {
		standard := s.Default
		if standard == "" {
			standard = s.Auto
		}
		values := s.Limits
		if len(s.Choices) > 0 {
			values = strings.Join(s.Choices, ", ")
		}
		w.AppendRow(table.Row{"--" + s.Name, s.Kind, standard, values, s.Help})
	}
	return w.Render()
}
