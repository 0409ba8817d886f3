package task

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
)

// N returns the number of inputs.
func (p *Prediction) N() int {
	if p.Classes != nil {
		return len(p.Probs) / len(p.Classes)
	}
	return len(p.Mean) / len(p.Targets)
}

// Append adds the rows of more, a prediction of the same model.
func (p *Prediction) Append(more *Prediction) {
	p.Targets, p.Classes, p.Labels, p.Link, p.Conformal, p.Abstain = more.Targets, more.Classes, more.Labels, more.Link, more.Conformal, more.Abstain
	for _, v := range []struct {
		to   *[]float64 // slice of p
		from []float64  // slice of more
	}{
		{&p.Mean, more.Mean}, {&p.Variance, more.Variance}, {&p.Latent, more.Latent},
		{&p.Epistemic, more.Epistemic}, {&p.Aleatoric, more.Aleatoric}, {&p.Probs, more.Probs}, {&p.Unfamiliar, more.Unfamiliar}, {&p.Weights, more.Weights},
	} {
		*v.to = append(*v.to, v.from...)
	}
	p.Groups = append(p.Groups, more.Groups...)
	p.spread.append(more.spread)
}

// Std returns the standard deviation of the targets, [N,T].
func (p *Prediction) Std() []float64 { return roots(p.Variance) }

// LatentStd returns the standard deviation of the latent function, [N,T].
func (p *Prediction) LatentStd() []float64 { return roots(p.Latent) }

// EpistemicStd returns the square root of Epistemic, [N,T].
func (p *Prediction) EpistemicStd() []float64 { return roots(p.Epistemic) }

// AleatoricStd returns the square root of Aleatoric, [N,T].
func (p *Prediction) AleatoricStd() []float64 { return roots(p.Aleatoric) }

// roots returns the square roots of v, with 0 for negative values.
func roots(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Sqrt(max(x, 0))
	}
	return out
}

// Interval returns the bounds, [N,T] each, of the central interval that holds a target
// with probability level, 0 < level < 1. Without Conformal the bounds are quantiles of [Prediction.Distribution];
// with Conformal the coverage is guaranteed, see [calibrate.Conformal].
func (p *Prediction) Interval(level float64) (lower, upper []float64, err error) {
	n := len(p.Mean)
	return p.AppendInterval(make([]float64, 0, n), make([]float64, 0, n), level)
}

// AppendInterval appends the bounds of [Prediction.Interval] to lower and upper.
func (p *Prediction) AppendInterval(lower, upper []float64, level float64) ([]float64, []float64, error) {
	if !(level > 0 && level < 1) {
		return nil, nil, settings.Errorf("level %g, expected a probability between 0 and 1", level)
	}
	if s := &p.spread; s.under != nil {
		return s.appendInterval(p, lower, upper, level)
	}
	if p.Conformal == nil && (p.spread.likelihood != nil || p.spread.laws != nil) {
		return p.AppendQuantiles(lower, 0.5-level/2), p.AppendQuantiles(upper, 0.5+level/2), nil
	}
	t := max(1, len(p.Targets))
	for i, mean := range p.Mean {
		z, err := p.halfWidth(i/t, i%t, level)
		if err != nil {
			return nil, nil, err
		}
		far := z * math.Sqrt(max(p.Variance[i], 0))
		if math.IsInf(mean, 1) && math.IsInf(far, 1) {
			mean = 0 // ∞ − ∞ would be NaN: the interval of a count beyond all numbers has no bounds
		}
		lower, upper = append(lower, mean-far), append(upper, mean+far)
	}
	return lower, upper, nil
}

// halfWidth returns half the width of the intervals of target t of a row in standard deviations, of a Gaussian or conformal;
// for classes the threshold of the scores in sets.
func (p *Prediction) halfWidth(row, t int, level float64) (float64, error) {
	if p.Conformal == nil {
		return math.Sqrt2 * math.Erfinv(level), nil // Φ⁻¹(½ + level/2)
	}
	var z float64
	var err error
	switch c := p.Conformal; {
	case c.Groups != nil && row >= len(p.Groups), c.Shift != nil && row >= len(p.Weights):
		return 0, settings.Errorf("intervals by the inputs of %d rows, of which %d have a group or a weight", p.N(), max(len(p.Groups), len(p.Weights)))
	case c.Groups != nil:
		z, err = c.QuantileIn(t, p.Groups[row], level)
	case c.Shift != nil:
		z, err = c.QuantileFor(t, p.Weights[row], level)
	default:
		z, err = c.Quantile(t, level)
	}
	if err != nil {
		err = settings.Errorf("%w", err)
	}
	return z, err
}

// Sets returns for each row a set of classes, by their indices, that contains the class of the row with
// probability level, 0 < level < 1, in the sense of [calibrate.Conformal]. A set may be empty: then no class is
// probable enough. Sets is an error without Conformal.
func (p *Prediction) Sets(level float64) ([][]int, error) {
	if p.Classes == nil || p.Conformal == nil {
		return nil, settings.Errorf("sets of classes need a model whose classes were calibrated by the method conformal")
	}
	if !(level > 0 && level < 1) {
		return nil, settings.Errorf("level %g, expected a probability between 0 and 1", level)
	}
	out, scores := make([][]int, 0, p.N()), make([]float64, len(p.Classes))
	for row := range slices.Chunk(p.Probs, len(p.Classes)) {
		q, err := p.halfWidth(len(out), 0, level)
		if err != nil {
			return nil, err
		}
		p.Conformal.ClassScores(scores, row)
		set := []int{}
		for k, score := range scores {
			if score <= q {
				set = append(set, k)
			}
		}
		out = append(out, set)
	}
	return out, nil
}

// SetNames returns sets of [Prediction.Sets] as text: the names of the classes with a bar between them.
func (p *Prediction) SetNames(sets [][]int) []string {
	out := make([]string, len(sets))
	for i, set := range sets {
		names := make([]string, len(set))
		for j, k := range set {
			names[j] = p.ClassName(k)
		}
		out[i] = strings.Join(names, "|")
	}
	return out
}

// Best returns the index of the most probable class of each row; if several classes are most probable, the index
// of the first. Best returns nil in regression.
func (p *Prediction) Best() []int {
	var out []int
	for row := range slices.Chunk(p.Probs, max(1, len(p.Classes))) {
		out = append(out, slices.Index(row, slices.Max(row)))
	}
	return out
}

// ClassName returns the text of class k: its label, or the number.
func (p *Prediction) ClassName(k int) string { return className(p.Classes, p.Labels, k) }

// Document returns the main scores by name, as a document of JSON has them: in lower case, with the target after "_",
// such as "rmse_price". A number that is not finite, such as the NLL of a class of probability 0, is nil.
func (s Scores) Document() map[string]any {
	out := map[string]any{}
	for _, v := range s.List {
		out[v.key()] = finite(v.Value)
	}
	return out
}

// Details returns the further scores like Document; the standard errors of all scores in "standard_errors"; and with a
// histogram "pit", for several targets "pit_price".
func (s Scores) Details() map[string]any {
	out, errors := Scores{List: s.More}.Document(), map[string]any{}
	for _, v := range slices.Concat(s.List, s.More) {
		errors[v.key()] = finite(v.StandardError)
	}
	out["standard_errors"] = errors
	for t, v := range s.PIT {
		key := "pit"
		if len(s.PIT) > 1 {
			key += "_" + s.targets[t]
		}
		out[key] = v
	}
	return out
}

// finite returns a number for a document, nil for one that is not finite.
func finite(v float64) any {
	if kernel.Finite(v) {
		return v
	}
	return nil
}

// key returns the name of a score in documents.
func (s Score) key() string {
	name, target, several := strings.Cut(s.Name, " ")
	if several {
		target = "_" + target
	}
	return strings.ToLower(name) + target
}

// MarshalJSON writes the Document.
func (s Scores) MarshalJSON() ([]byte, error) { return json.Marshal(s.Document()) }
