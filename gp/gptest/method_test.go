package gptest

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

func TestGoodMethod(t *testing.T) {
	CheckMethod(t, MethodCase{Method: toyMethod("")})
	CheckMethod(t, MethodCase{Method: toyMethod(""), Variants: map[string]func(gp.Problem) gp.Settings{
		"none": func(gp.Problem) gp.Settings { return nil },
		"five": func(gp.Problem) gp.Settings { return &toy{Steps: 5, Scale: 0.5} },
	}, Case: func(_ gp.Problem, _ *gp.Fitted, c *Case) { c.Tol = 1e-9 }})
}

// TestMethodFlaws: each flaw is found, by the promise that it breaks.
func TestMethodFlaws(t *testing.T) {
	for flaw, want := range map[string]string{
		"no label": "settings", "changes settings": "settings",
		"changes weights": "nothing else changes", "changes the likelihood": "nothing else changes", "changes examples": "nothing else changes",
		"records NaN": "record", "records no rows": "record", "records no validation rows": "record", "records groups": "record",
		"records no prior": "record", "no noise": "record", "no name": "record",
		"silent": "progress", "counts down": "progress", "goes back to a part": "progress", "random": "same seed",
		"records other settings": "recorded settings", "records unknown settings": "recorded settings",
		"restored under another name": "restored", "restored with another variance": "restored", "restored as nothing": "restored",
		"takes any array": "spoiled arrays", "panics on arrays": "spoiled arrays",
		"takes any header": "spoiled headers", "panics on headers": "spoiled headers", "a posterior with the error": "spoiled headers",
		"deaf": "ended context", "deaf during the fit": "ended context",
		"takes wrong problems": "wrong problems", "panics on wrong problems": "wrong problems", "takes more targets": "wrong problems",
		"unbounded": "too little memory", "stutters": "too little memory", "needs a checkpoint": "checkpoints", "goes on elsewhere": "checkpoints",
		"counts updates": "updates", "panics on updates": "updates", "changes itself": "updates", "widens": "updates", "deaf to updates": "updates",
		"takes Student's t for something else": "limits",
		"takes any checkpoint":                 "checkpoints", "panics on checkpoints": "checkpoints",
	} {
		var broken []string
		for _, q := range promises {
			if q.check(newToyTrial(t, flaw)) != nil || q.check(toyTrialOn(t, flaw, 1)) != nil {
				broken = append(broken, q.name)
			}
		}
		if !slices.Contains(broken, want) {
			t.Errorf("%s: breaks %q, want %q", flaw, broken, want)
		}
	}
}

// TestRandomFit: a fit that the seed does not determine breaks the promise of the recorded settings too, which all problems check.
func TestRandomFit(t *testing.T) {
	if newToyTrial(t, "random").sameSettings() == nil {
		t.Error("a random fit gives the same bits with the recorded settings")
	}
}

// newToyTrial is a trial on the first problem, which has one output.
func newToyTrial(t *testing.T, flaw string) *trial { return toyTrialOn(t, flaw, 0) }

// toyTrialOn is a trial on problem number i.
func toyTrialOn(t *testing.T, flaw string, i int) *trial {
	t.Helper()
	problems, err := Problems()
	if err != nil {
		t.Fatal(err)
	}
	c := MethodCase{Method: toyMethod(flaw)}
	f, err := newTrial(t.Context(), c, problems[i], c.variants()["defaults"])
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestUnusableMethods: fits that give nothing, or no state, end the check.
func TestUnusableMethods(t *testing.T) {
	problems, err := Problems()
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]gp.Settings{
		"no posterior": nothing{}, "a panic": nothing{panics: true}, "an error": &toy{Scale: -1}, "two arrays": &toy{flaw: "one name for all arrays"},
	} {
		_, err := newTrial(t.Context(), MethodCase{}, problems[0], func(gp.Problem) gp.Settings { return s })
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

type nothing struct{ panics bool }

func (nothing) Label() string { return "Nothing" }

func (n nothing) Fit(context.Context, gp.Problem, gp.Run) (*gp.Fitted, error) {
	if n.panics {
		panic("nothing")
	}
	return nil, nil
}

// TestDescriptions: what the table of methods must say, and what tags must.
func TestDescriptions(t *testing.T) {
	for what, spoil := range map[string]func(*gp.Method){
		"no title": func(m *gp.Method) { m.Title = "" }, "no summary": func(m *gp.Method) { m.Summary = "" },
		"no formula": func(m *gp.Method) { m.Formula = "" }, "no cost": func(m *gp.Method) { m.Cost = "" },
		"no use": func(m *gp.Method) { m.Use = "" }, "no source": func(m *gp.Method) { m.Source = "" },
		"a name with spaces": func(m *gp.Method) { m.Name = "my toy" },
		"no settings":        func(m *gp.Method) { m.New = nil }, "no Restore": func(m *gp.Method) { m.Restore = nil },
		"settings used twice": func(m *gp.Method) { *m = toyMethod("settings used twice") },
		"no label":            func(m *gp.Method) { *m = toyMethod("no label") },
		"settings that are given": func(m *gp.Method) {
			m.New = func() gp.Settings { return &toy{Scale: 3} }
		},
		"a setting without help":       func(m *gp.Method) { m.New = func() gp.Settings { return new(noHelp) } },
		"a setting without default":    func(m *gp.Method) { m.New = func() gp.Settings { return new(noDefault) } },
		"a name in capitals":           func(m *gp.Method) { m.New = func() gp.Settings { return new(capitals) } },
		"a number that cannot be zero": func(m *gp.Method) { m.New = func() gp.Settings { return new(lostZero) } },
		"a switch that is always on":   func(m *gp.Method) { m.New = func() gp.Settings { return new(alwaysOn) } },
		"a name twice":                 func(m *gp.Method) { m.New = func() gp.Settings { return new(sameName) } },
	} {
		m := toyMethod("")
		if err := describes(m); err != nil {
			t.Fatal(err)
		}
		if spoil(&m); describes(m) == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

type noHelp struct {
	toy
	Colour string `set:"colour" default:"red"`
}

type noDefault struct {
	toy
	Colour string `set:"colour" help:"colour"`
}

type capitals struct {
	toy
	Colour string `set:"Colour" default:"red" help:"colour"`
}

type lostZero struct {
	toy
	Alpha float64 `set:"alpha" default:"1" min:"0" help:"α of the objective"`
}

type alwaysOn struct {
	toy
	Keep bool `set:"keep" default:"true" help:"keep the best state"`
}

type sameName struct {
	toy
	Colour string `set:"scale" default:"red" help:"colour"`
}

// TestProblems: they are what their names say, pass Check, and are the same each time.
func TestProblems(t *testing.T) {
	a, err := Problems()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Problems()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i, p := range a {
		names[p.Name] = true
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.Train.N() != trainRows || p.Validation.N() != validationRows || p.Probe.Shape()[0] != probeRows || p.Probe.Dtype() != p.Dtype() {
			t.Errorf("%s: %d and %d rows", p.Name, p.Train.N(), p.Validation.N())
		}
		if !slices.Equal(graph.Floats(p.Train.Y), graph.Floats(b[i].Train.Y)) {
			t.Errorf("%s: other targets at the second call", p.Name)
		}
		if _, err := run(p.Probe, p.Net.Forward); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if classes := p.Train.Labels(); p.Outputs() == 3 && (!slices.Contains(classes, 0) || !slices.Contains(classes, 1) || !slices.Contains(classes, 2)) {
			t.Errorf("%s: classes %v", p.Name, classes)
		}
	}
	if len(names) != 12 {
		t.Errorf("%d problems, want 12", len(names))
	}
}

// TestMemory: what is saved is a copy, checked as it is read.
func TestMemory(t *testing.T) {
	state := gp.State{
		Header: toyHeader{Outputs: 3, Name: "Toy"},
		Arrays: []gp.Array{{Name: "a", Value: tensor.New(tensor.WithShape(2), tensor.WithBacking([]float64{1, 2}))}},
	}
	s, err := Memory(state)
	if err != nil {
		t.Fatal(err)
	}
	state.Arrays[0].Value.Float64s()[0] = 5
	c := s.Clone()
	c.Arrays["a"].Float64s()[1] = 6
	c.JSON[0] = ' '
	var h toyHeader
	a, err := s.Array("a", tensor.Float64, 2)
	if err != nil || s.Header(&h) != nil || h.Outputs != 3 || !slices.Equal(a.Float64s(), []float64{1, 2}) || !slices.Equal(s.Names(), []string{"a"}) {
		t.Errorf("header %+v, array %v, error %v", h, a, err)
	}
	if a.Float64s()[0] = 7; s.Arrays["a"].Float64s()[0] != 1 {
		t.Error("an array that was read is not a copy")
	}
	s.Arrays["nan"] = tensor.New(tensor.WithShape(1), tensor.WithBacking([]float32{float32(math.NaN())}))
	for what, read := range map[string]func() (*tensor.Dense, error){
		"missing":       func() (*tensor.Dense, error) { return s.Array("b", tensor.Float64, 2) },
		"another shape": func() (*tensor.Dense, error) { return s.Array("a", tensor.Float64, 2, 1) },
		"another type":  func() (*tensor.Dense, error) { return s.Array("a", tensor.Float32, 2) },
		"not finite":    func() (*tensor.Dense, error) { return s.Array("nan", tensor.Float32, 1) },
	} {
		if a, err := read(); err == nil || a != nil {
			t.Errorf("%s: %v, error %v", what, a, err)
		}
	}
	s.JSON = []byte(`{"Outputs":1,"Colour":"red"}`)
	if err := s.Header(&h); err == nil {
		t.Error("an unknown key was taken")
	}
	if _, err := Memory(gp.State{Header: math.NaN()}); err == nil {
		t.Error("a header that JSON cannot hold was taken")
	}
}

// TestMissingLimits: a method that serves a model and its limit has to be compared with the limit.
func TestMissingLimits(t *testing.T) {
	for _, c := range []struct {
		fitted   []string
		compared string
		want     string
	}{
		{[]string{"gaussian", "student-t"}, "", "gaussian with the limit student-t"},
		{[]string{"gaussian", "student-t"}, "student-t", ""},
		{[]string{"poisson", "negative-binomial"}, "poisson", "poisson with the limit negative-binomial"},
		{[]string{"gaussian", "softmax"}, "", ""},
	} {
		n := tally{map[string]int{c.compared: 1}, map[string]bool{}}
		for _, model := range c.fitted {
			n.fitted[model] = true
		}
		if err := n.missing(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v with %q: error %v, want %q", c.fitted, c.compared, err, c.want)
		}
	}
}
