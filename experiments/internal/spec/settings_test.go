package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"pgregory.net/rapid"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/settings"
)

// example returns a text that a setting takes and that is not its default.
func example(t *testing.T, f *settings.Field) string {
	t.Helper()
	for _, text := range append(slices.Clone(f.Choices), "true", "7", "0.5", "0.25", "-2", "some-text") {
		if f.Try(text) == nil && text != f.Default {
			return text
		}
	}
	t.Fatalf("no value for %s", f.Name)
	return ""
}

// Every setting of the network, of its training and of every method can be given in a file,
// under the name that the command line has, and arrives as the command line would set it.
func TestEverySetting(t *testing.T) {
	for section, ptr := range map[string]any{"network": &valla.Network{}, "map": &valla.Training{}} {
		for _, f := range settings.Of(ptr) {
			text := example(t, f)
			e := read(t, fmt.Sprintf("{name: a, data: b, methods: [{method: map}], %s: {%s: %s}}", section, f.Name, text), "")
			var got any = &e.Network.Network
			if section == "map" {
				got = &e.MAP.Training
			}
			checkSetting(t, section, got, reflect.New(reflect.TypeOf(ptr).Elem()).Interface(), f.Name, text)
		}
	}
	for _, how := range method.All() {
		for _, f := range settings.Of(how.New()) {
			text := example(t, f)
			e := read(t, fmt.Sprintf("{name: a, data: b, methods: [{method: %s, %s: %s}]}", how.Name, f.Name, text), "")
			variants, err := e.Methods[0].Variants()
			if err != nil || len(variants) != 1 {
				t.Fatalf("%s: %d rows, error %v", f.Name, len(variants), err)
			}
			checkSetting(t, how.Name, variants[0].Settings, how.New(), f.Name, text)
		}
	}
}

// checkSetting compares got with settings of which one alone is set to a text.
func checkSetting(t *testing.T, what string, got, want any, name, text string) {
	t.Helper()
	if err := settings.Lookup(want, name).Set(text); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s, %s: %s gives %+v, expected %+v", what, name, text, got, want)
	}
}

// The keys of a profile take the place of the file's keys, key by key.
func TestProfileOfEveryPart(t *testing.T) {
	const text = `
name: a
data: [x, y]
seeds: [1]
network: {hidden: [3], activation: relu, weights: w}
map: {iterations: 5, seed: 2, keep-last: true}
scoring: {monte-carlo: 4, rotations: 3}
methods: [{method: map}]
profiles:
  full: {}
  other:
    data: z
    seeds: [7, 8]
    network: {activation: sin}
    map: {iterations: 6, keep-last: false}
    scoring: {rotations: 0, corruptions: 2}
    methods: [{method: lla}, {method: gp-subset, points: 3}]
`
	full, other := read(t, text, "full"), read(t, text, "other")
	if !slices.Equal(other.Data, []string{"z"}) || !slices.Equal(other.Seeds, []uint64{7, 8}) || !slices.Equal(full.Data, []string{"x", "y"}) {
		t.Errorf("data %v and seeds %v", other.Data, other.Seeds)
	}
	if n := other.Network; n.Activation != "sin" || !slices.Equal(n.Hidden, []int{3}) || n.Weights != "w" || full.Network.Activation != "relu" {
		t.Errorf("network %+v", n)
	}
	if m := other.MAP; m.Iterations != 6 || *m.Seed != 2 || m.KeepLast || !full.MAP.KeepLast {
		t.Errorf("training %+v", m)
	}
	if s := other.Scoring; s != (Scoring{MonteCarlo: 4, Corruptions: 2}) {
		t.Errorf("scoring %+v", s)
	}
	if len(other.Methods) != 2 || other.Methods[1].Settings[0].Name != "points" || len(full.Methods) != 1 {
		t.Errorf("methods %+v", other.Methods)
	}
}

// A row has as many variants as its settings have combinations. All variants differ, and there
// are as many labels.
func TestCombinations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row, want := Row{Method: "valla"}, 1
		for _, s := range []struct {
			name   string
			values []string
		}{{"inducing", []string{"1", "2", "3"}}, {"alpha", []string{"0", "0.5", "1"}}, {"optimizer", []string{"adam", "natural"}}, {"fix-prior", []string{"true", "false"}}} {
			n := rapid.IntRange(0, len(s.values)).Draw(t, s.name)
			if n > 0 {
				row.Set(s.name, s.values[:n]...)
				want *= n
			}
		}
		if rapid.Bool().Draw(t, "label") {
			row.Label = rapid.SampledFrom([]string{"mine", "mine {}", "{} {}"}).Draw(t, "text")
		}
		variants, err := row.Variants()
		if err != nil || len(variants) != want {
			t.Fatalf("%+v: %d rows, expected %d, error %v", row, len(variants), want, err)
		}
		seen := map[string]bool{}
		for i, v := range variants {
			if seen[v.Label] {
				t.Fatalf("two rows are called %q", v.Label)
			}
			seen[v.Label] = true
			for _, o := range variants[:i] {
				if reflect.DeepEqual(v.Settings, o.Settings) {
					t.Fatalf("two rows have the settings %+v", v.Settings)
				}
			}
		}
	})
}

// A label has to be unique in the table of each data set, not in the file.
func TestCheckLabels(t *testing.T) {
	const text = "{name: a, data: [x, y], methods: [{method: lla, data: x, label: one}, {method: map, data: DATA, label: one}]}"
	read(t, strings.Replace(text, "DATA", "y", 1), "")
	for _, both := range []string{"x", "[y, x]"} {
		_, err := Read("a.yaml", []byte(strings.Replace(text, "DATA", both, 1)), "")
		if err == nil || err.Error() != `a.yaml: methods: expected one row with the label "one" in the table of x, found two` {
			t.Errorf("%s: error %v", both, err)
		}
	}
	e := read(t, strings.Replace(text, "DATA", "y", 1), "")
	e.Methods[0].Method = "magic"
	if err := e.CheckLabels(); err == nil {
		t.Error("an unknown method is no error")
	}
}

// node parses a text of one value.
func node(t *testing.T, text string) ast.Node {
	t.Helper()
	doc, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Docs[0].Body
}

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"3": `"3"`, "[1, 2]": "a list", "a: 1": "a mapping", "null": "nothing", "'q'": `"'q'"`,
		strings.Repeat("x", 50): `"` + strings.Repeat("x", 40) + `…"`,
	} {
		if got := shown(node(t, text)); got != want {
			t.Errorf("%s is shown as %s, expected %s", text, got, want)
		}
	}
	if got := shown(nil); got != "nothing" || line(nil) != 0 {
		t.Errorf("nil is shown as %s in line %d", got, line(nil))
	}
	if got := line(node(t, "\n\n  x")); got != 3 {
		t.Errorf("line %d", got)
	}
}

// Numbers keep the text that the file has, whichever way they are written.
func TestScalars(t *testing.T) {
	for text, want := range map[string]float64{"1e-3": 1e-3, ".5": 0.5, "2": 2, "1E2": 100, "'0.25'": 0.25, "0.1": 0.1} {
		if e := read(t, "{name: a, data: b, methods: [{method: map}], map: {learning-rate: "+text+"}}", ""); e.MAP.LearningRate != want {
			t.Errorf("%s is read as %v", text, e.MAP.LearningRate)
		}
	}
	for _, text := range []string{"0x10", "1_000", "~", "yes", ".nan", "1e999", "!!float 1", "&a 1"} {
		if e, err := Read("a.yaml", []byte("{name: a, data: b, methods: [{method: map}], map: {iterations: "+text+"}}"), ""); err == nil {
			t.Errorf("%s is read as %v", text, e.MAP.Iterations)
		}
	}
}
