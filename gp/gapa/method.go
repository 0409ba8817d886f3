package gapa

import (
	"cmp"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/settings"
)

// Method describes GAPA in the table of methods.
var Method = gp.Method{
	Name:    "gapa",
	Title:   "Gaussian-process activations (GAPA)",
	Summary: "The activations of one layer become Gaussian processes. Their variance grows with the distance from the training rows.",
	Formula: "Q(x) = s r(u(x)) J(x) diag(c²) J(x)ᵀ,  r(u) = 1 − ρ_S(u)ᵀ (R_SS + τI)⁻¹ ρ_S(u)",
	Symbols: "u(x) are the values of the layer, J is the Jacobian of the outputs in its activations, and c² their variances; ρ(u,u') = exp(−‖u − u'‖²/(2ℓ²)), ρ_S is ρ between u and the k nearest training rows, and R_SS is ρ among these rows; τ is the noise at the training rows, and s is a factor.",
	Cost:    "A fit takes a pass over the rows and the nearest neighbours of some rows; a prediction takes the derivatives of the outputs in one layer, and the distances to all kept rows.",
	Use:     "Choose GAPA to recognise inputs that are unlike the training rows. In classification use the probit probabilities, to which GAPA is fitted. For small tables with few columns choose another method.",
	Source:  "Bergna et al., GAPA: Gaussian-process activations, arXiv 2602.14934, 2026; kernel of whole vectors and left-out rows are this program's",
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are GAPA's settings. The zero value of a field means its default.
type Settings struct {
	Options
	NoiseStd float64 `set:"noise-std" auto:"the best of 17 from a quarter to four times the network's residual on the validation rows; without these rows learned with the variances, or the residual for scales=spread" above:"0" help:"noise standard deviation, in the units of the network's outputs; with several targets, in units of the residuals of each"`
}

// Options are the settings of the activations' variance. The zero value of a field means its
// default.
type Options struct {
	Layer         int     `set:"layer" auto:"the first one whose values are vectors" min:"1" help:"number of the layer that gets the processes, counted from the inputs: activations, and means over all places of an image"`
	Cached        int     `set:"cached" default:"60000" min:"1" help:"number M of training rows, drawn at random, whose values are kept; at most all rows"`
	Neighbours    int     `set:"neighbours" default:"50" min:"1" help:"number k of nearest rows on which the processes are conditioned"`
	Centres       int     `set:"centres" auto:"none" min:"1" help:"number of centres, rows drawn at random: an input is then conditioned on the rows nearest to its nearest centre, which is much faster than a search for the rows nearest to the input"`
	LengthScale   float64 `set:"length-scale" auto:"twice the first quartile of the distances among 512 rows" above:"0" help:"length-scale ℓ of the kernel of the layer's values"`
	RelativeNoise float64 `set:"relative-noise" default:"1e-6" above:"0" help:"noise τ of the values at the training rows, as a part of their variance"`
	Scales        string  `set:"scales" choice:"learned spread" help:"variances c² of the activations: learned from the likelihood of training rows that are left out of their own neighbours, or spread, the variances of the activations, at least 1 (as published)"`
	ScaleRows     int     `set:"scale-rows" default:"24000" min:"1" help:"number of training rows by which the variances are learned; at most all rows"`
	ScaleSteps    int     `set:"scale-steps" default:"400" min:"1" help:"number of steps by which the variances are learned, each on 2000 rows"`
	Factor        float64 `set:"factor" auto:"the best of 49 from 1/64 to 64 on the validation rows, 1 without these" above:"0" help:"factor s of all variances"`
}

const (
	scalesLearned = "learned"
	scalesSpread  = "spread"
)

// Label implements gp.Settings.
func (*Settings) Label() string { return label }

// label is the name of posteriors.
const label = "GAPA"

// complete returns the settings for a problem with all defaults filled in, but for the
// numbers that are to be found. The errors wrap settings.ErrSetting.
func (s Settings) complete(p gp.Problem) (Settings, error) {
	learned := s.ScaleRows != 0 || s.ScaleSteps != 0
	if err := cmp.Or(settings.Complete(&s), gp.CheckNoiseStd(s.NoiseStd, p.Likelihood)); err != nil {
		return s, err
	}
	if learned && s.Scales != scalesLearned {
		return s, settings.Errorf("scale-rows or scale-steps with scales %s, which are not learned", s.Scales)
	}
	if s.Scales != scalesLearned {
		s.ScaleRows, s.ScaleSteps = 0, 0
	}
	return s, nil
}
