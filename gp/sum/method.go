package sum

import (
	"context"
	"maps"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Method describes VaLLA with GAPA in the table of methods.
var Method = gp.Method{
	Name:    "valla+gapa",
	Title:   "VaLLA and GAPA together",
	Summary: "The sum of VaLLA's variance, of the weights, and GAPA's, of the distance from the training rows.",
	Formula: "Q(x) = t Q_VaLLA(x) + s r(u(x)) J(x) diag(c²) J(x)ᵀ",
	Cost:    "A fit of VaLLA and two of GAPA; a prediction of each.",
	Use:     "Choose it for probabilities that are better than those of either, and to tell inputs that are unlike the training rows from the others.",
	Source:  "the two methods' publications; the sum is this program's",
	New:     func() gp.Settings { return new(Settings) },
	Restore: Restore,
}

// Settings are those of VaLLA and of GAPA's activations. The zero value of a field means its
// default.
type Settings struct {
	valla.Settings
	gapa.Options
	GAPAShare *float64 `set:"gapa-share" auto:"0.5; 0 with optimizer adam" min:"0" help:"part of the variance that GAPA has alone in whose presence VaLLA is fitted; with 0 VaLLA is fitted alone"`
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
	first, err := s.first(ctx, p, phase(r, 0, 100))
	if err != nil {
		return nil, err
	}
	v, err := s.Settings.FitBeside(ctx, p, phase(r, 100, 900), first)
	if err != nil {
		return nil, err
	}
	out, err := s.add(ctx, p, phase(r, 900, 1000), v)
	if err == nil {
		out.Record.Settings["gapa-share"] = s.share()
	}
	return out, err
}

// phase is a run whose progress goes from one part of 1,000 to another.
func phase(r gp.Run, from, to int) gp.Run {
	if report := r.OnProgress; report != nil {
		r.OnProgress = func(q train.Progress) {
			q.Done, q.Total, q.Unit = max(1, from+(to-from)*q.Done/q.Total), 1000, "parts"
			report(q)
		}
	}
	return r
}

// first returns the part of the variances of GAPA alone in whose presence VaLLA is fitted:
// those of training rows are of rows that are left out.
func (s *Settings) first(ctx context.Context, p gp.Problem, r gp.Run) (out valla.Beside, err error) {
	if s.share() == 0 {
		return out, nil
	}
	f, err := (&gapa.Settings{Options: s.Options}).Fit(ctx, p, r)
	if err != nil {
		return out, err
	}
	g, err := f.Posterior.(*gapa.Posterior).LeftOut(ctx, p.Train.X)
	if err != nil {
		return out, err
	}
	out.Train = s.part(g, p.Dtype())
	if p.Validation == nil {
		return out, nil
	}
	if g, err = f.Posterior.Predict(ctx, p.Validation.X); err != nil {
		return out, err
	}
	out.Validation = s.part(g, p.Dtype())
	return out, nil
}

// part returns the share of the variances [N,C] of predictions.
func (s *Settings) part(g gp.Gaussian, dt tensor.Dtype) *tensor.Dense {
	n, c := g.Mean.Shape()[0], g.Mean.Shape()[1]
	out, cov := make([]float64, n*c), g.Cov.Float64s()
	for i := range out {
		out[i] = s.share() * cov[i*c+i%c]
	}
	return graph.Convert(tensor.New(tensor.WithShape(n, c), tensor.WithBacking(out)), dt)
}

// add fits GAPA beside VaLLA.
func (s *Settings) add(ctx context.Context, p gp.Problem, r gp.Run, v *gp.Fitted) (*gp.Fitted, error) {
	beside := gapa.Settings{Options: s.Options}
	if v.NoiseVariance > 0 {
		if s.FixNoise || p.KnownNoise || p.Validation == nil {
			beside.NoiseStd = math.Sqrt(v.NoiseVariance)
		}
		p.Likelihood = likelihood.NewGaussian(v.NoiseVariance, p.Dtype())
	}
	g, share, err := beside.FitBeside(ctx, p, r, v.Posterior)
	if err != nil {
		return nil, err
	}
	out := &gp.Fitted{
		Posterior:     &Posterior{terms: []term{{v.Posterior, share}, {g.Posterior, 1}}, noise: g.NoiseVariance},
		NoiseVariance: g.NoiseVariance,
		Record:        v.Record,
	}
	out.Record.Settings = merged(v.Record.Settings, g.Record.Settings)
	out.Record.Facts = append(append([]gp.Fact{{Name: "factor of VaLLA's variance", Value: share}}, v.Record.Facts...), g.Record.Facts...)
	out.Record.Notes = append(v.Record.Notes, g.Record.Notes...)
	return out, nil
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
