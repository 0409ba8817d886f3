package spec

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp/method"
)

// Each mistake is one line that names file, line, key and what was expected.
func TestErrors(t *testing.T) {
	const settings = "optimizer, inducing, init, weights, alpha, prior-std, noise-std, optimal-a, fix-prior, fix-noise, fix-inducing, iterations, batch-size, learning-rate, schedule, validate-every, patience, keep-last, likeliest"
	methods := strings.Join(method.Names(), ", ")
	for _, c := range []struct{ old, new, want string }{
		{"seeds: [3, 4]", "seed: [3, 4]", `bad.yaml:4: seed: expected one of the keys name, about, data, seeds, methods, network, map, scoring, profiles, found "seed"`},
		{"seeds: [3, 4]", "seeds: [3, -4]", `bad.yaml:4: seeds[1]: expected an integer from 0, found "-4"`},
		{"seeds: [0]", "seeds: [3, 3]", `bad.yaml: seeds: expected every seed once, found [3 3]`},
		{"seeds: [0]", "seeds: []", `bad.yaml: seeds: expected at least one seed`},
		{"seeds: [3, 4]", "seeds: 3.5", `bad.yaml:4: seeds: expected an integer from 0, found "3.5"`},
		{"data: [a, b]", "data: [a, {b: c}]", `bad.yaml:3: data[1]: expected a value, found a mapping`},
		{"data: [a, b]", "data: [a, a]", `bad.yaml: data: expected every data set once, found [a a]`},
		{"data: [a, b]", "data: []", "bad.yaml: data: expected the names of data sets"},
		{"data: [a, b]", "", "bad.yaml: data: expected the names of data sets"},
		{"name: good", "name: Go/od", `bad.yaml: name: expected lower-case letters, digits and hyphens, found "Go/od"`},
		{"name: good", "name: ../good", `bad.yaml: name: expected lower-case letters, digits and hyphens, found "../good"`},
		{"name: good", "name: a/../b", `bad.yaml: name: expected lower-case letters, digits and hyphens, found "a/../b"`},
		{"name: good", "name:", "bad.yaml:1: name: expected a value, found nothing"},
		{"name: good", "", "bad.yaml: name: expected a name"},
		{"about: what", "about: |\n  what", "bad.yaml:2: about: expected a value"},
		{"dtype: float32", "dtype: float16", `bad.yaml:5: network.dtype: expected one of float64, float32, found "float16"`},
		{"dtype: float32", "width: 3", `bad.yaml:5: network.width: expected one of the keys form, hidden, filters, activation, shortcut, input, frozen, output, dtype, mean, std, weights, found "width"`},
		{"hidden: []", "hidden: [3, 0]", `bad.yaml:5: network.hidden[1]: expected an integer at least 1, found "0"`},
		{"hidden: []", "hidden: {}", `bad.yaml:5: network.hidden: expected a value, found a mapping`},
		{"learning-rate: 1e-3", "learning-rate: 0", `bad.yaml:7: map.learning-rate: expected a number above 0, found "0"`},
		{"learning-rate: 1e-3", "learning-rate: .inf", `bad.yaml:7: map.learning-rate: expected a value, found ".inf"`},
		{"learning-rate: 1e-3", "learning-rate: [1]", `bad.yaml:7: map.learning-rate: expected a value, found a list`},
		{"learning-rate: 1e-3", "learning-rate: 1\n  learning-rate: 2", `bad.yaml:8: `},
		{"learning-rate: 1e-3", "likelihood: cauchy", `bad.yaml: map.likelihood: expected one of the observation models gaussian, softmax, student-t`},
		{"learning-rate: 1e-3", "rate: 1", `bad.yaml:7: map.rate: expected one of the keys iterations, batch-size, optimizer, learning-rate, `},
		{"method: map}", "method: mop}", `bad.yaml:11: methods[0].method: expected one of the methods map, ` + methods + `, found "mop"`},
		{"method: map}", "label: x}", `bad.yaml:11: methods[0].method: expected one of the methods map, ` + methods + `, found ""`},
		{"method: map}", "method: map, rate: 1}", `bad.yaml:11: methods[0].rate: expected one of the keys method, label, data, hyper-from, law, likelihood, profiles, found "rate"`},
		{"method: map}", "method: map, data: []}", `bad.yaml:11: methods[0].data: expected the names of data sets, found none`},
		{"method: map}", "method: map, hyper-from: lla}", `bad.yaml:11: methods[0].hyper-from: expected a method with the setting prior-std, found map`},
		{"method: map}", "method: map, likelihood: student-t}", `bad.yaml:11: methods[0].likelihood: expected a method with a posterior, found map`},
		{"method: map}", "method: lla, likelihood: cauchy}", `bad.yaml:11: methods[0].likelihood: expected one of the observation models gaussian, softmax, student-t`},
		{"method: map}", "method: lla, law: cauchy}", `bad.yaml:11: methods[0].law: expected one of gaussian, student-t, mixture, auto, found "cauchy"`},
		{"method: map}", "method: valla, hyper-from: map}", `bad.yaml:11: methods[0].hyper-from: expected one of the methods ` + methods + `, found "map"`},
		{"method: map}", "method: map}\n  - {method: map}", `bad.yaml: methods: expected one row with the label "MAP" in the table of a, found two`},
		{"inducing: [1, 2]", "inducing: [1, 0]", `bad.yaml:15: methods[1].inducing[1]: expected an integer at least 1, found "0"`},
		{"inducing: [1, 2]", "inducing: []", `bad.yaml:15: methods[1].inducing: expected at least one value, found a list`},
		{"inducing: [1, 2]", "inducing: {a: 1}", `bad.yaml:15: methods[1].inducing: expected a value, found a mapping`},
		{"inducing: [1, 2]", "m: 3", `bad.yaml:15: methods[1].m: expected one of the keys method, label, data, hyper-from, law, likelihood, profiles, ` + settings + `, found "m"`},
		{"{iterations: 7", "{m: 7", `bad.yaml:17: methods[1].profiles.quick.m: expected one of the keys ` + settings + `, found "m"`},
		{"{iterations: 7", "{label: x", `bad.yaml:17: methods[1].profiles.quick.label: expected one of the keys ` + settings + `, found "label"`},
		{"short: {alpha: 0}", "short: {alpha: 2}", `bad.yaml:18: methods[1].profiles.short.alpha: expected a number`},
		{"short: {alpha: 0}", "slow: {alpha: 0}", `bad.yaml:18: methods[1].profiles: expected one of the profiles full, quick, short, found "slow"`},
		{"short: {alpha: 0}", "short: 3", `bad.yaml:18: methods[1].profiles.short: expected a mapping of keys to values, found "3"`},
		{"iterations: 10", "iterations: 0", `bad.yaml:23: profiles.quick.map.iterations: expected an integer at least 1, found "0"`},
		{"    seeds: [0]", "    name: x", `bad.yaml:22: profiles.quick.name: expected no name of its own in a profile, found "name"`},
		{"    seeds: [0]", "    profiles: {}", `bad.yaml:22: profiles.quick.profiles: expected no profiles of its own`},
		{"    seeds: [0]", "    seed: 0", `bad.yaml:22: profiles.quick.seed: expected one of the keys name, `},
		{"  full: {}", "  full: 3", `bad.yaml:20: profiles.full: expected a mapping of keys to values, found "3"`},
		{"  full: {}", "  ../../q: {}", `bad.yaml: profiles: expected names of lower-case letters, digits and hyphens, found "../../q"`},
		{"  full: {}", "  3: {}", `bad.yaml:20: profiles: expected a name as key, found "3"`},
		{"monte-carlo: 3", "monte-carlo: -3", `bad.yaml:27: profiles.short.scoring.monte-carlo: expected an integer at least 0, found "-3"`},
		{"name: good", "name: [", "bad.yaml:"},
		{"name: good", "\tname: good", "bad.yaml:1: expected valid YAML"},
	} {
		profile := "quick"
		if strings.Contains(c.want, "full: expected") {
			profile = "full"
		} else if strings.Contains(c.want, "short.scoring") {
			profile = "short"
		}
		text := strings.Replace(good, c.old, c.new, 1)
		_, err := Read("bad.yaml", []byte(text), profile)
		if e := new(Error); !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %q, want %q", c.new, err, c.want)
		}
	}
	if _, err := Read("good.yaml", []byte(good), "../../q"); err == nil || !strings.Contains(err.Error(), `full, quick, short, found "../../q"`) {
		t.Errorf("unknown profile: error %v", err)
	}
}

// Texts that are no mapping of an experiment.
func TestNoExperiment(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "bad.yaml: expected one YAML document",
		"# nothing":                               "bad.yaml: expected ",
		"just text":                               "bad.yaml:1: expected a mapping of keys to values",
		"- a":                                     "bad.yaml:1: expected a mapping of keys to values, found a list",
		"name: a\ndata: [b]\n":                    "bad.yaml: methods: expected a list of methods",
		"name: a\ndata: b\nmethods: {}":           "bad.yaml:3: methods: expected a list of methods",
		"name: a\ndata: b\nmethods: []":           "bad.yaml:3: methods: expected a list of methods",
		"name: a\ndata: b\nmethods: [3]":          "bad.yaml:3: methods[0]: expected a mapping of keys to values",
		"name: a\nprofiles: {}\nmethods: [x]":     "bad.yaml:2: profiles: expected at least one profile",
		"name: a\nprofiles: 3\nmethods: [x]":      "bad.yaml:2: profiles: expected a mapping",
		"---\na: 1\n---\nb: 2\n":                  "bad.yaml: expected one YAML document",
		"? {a: b}\n: c\n":                         "bad.yaml:",
		"name: &x a\nabout: *x\n":                 "bad.yaml:",
		"name: a\nabout: b\x7f\u2028c\ndata: [{}": "bad.yaml:",
	} {
		if _, err := Read("bad.yaml", []byte(text), ""); err == nil || !strings.HasPrefix(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\u2028\x7f") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// Texts that would take the parser, or a table, beyond all memory are refused at once.
func TestLimits(t *testing.T) {
	many := strings.Repeat("1, ", 300)
	for want, text := range map[string]string{
		"big.yaml: expected at most 32768 bytes, found 300000":                       strings.Repeat("#", 300_000),
		"big.yaml:2: expected mappings and lists at most 50 deep in each other":      "name: a\n" + strings.Repeat("[", 20_000),
		"big.yaml:1: expected mappings and lists at most 50 deep in each other":      strings.Repeat("{a: ", 6_000),
		"big.yaml:3: expected mappings and lists at most 50 deep in each other":      "a:\n b:\n" + strings.Repeat("- ", 10_000) + "c",
		"big.yaml:103: expected mappings and lists at most 50 deep in each other":    deep(200, "\n"),
		"big.yaml:1: expected mappings and lists at most 50 deep in each other, fou": deep(200, "\r"),
		"the values of the settings make more than 10000 rows":                       "{name: a, data: b, methods: [{method: valla, inducing: [" + many + "], iterations: [" + many + "], batch-size: [" + many + "]}]}",
	} {
		if _, err := Read("big.yaml", []byte(text), ""); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: error %v, want %q", text, err, want)
		}
	}
	wide := strings.Repeat("{method: map, label: a - b}, ", 1000)
	if _, err := Read("wide.yaml", []byte("{name: a, data: boston, methods: ["+wide+"]}"), ""); err != nil && strings.Contains(err.Error(), "deep") {
		t.Errorf("a wide file: %v", err)
	}
}

// deep is a text of n mappings in each other.
func deep(n int, newline string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:" + newline)
	}
	return b.String()
}

func TestErrorLine(t *testing.T) {
	for want, e := range map[string]Error{
		"f: expected a":             {File: "f", Expected: "a"},
		"f:3: expected a, found b":  {File: "f", Line: 3, Expected: "a", Found: "b"},
		"f: k: expected a, found b": {File: "f", Key: "k", Expected: "a", Found: "b"},
		"f:1: k: expected a b":      {File: "f", Line: 1, Key: "k", Expected: "a\nb"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}

// Reading never panics and gives a whole experiment or an error of one line.
func FuzzRead(f *testing.F) {
	f.Add([]byte(good), "quick")
	f.Add([]byte("a: &x [*x]\n"), "")
	f.Add([]byte("? {a: b}\n: c\n"), "")
	f.Add([]byte("name: !!binary x\n<<: 1"), "")
	f.Add([]byte("{name: a, data: b, methods: [{method: lla, weights: [], structure: [kfac]}]}"), "full")
	for _, name := range Names() {
		text, _ := Text(name)
		f.Add(text, "full")
	}
	f.Fuzz(func(t *testing.T, text []byte, profile string) {
		e, err := Read("fuzz.yaml", text, profile)
		if err != nil {
			if e != nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("experiment %v with the error %q", e, err)
			}
			return
		}
		if !result.Plain(e.Name) || !result.Plain(e.Profile) || len(e.Data) == 0 || len(e.Methods) == 0 || len(e.Seeds) == 0 {
			t.Errorf("half an experiment: %+v", e)
		}
		for _, row := range e.Methods {
			if v, err := row.Variants(); err != nil || len(v) == 0 {
				t.Errorf("%+v: %d rows, error %v", row, len(v), err)
			}
		}
	})
}
