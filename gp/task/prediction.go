package task

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/settings"
)

// filled is Predict by way of Fill.
func filled(ctx context.Context, out Outputs, g gp.Gaussian, noiseVariance float64, o PredictOptions) (*Prediction, error) {
	p := new(Prediction)
	if err := out.Fill(ctx, g.Latents(), noiseVariance, o, p); err != nil {
		return nil, err
	}
	return p, nil
}

// N returns the number of inputs.
func (p *Prediction) N() int {
	if p.Classes != nil {
		return len(p.Probs) / len(p.Classes)
	}
	return len(p.Mean) / len(p.Targets)
}

// Append adds the rows of more, a prediction of the same model.
func (p *Prediction) Append(more *Prediction) {
	p.Targets, p.Classes, p.Labels, p.Link = more.Targets, more.Classes, more.Labels, more.Link
	for _, v := range []struct {
		to   *[]float64
		from []float64
	}{
		{&p.Mean, more.Mean}, {&p.Variance, more.Variance}, {&p.Latent, more.Latent},
		{&p.Epistemic, more.Epistemic}, {&p.Aleatoric, more.Aleatoric}, {&p.Probs, more.Probs},
	} {
		*v.to = append(*v.to, v.from...)
	}
}

// Std returns the standard deviation of the targets, [N,T].
func (p *Prediction) Std() []float64 { return roots(p.Variance) }

// LatentStd returns the standard deviation of the latent function, [N,T].
func (p *Prediction) LatentStd() []float64 { return roots(p.Latent) }

// EpistemicStd and AleatoricStd return the standard deviations of the parts of the variance,
// [N,T]; their squares add up to that of Std.
func (p *Prediction) EpistemicStd() []float64 { return roots(p.Epistemic) }

// AleatoricStd: see EpistemicStd.
func (p *Prediction) AleatoricStd() []float64 { return roots(p.Aleatoric) }

func roots(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Sqrt(max(x, 0))
	}
	return out
}

// Interval returns the bounds, [N,T] each, of the central interval that holds a target
// with probability level, 0 < level < 1.
func (p *Prediction) Interval(level float64) (lower, upper []float64, err error) {
	if !(level > 0 && level < 1) {
		return nil, nil, settings.Errorf("level %g, expected a probability between 0 and 1", level)
	}
	z := math.Sqrt2 * math.Erfinv(level) // Φ⁻¹(½ + level/2)
	lower, upper = p.Std(), make([]float64, len(p.Mean))
	for i, s := range lower {
		lower[i], upper[i] = p.Mean[i]-z*s, p.Mean[i]+z*s
	}
	return lower, upper, nil
}

// Best returns the number of the most probable class of each row, the first of equals;
// nil for numbers.
func (p *Prediction) Best() []int {
	var out []int
	for row := range slices.Chunk(p.Probs, max(1, len(p.Classes))) {
		out = append(out, slices.Index(row, slices.Max(row)))
	}
	return out
}

// ClassName returns the text of class k: its label, or the number.
func (p *Prediction) ClassName(k int) string { return className(p.Classes, p.Labels, k) }

// MarshalJSON writes the scores in List as one object, with their names in lower case. A
// score that is not finite, such as the NLL of a class of probability 0, is null.
func (s Scores) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range s.List {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(strings.ToLower(v.Name))
		if err != nil {
			return nil, err
		}
		value := []byte("null")
		if finite(v.Value) {
			if value, err = json.Marshal(v.Value); err != nil {
				return nil, err
			}
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}
