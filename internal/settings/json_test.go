package settings_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/settings"
	"pgregory.net/rapid"
)

// throughJSON is what a file keeps of m.
func throughJSON(t interface{ Fatal(...any) }, m map[string]any) map[string]json.RawMessage {
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]json.RawMessage
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMap(t *testing.T) {
	zero := 0.0
	s := &sample{Count: 7, Alpha: &zero, Names: []string{}, Hidden: 4}
	m := settings.Map(s)
	if len(m) != 3 || m["count"] != 7 || m["alpha"] != &zero {
		t.Errorf("%v", m)
	}
	got := &sample{Hidden: 9, Rate: 3}
	if err := settings.Assign(got, throughJSON(t, m)); err != nil {
		t.Fatal(err)
	}
	// What the map does not name stays.
	if want := (sample{Count: 7, Alpha: &zero, Names: []string{}, Hidden: 9, Rate: 3}); !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, want %+v", *got, want)
	}
	*got.Alpha = 0.5
	if zero != 0 {
		t.Error("an assigned pointer is that of the map")
	}
	if err := settings.Assign(got, map[string]json.RawMessage{"rate": []byte("null"), "alpha": []byte("null")}); err != nil || got.Rate != 0 || got.Alpha != nil {
		t.Errorf("null: %+v, error %v", got, err)
	}
}

func TestAssignErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"count":7,"colour":1}`, "colour: expected one of seed, count"},
		{`{"alpha":0.5,"count":0.5}`, "count: "},
		{`{"alpha":0.5,"count":-1}`, "count: expected an integer at least 1"},
		{`{"count":"7"}`, "count: "},
		{`{"alpha":2}`, "alpha: expected a number"},
		{`{"alpha":0.5,"init":"elsewhere"}`, "init: expected one of"},
		{`{"widths":[1,0]}`, "widths: "},
		{`{"widths":3}`, "widths: "},
		{`{"rate":1e999}`, "rate: "},
		{`{"fast":1}`, "fast: "},
		{`{"hidden":1}`, "hidden: expected one of"},
	} {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.text), &m); err != nil {
			t.Fatal(err)
		}
		s, want := sample{Count: 5, Widths: []int{4}}, sample{Count: 5, Widths: []int{4}}
		err := settings.Assign(&s, m)
		if !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.text, err, c.want)
		}
		if !reflect.DeepEqual(s, want) {
			t.Errorf("%s changed the settings to %+v", c.text, s)
		}
	}
}

// some draws settings within their limits. Any setting may be left out.
func some(t *rapid.T) *sample {
	s := new(sample)
	given := func(name string) bool { return rapid.Bool().Draw(t, name) }
	number := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64)
	if given("seed") {
		s.Seed = rapid.Uint64().Draw(t, "seed value")
	}
	if given("count") {
		s.Count = rapid.IntRange(1, 500).Draw(t, "count value")
	}
	if given("rate") {
		s.Rate = rapid.Float64Range(math.SmallestNonzeroFloat64, math.MaxFloat64).Draw(t, "rate value")
	}
	if given("alpha") {
		v := rapid.Float64Range(0, 1).Draw(t, "alpha value")
		s.Alpha = &v
	}
	if given("keep") {
		v := rapid.Bool().Draw(t, "keep value")
		s.Keep = &v
	}
	s.Fast = rapid.Bool().Draw(t, "fast")
	s.Init = rapid.SampledFrom([]string{"", "kmeans++", "random-points"}).Draw(t, "init")
	if given("names") {
		s.Names = rapid.SliceOf(rapid.StringMatching(`[a-z0-9._, "-]+`)).Draw(t, "names value")
	}
	if given("widths") {
		s.Widths = rapid.SliceOf(rapid.IntRange(1, math.MaxInt)).Draw(t, "widths value")
	}
	if given("scales") {
		s.Scales = rapid.SliceOf(number).Draw(t, "scales value")
	}
	s.Title = rapid.StringMatching(`[ -~äσ,]*`).Draw(t, "title")
	return s
}

// Settings survive text and JSON, field by field.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := some(t)
		if err := settings.Check(s); err != nil {
			t.Fatal(err)
		}
		byText, byJSON := new(sample), new(sample)
		for _, f := range settings.Of(s) {
			if !f.Given() {
				continue
			}
			if err := settings.Lookup(byText, f.Name).Set(f.Text()); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
		}
		if err := settings.Assign(byJSON, throughJSON(t, settings.Map(s))); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(byText, s) || !reflect.DeepEqual(byJSON, s) {
			t.Fatalf("%+v by text, %+v by JSON, want %+v", byText, byJSON, s)
		}
	})
}

// Complete gives every setting with a default a value and changes no setting that was
// given. Its result survives JSON.
func TestCompleteProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := some(t)
		before, done := settings.Map(s), *s
		if err := settings.Complete(&done); err != nil {
			t.Fatal(err)
		}
		after := settings.Map(&done)
		for name, v := range before {
			if !reflect.DeepEqual(after[name], v) {
				t.Fatalf("%s became %v from %v", name, after[name], v)
			}
		}
		for _, f := range settings.Of(&done) {
			if f.Default != "" && !f.Given() {
				t.Fatalf("%s has no value", f.Name)
			}
		}
		again := new(sample)
		if err := settings.Assign(again, throughJSON(t, after)); err != nil || !reflect.DeepEqual(*again, done) {
			t.Fatalf("%+v after JSON, want %+v (%v)", again, done, err)
		}
	})
}

func rawMessage(name, text string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(text)}
}
