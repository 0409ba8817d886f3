package method

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// Every row says what users and files need, in whole sentences.
func TestRowsAreComplete(t *testing.T) {
	if len(All()) != 13 || All()[0].Name != Default {
		t.Fatalf("%d methods, the first is %s", len(All()), All()[0].Name)
	}
	names, types := map[string]bool{}, map[reflect.Type]bool{}
	for _, m := range All() {
		for what, text := range map[string]string{"Name": m.Name, "Title": m.Title, "Formula": m.Formula, "Source": m.Source} {
			if text == "" {
				t.Errorf("%s: no %s", m.Name, what)
			}
		}
		for what, text := range map[string]string{"Summary": m.Summary, "Symbols": m.Symbols, "Cost": m.Cost, "Use": m.Use} {
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
				t.Errorf("%s: %s is no sentence: %q", m.Name, what, text)
			}
		}
		if m.Restore == nil || m.New == nil {
			t.Fatalf("%s: no New or no Restore", m.Name)
		}
		kind := reflect.TypeOf(m.New())
		if names[m.Name] || types[kind] || strings.ToLower(m.Name) != m.Name || strings.ContainsAny(m.Name, " _") {
			t.Errorf("%s: its name or its settings %v are another's", m.Name, kind)
		}
		names[m.Name], types[kind] = true, true
	}
}

// The settings of every method are documented, and their zero values are their defaults.
func TestSettingsOfEveryMethod(t *testing.T) {
	for _, m := range All() {
		s := m.New()
		if s == m.New() {
			t.Errorf("%s: New gives the same settings twice", m.Name)
		}
		if err := settings.Check(s); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		seen := map[string]bool{}
		for _, f := range settings.Of(s) {
			if f.Help == "" || strings.HasSuffix(f.Help, ".") || strings.ToLower(f.Name) != f.Name || seen[f.Name] {
				t.Errorf("%s: setting %q, help %q", m.Name, f.Name, f.Help)
			}
			if seen[f.Name] = true; f.Given() {
				t.Errorf("%s: %s is %s in new settings", m.Name, f.Name, f.Text())
			}
		}
		before := s.Label()
		if err := settings.Complete(s); err != nil || s.Label() != before || before == "" {
			t.Errorf("%s: label %q became %q, error %v", m.Name, before, s.Label(), err)
		}
	}
}

func TestLookupAndOf(t *testing.T) {
	for _, m := range All() {
		got, err := Lookup(m.Name)
		if err != nil || got.Title != m.Title {
			t.Errorf("%s: found %q, error %v", m.Name, got.Title, err)
		}
		of, err := Of(m.New())
		if err != nil || of.Name != m.Name {
			t.Errorf("%s: its settings belong to %q, error %v", m.Name, of.Name, err)
		}
	}
	if names := Names(); !slices.Equal(names[:3], []string{"valla", "lla", "gp-subset"}) || len(names) != len(All()) {
		t.Errorf("names %q", names)
	}
	_, err := Lookup("nobody")
	if !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), `method "nobody", expected one of valla, lla, gp-subset, `) ||
		!strings.HasSuffix(err.Error(), All()[len(All())-1].Name) {
		t.Errorf("error %v", err)
	}
	for _, s := range []gp.Settings{nil, other{}, (*other)(nil)} {
		if m, err := Of(s); err == nil {
			t.Errorf("settings %T belong to %s", s, m.Name)
		}
	}
	if m, err := Of((*laplace.Settings)(nil)); err != nil || m.Name != "lla" {
		t.Errorf("a nil pointer belongs to %q, error %v", m.Name, err)
	}
	if m, err := Of(&valla.Settings{Inducing: 3}); err != nil || m.Name != Default {
		t.Errorf("settings of VaLLA belong to %q, error %v", m.Name, err)
	}
}

type other struct{ gp.Settings }

func (other) Label() string                                               { return "other" }
func (other) Fit(context.Context, gp.Problem, gp.Run) (*gp.Fitted, error) { return nil, nil }

// added is a method of another package.
var added = gp.Method{
	Name: "added", Title: "Added", Summary: "A method of another package.", Formula: "Q = 0", Symbols: "Q is the covariance.",
	Cost: "No time.", Use: "In tests.", Source: "None", New: func() gp.Settings { return new(addedSettings) },
	Restore: func(context.Context, layers.Network, likelihood.Likelihood, gp.Saved) (gp.Stored, error) {
		return nil, nil
	},
}

type addedSettings struct {
	Size int `set:"size" default:"3" min:"1" help:"a number"`
}

func (*addedSettings) Label() string                                               { return "Added" }
func (*addedSettings) Fit(context.Context, gp.Problem, gp.Run) (*gp.Fitted, error) { return nil, nil }

func init() { Register(added) }

// TestRegister: a method that is registered is at the end of the table. A method that lacks something, or takes
// the place of another one, is refused, and the table stays. Callers get the table as a copy.
func TestRegister(t *testing.T) {
	n := len(All())
	if m, err := Lookup("added"); err != nil || m.Title != "Added" || Names()[n-1] != "added" {
		t.Errorf("%q, error %v", Names(), err)
	}
	for want, edit := range map[string]func(m *gp.Method){
		`"fresh" has no Title`:                     func(m *gp.Method) { m.Title = "" },
		`"fresh" has no Summary`:                   func(m *gp.Method) { m.Summary = "" },
		`"fresh" has no New`:                       func(m *gp.Method) { m.New = nil },
		`"fresh" has no Restore`:                   func(m *gp.Method) { m.Restore = nil },
		`the name "lla" of a method is taken`:      func(m *gp.Method) { m.Name = "lla" },
		`the name "" of a method`:                  func(m *gp.Method) { m.Name = "" },
		`the name "Fresh" of a method`:             func(m *gp.Method) { m.Name = "Fresh" },
		"returns method.other, expected a pointer": func(m *gp.Method) { m.New = func() gp.Settings { return other{} } },
		"returns <nil>, expected a pointer":        func(m *gp.Method) { m.New = func() gp.Settings { return nil } },
		`of the method "fresh" belong to "lla"`:    func(m *gp.Method) { m.New = func() gp.Settings { return new(laplace.Settings) } },
	} {
		m := added
		m.Name, m.New = "fresh", func() gp.Settings { return new(other) }
		edit(&m)
		if text := fmt.Sprint(panicked(func() { Register(m) })); !strings.HasPrefix(text, "method: ") || !strings.Contains(text, want) || len(All()) != n {
			t.Errorf("%d methods after the panic %q, want %q", len(All()), text, want)
		}
	}
	All()[0].Name = "spoiled"
	Names()[0] = "spoiled"
	if Names()[0] != Default {
		t.Error("a caller can change the table")
	}
}

// panicked returns what f panics with.
func panicked(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}
