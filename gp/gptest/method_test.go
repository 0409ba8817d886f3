package gptest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// toy is the settings of a method that gives each output the variance scale². A flaw
// breaks one of the promises of methods.
type toy struct {
	Scale float64 `set:"scale" default:"2" above:"0" help:"standard deviation"`
	Steps int     `set:"steps" auto:"3" min:"1" help:"steps that are reported"`
	flaw  string
}

func toyMethod(flaw string) gp.Method {
	used := &toy{flaw: flaw}
	return gp.Method{
		Name: "toy", Title: "Toy", Summary: "A constant.", Formula: "Q = s²I", Cost: "None.", Use: "In tests.", Source: "None.",
		New: func() gp.Settings {
			if flaw == "settings used twice" {
				return used
			}
			return &toy{flaw: flaw}
		},
		Restore: func(_ context.Context, net layers.Network, _ likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
			return restoreToy(net, s, flaw)
		},
	}
}

func (s *toy) is(flaw string) bool { return s.flaw == flaw }

func (s *toy) Label() string {
	if s.is("no label") {
		return ""
	}
	return "Toy"
}

func (s *toy) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	if err := s.check(ctx, p, r); err != nil {
		return nil, err
	}
	c := *s
	if err := settings.Complete(&c); err != nil {
		return nil, err
	}
	if c.Steps == 0 {
		c.Steps = 3
	}
	s.spoil(p)
	for i := range c.Steps {
		s.report(r, i, c.Steps)
		if ctx.Err() != nil && !s.is("deaf during the fit") && !s.is("deaf") {
			return nil, fmt.Errorf("toy: %w", ctx.Err())
		}
	}
	rng := rand.New(rand.NewPCG(r.Seed, 0))
	if s.is("random") {
		rng = rand.New(rand.NewPCG(rand.Uint64(), 0))
	}
	scale := make([]float64, p.Outputs())
	for i := range scale {
		scale[i] = c.Scale * (1 + rng.Float64())
	}
	q := &toyPosterior{Point: gp.Point{Net: p.Net, Dtype: p.Dtype()}, h: toyHeader{p.Outputs(), "Toy", p.Train.X.Shape()[1:].Clone()}, scale: scale}
	return s.fitted(&c, p, q), nil
}

// check is all that may refuse a fit.
func (s *toy) check(ctx context.Context, p gp.Problem, r gp.Run) error {
	if s.is("panics on wrong problems") && p.Net == nil {
		panic("no network")
	}
	if err := p.Check(); err != nil && !s.is("takes wrong problems") {
		return err
	}
	if c := p.Train.Y.Shape()[1]; c > 3 || c == 3 && noisy(p.Likelihood) || c == 2 && !s.is("takes more targets") && p.Net.Params()[3].Value.Shape()[0] == 1 {
		return fmt.Errorf("toy: %d targets", c)
	}
	if r.Memory == 1 && !s.is("unbounded") {
		return fmt.Errorf("toy: %w", &graph.MemoryError{What: "toy", Need: 8, Limit: 1})
	}
	if ctx.Err() != nil && !s.is("deaf") {
		return ctx.Err()
	}
	return nil
}

func noisy(l likelihood.Likelihood) bool { return l != nil && len(l.Params()) > 0 }

// spoil changes what a fit must leave alone.
func (s *toy) spoil(p gp.Problem) {
	switch s.flaw {
	case "changes settings":
		s.Scale = 5
	case "changes weights":
		p.Net.Params()[0].Set(0, 7)
	case "changes the likelihood":
		for _, v := range p.Likelihood.Params() {
			v.Set(0, 7)
		}
	case "changes examples":
		p.Validation.X.Float64s()[0]++
	}
}

func (s *toy) report(r gp.Run, i, total int) {
	if r.OnProgress == nil || s.is("silent") {
		return
	}
	step := train.Progress{Unit: "steps", Done: i + 1, Total: total}
	if s.is("counts down") {
		step.Done = total - i
	}
	r.OnProgress(step)
}

// fitted records c.
func (s *toy) fitted(c *toy, p gp.Problem, q *toyPosterior) *gp.Fitted {
	f := &gp.Fitted{Posterior: q, NoiseVariance: likelihood.NoiseVariance(p.Likelihood)}
	f.Record = gp.Record{Rows: p.Train.N(), ValidationRows: p.Validation.N(), Settings: settings.Map(c), PriorStds: []float64{1}}
	r := &f.Record
	switch s.flaw {
	case "records NaN":
		r.Facts = []gp.Fact{{Name: "nothing", Value: math.NaN()}}
	case "records no rows":
		r.Rows = 0
	case "records no validation rows":
		r.ValidationRows = 0
	case "records groups":
		r.Groups = []string{"a", "b"}
	case "records no prior":
		r.PriorStds = []float64{0}
	case "no noise":
		f.NoiseVariance = 0
	case "records other settings":
		r.Settings["scale"] = 9
	case "records unknown settings":
		r.Settings["colour"] = "red"
	case "no name":
		q.h.Name = ""
	case "one name for all arrays":
		q.twice = true
	}
	q.flaw = s.flaw
	return f
}

type toyHeader struct {
	Outputs int
	Name    string
	Input   []int // shape of one
}

type toyPosterior struct {
	gp.Point
	h     toyHeader
	scale []float64 // [C]
	flaw  string
	twice bool
}

func (p *toyPosterior) Predict(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	if shape := x.Shape(); !slices.Equal(shape[1:], p.h.Input) {
		return gp.Gaussian{}, fmt.Errorf("toy: inputs of shape %v, expected %v each", shape, p.h.Input)
	}
	g, err := p.Point.Predict(ctx, x)
	if err != nil {
		return g, err
	}
	c := p.h.Outputs
	for i, v := range p.scale {
		for n := i*c + i; n < len(g.Cov.Float64s()); n += c * c {
			g.Cov.Float64s()[n] = v * v
		}
	}
	return g, nil
}

func (p *toyPosterior) String() string { return p.h.Name }

func (p *toyPosterior) State() (gp.State, error) {
	scale := gp.Array{Name: "scale", Value: tensor.New(tensor.WithShape(len(p.scale)), tensor.WithBacking(slices.Clone(p.scale)))}
	s := gp.State{Header: p.h, Arrays: []gp.Array{scale}}
	if p.twice {
		s.Arrays = append(s.Arrays, scale)
	}
	return s, nil
}

func restoreToy(net layers.Network, s gp.Saved, flaw string) (gp.Stored, error) {
	p := &toyPosterior{flaw: flaw}
	refused := func(err error) (gp.Stored, error) {
		if flaw == "a posterior with the error" {
			return p, err
		}
		return nil, err
	}
	if err := s.Header(&p.h); err != nil && flaw != "takes any header" {
		return refused(err)
	}
	if flaw == "panics on headers" {
		_ = make([]int, p.h.Outputs) // of a negative length
	}
	if p.h.Outputs < 1 || p.h.Outputs > 3 {
		return refused(fmt.Errorf("toy: %d outputs", p.h.Outputs))
	}
	a, err := s.Array("scale", tensor.Float64, p.h.Outputs)
	switch {
	case err == nil:
		p.scale = a.Float64s()
	case flaw == "takes any array":
		p.scale = make([]float64, p.h.Outputs)
	case flaw == "panics on arrays":
		panic(err)
	default:
		return refused(err)
	}
	p.Point = gp.Point{Net: net, Dtype: net.Params()[0].Value.Dtype()}
	switch flaw {
	case "restored under another name":
		p.h.Name = "Other"
	case "restored with another variance":
		p.scale[0] *= 2
	case "restored as nothing":
		return nil, errors.New("toy: lost")
	}
	return p, nil
}

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
		"silent": "progress", "counts down": "progress", "random": "same seed",
		"records other settings": "recorded settings", "records unknown settings": "recorded settings",
		"restored under another name": "restored", "restored with another variance": "restored", "restored as nothing": "restored",
		"takes any array": "spoiled arrays", "panics on arrays": "spoiled arrays",
		"takes any header": "spoiled headers", "panics on headers": "spoiled headers", "a posterior with the error": "spoiled headers",
		"deaf": "ended context", "deaf during the fit": "ended context",
		"takes wrong problems": "wrong problems", "panics on wrong problems": "wrong problems", "takes more targets": "wrong problems",
		"unbounded": "too little memory",
	} {
		var broken []string
		for _, q := range promises {
			if q.check(newToyTrial(t, flaw)) != nil {
				broken = append(broken, q.name)
			}
		}
		if !slices.Contains(broken, want) {
			t.Errorf("%s: breaks %q, want %q", flaw, broken, want)
		}
	}
}

// newToyTrial is a trial on the first problem, which has one output.
func newToyTrial(t *testing.T, flaw string) *trial {
	t.Helper()
	problems, err := Problems()
	if err != nil {
		t.Fatal(err)
	}
	c := MethodCase{Method: toyMethod(flaw)}
	f, err := newTrial(t.Context(), c, problems[0], c.variants()["defaults"])
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
