package method

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/testmethod"
)

// Every row says what users and files need, in whole sentences.
func TestRowsAreComplete(t *testing.T) {
	if len(All()) != len(table) || All()[0].Name != Default {
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

// Callers get the table as a copy; only tests of this module can add to it.
func TestTableIsClosed(t *testing.T) {
	All()[0].Name = "spoiled"
	Names()[0] = "spoiled"
	if Names()[0] != Default {
		t.Error("a caller can change the table")
	}
	remove := testmethod.Add(gp.Method{Name: "other", New: func() gp.Settings { return other{} }})
	if m, err := Lookup("other"); err != nil || m.Name != "other" || len(All()) != len(table)+1 {
		t.Errorf("%d methods, error %v", len(All()), err)
	}
	if m, err := Of(other{}); err != nil || m.Name != "other" {
		t.Errorf("settings belong to %q, error %v", m.Name, err)
	}
	remove()
	if _, err := Lookup("other"); err == nil || len(All()) != len(table) {
		t.Errorf("%d methods after it was removed", len(All()))
	}
}
