package assess

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/audit"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mathext"
)

// audited looks for faults of the rows and of the predictions.
func (s subject) audited(ctx context.Context, o valla.PredictOptions) (*audit.Result, error) {
	r, err := s.rows(s.level)
	if err != nil {
		return nil, err
	}
	r.Loss, r.Expected = kernel.Mean(s.nlls), s.expected()
	if r.Names != nil {
		r.Train, r.Probe = s.m.Profile(), s.probe(ctx, o)
	}
	return audit.Run(r)
}

// rows returns the rows as an audit takes them, for the coverage of a level.
func (s subject) rows(level float64) (*audit.Rows, error) {
	r := &audit.Rows{Names: s.set.Features, X: s.x, Level: level}
	if s.set.Features != nil {
		r.Y = s.is.y
	}
	if s.set.Encoding != nil {
		r.Text = s.set.Encoding.Text
	}
	var err error
	if r.Inside, err = s.is.held(level); err != nil {
		return nil, err
	}
	switch {
	case s.is.p.Classes != nil:
		top, right := s.is.confidence()
		r.Sure, r.Right = top, dense.Ones(right)
	case s.m.Likelihood().Kind() == likelihood.Binary:
		r.Sure, r.Right = s.is.labels()
	default:
		s.numbers(r)
	}
	return r, nil
}

// labels returns the probabilities of the most probable answers to the questions of each row, and whether they are
// right, as means over the questions.
func (c candidate) labels() (sure, right []float64) {
	width := len(c.p.Targets)
	sure, right = make([]float64, c.p.N()), make([]float64, c.p.N())
	for i, p := range c.p.Mean {
		sure[i/width] += max(p, 1-p) / float64(width)
		if (p >= 0.5) == (c.y[i] == 1) {
			right[i/width] += 1 / float64(width)
		}
	}
	return sure, right
}

// numbers adds normal scores, means, targets and standard deviations. A target of which bounds are known, or a whole
// number, has a normal score between those of its bounds, drawn at random.
func (s subject) numbers(r *audit.Rows) {
	p, width, w := s.is.p, len(s.is.p.Targets), len(s.is.y)/len(s.is.p.Mean)
	std, rng := p.Std(), rand.New(rand.NewPCG(1, 3))
	r.Std = make([]float64, p.N())
	for i := range p.Mean {
		o := p.Outcome(i/width, i%width, s.is.y[i*w:(i+1)*w])
		below := o.Lower
		if p.Whole() {
			below--
		}
		m := p.Mean[i]
		if w > 1 {
			m, std[i] = o.Mean(), math.Sqrt(o.Variance())
		}
		z := score(o, below, o.Upper, rng)
		if far := math.Abs(middle(o)-m) / std[i]; math.Abs(z) == mostScore && far > mostScore && kernel.Finite(far) {
			z = math.Copysign(far, z) // of a tail that has no digits
		}
		r.Z, r.Mean, r.Target = append(r.Z, z), append(r.Mean, m), append(r.Target, middle(o))
		r.Std[i/width] += std[i] / p.Unit(i) / float64(width)
	}
	if width == 1 {
		copy(r.Std, std)
	}
}

// middle returns a number for a target of which bounds are known.
func middle(o likelihood.Outcome) float64 {
	switch {
	case math.IsInf(o.Upper, 1):
		return o.Lower
	case math.IsInf(o.Lower, -1):
		return o.Upper
	}
	return (o.Lower + o.Upper) / 2
}

// mostScore bounds normal scores by probabilities; beyond it the distance from the mean in standard deviations takes their place.
const mostScore = 8

// score returns the normal score of a target between two values, or at one value.
func score(o likelihood.Outcome, below, upTo float64, rng *rand.Rand) float64 {
	at := func(y float64) (p, q float64) { return o.CDF(y), likelihood.Survival(o.Distribution, y) }
	p, q := at(upTo)
	if below < upTo {
		a, b := at(below)
		u := rng.Float64()
		p, q = a+u*(p-a), b+u*(q-b)
	}
	z := mathext.NormalQuantile(min(p, 1))
	if p > 0.5 {
		z = -mathext.NormalQuantile(max(q, 0))
	}
	return min(max(z, -mostScore), mostScore)
}

// held returns the share of the targets of each row inside their intervals or sets of a level [N]. Classes without sets, and
// labels, have the sets of the most probable answers that make the level.
func (c candidate) held(level float64) ([]float64, error) {
	width := float64(len(c.p.Targets))
	if c.p.Covers() {
		out, err := c.p.CoveredRows(c.y, level)
		kernel.Scale(out, 1/width, out)
		return out, err
	}
	if c.p.Classes != nil {
		return c.heldClasses(level), nil
	}
	out := make([]float64, c.p.N())
	for i, p := range c.p.Mean {
		if sure := max(p, 1-p); sure < level || (p >= 0.5) == (c.y[i] == 1) {
			out[i/len(c.p.Targets)] += 1 / width
		}
	}
	return out, nil
}

// heldClasses is held of classes without sets.
func (c candidate) heldClasses(level float64) []float64 {
	out, k := make([]float64, c.p.N()), len(c.p.Classes)
	for i := range out {
		probs := c.p.Probs[i*k : (i+1)*k]
		class := slices.Index(c.p.Classes, c.y[i])
		before := 0.0
		for j, p := range probs {
			if p > probs[class] || p == probs[class] && j < class {
				before += p
			}
		}
		if before < level {
			out[i] = 1
		}
	}
	return out
}

// expected returns the mean NLL that the last fit found; NaN if it is not known.
func (s subject) expected() float64 {
	out := math.NaN()
	for _, e := range s.m.History {
		if e.Verdict != nil {
			out = e.Verdict.NLL
		}
	}
	return out
}

// probe returns a function that predicts rows with other inputs.
func (s subject) probe(ctx context.Context, o valla.PredictOptions) audit.Probe {
	o.OnRows = nil
	return func(x []float64, rows []int) (audit.Answer, error) {
		d := len(x) / len(rows)
		p, err := s.m.Predict(ctx, tensor.New(tensor.WithShape(len(rows), d), tensor.WithBacking(x)), o)
		if err != nil {
			return audit.Answer{}, err
		}
		a := audit.Answer{Center: p.Mean, Width: widths(p)}
		if p.Classes != nil {
			a.Center = p.Probs
		}
		a.Loss, err = s.m.Task.NLLs(p, s.set.Rows(rows).Y)
		return a, err
	}
}

// widths returns the logarithms of the standard deviations of each row, as the mean over the targets, or the entropy of
// its classes.
func widths(p *valla.Prediction) []float64 {
	out := make([]float64, p.N())
	if p.Classes != nil {
		for i, v := range p.Probs {
			if v > 0 {
				out[i/len(p.Classes)] -= v * math.Log(v)
			}
		}
		return out
	}
	for i, v := range p.Std() {
		v = min(max(v, math.SmallestNonzeroFloat64), math.MaxFloat64) // it is +Inf where there is no mean
		out[i/len(p.Targets)] += math.Log(v) / float64(len(p.Targets))
	}
	return out
}
