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
func newMethodDoc(m gp.Method) described {
	doc := methodDoc{m.Name, m.Title, m.Summary, m.Formula, m.Symbols, m.Cost, m.Use, m.Source, settingDocs(m.New())}
	return described{m.Name, m.Summary, doc, doc.String()}
}

// settingDocs returns the documentation of the settings of the struct that ptr points to.
func settingDocs(ptr any) (docs []settingDoc) {
	for _, s := range settings.Of(ptr) {
		kind := s.Kind()
		if s.IsBool() {
			kind = "SWITCH"
		}
		docs = append(docs, settingDoc{s.Name, kind, s.Default, s.Auto, s.Limits(), s.Choices, s.Help})
	}
	return docs
}

func newMethod() *cobra.Command {
	return describing("method", "List and describe the methods that make error bars", "List the methods, the default first", "Describe a method and its settings",
		"the name of one method", method.All, method.Lookup, newMethodDoc)
}

// described is an entry of a table of methods or models with its documentation.
type described struct {
	name, summary string // of the entry
	doc           any    // documentation as JSON
	text          string // documentation for people
}

// describing returns the command name, which lists the entries of a table and shows an entry. The words what name the
// argument of the second.
func describing[T any](name, short, ofList, ofShow, what string, all func() []T, lookup func(string) (T, error), about func(T) described) *cobra.Command {
	list := newDescription("list", ofList, cobra.NoArgs, func([]string) (any, string, error) {
		var docs []any
		text, width := "", 10
		for _, m := range all() {
			width = max(width, len(about(m).name))
		}
		for _, m := range all() {
			d := about(m)
			docs = append(docs, d.doc)
			text += fmt.Sprintf("%-*s %s\n", width, d.name, d.summary)
		}
		return docs, text, nil
	})
	check := func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("expected %s, found %d arguments; valla %s list names them", what, len(args), name)
		}
		return nil
	}
	show := newDescription("show NAME", ofShow, check, func(args []string) (any, string, error) {
		m, err := lookup(args[0])
		if err != nil {
			return nil, "", err
		}
		d := about(m)
		return d.doc, d.text, nil
	})
	return group(name, short, list, show)
}

// newDescription returns a command that prints what describe returns: a document or a text.
func newDescription(use, short string, check cobra.PositionalArgs, describe func(args []string) (any, string, error)) *cobra.Command {
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

// String returns the documentation of a method for people.
func (d methodDoc) String() string {
	return fmt.Sprintf("%s: %s\n\n%s\n\nCovariance  %s\n            %s\nCost        %s\nUse         %s\nSource      %s\n\n%s\n",
		d.Name, d.Title, wrap(d.Summary, 0), d.Formula, wrap(d.Symbols, 12), wrap(d.Cost, 12), wrap(d.Use, 12), wrap(d.Source, 12), settingTable("--", d.Settings))
}

// wrap breaks text into lines. The first begins at a column; the others are indented to there.
func wrap(s string, column int) string {
	lines := strings.Split(text.WrapSoft(s, 90-column), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", column))
}

// settingTable returns settings as a table for the terminal, with a prefix before their names.
func settingTable(prefix string, docs []settingDoc) string {
	w := newTable(table.Row{"setting", "kind", "default", "values", "meaning"})
	var columns []table.ColumnConfig
	for i, width := range []int{28, 8, 24, 24, 48} {
		columns = append(columns, table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft})
	}
	w.SetColumnConfigs(columns)
	for _, s := range docs {
		standard := s.Default
		if standard == "" {
			standard = s.Auto
		}
		values := s.Limits
		if len(s.Choices) > 0 {
			values = strings.Join(s.Choices, ", ")
		}
		w.AppendRow(table.Row{prefix + s.Name, s.Kind, standard, values, s.Help})
	}
	return w.Render()
}
