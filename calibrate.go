package valla

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/passes"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// Calibration corrects the predictions of a model after the fact, by rows that were held out.
// [Model.Calibrate] makes one.
type Calibration struct {
	// Temperature divides the logits of a classification. In regression it multiplies all standard deviations,
	// including the noise. 0 means 1, which changes nothing.
	Temperature float64 `json:"temperature,omitempty"`
	// Vector scales and shifts the logits of each class, in place of a Temperature; nil means none.
	Vector *calibrate.Vector `json:"vector,omitempty"`
	// Conformal gives intervals and sets of classes their guaranteed coverage; nil means none.
	Conformal *calibrate.Conformal `json:"conformal,omitempty"`
	// Abstain says which rows need a look; nil means none.
	Abstain *calibrate.Abstain `json:"abstain,omitempty"`
}

// Methods of [Model.Calibrate].
const (
	// CalibrateTemperature finds the number that minimises the negative log-likelihood if it divides all logits,
	// or in regression multiplies all standard deviations. Means stay, and so does the most probable class of a
	// network alone. CalibrateTemperature guarantees nothing. See [calibrate.Temperature] and
	// [calibrate.Deviation].
	CalibrateTemperature = "temperature"
	// CalibrateVector finds a scale and a bias of the logits of each class that minimise the
	// negative log-likelihood. Unlike a temperature, the vector may change the most probable class.
	// CalibrateVector guarantees nothing, and it needs a classification. See [calibrate.FindVector].
	CalibrateVector = "vector"
	// CalibrateConformal makes [Prediction.Interval] and [Prediction.Sets] hold their
	// probability, whatever the model, for rows that are exchangeable with the rows of the calibration. The
	// predictions themselves stay. See [calibrate.Conformal].
	CalibrateConformal = "conformal"
	// CalibrateLaw fits the law of the residuals of a regression with Gaussian noise, with a posterior or without one,
	// in place of the law that the fit has chosen, and ends other calibrations. Means stay. See [law.Fit].
	CalibrateLaw = "law"
	// CalibrateAbstain chooses a rule that says which rows need a look, so that at most a share of the others is wrong. The
	// predictions and the rest of the calibration stay. See [calibrate.ControlRisk].
	CalibrateAbstain = "abstain"
)

// CalibrateOptions say how [Model.Calibrate] corrects predictions.
type CalibrateOptions struct {
	Method string // "" means CalibrateTemperature
	// Sets is the kind of sets of classes for CalibrateConformal: calibrate.LAC, which "" means, or
	// calibrate.APS or calibrate.RAPS, which use the Seed of the PredictOptions.
	Sets string
	// Groups is the name of a column, for CalibrateConformal: the intervals or sets then hold their probability in each group of rows by
	// this column; "" means no groups. See [calibrate.FindGroups].
	Groups string
	// Like [N,D] are inputs of new rows, for CalibrateConformal: the rows of the calibration then have weights, so that the intervals or sets hold their
	// probability for rows with inputs like these, if the targets depend on the inputs as before; nil: no weights. See [calibrate.FindShift].
	Like *tensor.Dense
	Law  string // for CalibrateLaw: the law as in [FitOptions]; "" means that the rows choose it
	// Level is a probability for which the rows must suffice with CalibrateConformal; 0: no level.
	Level float64
	// Risk, for CalibrateAbstain, is the largest share of wrong predictions among the rows that need no look, which holds with the
	// probability Confidence; 0 means 0.95.
	Risk, Confidence float64
	// Tolerance, for CalibrateAbstain, is the largest distance of a number from its mean that is not wrong. 0 means that a number is wrong outside its
	// interval of probability Level, or 0.95.
	Tolerance float64
	By        string // for CalibrateAbstain: kind of the doubt; "" means the one that accepts most of the rows
	// PredictOptions make the probabilities of classes for CalibrateConformal, and later predictions need the
	// same Link. A temperature or a vector is found with the link Own if the posterior has Own, and with Probit
	// otherwise.
	PredictOptions
}

// Calibrate returns a model with predictions that the rows of a set correct; m does not change. Neither the
// training of the network nor the fit may have used these rows. A temperature or a vector replaces the whole
// calibration of m. Conformal intervals and sets are added to the temperature or the vector of m, which other rows
// should have chosen. The last Event of the history records the calibration. Calibrate returns ctx's error if ctx
// ends first.
func (m *Model) Calibrate(ctx context.Context, set *data.Set, o CalibrateOptions) (_ *Model, err error) {
	defer explain("calibrate", &err)
	start, out := time.Now(), m.copied()
	rows, err := m.calibrationRows(set, o)
	if err != nil {
		return nil, err
	}
	e := Event{Action: ActionCalibrate, Method: o.Method, Program: Version(), Seed: o.Seed}
	judges := jury{x: rows.X, y: set.Y, passes: &passes.Counter{Total: calibrationPasses(o.Method) * rows.N(), Tell: o.OnRows}}
	switch o.Method {
	case "", CalibrateTemperature:
		e.Method = CalibrateTemperature
		base := m.Uncalibrated()
		out.Laws = base.Laws
		out.Calibration, e.Record, err = base.tempered(ctx, judges)
	case CalibrateVector:
		out.Calibration, e.Facts, err = m.Uncalibrated().vector(ctx, judges)
	case CalibrateConformal:
		out.Calibration, e.Facts, err = m.conformal(ctx, judges, o)
	case CalibrateLaw:
		out.Calibration, e.FitLaws = nil, m.Uncalibrated().Laws
		e.Facts, err = out.chooseLaws(ctx, judges, rows, o.Law)
	case CalibrateAbstain:
		out.Calibration, e.Facts, err = m.abstaining(ctx, judges, o)
	default:
		err = settings.Errorf("calibration method %q, expected %q, %q, %q, %q or %q", o.Method, CalibrateTemperature, CalibrateVector, CalibrateConformal, CalibrateLaw, CalibrateAbstain)
	}
	if err != nil {
		return nil, err
	}
	e.UsualSpread, e.Spreads = m.scaledSpreads(out.deviations() / m.deviations())
	e.Rows, e.Label = rows.N(), out.String()
	e.Notes = append(append(e.Notes, m.familiar(set)...), out.remarks(e.Method, rows.N())...)
	e.Record, e.Seconds = recordable(e.Record), time.Since(start).Seconds()
	out.History = append(slices.Clone(m.History), e)
	return out, nil
}

// calibrationRows returns the examples of a set, or an error if they or the model do not suit the options.
func (m *Model) calibrationRows(set *data.Set, o CalibrateOptions) (gp.Examples, error) {
	if err := m.calibratable(o.Method); err != nil {
		return gp.Examples{}, err
	}
	if o.Link != "" && !slices.Contains([]string{CalibrateConformal, CalibrateAbstain}, o.Method) {
		return gp.Examples{}, settings.Errorf("the link %q with the method %q, which needs none: expected %q or %q", o.Link, cmp.Or(o.Method, CalibrateTemperature), CalibrateConformal, CalibrateAbstain)
	}
	rows, err := m.Task.Examples(set, m.Dtype())
	if err != nil || o.Method != CalibrateConformal {
		return rows, err
	}
	if err := calibrate.Enough(rows.N(), o.Level); err != nil {
		return rows, settings.Errorf("%w", err)
	}
	return rows, nil
}

// calibratable returns an error if a method cannot correct predictions of the model's likelihood.
func (m *Model) calibratable(method string) error {
	switch l := m.Task.Likelihood(); {
	case method == CalibrateLaw && !m.Task.Gaussian():
		return settings.Errorf("the method %q is for Gaussian noise, and the model has the likelihood %v", CalibrateLaw, l)
	case m.Task.Classifies() || m.Task.Gaussian() || method == CalibrateVector || method == CalibrateAbstain:
		return nil
	case method == CalibrateConformal && l.Width() > 1:
		return settings.Errorf("the method %q needs targets of one number, and those of the likelihood %v have %d", CalibrateConformal, l, l.Width())
	case method == "" || method == CalibrateTemperature:
		return settings.Errorf("the method %q scales Gaussian noise or logits, and the model has the likelihood %v", CalibrateTemperature, l)
	}
	return nil
}

// calibrationPasses returns how many times a calibration predicts its rows and counts them. A temperature or a vector
// needs one pass, and the gain of any method two.
func calibrationPasses(method string) int {
	switch method {
	case CalibrateConformal, CalibrateAbstain:
		return 1
	case CalibrateLaw:
		return 2
	}
	return 3
}

// tempered finds the temperature of a model without a calibration. Where none is best it is 1, and a note says why.
func (m *Model) tempered(ctx context.Context, rows jury) (*Calibration, gp.Record, error) {
	t, err := m.bestTemperature(ctx, rows)
	var r gp.Record
	if errors.Is(err, calibrate.ErrEdge) {
		t, r.Notes = 1, []string{fmt.Sprintf("The temperature stays 1: %v.", err)}
	} else if err != nil {
		return nil, r, err
	}
	c := &Calibration{Temperature: t}
	gain, err := m.gain(ctx, rows, c)
	r.Facts = append([]gp.Fact{{Name: "temperature", Value: t}}, gain...)
	return c, r, err
}

// bestTemperature finds the temperature of a model without a calibration.
func (m *Model) bestTemperature(ctx context.Context, rows jury) (float64, error) {
	if m.Task.Classifies() {
		return m.logitTemperature(ctx, rows)
	}
	return m.deviation(ctx, rows)
}

// chooseLaws gives the model, which has no calibration, the laws of residuals that examples choose.
func (m *Model) chooseLaws(ctx context.Context, rows jury, e gp.Examples, name string) ([]gp.Fact, error) {
	if err := checkLaw(name); err != nil {
		return nil, err
	}
	before, err := m.judged(ctx, rows)
	if err != nil {
		return nil, err
	}
	if err := m.fitLaws(ctx, &e, division{law: name}); err != nil {
		return nil, err
	}
	after, err := m.judged(ctx, rows)
	return gainFacts(before, after), err
}

// gainFacts returns the mean NLL of rows before and after a calibration or an update.
func gainFacts(before, after judged) []gp.Fact {
	return []gp.Fact{{Name: "NLL of these rows before", Value: kernel.Mean(before.nlls)}, {Name: "NLL of these rows after", Value: kernel.Mean(after.nlls)}}
}

// vector finds the vector of a model without a calibration.
func (m *Model) vector(ctx context.Context, rows jury) (*Calibration, []gp.Fact, error) {
	if !m.Task.Classifies() {
		return nil, nil, settings.Errorf("the method %q scales the logits of classes, and the targets are numbers: expected %q or %q", CalibrateVector, CalibrateTemperature, CalibrateConformal)
	}
	mean, variance, labels, err := m.logits(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	v, err := calibrate.FindVector(mean, variance, labels)
	if err != nil {
		return nil, nil, err
	}
	c := &Calibration{Vector: v}
	gain, err := m.gain(ctx, rows, c)
	return c, append([]gp.Fact{{Name: "smallest scale", Value: slices.Min(v.Scale)}, {Name: "largest scale", Value: slices.Max(v.Scale)}}, gain...), err
}

// gain compares the model with and without a calibration.
func (m *Model) gain(ctx context.Context, rows jury, c *Calibration) ([]gp.Fact, error) {
	before, err := m.judged(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := m.copied()
	out.Calibration = c
	after, err := out.judged(ctx, rows)
	return gainFacts(before, after), err
}

// enoughRows is the number of rows that each number of a vector should have.
const enoughRows = 10

// remarks returns notes on a calibration of the model: the rule that was chosen, a law that was dropped, and a vector that few rows
// have chosen or that has a scale below 0.
func (m *Model) remarks(method string, rows int) (notes []string) {
	switch {
	case method == CalibrateAbstain:
		return []string{fmt.Sprintf("Rows with %s need no look.", m.Calibration.Abstain)}
	case method == CalibrateTemperature && m.lawful() >= 0:
		return []string{"The law of the calibration before was dropped: a temperature corrects what the fit predicts."}
	case method != CalibrateVector:
		return nil
	}
	if n := 2 * m.Task.Size(); rows < enoughRows*n {
		notes = append(notes, fmt.Sprintf("%d rows have chosen %d numbers: fewer than %d for each may make predictions worse than one temperature does.", rows, n, enoughRows))
	}
	for k, w := range m.Calibration.Vector.Scale {
		if w < 0 {
			notes = append(notes, fmt.Sprintf("The scale of the class %s is below 0: far from these rows it is then the less probable the more the network says so. One temperature is safer.", m.Task.Outputs.(*task.Classification).ClassName(k)))
		}
	}
	return notes
}

// deviation finds the factor of the standard deviations of a regression.
func (m *Model) deviation(ctx context.Context, rows jury) (float64, error) {
	p, err := m.predict(ctx, rows.x, PredictOptions{OnRows: rows.pass()}, nil)
	if err != nil {
		return 0, err
	}
	if m.Laws != nil {
		return calibrate.DeviationOf(p.NLLWith(graph.Floats(rows.y)))
	}
	return calibrate.Deviation(p.Additive(graph.Floats(rows.y)))
}

// logitTemperature finds the divisor of the logits of a classification.
func (m *Model) logitTemperature(ctx context.Context, rows jury) (float64, error) {
	mean, variance, labels, err := m.logits(ctx, rows)
	if err != nil {
		return 0, err
	}
	return calibrate.Temperature(mean, variance, labels)
}

// logits returns the means and variances [n,C] of the logits of rows, and their classes.
func (m *Model) logits(ctx context.Context, rows jury) (mean, variance []float64, labels []int, err error) {
	if labels, err = m.Task.Outputs.(*task.Classification).Labels(rows.y); err != nil {
		return nil, nil, nil, err
	}
	mean, variance, err = m.logitsOf(ctx, rows.x, rows.pass())
	return mean, variance, labels, err
}

// logitsOf returns the means and variances [n,C] of the logits of inputs x, and tells pass the finished rows of all.
func (m *Model) logitsOf(ctx context.Context, x *tensor.Dense, pass func(done, total int)) (mean, variance []float64, err error) {
	c, n := m.Task.Size(), x.Shape()[0]
	if point, ok := m.gp().(gp.Point); ok { // without a covariance for each row
		f, err := point.Mean(ctx, x)
		if err != nil {
			return nil, nil, err
		}
		pass(n, n)
		return graph.Floats(f), make([]float64, f.Size()), nil
	}
	err = m.eachLatent(ctx, x, m.marginal(Probit), func(_ int, g gp.Gaussian) error {
		if len(g.Probs) > 0 {
			mean, variance = appendLogs(mean, g.Probs), append(variance, make([]float64, len(g.Probs))...)
		} else {
			mean = append(mean, g.Mean...)
			for i := range g.Mean {
				variance = append(variance, max(g.Variance(i/c, i%c), 0))
			}
		}
		pass(len(mean)/c, n)
		return nil
	})
	return mean, variance, err
}

// appendLogs appends the logarithms of probabilities to dst. These are logits without a variance.
func appendLogs(dst, probs []float64) []float64 {
	for _, p := range probs {
		dst = append(dst, math.Log(max(p, math.SmallestNonzeroFloat64)))
	}
	return dst
}

// conformal finds the scores of a model. The temperature or the vector of the model stays.
func (m *Model) conformal(ctx context.Context, rows jury, o CalibrateOptions) (*Calibration, []gp.Fact, error) {
	k, classes := m.Task.Outputs.(*task.Classification)
	if o.Sets != "" && (!classes || !slices.Contains([]string{calibrate.LAC, calibrate.APS, calibrate.RAPS}, o.Sets)) {
		return nil, nil, settings.Errorf("sets %q of the task %s, expected %q, %q or %q of classes", o.Sets, m.Task.Kind(), calibrate.LAC, calibrate.APS, calibrate.RAPS)
	}
	if classes {
		if i := slices.IndexFunc(k.Names, func(name string) bool { return strings.Contains(name, "|") }); i >= 0 {
			return nil, nil, settings.Errorf("the class %q has a bar, which stands between the classes of a set: expected names without", k.Names[i])
		}
	}
	by, err := m.divided(rows, o)
	if err != nil {
		return nil, nil, err
	}
	base := m.copied()
	base.Calibration = &Calibration{}
	if m.Calibration != nil {
		base.Calibration.Temperature, base.Calibration.Vector = m.Calibration.Temperature, m.Calibration.Vector
	}
	o.OnRows = rows.pass()
	p, err := base.predict(ctx, rows.x, o.PredictOptions, nil)
	if err != nil {
		return nil, nil, err
	}
	if !classes {
		mean, variance, y := p.Additive(graph.Floats(rows.y))
		if i, _ := kernel.FirstNonFinite(variance); i >= 0 {
			return nil, nil, settings.Errorf("the method %q divides errors by standard deviations, which are infinite with the likelihood %v", CalibrateConformal, m.Likelihood())
		}
		base.Calibration.Conformal = calibrate.NumbersBy(mean, variance, y, len(p.Targets), by)
		return base.Calibration, quantileFacts(base.Calibration.Conformal, p), nil
	}
	labels, err := k.Labels(rows.y)
	if err != nil {
		return nil, nil, err
	}
	base.Calibration.Conformal = calibrate.ClassesBy(p.Probs, labels, string(p.Link), o.Sets, o.Seed, by)
	return base.Calibration, quantileFacts(base.Calibration.Conformal, p), nil
}

// quantileFacts returns the half widths of usual intervals in standard deviations, or the least probability of a
// class in usual sets.
func quantileFacts(c *calibrate.Conformal, p *Prediction) []gp.Fact {
	var out []gp.Fact
	worst := ""
	if c.Groups != nil {
		out, worst = append(out, gp.Fact{Name: "groups", Value: float64(len(c.Groups.Sizes))}), ", in the worst group"
	}
	for t, target := range p.Targets {
		for _, level := range []float64{0.9, intervalLevel} {
			q, err := largestQuantile(c, t, level)
			if c.Shift != nil {
				q, err = c.QuantileFor(t, 1, level)
			}
			name := fmt.Sprintf("half of a %g %% interval in std", 100*level)
			switch {
			case err != nil:
				continue
			case c.Sets == calibrate.APS, c.Sets == calibrate.RAPS:
				name = fmt.Sprintf("most score in a %g %% set", 100*level)
			case p.Classes != nil:
				name, q = fmt.Sprintf("least probability in a %g %% set", 100*level), 1-q
			case len(p.Targets) > 1:
				name += " of " + target
			}
			out = append(out, gp.Fact{Name: name + worst, Value: q})
		}
	}
	return out
}

// familiar returns a note if rows of a set are rows of the training or of the fit. Where the file of the model does not tell, the
// number of rows may be the number of training rows, so that they may be the same rows.
func (m *Model) familiar(set *data.Set) []string {
	if s := m.Seen(); len(s.marks) > 0 {
		s.Add(set)
		return s.Notes("For the calibration these are worth nothing: it needs rows that neither training nor fit has used.")
	}
	rows := set.N()
	for _, e := range m.History {
		if e.Action == ActionTrain && (rows == e.Rows || rows == e.Rows+e.ValidationRows) {
			return []string{fmt.Sprintf("The network was trained on a table of %d rows, too: if these are the same rows, the calibration is worth nothing. It needs rows that neither training nor fit has used.", rows)}
		}
	}
	return nil
}

// Uncalibrated returns the model without its calibration. Both models share the weights and the posterior. Laws of
// residuals that [CalibrateLaw] has fitted are a calibration, and laws of the fit are not.
func (m *Model) Uncalibrated() *Model {
	c := m.without(ActionCalibrate)
	c.Calibration = nil
	if i := m.lawful(); i >= 0 {
		if c.Laws = m.History[i].FitLaws; c.checkLaws() != nil { // of a file that another program has changed
			c.Laws = nil
		}
	}
	return c
}

// Calibrated reports whether the model has a calibration, or laws of residuals that [CalibrateLaw] has fitted.
func (m *Model) Calibrated() bool { return m.Calibration != nil || m.lawful() >= 0 }

// lawful returns the index of the first calibration in the history that has fitted the laws of the model; −1 if none has.
func (m *Model) lawful() int {
	return slices.IndexFunc(m.History, func(e Event) bool { return e.Action == ActionCalibrate && e.Method == CalibrateLaw })
}

// dropNotes returns a note if the model has a calibration, which a new posterior ends.
func (m *Model) dropNotes() []string {
	if !m.Calibrated() {
		return nil
	}
	return []string{"The calibration was made for the predictions before and was dropped: calibrate again, with rows that are not among the new rows."}
}

// suffix returns the text that a calibration adds to the name of a model.
func (c *Calibration) suffix() string {
	text := ""
	if c == nil {
		return text
	}
	if c.Temperature != 0 {
		text += ", temperature"
	}
	if c.Vector != nil {
		text += ", vector"
	}
	if c.Conformal != nil {
		text += ", conformal"
	}
	if c.Abstain != nil {
		text += ", abstain"
	}
	return text
}

// temperature returns the temperature of the posterior times that of the calibration, or 1.
func (m *Model) temperature() float64 {
	t := 1.0
	if m.Posterior != nil {
		t = cmp.Or(m.Posterior.Temperature, 1)
	}
	if m.Calibration != nil {
		t *= cmp.Or(m.Calibration.Temperature, 1)
	}
	return t
}

// affine returns the correction of the network's outputs by temperatures and the calibration. Its Mean is nil if there is none.
func (m *Model) affine() gp.Affine {
	t, c := m.temperature(), m.Task.Size()
	if by := m.Calibration; by != nil && by.Vector != nil {
		scale := make([]float64, c)
		kernel.Scale(scale, 1/t, by.Vector.Scale)
		return gp.Affine{Mean: scale, Shift: by.Vector.Bias, Std: scale}
	}
	if t == 1 {
		return gp.Affine{}
	}
	all := func(v float64) []float64 { return slices.Repeat([]float64{v}, c) }
	if m.Task.Classifies() {
		return gp.Affine{Mean: all(1 / t), Shift: all(0), Std: all(1 / t)}
	}
	return gp.Affine{Mean: all(1), Shift: all(0), Std: all(t)}
}

// deviations returns the factor by which temperatures and the calibration multiply latent standard deviations: the root of the
// mean square over the outputs.
func (m *Model) deviations() float64 {
	by := m.affine()
	if by.Std == nil {
		return 1
	}
	return math.Sqrt(kernel.Dot(by.Std, by.Std) / float64(len(by.Std)))
}

// checkCalibration returns an error if the calibration is wrong.
func (m *Model) checkCalibration() error {
	c := m.Calibration
	if c == nil {
		return nil
	}
	if t := c.Temperature; !(t >= 0 && t-t == 0) {
		return fmt.Errorf("temperature %g, expected a positive number", t)
	}
	classes := m.Task.Classifies()
	if v := c.Vector; v != nil {
		if !classes || c.Temperature != 0 {
			return fmt.Errorf("scales and biases of logits beside the temperature %g of the task %s, expected classes and no temperature", c.Temperature, m.Task.Kind())
		}
		if err := v.Check(m.Task.Size()); err != nil {
			return err
		}
	}
	if c.Abstain != nil {
		if err := c.Abstain.Check(); err != nil {
			return err
		}
	}
	if c.Conformal == nil {
		return nil
	}
	if l := task.Link(c.Conformal.Link); classes != (l != "") || classes && !slices.Contains([]task.Link{Probit, MonteCarlo, Bridge, Own}, l) {
		return fmt.Errorf("link %q of the task %s", l, m.Task.Kind())
	}
	if s := c.Conformal.Shift; s != nil {
		if err := s.Check(len(m.Task.Inputs.Features)); err != nil {
			return err
		}
	}
	if g := c.Conformal.Groups; g != nil {
		if err := g.Check(len(m.Task.Inputs.Features), c.Conformal.Rows); err != nil {
			return err
		}
	}
	return c.Conformal.Check(len(m.Task.Targets()))
}
