package task

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

// WriteOptions say which outputs [Task.Write] writes.
type WriteOptions struct {
	Level     float64   // probability of the interval from lower to upper, or of the set of classes
	Quantiles []float64 // probabilities of the quantiles; nil: none
	Link      Link      // link of class probabilities, as in [PredictOptions]
	// Conformal gives the interval or the set its guaranteed coverage; nil without a conformal calibration.
	Conformal *calibrate.Conformal
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
	if err != nil {
		return nil, err
	}
	return all, w.Err()
}

// write writes a regression with Gaussian noise or with laws of residuals.
func (r *Regression) write(w *gp.Writing, g gp.Written, by Observation, o WriteOptions) ([]Output, error) {
	switch {
	case by.Likelihood != nil:
		return nil, settings.Errorf("the likelihood %v cannot be exported: Gaussian noise, laws of residuals and classes can", by.Likelihood)
	case r.Transforms != nil:
		return nil, settings.Errorf("the target transform %v cannot be exported: train the network on the transformed target", r.Transforms[0])
	}
	b, t := w.Out, r.size()
	shifts, scales := make([]float64, t), make([]float64, t)
	for i := range t {
		shifts[i], scales[i] = r.scale(i)
	}
	shift, scale := w.Const(shifts, 1, t), w.Const(scales, 1, t)
	latent := b.ReLU(b.Diag(g.Cov))
	total := b.Affine(latent, 1, by.NoiseVariance)
	known := latent
	if g.Epistemic != nil {
		known = b.Mul(g.Epistemic, total)
	}
	rest := b.ReLU(b.Affine(b.Sub(latent, known), 1, by.NoiseVariance))
	spread, factor := r.lawSpread(w, g, by, total) // standard deviations that quantiles are multiples of, and variance/total
	mean := b.Add(b.Mul(g.Mean, scale), shift)
	root := func(v *graph.Node) *graph.Node { return b.Mul(b.Sqrt(b.Mul(v, factor)), scale) }
	own := b.Mul(spread, scale)
	out := []Output{
		{Name: "mean", Help: "mean of the target", Node: mean},
		{Name: "std", Help: "standard deviation of the target", Node: root(total)},
		{Name: "epistemic_std", Help: "the part of std that more data would take away", Node: root(known)},
		{Name: "aleatoric_std", Help: "the part of std that is noise", Node: root(rest)},
	}
	more, err := r.writeBounds(w, mean, own, root(total), by, o)
	for i := range out {
		out[i].Axis = r.labels()
	}
	return append(out, more...), err
}

// lawSpread returns the scales of the laws [B,T] in the network's units, and the factors by which the laws multiply variances.
func (r *Regression) lawSpread(w *gp.Writing, g gp.Written, by Observation, total *graph.Node) (spread, factor *graph.Node) {
	b, t := w.Out, r.size()
	if by.Laws == nil {
		return b.Sqrt(total), b.Fill(1, 1, t)
	}
	variances := make([]float64, t)
	for i := range by.Laws {
		variances[i] = by.Laws[i].Variance()
	}
	spread, factor = b.Sqrt(total), w.Const(variances, 1, t)
	if g.LogScale != nil {
		spread = b.Mul(spread, b.Exp(g.LogScale))
		factor = b.Mul(factor, b.Exp(b.Scale(g.LogScale, 2)))
	}
	return spread, factor
}

// writeBounds writes the interval and the quantiles. A bound of each is a mean and a number of scales that the law or the conformal
// calibration gives.
func (r *Regression) writeBounds(w *gp.Writing, mean, scale, std *graph.Node, by Observation, o WriteOptions) ([]Output, error) {
	b, t := w.Out, r.size()
	at := func(scale *graph.Node, z func(i int) float64) *graph.Node {
		v := make([]float64, t)
		for i := range v {
			v[i] = z(i)
		}
		return b.Add(mean, b.Mul(scale, w.Const(v, 1, t)))
	}
	quantile := func(p float64) *graph.Node {
		return at(scale, func(i int) float64 {
			if by.Laws != nil {
				return by.Laws[i].Quantile(p)
			}
			return -math.Sqrt2 * math.Erfcinv(2*p)
		})
	}
	lower, upper := quantile(0.5-o.Level/2), quantile(0.5+o.Level/2)
	if o.Conformal != nil {
		z, err := o.thresholds(t)
		if err != nil {
			return nil, err
		}
		lower, upper = at(std, func(i int) float64 { return -z[i] }), at(std, func(i int) float64 { return z[i] })
	}
	out := []Output{
		{Name: "lower", Help: fmt.Sprintf("lower bound of the central interval of probability %g", o.Level), Axis: r.labels(), Node: lower},
		{Name: "upper", Help: fmt.Sprintf("upper bound of the central interval of probability %g", o.Level), Axis: r.labels(), Node: upper},
	}
	if len(o.Quantiles) == 0 || b.Err() != nil {
		return out, nil
	}
	parts := make([]*graph.Node, len(o.Quantiles))
	for i, p := range o.Quantiles {
		parts[i] = b.Reshape(quantile(p), mean.Shape()[0], t, 1)
	}
	return append(out, Output{Name: "quantiles", Help: fmt.Sprintf("quantiles for the probabilities %v", o.Quantiles), Axis: r.labels(), Node: b.Concat(2, parts...)}), nil
}

// thresholds returns the conformal scores of each of t targets at the level.
func (o WriteOptions) thresholds(t int) ([]float64, error) {
	z := make([]float64, t)
	for i := range z {
		var err error
		if z[i], err = o.Conformal.Quantile(i, o.Level); err != nil {
			return nil, settings.Errorf("%w", err)
		}
	}
	return z, nil
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

// writeSet writes 1 for each class of the conformal set, 1 − p ≤ q, and 0 for the others.
func (o WriteOptions) writeSet(b *graph.Builder, link Link, probs *graph.Node) (*graph.Node, error) {
	if o.Conformal.Link != string(link) {
		return nil, settings.Errorf("the link is %q, but the conformal calibration was made with %q: expected the same", link, o.Conformal.Link)
	}
	if !slices.Contains([]string{"", calibrate.LAC}, o.Conformal.Sets) {
		return nil, settings.Errorf("conformal sets %q cannot be exported, expected %q", o.Conformal.Sets, calibrate.LAC)
	}
	q, err := o.thresholds(1)
	if err != nil {
		return nil, err
	}
	return b.Affine(b.Step(b.Affine(probs, -1, 1-q[0])), -1, 1), nil
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
