package settings_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/settings"
)

// common are settings that several structs share.
type common struct {
	Seed uint64 `set:"seed" default:"1" help:"of everything random"`
}

// sample has a setting of every kind.
type sample struct {
	common
	Count   int       `set:"count" default:"100" min:"1" max:"500" help:"number of points"`
	Rate    float64   `set:"rate" auto:"by the optimizer" above:"0" help:"learning rate"`
	Alpha   *float64  `set:"alpha" default:"1" min:"0" max:"1" help:"α of the objective"`
	Share   float64   `set:"share" min:"0" below:"1" help:"fraction that is held out"`
	Fast    bool      `set:"fast" help:"hurry"`
	Keep    *bool     `set:"keep" default:"true" help:"keep the best state"`
	Init    string    `set:"init" choice:"kmeans++ random-points" help:"start of k-means"`
	Names   []string  `set:"names" default:"all" help:"of parameters"`
	Widths  []int     `set:"widths" min:"1" help:"of hidden layers"`
	Scales  []float64 `set:"scales" help:"of a grid"`
	Methods []string  `set:"methods" choice:"a b c" help:"to compare"`
	Title   string    `set:"title" help:"of the table"`
	Hidden  int       // no setting
	secret  int
}

func names(list []*settings.Field) (out []string) {
	for _, f := range list {
		out = append(out, f.Name)
	}
	return out
}

// Fields are listed in their order, an embedded struct's fields in the place of the struct.
func TestOf(t *testing.T) {
	s := &sample{secret: 1}
	want := strings.Fields("seed count rate alpha share fast keep init names widths scales methods title")
	if got := names(settings.Of(s)); !slices.Equal(got, want) {
		t.Errorf("settings %q, want %q", got, want)
	}
	if got := settings.Names(s); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	f := settings.Lookup(s, "count")
	if f.Help != "number of points" || f.Default != "100" || f.Auto != "" || len(f.Choices) > 0 || f.Given() {
		t.Errorf("%+v", f)
	}
	if f := settings.Lookup(s, "init"); f.Default != "kmeans++" || !slices.Equal(f.Choices, []string{"kmeans++", "random-points"}) {
		t.Errorf("%+v, want the first choice as the default", f)
	}
	if f := settings.Lookup(s, "rate"); f.Auto != "by the optimizer" || f.Default != "" {
		t.Errorf("%+v", f)
	}
	if f := settings.Lookup(s, "Hidden"); f != nil {
		t.Errorf("a field without a tag is a setting: %+v", f)
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]struct {
		kind       string
		bool, list bool
	}{
		"seed": {"INT", false, false}, "count": {"INT", false, false}, "rate": {"NUMBER", false, false}, "alpha": {"NUMBER", false, false},
		"fast": {"", true, false}, "keep": {"", true, false}, "init": {"NAME", false, false}, "title": {"TEXT", false, false},
		"names": {"TEXTs", false, true}, "widths": {"INTs", false, true}, "scales": {"NUMBERs", false, true}, "methods": {"NAMEs", false, true},
	} {
		f := settings.Lookup(new(sample), name)
		if f.Kind() != want.kind || f.IsBool() != want.bool || f.IsList() != want.list {
			t.Errorf("%s: kind %q, bool %t, list %t, want %v", name, f.Kind(), f.IsBool(), f.IsList(), want)
		}
	}
}

// Text is what Set took, and the field holds it.
func TestSet(t *testing.T) {
	s := new(sample)
	for _, c := range []struct {
		name, text string
		get        func() any
		want       any
	}{
		{"seed", "18446744073709551615", func() any { return s.Seed }, uint64(math.MaxUint64)},
		{"count", "7", func() any { return s.Count }, 7},
		{"rate", "0.001", func() any { return s.Rate }, 0.001},
		{"rate", "1e-300", func() any { return s.Rate }, 1e-300},
		{"alpha", "0", func() any { return *s.Alpha }, 0.0},
		{"fast", "true", func() any { return s.Fast }, true},
		{"keep", "false", func() any { return *s.Keep }, false},
		{"init", "random-points", func() any { return s.Init }, "random-points"},
		{"names", "dense1.weight,dense2.bias", func() any { return s.Names }, []string{"dense1.weight", "dense2.bias"}},
		{"names", `"price, net",size "x",""" "," end"`, func() any { return s.Names }, []string{"price, net", `size "x"`, `" `, " end"}},
		{"widths", "50,50", func() any { return s.Widths }, []int{50, 50}},
		{"scales", "0.5,-1e+20", func() any { return s.Scales }, []float64{0.5, -1e20}},
		{"methods", "a,c", func() any { return s.Methods }, []string{"a", "c"}},
		{"title", "a, b", func() any { return s.Title }, "a, b"},
	} {
		f := settings.Lookup(s, c.name)
		if err := f.Set(c.text); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := c.get(); !reflect.DeepEqual(got, c.want) || f.Text() != c.text || !f.Given() {
			t.Errorf("%s: %v with the text %q, want %v with %q", c.name, got, f.Text(), c.want, c.text)
		}
		if f.Reset(); f.Given() || f.Text() != "" {
			t.Errorf("%s: %q after a reset", c.name, f.Text())
		}
	}
	if err := settings.Lookup(s, "widths").Set(" 3 , 4"); err != nil || !slices.Equal(s.Widths, []int{3, 4}) {
		t.Errorf("widths %v, error %v", s.Widths, err)
	}
	if err := settings.Lookup(s, "names").Set(""); err != nil || s.Names == nil || len(s.Names) != 0 {
		t.Errorf("names %q, error %v", s.Names, err)
	}
}

// Errors say what was expected and found, and leave the value alone.
func TestSetErrors(t *testing.T) {
	alpha := 0.25
	for _, c := range []struct{ name, text, want string }{
		{"count", "0", `expected an integer at least 1, at most 500, found "0"`},
		{"count", "501", `at most 500`},
		{"count", "2.5", `found "2.5"`},
		{"count", "9223372036854775808", `expected an integer`},
		{"seed", "-1", `expected an integer from 0, found "-1"`},
		{"rate", "0", `expected a number above 0, found "0"`},
		{"rate", "-1", `above 0`},
		{"rate", "Inf", `expected a number`},
		{"rate", "NaN", `expected a number`},
		{"rate", "1e999", `expected a number`},
		{"rate", "0x1p-2", `expected a number`},
		{"rate", "1_000", `expected a number`},
		{"rate", "fast", `found "fast"`},
		{"alpha", "1.5", `expected a number at least 0, at most 1`},
		{"share", "1", `expected a number at least 0, below 1`},
		{"fast", "maybe", `expected true or false, found "maybe"`},
		{"init", "kmeans", `expected one of kmeans++, random-points, found "kmeans"`},
		{"methods", "a,d", `expected one of a, b, c, found "d"`},
		{"widths", "3,0", `found "0"`},
		{"widths", "3,,4", `found ""`},
		{"names", "\"a\"\nb", `expected a list with commas, found "\"a\"\nb"`},
		{"title", "", ""},
		{"count", strings.Repeat("9", 200), strings.Repeat("9", 60) + "…"},
		{"init", "two\nlines", `two\nlines`},
	} {
		s := &sample{common: common{3}, Count: 5, Rate: 0.5, Alpha: &alpha, Share: 0.5, Init: "random-points", Widths: []int{2}, Methods: []string{"b"}}
		before := *s
		err := settings.Lookup(s, c.name).Set(c.text)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s %q: %v", c.name, c.text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: error %v, want %q in one line", c.name, c.text, err, c.want)
		}
		if !reflect.DeepEqual(*s, before) {
			t.Errorf("%s %q changed the settings to %+v", c.name, c.text, s)
		}
	}
}

// Check finds values that were not set by text; the zero value always fits.
func TestCheck(t *testing.T) {
	if err := settings.Check(new(sample)); err != nil {
		t.Error(err)
	}
	two := 2.0
	for _, c := range []struct {
		s    sample
		want string
	}{
		{sample{Count: -1}, "count: expected an integer at least 1"},
		{sample{Rate: math.NaN()}, "rate: expected a number"},
		{sample{Rate: math.Inf(1)}, "rate: expected a number"},
		{sample{Alpha: &two}, "alpha: "},
		{sample{Init: "elsewhere"}, "init: expected one of"},
		{sample{Widths: []int{1, -1}}, "widths: "},
	} {
		for _, err := range []error{settings.Check(&c.s), settings.Complete(&c.s)} {
			if !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: error %v, want %q", c.s, err, c.want)
			}
		}
	}
}

// Complete fills in defaults, and keeps what is given or computed elsewhere.
func TestComplete(t *testing.T) {
	zero := 0.0
	s := &sample{Alpha: &zero, Count: 7}
	if err := settings.Complete(s); err != nil {
		t.Fatal(err)
	}
	if s.Seed != 1 || s.Count != 7 || *s.Alpha != 0 || s.Rate != 0 || !*s.Keep || s.Init != "kmeans++" || !slices.Equal(s.Names, []string{"all"}) || s.Widths != nil {
		t.Errorf("%+v", s)
	}
	again := *s
	if err := settings.Complete(&again); err != nil || !reflect.DeepEqual(again, *s) {
		t.Errorf("completed again: %+v, error %v", again, err)
	}
}

// Tags and types that make no sense are errors of the program.
func TestPanics(t *testing.T) {
	for what, of := range map[string]func(){
		"a struct": func() { settings.Of(sample{}) },
		"a number": func() { settings.Of(new(int)) },
		"nothing":  func() { settings.Of(nil) },
		"bad default": func() {
			settings.Of(new(struct {
				X int `set:"x" default:"many"`
			}))
		},
		"default out of limits": func() {
			settings.Of(new(struct {
				X int `set:"x" default:"3" max:"2"`
			}))
		},
		"default that is no choice": func() {
			settings.Of(new(struct {
				X string `set:"x" default:"c" choice:"a b"`
			}))
		},
		"bad limit": func() {
			settings.Of(new(struct {
				X int `set:"x" min:"one"`
			}))
		},
		"a complex number": func() {
			_ = settings.Lookup(new(struct {
				X complex128 `set:"x"`
			}), "x").Set("1")
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			of()
		}()
	}
}

func TestErrorf(t *testing.T) {
	cause := errors.New("cause")
	err := settings.Errorf("rank %d: %w", 3, cause)
	if !errors.Is(err, settings.ErrSetting) || !errors.Is(err, cause) || err.Error() != "bad setting: rank 3: cause" {
		t.Error(err)
	}
}

func ExampleOf() {
	type options struct {
		Points int     `set:"points" default:"100" min:"1" help:"number of inducing points"`
		Rate   float64 `set:"learning-rate" auto:"by the optimizer" above:"0" help:"step size of Adam"`
	}
	o := options{Points: 20}
	for _, f := range settings.Of(&o) {
		fmt.Printf("--%s %s  %s (default %s%s), now %q\n", f.Name, f.Kind(), f.Help, f.Default, f.Auto, f.Text())
	}
	fmt.Println(settings.Lookup(&o, "learning-rate").Set("fast"))
	// Output:
	// --points INT  number of inducing points (default 100), now "20"
	// --learning-rate NUMBER  step size of Adam (default by the optimizer), now ""
	// expected a number above 0, found "fast"
}
