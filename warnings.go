package valla

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

const (
	// mostWarned is the largest number of training rows on which the network is examined.
	mostWarned = 2000
	// nothing is the share of the noise variance, in classification of 1, below which a latent variance does
	// not show in predictions.
	nothing = 1e-4
	// hidden is the share of the mean squared residual below which a noise variance does not describe the
	// scatter of the targets around the network.
	hidden = 1.0 / 25
)

// warnings returns sentences on what looks wrong with a fitted model, each with a remedy. They come from the
// training rows of the fit and from the predictions p for the rows j of the verdict.
func (m *Model) warnings(ctx context.Context, train gp.Examples, p judged, j jury) ([]string, error) {
	train = train.Rows(dense.Spaced(train.N(), mostWarned))
	notes, err := m.networkWarnings(ctx, train)
	if err != nil {
		return nil, err
	}
	notes = append(notes, m.posteriorWarnings(p)...)
	return append(notes, m.noiseWarnings(train, p, j)...), nil
}

// networkWarnings compares the network with the best constant prediction.
func (m *Model) networkWarnings(ctx context.Context, train gp.Examples) ([]string, error) {
	m = m.MAP()
	loss, err := m.heldLoss(ctx, train)
	if err != nil {
		return nil, err
	}
	if !m.Task.Classifies() && !m.Task.Gaussian() {
		if constant, ok := m.constantLoss(train); ok && loss > constant {
			return []string{fmt.Sprintf("The network is worse than predicting the same for all rows: its NLL is %.3g instead of %.3g. "+
				"It is hardly trained, its output is another quantity than the likelihood %s expects, such as a mean count in place of its logarithm, or it takes other inputs: "+
				"weights from elsewhere may need the settings standardize, or mean and std, or another layout or activation.", loss, constant, m.Task.Likelihood())}, nil
		}
		return nil, nil
	}
	spread, c := m.spread(train), float64(m.Task.Size())
	if spread == 0 {
		return nil, nil // targets of one value have no scale
	}
	if !m.Task.Classifies() && loss > c*spread {
		return []string{fmt.Sprintf("The network is worse than predicting the mean: its root mean squared error is %.3g times the standard deviation of the targets. "+
			"It is hardly trained, or works in other units than those of the data: weights from elsewhere may need the settings standardize, or mean and std, or another layout or activation.",
			math.Sqrt(loss/c/spread))}, nil
	} else if m.Task.Classifies() && loss > spread {
		return []string{fmt.Sprintf("The network is worse than predicting the frequency of each class: its NLL is %.3g instead of %.3g. "+
			"It is hardly trained, has the classes in another order than that of their sorted names, or takes other inputs: weights from elsewhere may need the settings standardize, or mean and std, or another layout or activation.", loss, spread)}, nil
	}
	return nil, nil
}

// constantLoss returns the smallest mean loss of outputs that are the same for all examples, and whether the targets differ and have
// one.
func (m *Model) constantLoss(e gp.Examples) (loss float64, ok bool) {
	s, ok := likelihood.Of(m.Task.Likelihood())
	if !ok {
		return 0, false
	}
	y, w, c := graph.Floats(e.Y), s.Width(), m.Task.Size()
	for k := range c {
		own := columns(y, k*w, w, c*w)
		if ok = !slices.Equal(own[w:], own[:len(own)-w]); !ok {
			return 0, false
		}
		_, mean := likelihood.Constant(s, own)
		loss -= mean
	}
	return loss, true
}

// spread returns the mean variance of the targets of a regression, in the network's units, or the entropy of
// the classes.
func (m *Model) spread(e gp.Examples) float64 {
	y, c, n := graph.Floats(e.Y), m.Task.Size(), float64(e.N())
	regression := !m.Task.Classifies()
	sum := 0.0
	for k := range c {
		mean, square := 0.0, 0.0
		for i := k; i < len(y); i += c {
			mean += y[i] / n
		}
		for i := k; i < len(y); i += c {
			square += (y[i] - mean) * (y[i] - mean) / n
		}
		switch {
		case regression:
			sum += square / float64(c)
		case mean > 0:
			sum -= mean * math.Log(mean)
		}
	}
	return sum
}

// cooler are temperatures below 1, in falling order.
var cooler = []float64{0.8, 0.65, 0.5, 0.4, 0.3, 0.2}

// timidWarning returns a warning where a classifier is right more often than it says: logits divided by a
// temperature below 1 lower the NLL by more than the standard error. No variance lowers the NLL so.
func (m *Model) timidWarning(network judged, y *tensor.Dense) ([]string, error) {
	best, least := 0.0, kernel.Mean(network.nlls)
	for _, temperature := range cooler {
		diff, err := m.Task.NLLs(tempered(network.Prediction, temperature), y)
		if err != nil {
			return nil, err
		}
		nll := kernel.Mean(diff)
		for i, v := range network.nlls {
			diff[i] -= v
		}
		if nll < least && -kernel.Mean(diff) > kernel.StandardError(diff) {
			best, least = temperature, nll
		}
	}
	if best == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("The network is right more often than it says: with logits divided by %g its NLL is %.4f instead of %.4f. "+
		"A variance only takes confidence away: calibrate by a temperature, or train the network longer.", best, least, kernel.Mean(network.nlls))}, nil
}

// tempered returns the prediction of a network alone with its logits divided by a temperature.
func tempered(p *Prediction, temperature float64) *Prediction {
	q := *p
	q.Probs = make([]float64, len(p.Probs))
	for i, v := range p.Probs {
		q.Probs[i] = math.Log(max(v, math.SmallestNonzeroFloat64)) / temperature
	}
	for row := range slices.Chunk(q.Probs, len(q.Classes)) {
		kernel.Softmax(row, row)
	}
	return &q
}

// posteriorWarnings returns a warning where the posterior, whose predictions are p, adds nothing.
func (m *Model) posteriorWarnings(p judged) []string {
	unit := m.visible(p)
	if p.variance > nothing*unit {
		return nil
	}
	return []string{fmt.Sprintf("The posterior adds nothing to the network: its mean variance is %.2g of what would show. "+
		"This happens where the rows to choose the prior standard deviation by were used to train the network: "+
		"give rows that the network has not seen, or try method=lla hyper=grid.", p.variance/unit)}
}

// visible returns a latent variance that shows in predictions p: the variance of the noise, 1 of logits, and 1/Λ of the
// logarithm of a mean count, of which a large count determines small differences.
func (m *Model) visible(p judged) float64 {
	l, unit := m.Likelihood(), 1.0
	switch {
	case m.NoiseVariance() > 0:
		return m.NoiseVariance()
	case l.Kind() == likelihood.Count:
		curvature := []float64{0}
		l.Curvature(curvature, []float64{math.Log(kernel.Mean(p.Mean))})
		unit = min(1, 1/curvature[0])
	}
	return unit
}

// noiseWarnings compares Gaussian noise with the targets and with the residual.
func (m *Model) noiseWarnings(train gp.Examples, p judged, j jury) []string {
	if !m.Task.Gaussian() {
		return nil
	}
	noise, spread, residual := m.NoiseVariance(), m.spread(train), 0.0
	mean, _, y := p.Additive(graph.Floats(j.y))
	for i, v := range y {
		z := (v - mean[i]) / p.Unit(i)
		residual += z * z / float64(len(y))
	}
	switch {
	case spread > 0 && noise > spread:
		return []string{fmt.Sprintf("The noise's standard deviation is %.3g times that of the targets, which it should not exceed: fix it by the setting noise-std, or try hyper=grid or another method.",
			math.Sqrt(noise/spread))}
	case noise < hidden*residual:
		return []string{fmt.Sprintf("The noise's standard deviation is %.2g of the residual's on the rows of the verdict: the rest of the scatter is in the posterior's variance, or nowhere. "+
			"The parts epistemic and aleatoric of predictions tell the two apart; rows that the network has not seen help to find the noise.", math.Sqrt(noise/residual))}
	}
	return nil
}
