package command_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

type methodDoc struct {
	Name, Title, Summary, Formula, Symbols, Cost, Use, Source string
	Settings                                                  []settingDoc
}

type settingDoc struct {
	Name, Kind, Default, Auto, Limits, Help string
	Choices                                 []string
}

// flagHelp returns the text of --help about a flag, on one line.
func flagHelp(t *testing.T, help, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(help, "\n      --"+name+" ")
	if !ok {
		t.Errorf("no --%s in the help", name)
		return ""
	}
	text := nextFlag.Split(rest, 2)[0]
	return strings.Join(strings.Fields(text), " ")
}

var nextFlag = regexp.MustCompile(`\n +-`)

var standard = regexp.MustCompile(`\((default|default:|required) .+\)$`)

// TestHelpOfMethods: every setting of every method is a flag whose help names the
// choices and the default or how it is found.
func TestHelpOfMethods(t *testing.T) {
	dir := t.TempDir()
	for _, m := range method.All() {
		help := must(t, dir, "fit", "--method", m.Name, "--help")
		for _, s := range settings.Of(m.New()) {
			text := flagHelp(t, help, s.Name)
			if !standard.MatchString(text) || !strings.Contains(text, m.Name+": "+s.Help) || !strings.Contains(text, s.Default) || !strings.Contains(text, s.Auto) {
				t.Errorf("%s: help of --%s: %q", m.Name, s.Name, text)
			}
			if len(s.Choices) > 0 && !strings.Contains(text, ": "+strings.Join(s.Choices, ", ")+" (") {
				t.Errorf("%s: help of --%s lacks the choices %q: %q", m.Name, s.Name, s.Choices, text)
			}
		}
		if other := method.Names(); !strings.Contains(strings.Join(strings.Fields(help), " "), strings.Join(other, ", ")) || !strings.Contains(help, "valla method show NAME") {
			t.Errorf("%s: the help does not lead to the other methods", m.Name)
		}
	}
	if help := must(t, dir, "fit", "--help"); strings.Contains(help, "      --structure ") || !strings.Contains(help, "      --inducing ") {
		t.Error("without --method the flags are not those of the default")
	}
}

// TestHelpOfCommands: the same holds for the settings of networks, trainings and predictions.
func TestHelpOfCommands(t *testing.T) {
	dir := t.TempDir()
	for command, flags := range map[string][]string{
		"train":   {"target", "classes", "seed", "resume", "form", "hidden", "activation", "mean", "iterations", "momentum", "augment", "checkpoint"},
		"fit":     {"validation", "memory", "layout", "standardize", "target", "form", "activation", "std"},
		"predict": {"level", "link"},
		"eval":    {"link"},
	} {
		help := must(t, dir, command, "--help")
		for _, name := range flags {
			if text := flagHelp(t, help, name); !standard.MatchString(text) {
				t.Errorf("valla %s: help of --%s: %q", command, name, text)
			}
		}
		for _, line := range strings.Split(help, "\n") {
			if len([]rune(line)) > 100 {
				t.Errorf("valla %s: a line of the help has %d characters: %q", command, len([]rune(line)), line)
			}
		}
	}
}

func TestMethodList(t *testing.T) {
	dir := t.TempDir()
	lines := strings.Split(strings.TrimSpace(must(t, dir, "method", "list")), "\n")
	var docs []methodDoc
	decode(t, must(t, dir, "method", "list", "--json"), &docs)
	if len(lines) != len(method.All()) || len(docs) != len(lines) {
		t.Fatalf("%d lines and %d documents, want %d", len(lines), len(docs), len(method.All()))
	}
	for i, m := range method.All() {
		if name, rest, _ := strings.Cut(lines[i], " "); name != m.Name || strings.TrimSpace(rest) != m.Summary || docs[i].Name != m.Name {
			t.Errorf("line %q and document of %q, want %s", lines[i], docs[i].Name, m.Name)
		}
	}
}

// TestMethodShow compares text and JSON of every method with its settings.
func TestMethodShow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, m := range method.All() {
		text := must(t, dir, "method", "show", m.Name)
		words := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{m.Title, m.Summary, m.Formula, m.Symbols, m.Cost, m.Use, m.Source} {
			if !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: no %q in\n%s", m.Name, want, text)
			}
		}
		var doc methodDoc
		decode(t, must(t, dir, "method", "show", m.Name, "--json"), &doc)
		fields := settings.Of(m.New())
		if len(doc.Settings) != len(fields) || doc.Formula != m.Formula || doc.Symbols != m.Symbols || doc.Source != m.Source {
			t.Fatalf("%s: document %+v", m.Name, doc)
		}
		for i, f := range fields {
			s := doc.Settings[i]
			if s.Name != f.Name || s.Default != f.Default || s.Auto != f.Auto || s.Limits != f.Limits() || s.Help != f.Help ||
				!slices.Equal(s.Choices, f.Choices) || s.Kind == "" || (s.Kind == "SWITCH") != f.IsBool() {
				t.Errorf("%s: setting %+v, want %s", m.Name, s, f.Name)
			}
			row := regexp.MustCompile(`│ --` + regexp.QuoteMeta(f.Name) + ` +│ ` + s.Kind + ` +│ `)
			if !row.MatchString(text) || f.Limits() != "" && !strings.Contains(text, strings.Split(f.Limits(), ",")[0]) {
				t.Errorf("%s: no row of %s in\n%s", m.Name, f.Name, text)
			}
		}
	}
	fails(t, dir, 2, `method "nobody", expected one of `+strings.Join(method.Names(), ", "), "method", "show", "nobody")
	fails(t, dir, 2, "expected the name of one method, found 0 arguments", "method", "show")
	fails(t, dir, 2, `unknown command "find"`, "method", "find")
}
