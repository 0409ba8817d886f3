package spec

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// magic is a method for tests, which shares settings with others.
type magic struct {
	Rate float64 `yaml:"rate" above:"0" max:"1"`
	shared
	Kind string   `yaml:"kind" choice:"black white"`
	Seed *uint64  `yaml:"seed"`
	Tags []string `yaml:"tags" empty:"true"`
}

type shared struct {
	Sizes []int `yaml:"sizes" min:"1"`
}

var reader = Reader{Methods: []string{"magic", "plain"}, Settings: func(name string) any {
	switch name {
	case "magic":
		return &magic{Rate: 0.5, shared: shared{[]int{7}}, Kind: "white"}
	case "plain":
		return &struct{}{}
	}
	return nil
}}

const good = `name: good
about: what it is for
data: [a, b]
seeds: [3, 4]
network: {hidden: [], dtype: float32}
map:
  rate: 1e-3
  weight-decay: .5
  seed: 0
methods:
  - {method: plain}
  - method: magic
    label: Magic
    data: b
    sizes: [1, 2]
profiles:
  full: {}
  quick:
    seeds: [0]
    map: {iterations: 10}
    override:
      magic: {rate: 0.25, kind: black}
  short:
    methods: [{method: plain}]
`

func TestProfiles(t *testing.T) {
	full, err := reader.Read("good.yaml", []byte(good), "")
	if err != nil {
		t.Fatal(err)
	}
	if full.Profile != "full" || !reflect.DeepEqual(full.Profiles, []string{"full", "quick", "short"}) || len(full.Seeds) != 2 || *full.MAP.Seed != 0 {
		t.Errorf("full profile %+v", full)
	}
	// The numbers are those of the text; what it does not say is the default.
	if full.MAP.Rate != 1e-3 || full.MAP.WeightDecay != 0.5 || full.MAP.Iterations != defaults().MAP.Iterations || len(full.Network.Hidden) != 0 {
		t.Errorf("training %+v, network %+v", full.MAP, full.Network)
	}
	want := []Row{{Method: "plain", Settings: &struct{}{}},
		{Method: "magic", Label: "Magic", Data: []string{"b"}, Settings: &magic{Rate: 0.5, shared: shared{[]int{1, 2}}, Kind: "white"}}}
	if !reflect.DeepEqual(full.Methods, want) {
		t.Errorf("methods %+v", full.Methods)
	}
	quick, err := reader.Read("good.yaml", []byte(good), "quick")
	if err != nil {
		t.Fatal(err)
	}
	if m := quick.Methods[1].Settings.(*magic); m.Rate != 0.25 || m.Kind != "black" || len(m.Sizes) != 2 {
		t.Errorf("overridden settings %+v", m)
	}
	if len(quick.Seeds) != 1 || quick.MAP.Iterations != 10 || quick.MAP.Rate != 1e-3 {
		t.Errorf("quick profile %+v", quick)
	}
	if short, err := reader.Read("good.yaml", []byte(good), "short"); err != nil || len(short.Methods) != 1 {
		t.Errorf("short profile %+v, error %v", short, err)
	}
}

// TestErrors: each mistake is one line that names file, line, key and what was expected.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"seeds: [3, 4]", "seed: [3, 4]", `bad.yaml:4: seed: expected one of the keys name, about, data, seeds, network, map, scoring, found "seed"`},
		{"seeds: [3, 4]", "seeds: [3, -4]", `bad.yaml:4: seeds[1]: expected an integer, found "-4"`},
		{"seeds: [0]", "seeds: [3, 3]", `bad.yaml: seeds: expected every seed once, found [3 3]`},
		{"seeds: [3, 4]", "seeds: []", `bad.yaml:4: seeds: expected at least one element, found a list`},
		{"seeds: [3, 4]", "seeds: 3.5", `bad.yaml:4: seeds[0]: expected an integer, found "3.5"`},
		{"data: [a, b]", "data: [a, 1]", `bad.yaml:3: data[1]: expected text, found "1"`},
		{"data: [a, b]", "", "bad.yaml: data: expected the names of data sets"},
		{"name: good", "name: Go/od", `bad.yaml: name: expected lower-case letters, digits and hyphens, found "Go/od"`},
		{"name: good", "", "bad.yaml: name: expected a name"},
		{"dtype: float32", "dtype: float16", `bad.yaml:5: network.dtype: expected one of float32, float64, found "float16"`},
		{"rate: 1e-3", "rate: 0", `bad.yaml:7: map.rate: expected a number above 0, found "0"`},
		{"rate: 1e-3", "rate: .inf", `bad.yaml:7: map.rate: expected a number above 0, found ".inf"`},
		{"rate: 1e-3", `rate: "1e-3"`, `bad.yaml:7: map.rate: expected a number above 0`},
		{"rate: 1e-3", "rate: [1]", `bad.yaml:7: map.rate: expected a number above 0, found a list`},
		{"rate: 1e-3", "rate: 1\n  rate: 2", `bad.yaml:8: `},
		{"method: plain}", "method: plane}", `bad.yaml:11: methods[0].method: expected one of the methods magic, plain, found "plane"`},
		{"method: plain}", "method: plain, rate: 1}", `bad.yaml:11: methods[0].rate: expected one of the keys , found "rate"`},
		{"sizes: [1, 2]", "sizes: [1, 0]", `bad.yaml:15: methods[1].sizes[1]: expected an integer at least 1, found "0"`},
		{"sizes: [1, 2]", "sizes: {a: 1}", `bad.yaml:15: methods[1].sizes[0]: expected an integer at least 1, found a mapping`},
		{"kind: black", "kind: red", `bad.yaml:22: override.magic.kind: expected one of black, white, found "red"`},
		{"magic: {rate", "music: {rate", `bad.yaml:22: override.music: expected one of the methods magic, plain, found "music"`},
		{"iterations: 10", "iterations: 0", `bad.yaml:20: profiles.quick.map.iterations: expected an integer at least 1, found "0"`},
		{"    seeds: [0]", "    name: x", `bad.yaml:19: profiles.quick.name: expected no name of its own in a profile, found "name"`},
		{"name: good", "name: [", "bad.yaml:"},
		{"name: good", "\tname: good", "bad.yaml:1: expected valid YAML"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		_, err := reader.Read("bad.yaml", []byte(text), "quick")
		if e := new(Error); !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %q, want %q", c.new, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"":                              "bad.yaml: expected one YAML document",
		"just text":                     "bad.yaml:1: expected a mapping of keys to values",
		"name: a\ndata: [b]\n":          "bad.yaml: methods: expected a list of methods",
		"name: a\ndata: b\nmethods: {}": "bad.yaml:3: methods: expected a list of methods",
		"---\na: 1\n---\nb: 2\n":        "bad.yaml: expected one YAML document",
	} {
		if _, err := reader.Read("bad.yaml", []byte(text), ""); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := reader.Read("good.yaml", []byte(good), "slow"); err == nil || !strings.Contains(err.Error(), "full, quick, short") {
		t.Errorf("unknown profile: error %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(good), "quick")
	f.Add([]byte("a: &x [*x]\n"), "")
	f.Add([]byte("? {a: b}\n: c\n"), "")
	f.Add([]byte("name: !!binary x\n<<: 1"), "")
	for _, name := range Names() {
		text, _ := Text(name)
		f.Add(text, "full")
	}
	f.Fuzz(func(t *testing.T, text []byte, profile string) {
		e, err := reader.Read("fuzz.yaml", text, profile)
		switch {
		case err == nil && (e.Name == "" || len(e.Data) == 0 || len(e.Methods) == 0 || len(e.Seeds) == 0 || !(e.MAP.Rate > 0)):
			t.Errorf("half an experiment: %+v", e)
		case err != nil && (e != nil || strings.Contains(err.Error(), "\n")):
			t.Errorf("experiment %v with the error %q", e, err)
		}
	})
}
