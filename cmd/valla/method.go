package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// methodDoc is what method list and method show print as JSON.
type methodDoc struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Summary  string       `json:"summary"`
	Formula  string       `json:"formula"` // of the posterior covariance
	Cost     string       `json:"cost"`
	Use      string       `json:"use"`
	Source   string       `json:"source"`
	Settings []settingDoc `json:"settings"`
}

type settingDoc struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"` // INT, NUMBER, NAME or TEXT, with an s for lists; SWITCH
	Default string   `json:"default,omitempty"`
	Auto    string   `json:"auto,omitempty"` // describes a default that is computed
	Limits  string   `json:"limits,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Help    string   `json:"help"`
}

func newMethodDoc(m gp.Method) methodDoc {
	doc := methodDoc{Name: m.Name, Title: m.Title, Summary: m.Summary, Formula: m.Formula, Cost: m.Cost, Use: m.Use, Source: m.Source}
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
	return group("method", "List and describe the methods that make error bars", newMethodList(), newMethodShow())
}

func newMethodList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the methods, the default first",
		Args:  cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			var docs []methodDoc
			for _, m := range method.All() {
				docs = append(docs, newMethodDoc(m))
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), docs)
			}
			for _, d := range docs {
				fmt.Fprintf(cmd.OutOrStdout(), "%-10s %s\n", d.Name, d.Summary)
			}
			return nil
		}),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newMethodShow() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Describe a method and its settings",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("expected the name of one method, found %d arguments; valla method list names them", len(args))
			}
			return nil
		},
		RunE: running(func(cmd *cobra.Command, args []string) error {
			m, err := method.Lookup(args[0])
			if err != nil {
				return err
			}
			doc := newMethodDoc(m)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), doc)
			}
			return doc.print(cmd.OutOrStdout())
		}),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// print writes the documentation of a method for people.
func (d methodDoc) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s\n\n%s\n\nCovariance  %s\nCost        %s\nUse         %s\nSource      %s\n\n%s\n",
		d.Name, d.Title, wrap(d.Summary, 0), d.Formula, wrap(d.Cost, 12), wrap(d.Use, 12), wrap(d.Source, 12), d.table())
	return err
}

// wrap breaks text into lines, the first of which begins at a column and the others below.
func wrap(s string, column int) string {
	lines := strings.Split(text.WrapSoft(s, 90-column), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", column))
}

// table lists the settings.
func (d methodDoc) table() string {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Format.Header = text.FormatDefault
	w.AppendHeader(table.Row{"setting", "kind", "default", "values", "meaning"})
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
