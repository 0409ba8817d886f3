package sum

import (
	"context"
	"maps"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/train"
)

// Method describes VaLLA with GAPA in the table of methods.
var Method = gp.Method{
	Name:    "valla+gapa",
	Title:   "VaLLA and GAPA together",
	Summary: "The sum of VaLLA's variance, of the weights, and GAPA's, of the distance from the training rows.",
	Formula: "Q(x) = t Q_VaLLA(x) + s r(u(x)) J(x) diag(c²) J(x)ᵀ",
	Cost:    "A fit and a prediction of VaLLA, and of GAPA.",
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
}

// Label implements gp.Settings.
func (s *Settings) Label() string { return s.Settings.Label() + " + " + new(gapa.Settings).Label() }

// gapaShare is the part of a fit's progress, of 100, that is GAPA's.
const gapaShare = 10

// Fit implements gp.Settings. The checkpoint is VaLLA's: GAPA starts anew.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	first, second, steps := r, r, 0
	if r.OnProgress != nil {
		first.OnProgress = func(q train.Progress) {
			steps = q.Total
			q.Total += added(steps)
			r.OnProgress(q)
		}
		second.OnProgress = func(q train.Progress) {
			q.Done, q.Total, q.Unit = steps+added(steps)*q.Done/q.Total, steps+added(steps), "steps"
			r.OnProgress(q)
		}
	}
	v, err := s.Settings.Fit(ctx, p, first)
	if err != nil {
		return nil, err
	}
	return s.add(ctx, p, second, v)
}

// added is how many steps stand for the fit of GAPA after so many of VaLLA.
func added(steps int) int { return max(1, steps*gapaShare/(100-gapaShare)) }

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
