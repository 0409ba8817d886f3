package valla

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

// Calibration corrects the predictions of a model after the fact, by rows that were held out.
// [Model.Calibrate] makes one.
type Calibration struct {
	// Temperature divides the logits of classes, and multiplies the standard deviations of
	// numbers, those of the noise included; 0 is none, which is 1.
	Temperature float64 `json:"temperature,omitempty"`
	// Conformal gives intervals and sets of classes their guaranteed coverage; nil is none.
	Conformal *calibrate.Conformal `json:"conformal,omitempty"`
}

// Methods of [Model.Calibrate].
const (
	// CalibrateTemperature finds the number that minimises the negative log-likelihood when it
	// divides all logits, or multiplies all standard deviations of numbers. Means and the most
	// probable class of a network alone stay. It guarantees nothing. See
	// [calibrate.Temperature] and [calibrate.Deviation].
	CalibrateTemperature = "temperature"
	// CalibrateConformal makes [Prediction.Interval] and [Prediction.Sets] hold their
	// probability, whatever the model, for rows exchangeable with those of the calibration. The
	// predictions themselves stay. See [calibrate.Conformal].
	CalibrateConformal = "conformal"
)

// CalibrateOptions say how [Model.Calibrate] corrects predictions.
type CalibrateOptions struct {
	Method string // "" is CalibrateTemperature
	// PredictOptions make the probabilities of classes for CalibrateConformal; later
	// predictions need the same Link. The temperature is that of the link Probit, or Own where
	// the posterior has that.
	PredictOptions
}

// Calibrate returns a model whose predictions are corrected by the rows of a set; m stays as it
// is. The rows must be ones that neither the training of the network nor the fit has used. A
// temperature replaces the whole calibration that m has. Conformal intervals and sets keep a
// temperature that m has, which other rows should have chosen, and come on top of it. The last
// Event of the history records the calibration. It returns ctx's error if ctx ends first.
func (m *Model) Calibrate(ctx context.Context, set *data.Set, o CalibrateOptions) (*Model, error) {
	out, err := m.calibrate(ctx, set, o)
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	return out, nil
}

func (m *Model) calibrate(ctx context.Context, set *data.Set, o CalibrateOptions) (*Model, error) {
	start, out := time.Now(), *m
	rows, err := m.Task.Examples(set, m.Dtype())
	if err != nil {
		return nil, err
	}
	e := Event{Action: ActionCalibrate, Method: o.Method, Program: Version(), Seed: o.Seed}
	switch o.Method {
	case "", CalibrateTemperature:
		e.Method = CalibrateTemperature
		out.Calibration, e.Facts, err = m.Uncalibrated().temperature(ctx, jury{x: rows.X, y: set.Y})
	case CalibrateConformal:
		out.Calibration, e.Facts, err = m.conformal(ctx, jury{x: rows.X, y: set.Y}, o.PredictOptions)
	default:
		err = settings.Errorf("calibration method %q, expected %q or %q", o.Method, CalibrateTemperature, CalibrateConformal)
	}
	if err != nil {
		return nil, err
	}
	_, before := m.scales()
	_, after := out.scales()
	e.UsualSpread = m.UsualSpread() * math.Sqrt(after/before)
	e.Rows, e.Label, e.Notes = rows.N(), out.String(), m.familiar(rows.N())
	e.Record, e.Seconds = recordable(e.Record), time.Since(start).Seconds()
	out.History = append(slices.Clone(m.History), e)
	return &out, nil
}

// temperature finds that of a model without a calibration.
func (m *Model) temperature(ctx context.Context, rows jury) (*Calibration, []gp.Fact, error) {
	find := m.deviation
	if _, classes := m.Task.Outputs.(*task.Classification); classes {
		find = m.logitTemperature
	}
	t, err := find(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	before, err := m.judged(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	out := *m
	out.Calibration = &Calibration{Temperature: t}
	after, err := out.judged(ctx, rows)
	return out.Calibration, []gp.Fact{
		{Name: "temperature", Value: t}, {Name: "NLL of these rows before", Value: average(before.nlls)}, {Name: "NLL of these rows after", Value: average(after.nlls)},
	}, err
}

// deviation finds the factor of the standard deviations of numbers.
func (m *Model) deviation(ctx context.Context, rows jury) (float64, error) {
	p, err := m.predict(ctx, rows.x, PredictOptions{}, nil)
	if err != nil {
		return 0, err
	}
	return calibrate.Deviation(p.Mean, p.Variance, graph.Floats(rows.y))
}

// logitTemperature finds the divisor of the logits of classes.
func (m *Model) logitTemperature(ctx context.Context, rows jury) (float64, error) {
	labels, err := m.Task.Outputs.(*task.Classification).Labels(rows.y)
	if err != nil {
		return 0, err
	}
	var mean, variance []float64
	c := m.Task.Outputs.Size()
	err = gp.InBatches(ctx, m.gp(), rows.x, c, func(_ int, g gp.Gaussian) error {
		if g.Probs != nil {
			mean, variance = appendLogs(mean, g.Probs.Float64s()), append(variance, make([]float64, g.Probs.Shape().TotalSize())...)
			return nil
		}
		mean = append(mean, g.Mean.Float64s()...)
		for i, v := range g.Cov.Float64s() {
			if i/c%c == i%c {
				variance = append(variance, max(v, 0))
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return calibrate.Temperature(mean, variance, labels)
}

// appendLogs appends the logarithms of probabilities, which are logits that are certain.
func appendLogs(dst, probs []float64) []float64 {
	for _, p := range probs {
		dst = append(dst, math.Log(max(p, math.SmallestNonzeroFloat64)))
	}
	return dst
}

// conformal finds the scores of a model, whose temperature stays.
func (m *Model) conformal(ctx context.Context, rows jury, o PredictOptions) (*Calibration, []gp.Fact, error) {
	base := *m
	base.Calibration = &Calibration{}
	if m.Calibration != nil {
		base.Calibration.Temperature = m.Calibration.Temperature
	}
	p, err := base.predict(ctx, rows.x, o, nil)
	if err != nil {
		return nil, nil, err
	}
	k, classes := m.Task.Outputs.(*task.Classification)
	if !classes {
		base.Calibration.Conformal = calibrate.Numbers(p.Mean, p.Variance, graph.Floats(rows.y), len(p.Targets))
		return base.Calibration, quantileFacts(base.Calibration.Conformal, p), nil
	}
	labels, err := k.Labels(rows.y)
	if err != nil {
		return nil, nil, err
	}
	base.Calibration.Conformal = calibrate.Classes(p.Probs, labels, string(p.Link))
	return base.Calibration, quantileFacts(base.Calibration.Conformal, p), nil
}

// quantileFacts says how wide usual intervals are in standard deviations, or how probable a
// class of usual sets is at least.
func quantileFacts(c *calibrate.Conformal, p *Prediction) []gp.Fact {
	var out []gp.Fact
	for t, target := range p.Targets {
		for _, level := range []float64{0.9, intervalLevel} {
			q, err := c.Quantile(t, level)
			name := fmt.Sprintf("half of a %g %% interval in std", 100*level)
			switch {
			case err != nil:
				continue
			case p.Classes != nil:
				name, q = fmt.Sprintf("least probability in a %g %% set", 100*level), 1-q
			case len(p.Targets) > 1:
				name += " of " + target
			}
			out = append(out, gp.Fact{Name: name, Value: q})
		}
	}
	return out
}

// familiar says so where rows may be those of the training, of which there were as many.
func (m *Model) familiar(rows int) []string {
	for _, e := range m.History {
		if e.Action == ActionTrain && (rows == e.Rows || rows == e.Rows+e.ValidationRows) {
			return []string{fmt.Sprintf("The network was trained on a table of %d rows, too: if these are the same rows, the calibration is worth nothing. It needs rows that neither training nor fit has used.", rows)}
		}
	}
	return nil
}

// Uncalibrated returns the model without its calibration; it shares the weights and the posterior.
func (m *Model) Uncalibrated() *Model {
	c := m.without(ActionCalibrate)
	c.Calibration = nil
	return c
}

// dropNotes says so where a new posterior ends a calibration.
func (m *Model) dropNotes() []string {
	if m.Calibration == nil {
		return nil
	}
	return []string{"The calibration was of the predictions before and was dropped: calibrate again, with rows that are not among the new ones."}
}

// suffix is what a calibration adds to the name of a model.
func (c *Calibration) suffix() string {
	switch {
	case c == nil:
		return ""
	case c.Conformal == nil:
		return ", temperature"
	case c.Temperature == 0:
		return ", conformal"
	}
	return ", temperature, conformal"
}

// scales returns the factors of latent means and of all variances in the network's units.
func (m *Model) scales() (mean, variance float64) {
	if m.Calibration == nil || m.Calibration.Temperature == 0 {
		return 1, 1
	}
	t := m.Calibration.Temperature
	if _, classes := m.Task.Outputs.(*task.Classification); classes {
		return 1 / t, 1 / (t * t)
	}
	return 1, t * t
}

// checkCalibration returns what is wrong with the calibration.
func (m *Model) checkCalibration() error {
	c := m.Calibration
	if c == nil {
		return nil
	}
	if t := c.Temperature; !(t >= 0 && t-t == 0) {
		return fmt.Errorf("temperature %g, expected a positive number", t)
	}
	if c.Conformal == nil {
		return nil
	}
	_, classes := m.Task.Outputs.(*task.Classification)
	if l := task.Link(c.Conformal.Link); classes != (l != "") || classes && !slices.Contains([]task.Link{Probit, MonteCarlo, Own}, l) {
		return fmt.Errorf("link %q of the task %s", l, m.Task.Outputs.Kind())
	}
	return c.Conformal.Check(len(m.Task.Outputs.Targets()))
}
