package sum

import (
	"context"
	"maps"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// Method describes VaLLA with GAPA in the table of methods.
var Method = gp.Method{
	Name:    "valla+gapa",
	Title:   "VaLLA and GAPA together",
	Summary: "The sum of two variances: VaLLA's variance, from the weights, and GAPA's variance, from the distance to the training rows.",
	Formula: "Q(x) = t Q_VaLLA(x) + s r(u(x)) J(x) diag(c²) J(x)ᵀ",
	Symbols: "Q_VaLLA is the covariance of valla, and the other term is the covariance of gapa; the validation rows choose the factors t and s.",
	Cost:    "A fit takes a fit of GAPA, the variances of GAPA at all rows, and a fit of VaLLA; a prediction takes a prediction of GAPA and a prediction of VaLLA.",
	Use:     "Choose the sum for better probabilities than VaLLA or GAPA alone, and to recognise inputs that are unlike the training rows. In classification use the probit probabilities, to which the sum is fitted. With a few hundred rows VaLLA alone is safer.",
	Source:  "the two methods' publications; the sum is this program's",
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are the settings of VaLLA and of the activations of GAPA. The zero value of a field means its
// default.
type Settings struct {
	valla.Settings
	gapa.Options
	GAPAShare *float64 `set:"gapa-share" auto:"0.5; 0 with optimizer adam" min:"0" help:"part of GAPA's variance that is added while VaLLA is fitted; with 0 VaLLA is fitted alone"`
}

// Label implements gp.Settings.
func (s *Settings) Label() string { return s.Settings.Label() + " + " + new(gapa.Settings).Label() }

// share returns GAPAShare or its default.
func (s *Settings) share() float64 {
	switch {
	case s.GAPAShare != nil:
		return *s.GAPAShare
	case s.Optimizer == "adam":
		return 0
	}
	return 0.5
}

// Fit implements gp.Settings. The checkpoint is VaLLA's: GAPA starts anew.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	if err := settings.Check(s); err != nil {
		return nil, err
	}
	if _, err := s.Estimate(ctx, p, r); err != nil {
		return nil, err
	}
	g, err := (&gapa.Settings{Options: s.Options}).Fit(ctx, p, r.Part(0, 100))
	if err != nil {
		return nil, err
	}
	at, err := s.beside(ctx, p, g.Posterior.(leftOut), r.Part(100, 300))
	if err != nil {
		return nil, err
	}
	rows, held := s.parts(at, p.Dtype())
	v, ended := s.Settings.FitBeside(ctx, p, r.Part(300, 1000), rows, held)
	if v == nil {
		return nil, ended
	}
	by, err := s.mix(context.WithoutCancel(ctx), p, v, at.held) // of an interrupted fit, too
	if err != nil {
		return nil, err
	}
	return s.fitted(learned(p, v), v, g, by), ended
}

// Estimate implements gp.Estimator: the fits of both parts, and the variances of GAPA at all rows between them.
func (s *Settings) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	g, err := (&gapa.Settings{Options: s.Options}).Estimate(ctx, p, r)
	if err != nil {
		return gp.Estimate{}, err
	}
	v, err := s.Settings.Estimate(ctx, p, r)
	if err != nil {
		return gp.Estimate{}, err
	}
	n, c := p.Held(), p.Outputs()
	if s.share() > 0 {
		n = max(n, p.Train.N())
	}
	plan := &gp.Plan{What: "valla+gapa: the covariances of GAPA at all rows", Cheaper: v.Cheaper}
	plan.Hold(g.Kept)
	plan.Beside(g.Bytes - g.Kept)
	plan.Beside(gp.Numbers(min(n, gp.PartRows(c*c)), c, c) + gp.EngineBytes(g.RowBytes) + growing*gp.Numbers(n, c))
	plan.Hold(gp.Numbers(n, c) + v.Kept)
	plan.Beside(v.Bytes - v.Kept)
	plan.Fits(g, 1)
	plan.Rows(g, float64(n))
	plan.Fits(v, 1)
	row := plan.Prediction()
	row.Hold(g.RowBytes + v.RowBytes)
	row.Rows(g, 1)
	row.Rows(v, 1)
	return plan.Estimate(plan.Check(r.Limit()))
}

// growing is how many times as large as a slice the memory is that it takes while elements are appended to it.
const growing = 2

// variances are GAPA's [N·C] at the training rows, each left out of its own neighbours, and
// at the validation rows; nil where they are not needed.
type variances struct {
	train, held []float64 // [N·C] at the training rows and at the validation rows
	c           int       // C
}

// leftOut is a posterior that predicts each of its training rows without this row.
type leftOut interface {
	gp.Posterior
	LeftOut(ctx context.Context, x *tensor.Dense, visit func(first int, g gp.Gaussian)) error
}

// beside computes the variances of GAPA alone.
func (s *Settings) beside(ctx context.Context, p gp.Problem, g leftOut, r gp.Run) (at variances, err error) {
	at.c = p.Outputs()
	if s.share() > 0 {
		err := g.LeftOut(ctx, p.Train.X, func(first int, q gp.Gaussian) {
			at.train = q.AppendVariances(at.train)
			r.Tell("rows")(first+q.N(), p.Train.N())
		})
		if err != nil {
			return at, err
		}
	}
	if p.Validation == nil {
		return at, nil
	}
	_, at.held, err = gp.Marginals(ctx, g, p.Validation.X)
	return at, err
}

// parts returns the shares [N,C] of the variances at the training rows and at the held-out rows
// beside which VaLLA is fitted; nil where VaLLA is fitted alone.
func (s *Settings) parts(at variances, dt tensor.Dtype) (rows, held *tensor.Dense) {
	if at.train == nil {
		return nil, nil
	}
	of := func(v []float64) *tensor.Dense {
		part := make([]float64, len(v))
		kernel.Scale(part, s.share(), v)
		return graph.Convert(dense.Of(part, len(v)/at.c, at.c), dt)
	}
	if rows = of(at.train); at.held != nil {
		held = of(at.held)
	}
	return rows, held
}

// fitted makes the posterior and the record.
func (s *Settings) fitted(model likelihood.Likelihood, v, g *gp.Fitted, by mixture) *gp.Fitted {
	unit := likelihood.WithNoise(model, 1)
	out := &gp.Fitted{
		Posterior:     &posterior{terms: []term{{v.Posterior, by.valla}, {g.Posterior, by.gapa}}, noise: by.noise * gp.Scatter(unit)},
		NoiseVariance: by.noise,
		Record:        v.Record,
	}
	if v.Likelihood != nil {
		out.Likelihood = likelihood.WithNoise(v.Likelihood, by.noise)
	}
	out.Record.Settings = merged(v.Record.Settings, g.Record.Settings)
	out.Record.Settings["gapa-share"] = s.share()
	out.Record.Facts = append([]gp.Fact{{Name: "factor of VaLLA's variance", Value: by.valla}, {Name: "factor of GAPA's variance", Value: by.gapa}}, v.Record.Facts...)
	out.Record.Notes = append(v.Record.Notes, g.Record.Notes...)
	return out
}

// merged returns the settings of both methods. The noise that GAPA was given is VaLLA's.
func merged(valla, gapa map[string]any) map[string]any {
	out := maps.Clone(valla)
	for name, v := range gapa {
		if _, there := out[name]; !there && name != "noise-std" {
			out[name] = v
		}
	}
	return out
}
