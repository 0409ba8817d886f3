package spec

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/settings"
)

const good = `name: good
about: what it is for
data: [a, b]
seeds: [3, 4]
network: {hidden: [], dtype: float32}
map:
  learning-rate: 1e-3
  weight-decay: .5
  seed: 0
methods:
  - {method: map}
  - method: valla
    label: Magic {}
    data: b
    inducing: [1, 2]
    profiles:
      quick: {iterations: 7, inducing: 9}
      short: {alpha: 0}
profiles:
  full: {}
  quick:
    seeds: [0]
    map: {iterations: 10}
    network: {hidden: [5, 6]}
  short:
    methods: [{method: map}]
    scoring: {monte-carlo: 3}
`

func read(t *testing.T, text, profile string) *Experiment {
	t.Helper()
	e, err := Read("good.yaml", []byte(text), profile)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// What the text does not name has its zero value, which means the default. A profile changes
// the keys that the profile names and nothing else.
func TestProfiles(t *testing.T) {
	full := read(t, good, "")
	if full.Name != "good" || full.About != "what it is for" || full.File != "good.yaml" || full.Profile != "full" ||
		!reflect.DeepEqual(full.Profiles, []string{"full", "quick", "short"}) || !reflect.DeepEqual(full.Seeds, []uint64{3, 4}) {
		t.Errorf("full profile %+v", full)
	}
	if m := full.MAP; m.LearningRate != 1e-3 || *m.WeightDecay != 0.5 || m.Iterations != 0 || m.Validation != nil || *m.Seed != 0 {
		t.Errorf("training %+v", m)
	}
	if n := full.Network; n.Hidden == nil || len(n.Hidden) != 0 || n.Dtype != "float32" || n.Form != "" || n.Weights != "" {
		t.Errorf("network %+v", n)
	}
	want := []Row{{Method: "map"}, {Method: "valla", Label: "Magic {}", Data: []string{"b"}, Settings: []Setting{{"inducing", []string{"1", "2"}}}}}
	if !reflect.DeepEqual(full.Methods, want) {
		t.Errorf("methods %+v", full.Methods)
	}
	quick := read(t, good, "quick")
	want[1].Settings = []Setting{{"inducing", []string{"9"}}, {"iterations", []string{"7"}}}
	if !reflect.DeepEqual(quick.Methods, want) {
		t.Errorf("methods of the quick profile %+v", quick.Methods)
	}
	if len(quick.Seeds) != 1 || quick.MAP.Iterations != 10 || quick.MAP.LearningRate != 1e-3 || !reflect.DeepEqual(quick.Network.Hidden, []int{5, 6}) || quick.Network.Dtype != "float32" {
		t.Errorf("quick profile %+v", quick)
	}
	if short := read(t, good, "short"); len(short.Methods) != 1 || short.Scoring.MonteCarlo != 3 || len(short.Seeds) != 2 {
		t.Errorf("short profile %+v", short)
	}
}

// A file without profiles has one, and a file without seeds the seed 0.
func TestDefaults(t *testing.T) {
	e := read(t, "{name: a, data: b, methods: [{method: map}]}", "")
	if e.Profile != FullProfile || !reflect.DeepEqual(e.Profiles, []string{"full"}) || !reflect.DeepEqual(e.Seeds, []uint64{0}) || !reflect.DeepEqual(e.Data, []string{"b"}) {
		t.Errorf("experiment %+v", e)
	}
	read(t, "{name: a, data: b, methods: [{method: map}]}", "full")
	if _, err := Read("a.yaml", []byte("{name: a, data: b, methods: [{method: map}]}"), "quick"); err == nil || err.Error() != `a.yaml: profiles: expected one of the profiles full, found "quick"` {
		t.Errorf("error %v", err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(path, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	if e, err := ReadFile(path, "quick"); err != nil || e.File != path || e.Profile != "quick" {
		t.Errorf("%+v, error %v", e, err)
	}
	if _, err := ReadFile(path+"x", ""); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// Several values of settings make a row each. The last setting changes fastest.
func TestVariants(t *testing.T) {
	row := Row{Method: "valla", Settings: []Setting{{"inducing", []string{"5", "100"}}, {"optimizer", []string{"adam", "natural"}}, {"alpha", []string{"0"}}}}
	variants, err := row.Variants()
	if err != nil {
		t.Fatal(err)
	}
	want := []valla.Settings{
		{Inducing: 5, Optimizer: "adam", Alpha: new(0.0)}, {Inducing: 5, Optimizer: "natural", Alpha: new(0.0)},
		{Inducing: 100, Optimizer: "adam", Alpha: new(0.0)}, {Inducing: 100, Optimizer: "natural", Alpha: new(0.0)},
	}
	labels := []string{"VaLLA 5 Adam", "VaLLA 5", "VaLLA 100 Adam", "VaLLA 100"}
	if len(variants) != len(want) {
		t.Fatalf("%d rows, expected %d", len(variants), len(want))
	}
	for i, v := range variants {
		if got := v.Settings.(*valla.Settings); !reflect.DeepEqual(*got, want[i]) || v.Label != labels[i] || v.Inducing != want[i].Inducing {
			t.Errorf("row %d: %q, %d inducing points, %+v", i, v.Label, v.Inducing, got)
		}
	}
	again, err := row.Variants()
	if err != nil || again[0].Settings == variants[0].Settings {
		t.Errorf("two calls share settings, error %v", err)
	}
}

// Rows whose labels would be the same are told apart by their values.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		row  string
		want []string
	}{
		{"method: map", []string{"MAP"}},
		{"method: map, label: network", []string{"network"}},
		{"method: valla", []string{"VaLLA 100"}},
		{"method: valla, label: '{} points'", []string{"100 points"}},
		{"method: valla, label: mine, inducing: [3, 4]", []string{"mine, inducing 3", "mine, inducing 4"}},
		{"method: valla, label: 'm {}', inducing: [3, 4]", []string{"m 3", "m 4"}},
		{"method: valla, alpha: [0, 1]", []string{"VaLLA 100, alpha 0", "VaLLA 100, alpha 1"}},
		{"method: valla, inducing: [3, 4], alpha: [0, 1]", []string{
			"VaLLA 3, inducing 3, alpha 0", "VaLLA 3, inducing 3, alpha 1", "VaLLA 4, inducing 4, alpha 0", "VaLLA 4, inducing 4, alpha 1"}},
		{"method: lla, weights: last-layer, structure: [full, kfac]", []string{"LLA last-layer", "LLA last-layer KFAC"}},
		{"method: lla, weights: [fc.weight, fc.bias]", []string{"LLA of 2 arrays"}},
		{"method: gp-subset, prior-std: [1, 2]", []string{"GP-Subset, prior-std 1", "GP-Subset, prior-std 2"}},
	} {
		e := read(t, "{name: a, data: b, methods: [{"+c.row+"}]}", "")
		variants, err := e.Methods[0].Variants()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range variants {
			got = append(got, v.Label)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: labels %q, expected %q", c.row, got, c.want)
		}
	}
}

// A list is one value of a setting that takes a list.
func TestListSetting(t *testing.T) {
	e := read(t, "{name: a, data: b, methods: [{method: lla, weights: [p, q], structure: diag}]}", "")
	v, err := e.Methods[0].Variants()
	if err != nil || len(v) != 1 {
		t.Fatalf("%d rows, error %v", len(v), err)
	}
	if s := v[0].Settings.(*laplace.Settings); !reflect.DeepEqual(s.Weights, []string{"p", "q"}) || s.Structure != "diag" || v[0].Inducing != 0 {
		t.Errorf("settings %+v", s)
	}
}

func TestRow(t *testing.T) {
	row := Row{Method: "valla", Settings: []Setting{{"alpha", []string{"1"}}}}
	same := row
	row.Set("alpha", "0", "1")
	row.Set("inducing", "4")
	if !reflect.DeepEqual(row.Settings, []Setting{{"alpha", []string{"0", "1"}}, {"inducing", []string{"4"}}}) {
		t.Errorf("settings %+v", row.Settings)
	}
	if same.Settings[0].Values[0] != "1" {
		t.Error("a copy of the row was changed")
	}
	if !row.Has("inducing") || row.Has("rank") || (Row{Method: MAP}).Has("inducing") || !(Row{Method: "lla"}).Has("rank") {
		t.Error("Has is wrong")
	}
	if !row.For("x") || !(Row{Data: []string{"x", "y"}}).For("y") || (Row{Data: []string{"x"}}).For("y") {
		t.Error("For is wrong")
	}
	if _, err := (Row{Method: "magic"}).Variants(); err == nil {
		t.Error("an unknown method has rows")
	}
	if _, err := (Row{Method: "valla", Settings: []Setting{{"alpha", []string{"7"}}}}).Variants(); !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), "alpha: expected") {
		t.Errorf("error %v", err)
	}
	if got := Methods(); got[0] != "map" || !slices.Equal(got[1:], method.Names()) {
		t.Errorf("methods %q", got)
	}
}
