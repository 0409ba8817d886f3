package corrected

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// Of returns settings that fit the method of s around a corrected mean, where held-out rows say that it is better.
func Of(s gp.Settings) gp.Settings { return around{s} }

// around are settings of the covariance around a mean that may be corrected.
type around struct{ gp.Settings }

// The mean takes meanParts of 1,000 parts of the progress, in which a pass over the rows is most of the work.
const meanParts = 200

// mean returns the settings of the mean.
func mean() *sfr.Settings { return &sfr.Settings{OwnMean: true} }

// Check returns an error if a problem cannot have a corrected mean.
func Check(p gp.Problem) error {
	switch {
	case !likelihood.IsGaussian(p.Likelihood):
		return settings.Errorf("a corrected mean is for numbers with Gaussian noise, and the likelihood is %v", p.Likelihood)
	case p.Validation == nil:
		return settings.Errorf("a corrected mean needs held-out rows, which say whether it is better")
	}
	return nil
}

// Fit implements gp.Settings.
func (s around) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	m, gain, err := Try(ctx, p, r.Part(0, meanParts))
	if err != nil {
		return nil, err
	}
	if gain.Clear() {
		if p, err = shifted(ctx, p, m); err != nil {
			return nil, err
		}
	}
	f, err := s.Settings.Fit(ctx, p, r.Part(meanParts, 1000))
	if f == nil {
		return nil, err
	}
	f.Record.Facts = append(f.Record.Facts, gp.Fact{Name: "RMSE of corrected mean ÷ network's", Value: gain.Ratio})
	f.Record.Untouched = false
	if gain.Clear() {
		f.Posterior = join(f.Posterior, m)
	} else {
		f.Record.Notes = append(f.Record.Notes, fmt.Sprintf("The mean stays the network's output: with a corrected mean the root mean squared error of the held-out rows is %.2f times the network's.", gain.Ratio))
	}
	return f, err
}

// Estimate implements gp.Estimator: the fit of the mean, its values at all rows, and the fit of the covariance.
func (s around) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	m, err := Estimate(ctx, p, r)
	if err != nil {
		return m, err
	}
	of, ok := s.Settings.(gp.Estimator)
	if !ok {
		return m, nil
	}
	e, err := of.Estimate(ctx, p, r)
	rows := float64(p.Train.N() + p.Held())
	more := m.Seconds + rows*m.Row
	e.Seconds += more
	for _, seconds := range []*float64{&e.CheaperSeconds, &e.LongerSeconds} {
		if *seconds > 0 {
			*seconds += more
		}
	}
	if e.Flops != (gp.Flops{}) { // they are known
		e.Flops = e.Flops.Plus(m.Flops).Plus(m.RowFlops.Times(rows))
	}
	e.RowFlops = e.RowFlops.Plus(m.RowFlops)
	e.Bytes = max(m.Bytes, m.Kept+e.Bytes)
	e.Kept, e.Row, e.RowBytes = m.Kept+e.Kept, m.Row+e.Row, m.RowBytes+e.RowBytes
	return e, err
}

// Estimate returns what [Try] takes.
func Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return mean().Estimate(ctx, p, r)
}

// Gain compares a corrected mean with the network's outputs at held-out rows.
type Gain struct {
	Ratio    float64 // root mean squared error with the corrected mean, divided by the network's
	Less, By float64 // how much smaller the mean squared error is with the corrected mean, and its standard error, in squared units of the network's outputs
}

// Clear reports whether the squared error falls by more than its standard error.
func (g Gain) Clear() bool { return g.Less > g.By }

// Try fits a corrected mean to a problem, and compares it with the network. The mean is that of the posterior m.
func Try(ctx context.Context, p gp.Problem, r gp.Run) (m gp.Stored, g Gain, err error) {
	if err := Check(p); err != nil {
		return nil, g, err
	}
	f, err := mean().Fit(ctx, p, r)
	if err != nil {
		return nil, g, fmt.Errorf("the corrected mean: %w", err)
	}
	net, own, err := means(ctx, p, f.Posterior, p.Validation.X)
	if err != nil {
		return nil, g, err
	}
	n, y := p.Validation.N(), graph.Floats(p.Validation.Y)
	before, after := squares(y, net, n), squares(y, own, n)
	g.Less, g.By = kernel.MeanDifference(before, after)
	g.Ratio = math.Sqrt(kernel.Mean(after)) / math.Sqrt(kernel.Mean(before))
	return f.Posterior, g, nil
}

// squares returns the squared errors of n rows, means over their outputs.
func squares(y, f []float64, n int) []float64 {
	out, c := make([]float64, n), len(y)/n
	for i, v := range y {
		out[i/c] += (v - f[i]) * (v - f[i]) / float64(c)
	}
	return out
}

// means returns the network's outputs and the corrected means [n·C] at inputs.
func means(ctx context.Context, p gp.Problem, m gp.Posterior, x *tensor.Dense) (net, own []float64, err error) {
	f, err := gp.Point{Net: p.Net, Dtype: p.Dtype()}.Mean(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	own, _, err = gp.Marginals(ctx, m, x)
	return graph.Floats(f), own, err
}

// shifted returns the problem whose residuals at the network's outputs are those of p at a corrected mean.
func shifted(ctx context.Context, p gp.Problem, m gp.Posterior) (gp.Problem, error) {
	shift := func(e gp.Examples) (gp.Examples, []float64, error) {
		net, own, err := means(ctx, p, m, e.X)
		if err != nil {
			return e, nil, err
		}
		y := graph.Floats(e.Y)
		out := make([]float64, len(y))
		for i, v := range y {
			out[i] = v + net[i] - own[i]
		}
		return gp.Examples{X: e.X, Y: graph.Convert(dense.Of(out, e.Y.Shape()...), e.Y.Dtype())}, squares(y, own, e.N()), nil
	}
	train, _, err := shift(p.Train)
	if err != nil {
		return p, err
	}
	held, left, err := shift(*p.Validation)
	if err != nil {
		return p, err
	}
	p.Train, p.Validation = train, &held
	if v := kernel.Mean(left); v > 0 {
		p.Likelihood = likelihood.WithNoise(p.Likelihood, v)
	}
	return p, nil
}
