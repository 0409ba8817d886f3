package gptest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// toy is the settings of a method that gives each output the variance scale². A flaw
// breaks a promise of methods.
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
			s.write(r)
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
	if s.is("takes Student's t for something else") && !likelihood.IsGaussian(p.Likelihood) {
		scale[0]++
	}
	s.resume(r, scale)
	q := &toyPosterior{point: gp.Point{Net: p.Net, Dtype: p.Dtype()}, h: toyHeader{p.Outputs(), "Toy", p.Train.X.Shape()[1:].Clone()}, scale: scale}
	return s.fitted(&c, p, q), nil
}

// write leaves a checkpoint, empty, where a flaw wants one.
func (s *toy) write(r gp.Run) {
	if r.Checkpoint != "" {
		if err := os.WriteFile(r.Checkpoint, nil, 0o600); err != nil {
			panic(err)
		}
	}
}

// resume is wrong in the ways of the flaws, and otherwise has no effect.
func (s *toy) resume(r gp.Run, scale []float64) {
	_, err := os.Stat(r.Checkpoint)
	found := r.Resume && err == nil
	switch {
	case s.is("needs a checkpoint") && r.Resume && !found:
		panic(err)
	case s.is("goes on elsewhere") && found && r.Seed == seed, s.is("takes any checkpoint") && found && r.Seed != seed:
		scale[0] *= 2
	case s.is("panics on checkpoints") && found && r.Seed != seed:
		panic("another seed")
	}
}

// check is all that may refuse a fit.
func (s *toy) check(ctx context.Context, p gp.Problem, r gp.Run) error {
	if s.is("panics on wrong problems") && p.Net == nil {
		panic("no network")
	}
	if err := p.Check(); err != nil && !s.is("takes wrong problems") {
		return err
	}
	switch {
	case s.is("refuses without a name") && !likelihood.IsGaussian(p.Likelihood):
		return fmt.Errorf("%w: no Gaussian", gp.ErrProblem)
	case s.is("refuses by name") && !likelihood.IsGaussian(p.Likelihood):
		return gp.CannotServe("Toy", p.Likelihood)
	}
	w := p.Net.Params()
	if c := p.Outputs(); c != w[len(w)-1].Value.Shape()[0] && !s.is("takes more targets") {
		return fmt.Errorf("toy: %d targets", c)
	}
	if r.Memory > 0 && r.Memory < 5 && !s.is("unbounded") {
		err := error(&graph.MemoryError{What: "toy: a fit", Need: 8, Limit: 1})
		if s.is("stutters") {
			err = fmt.Errorf("toy: %w", err)
		}
		return err
	}
	if ctx.Err() != nil && !s.is("deaf") {
		return ctx.Err()
	}
	return nil
}

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
	if s.is("goes back to a part") && i%2 == 1 {
		step.Unit = "rows"
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
	point gp.Point
	h     toyHeader
	scale []float64 // [C]
	flaw  string
	twice bool
}

func (p *toyPosterior) Compile(r gp.Request) (gp.Compiled, error) {
	if !slices.Equal(r.Shape, p.h.Input) {
		return nil, fmt.Errorf("toy: inputs of shape %v, expected %v each", r.Shape, p.h.Input)
	}
	r.Marginal = false
	c, err := p.point.Compile(r)
	return toyCompiled{c, p}, err
}

type toyCompiled struct {
	gp.Compiled
	p *toyPosterior
}

func (t toyCompiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	err := t.Compiled.Predict(ctx, x, g)
	for i := range g.Mean {
		c := t.p.h.Outputs
		g.Cov[i*c+i%c] = t.p.scale[i%c] * t.p.scale[i%c]
	}
	return err
}

func (p *toyPosterior) String() string { return p.h.Name }

// Update adds the number of examples to the precisions 1/scale².
func (p *toyPosterior) Update(ctx context.Context, more gp.Problem, _ gp.Run) (gp.Stored, error) {
	if ctx.Err() != nil && p.flaw != "deaf to updates" {
		return nil, ctx.Err()
	}
	q, n := *p, float64(more.Train.N())
	switch p.flaw {
	case "counts updates":
		n = 1
	case "panics on updates":
		panic("an update")
	}
	if p.flaw != "changes itself" {
		q.scale = slices.Clone(p.scale)
	}
	for i, s := range q.scale {
		if q.scale[i] = 1 / math.Sqrt(1/(s*s)+n); p.flaw == "widens" {
			q.scale[i] = math.Sqrt(s*s + n)
		}
	}
	return &q, nil
}

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
	p.point = gp.Point{Net: net, Dtype: net.Params()[0].Value.Dtype()}
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
