package internal_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// TestMethodsPage: the part of docs/methods.md between its marks is what the table of methods says.
func TestMethodsPage(t *testing.T) { checkPart(t, "../docs/methods.md", "methods", methodsPage()) }

// checkPart checks the part of a page between its marks. With -update it writes the part.
func checkPart(t *testing.T, path, name, want string) {
	t.Helper()
	begin, finish := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	there, tail, end := strings.Cut(rest, finish)
	if !ok || !end {
		t.Fatalf("%s has no marks %q and %q", path, begin, finish)
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+want+finish+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if there != want {
		t.Errorf("%s is stale: go test ./internal -run %s -update writes it", path, t.Name())
	}
}

// methodsPage is a section for each method.
func methodsPage() string {
	var b strings.Builder
	b.WriteString("\n| `--method` | | |\n|---|---|---|\n")
	for _, m := range method.All() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", m.Name, strings.ReplaceAll(m.Name, "+", ""), m.Title, bars(m.Use))
	}
	for _, m := range method.All() {
		fmt.Fprintf(&b, "\n## %s\n\n**%s.** %s\n\n    %s\n\n%s\n\n* **When:** %s\n* **Cost:** %s\n* **Source:** %s.\n", m.Name, m.Title, m.Summary, m.Formula, m.Symbols, m.Use, m.Cost, strings.TrimSuffix(m.Source, "."))
		b.WriteString(settingsTable(m))
	}
	return b.String() + "\n"
}

// settingsTable is the table of a method's settings.
func settingsTable(m gp.Method) string {
	var b strings.Builder
	b.WriteString("\n| setting | default | values | |\n|---|---|---|---|\n")
	for _, s := range settings.Of(m.New()) {
		standard, values := s.Default, s.Limits()
		switch {
		case standard == "" && s.Auto != "":
			standard = s.Auto
		case standard == "" && s.IsBool():
			standard = "off"
		}
		if len(s.Choices) > 0 {
			values = "`" + strings.Join(s.Choices, "` `") + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", s.Name, bars(standard), bars(values), bars(s.Help))
	}
	return b.String()
}

// bars makes text fit into a table, whose columns bars divide.
func bars(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
