package task

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"gonum.org/v1/gonum/mathext"
)

// WriteOptions say which outputs [Task.Write] writes.
type WriteOptions struct {
	Level     float64   // probability of the interval from lower to upper, or of the set of classes
	Quantiles []float64 // probabilities of the quantiles; nil: none
	Link      Link      // link of class probabilities, as in [PredictOptions]
	// Conformal gives the interval or the set its guaranteed coverage; nil without a conformal calibration.
	Conformal *calibrate.Conformal
	// Abstain is the rule for the rows that need a look; nil: none. MostSpread is the largest spread of the latent function of a
	// row that needs none, for the rule [calibrate.ByUnfamiliar].
	Abstain    *calibrate.Abstain
	MostSpread float64
	// Slack is how much, relative to 1 or to the threshold, the file may miss a threshold and still accept a class or a row: thresholds are
	// numbers of calibration rows, and rounding would decide whether these rows keep them.
	Slack float64
}

// Output is a number, or several, of each example.
type Output struct {
	Name string      // such as mean
	Help string      // what the numbers are
	Axis []string    // names of the numbers along axis 1: targets or classes
	Node *graph.Node // [B,T], [B,T,Q] or [B,C]
}

// Write writes the predictions that [Task.Fill] makes of the distribution g of the latent function as nodes. What has no
// form in nodes is an error.
func (t Task) Write(w *gp.Writing, g gp.Written, by Observation, o WriteOptions) ([]Output, error) {
	if g.Mean == nil {
		return nil, w.Err()
	}
	c := g.Mean.Shape()[1]
	var all []Output
	var err error
	switch of := t.Outputs.(type) {
	case *Regression:
		all, err = of.write(w, g, by, o)
	case *Classification:
		all, err = of.write(w, g, o, c)
	default:
		err = settings.Errorf("%s cannot be exported", t.Kind())
	}
	if err == nil && o.Abstain != nil {
		all, err = o.writeAbstain(w.Out, g, all)
	}
	if err != nil {
		return nil, err
	}
	return all, w.Err()
}

// write writes a regression, counts, labels or ordered classes.
func (r *Regression) write(w *gp.Writing, g gp.Written, by Observation, o WriteOptions) ([]Output, error) {
	b, c := w.Out, g.Mean.Shape()[1]
	latent := b.ReLU(b.Diag(g.Cov))
	var all []writtenTarget
	var probs []*graph.Node
	for i := range c {
		column := func(n *graph.Node) *graph.Node {
			if n == nil {
				return nil
			}
			return b.Slice(n, 1, i, i+1)
		}
		at := gp.Written{Mean: column(g.Mean), Epistemic: column(g.Epistemic), LogScale: column(g.LogScale)}
		plain, p, err := r.writeTarget(w, i, at, column(latent), by)
		t := plain
		if err == nil && r.Transforms != nil {
			t, err = r.writeTransformed(b, i, plain, &o)
		}
		if err == nil {
			t.lower, t.upper, err = o.writeInterval(b, i, t)
		}
		if err == nil && o.Conformal != nil {
			t.quantile, err = r.writeBounds(b, i, plain, o)
		}
		if err != nil {
			return nil, err
		}
		all, probs = append(all, t), append(probs, p)
	}
	return r.writeOutputs(b, all, probs, o)
}

// writeTarget writes target i, in the units in which noise adds to the function; probs are the probabilities of its classes
// [B,1,K], nil for numbers.
func (r *Regression) writeTarget(w *gp.Writing, i int, g gp.Written, latent *graph.Node, by Observation) (t writtenTarget, probs *graph.Node, err error) {
	b := w.Out
	shift, scale := r.scale(i)
	if by.Likelihood == nil {
		return r.writeNumber(b, i, g, latent, by), nil, b.Err()
	}
	d, ok := likelihood.Write(by.Likelihood, b, g.Mean, latent)
	if !ok {
		return t, nil, settings.Errorf("the likelihood %v cannot be exported", by.Likelihood)
	}
	std := func(v *graph.Node) *graph.Node { return b.Scale(b.Sqrt(b.ReLU(v)), scale) }
	t = writtenTarget{mean: b.Affine(d.Mean, scale, shift), std: std(d.Variance), epistemic: std(d.Epistemic), aleatoric: std(b.Sub(d.Variance, d.Epistemic))}
	if d.Quantile != nil {
		t.quantile = func(p float64) *graph.Node { return b.Affine(d.Quantile(p), scale, shift) }
	}
	if d.CDF != nil {
		t.parts = []writtenPart{{1, t.mean, t.std}}
		t.cdf = mixtureCDF(b, t.parts)
	}
	return t, d.Probs, b.Err()
}

// writeNumber writes target i with Gaussian noise, or with a law of residuals in its place, as fillNumber computes it.
func (r *Regression) writeNumber(b *graph.Builder, i int, g gp.Written, latent *graph.Node, by Observation) writtenTarget {
	if b.Err() != nil {
		return writtenTarget{}
	}
	shift, unit := r.scale(i)
	total := b.Affine(latent, 1, by.NoiseVariance)
	known, rest := latent, b.Fill(by.NoiseVariance, latent.Shape()...)
	if g.Epistemic != nil {
		known = b.Mul(g.Epistemic, total)
		rest = b.ReLU(b.Affine(b.Sub(latent, known), 1, by.NoiseVariance))
	}
	mean, own := b.Affine(g.Mean, unit, shift), b.Scale(b.Sqrt(total), unit)
	var l *law.Law
	factor := b.Fill(1, latent.Shape()...)
	if by.Laws != nil {
		l = &by.Laws[i]
		factor = b.Fill(l.Variance(), latent.Shape()...)
		if g.LogScale != nil {
			own = b.Mul(own, b.Exp(g.LogScale))
			factor = b.Mul(factor, b.Exp(b.Scale(g.LogScale, 2)))
		}
	}
	root := func(v *graph.Node) *graph.Node { return b.Scale(b.Sqrt(b.Mul(v, factor)), unit) }
	t := writtenTarget{mean: mean, std: root(total), epistemic: root(known), aleatoric: root(rest), parts: lawParts(b, l, mean, own)}
	t.cdf = mixtureCDF(b, t.parts)
	t.quantile = func(p float64) *graph.Node {
		if l != nil {
			return b.Add(mean, b.Scale(own, l.Quantile(p)))
		}
		return b.Add(mean, b.Scale(own, mathext.NormalQuantile(p)))
	}
	return t
}

// writeTransformed writes target i in its own units. The interval of a conformal calibration is that of T(target).
func (r *Regression) writeTransformed(b *graph.Builder, i int, in writtenTarget, o *WriteOptions) (writtenTarget, error) {
	of := r.Transforms[i]
	if in.quantile == nil {
		return in, settings.Errorf("the target transform %v with this likelihood cannot be exported: Gaussian noise can", of)
	}
	lower, upper, err := o.writeInterval(b, i, in)
	if err != nil {
		return in, err
	}
	out, err := of.write(b, in)
	out.lower, out.upper = of.writeInverse(b, lower), of.writeInverse(b, upper)
	return out, err
}

// writeInterval writes the bounds of the interval of target i, nil where the distribution has no quantiles in closed form.
func (o WriteOptions) writeInterval(b *graph.Builder, i int, t writtenTarget) (lower, upper *graph.Node, err error) {
	switch {
	case t.lower != nil:
		return t.lower, t.upper, nil
	case o.Conformal != nil:
		z, err := o.Conformal.Quantile(i, o.Level)
		if err != nil {
			return nil, nil, settings.Errorf("%w", err)
		}
		half := b.Scale(t.std, z)
		return b.Sub(t.mean, half), b.Add(t.mean, half), nil
	case t.quantile == nil:
		return nil, nil, nil
	}
	return t.quantile(0.5 - o.Level/2), t.quantile(0.5 + o.Level/2), nil
}

// writeBounds returns the function that writes what [Prediction.Bound] returns for target i by a conformal calibration, for the
// probabilities of the options.
func (r *Regression) writeBounds(b *graph.Builder, i int, t writtenTarget, o WriteOptions) (func(p float64) *graph.Node, error) {
	z := map[float64]float64{0.5: 0}
	for _, p := range o.Quantiles {
		if p == 0.5 {
			continue
		}
		far, err := o.Conformal.Quantile(i, math.Abs(2*p-1))
		if err != nil {
			return nil, settings.Errorf("%w", err)
		}
		z[p] = math.Copysign(far, p-0.5)
	}
	return func(p float64) *graph.Node {
		at := b.Add(t.mean, b.Scale(t.std, z[p]))
		if r.Transforms != nil {
			return r.Transforms[i].writeInverse(b, at)
		}
		return at
	}, nil
}

// writeOutputs puts the targets beside each other.
func (r *Regression) writeOutputs(b *graph.Builder, all []writtenTarget, probs []*graph.Node, o WriteOptions) ([]Output, error) {
	var out []Output
	add := func(name, help string, of func(t writtenTarget) *graph.Node) {
		var parts []*graph.Node
		for _, t := range all {
			parts = append(parts, of(t))
		}
		out = append(out, Output{Name: name, Help: help, Axis: r.labels(), Node: beside(b, 1, parts)})
	}
	add("mean", "mean of the target", func(t writtenTarget) *graph.Node { return t.mean })
	add("std", "standard deviation of the target", func(t writtenTarget) *graph.Node { return t.std })
	add("epistemic_std", "the part of std that more data would take away", func(t writtenTarget) *graph.Node { return t.epistemic })
	add("aleatoric_std", "the part of std that is noise", func(t writtenTarget) *graph.Node { return t.aleatoric })
	if probs[0] != nil {
		out = append(out, Output{Name: "probabilities", Help: "probability of each class 0, 1, …", Axis: r.labels(), Node: beside(b, 1, probs)})
	}
	if all[0].lower != nil {
		interval := fmt.Sprintf("bound of the central interval of probability %g", o.Level)
		add("lower", "lower "+interval, func(t writtenTarget) *graph.Node { return t.lower })
		add("upper", "upper "+interval, func(t writtenTarget) *graph.Node { return t.upper })
	}
	if len(o.Quantiles) == 0 || b.Err() != nil {
		return out, nil
	}
	if all[0].quantile == nil {
		return nil, settings.Errorf("quantiles of %s with the likelihood %v cannot be exported: mean and std can", r.kind(), r.model())
	}
	var parts []*graph.Node
	for _, p := range o.Quantiles {
		add("quantiles", "", func(t writtenTarget) *graph.Node { return t.quantile(p) })
		if b.Err() != nil {
			return out, nil
		}
		last := out[len(out)-1].Node
		parts, out = append(parts, b.Reshape(last, append(last.Shape().Clone(), 1)...)), out[:len(out)-1]
	}
	return append(out, Output{Name: "quantiles", Help: fmt.Sprintf("quantiles for the probabilities %v", o.Quantiles), Axis: r.labels(), Node: beside(b, 2, parts)}), nil
}

// beside concatenates parts.
func beside(b *graph.Builder, axis int, parts []*graph.Node) *graph.Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return b.Concat(axis, parts...)
}

// write writes class probabilities.
func (c *Classification) write(w *gp.Writing, g gp.Written, o WriteOptions, classes int) ([]Output, error) {
	b, names := w.Out, make([]string, classes)
	for k := range names {
		names[k] = c.ClassName(k)
	}
	link := o.Link
	if link == "" {
		if link = Probit; g.Probs != nil {
			link = Own
		}
	}
	latent := b.ReLU(b.Diag(g.Cov))
	probs := g.Probs
	switch {
	case link == Own && probs == nil:
		return nil, settings.Errorf("link %q of a posterior without probabilities of its own, expected %q", Own, Probit)
	case link == Probit:
		probs = b.Softmax(b.Div(g.Mean, b.Sqrt(b.Affine(latent, math.Pi/8, 1))))
	case link != Own:
		return nil, settings.Errorf("the link %q cannot be exported, expected %q or %q", link, Probit, Own)
	}
	out := []Output{
		{Name: "probabilities", Help: "probability of each class", Axis: names, Node: probs},
		{Name: "logit_std", Help: "standard deviation of each logit", Axis: names, Node: b.Sqrt(latent)},
	}
	if o.Conformal == nil {
		return out, nil
	}
	inside, err := o.writeSet(b, link, probs)
	return append(out, Output{Name: "set", Help: fmt.Sprintf("1 for the classes of the set of probability %g, else 0", o.Level), Axis: names, Node: inside}), err
}

// writeSet writes 1 for each class of the conformal set, 1 − p ≤ q up to the slack, and 0 for the others.
func (o WriteOptions) writeSet(b *graph.Builder, link Link, probs *graph.Node) (*graph.Node, error) {
	if o.Conformal.Link != string(link) {
		return nil, settings.Errorf("the link is %q, but the conformal calibration was made with %q: expected the same", link, o.Conformal.Link)
	}
	if !slices.Contains([]string{"", calibrate.LAC}, o.Conformal.Sets) {
		return nil, settings.Errorf("conformal sets %q cannot be exported, expected %q", o.Conformal.Sets, calibrate.LAC)
	}
	q, err := o.Conformal.Quantile(0, o.Level)
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	return b.Affine(b.Step(b.Affine(probs, -1, 1-q-o.Slack)), -1, 1), nil
}

// writeAbstain adds the output that [Prediction.Abstains] computes, from the other outputs.
func (o WriteOptions) writeAbstain(b *graph.Builder, g gp.Written, all []Output) ([]Output, error) {
	named := func(name string) *graph.Node {
		at := slices.IndexFunc(all, func(out Output) bool { return out.Name == name })
		if at < 0 {
			return nil
		}
		return all[at].Node
	}
	mean := func(v *graph.Node) *graph.Node { return b.Scale(b.SumTo(v, v.Shape()[0], 1), 1/float64(v.Shape()[1])) }
	var asked *graph.Node
	switch probs, lower := named("probabilities"), named("lower"); {
	case o.Abstain.By == calibrate.ByUnfamiliar:
		asked = b.Step(b.Affine(mean(b.ReLU(b.Diag(g.Cov))), 1, -o.MostSpread*o.MostSpread*(1+o.Slack)))
	case o.Abstain.By == calibrate.ByProbability && probs != nil:
		sure := b.Affine(b.Step(b.Affine(probs, -1, 1-o.Abstain.Most-o.Slack)), -1, 1) // 1 for classes that are probable enough
		asked = b.Affine(b.Step(mean(sure)), -1, 1)
	case o.Abstain.By == calibrate.ByWidth && lower != nil && o.Abstain.Level == o.Level:
		asked = b.Step(b.Affine(mean(b.Sub(named("upper"), lower)), 1, -o.Abstain.Most*(1+o.Slack)))
	case o.Abstain.By == calibrate.ByWidth && lower != nil:
		return nil, settings.Errorf("the rule %s cannot be exported with intervals of the level %g, expected the level %g", o.Abstain, o.Level, o.Abstain.Level)
	default:
		return nil, settings.Errorf("the rule %s cannot be exported with these outputs", o.Abstain)
	}
	return append(all, Output{Name: "abstain", Help: fmt.Sprintf("1 for rows that need a look, which break the rule %s, else 0", o.Abstain), Axis: []string{"row"}, Node: asked}), nil
}

// Write writes the scaling of [Inputs.Apply] for inputs x [B,…] in the units of the data, as float64. Bytes are divided by 255.
func (in Inputs) Write(b *graph.Builder, x *graph.Node, bytes bool) *graph.Node {
	if bytes {
		x = b.Scale(x, 1.0/255)
	}
	if in.Mean == nil {
		return x
	}
	shape := make([]int, len(in.Shape)+1)
	for d := range shape {
		shape[d] = 1
	}
	shape[1] = len(in.Mean)
	return b.Div(b.Sub(x, b.Const("inputs mean", in.Mean, shape...)), b.Const("inputs std", in.Std, shape...))
}
