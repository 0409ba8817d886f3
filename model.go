package valla

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ensemble"
	"github.com/go-valla/valla/gp/frozen"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/archive"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

var (
	// errFingerprint is wrapped where a posterior is put on other weights than the weights of its fit.
	errFingerprint = errors.New("the posterior was fitted to other weights")
	// ErrFormat is wrapped by errors about a file that is damaged, incomplete or no model.
	ErrFormat = archive.ErrFormat
	// ErrSetting is wrapped by errors about settings that make no sense.
	ErrSetting = settings.ErrSetting
)

// Model is a network with its weights, the scaling of its inputs and outputs, and, once it
// is fitted, a posterior. [Train], [FromWeights], [New] and [Load] make models.
type Model struct {
	Form      layers.Form       // describes the network
	Net       layers.Sequential // of that form, with the MAP weights
	Task      task.Task         // describes and scales the inputs and the outputs
	Posterior *Posterior        // nil for the network alone
	// Laws are the laws of the residuals of each target of a regression [T], which held-out rows have chosen; nil
	// means the Gaussian. The noise of another observation model has its own law.
	Laws []law.Law
	// Calibration corrects predictions after the fact, see [Model.Calibrate]; nil: it does not.
	Calibration *Calibration
	History     []Event // what made the model, the oldest event first

	predictions *modelEngine      // see engine; nil: none is kept
	runtime     *runtimePosterior // computes predictions, see UseRuntime; nil: none does
	features    *features         // read in place of computing them, see MakeFeatures; nil: none are
}

// Posterior is a distribution of the network's outputs that a method fitted.
type Posterior struct {
	gp.Stored
	Method string // its name in the table of methods
	// NoiseVariance is the squared scale of the targets around the latent function, in the network's units: the
	// variance of Gaussian noise. It is 0 for models without noise, such as classes.
	NoiseVariance float64
	// Temperature divides the logits of classes, where the rows that chose the prior standard deviation chose a temperature,
	// too; 0 means 1.
	Temperature float64
	// Model is the observation model with the parameters that the fit learned; nil: that of the task.
	Model *likelihood.Spec
}

// Actions of an Event.
const (
	ActionTrain   = "train"   // the network was trained
	ActionWeights = "weights" // the network was trained elsewhere
	ActionFit     = "fit"     // a posterior was fitted
	ActionUpdate  = "update"  // rows were added to the posterior

	ActionCalibrate = "calibrate" // predictions were corrected by rows held out
)

// Event records one step of a model's history: the training, the reading of weights, a fit, rows that were added
// to the fit, or a calibration. In JSON the fields of the Record stand beside the other fields.
type Event struct {
	Action      string   `json:"action"`                 // one of the actions above
	Method      string   `json:"method,omitempty"`       // name of the method of the posterior, or of a calibration
	Label       string   `json:"label,omitempty"`        // name of the result in a table of scores
	Program     string   `json:"program"`                // version of the program, see Version
	Seed        uint64   `json:"seed"`                   // seed of all random numbers of the step
	Seconds     float64  `json:"seconds"`                // wall time; a resumed run counts from its resumption
	Verdict     *Verdict `json:"verdict,omitempty"`      // of a fit
	UsualSpread float64  `json:"usual_spread,omitempty"` // after a fit or a calibration, see [Model.UsualSpread]
	// Spreads are quantiles of the spreads of the training rows after a fit or a calibration, for the probabilities 0, 0.01 … 1,
	// from which the field Unfamiliar of predictions follows.
	Spreads []float64 `json:"spreads,omitempty"`
	// Marks are a sample of the rows of a training, a fit or an update by their hashes, ascending, see [Model.Seen].
	Marks []uint64 `json:"marks,omitempty"`
	// FitLaws are the laws of the residuals that the fit had chosen, which a calibration has replaced by its own, see [CalibrateLaw].
	FitLaws []law.Law `json:"fit_laws,omitempty"`
	// Inputs are the distributions of the inputs of a training or a fit [D], see [Model.Profile]; nil: they are not known.
	Inputs []data.ColumnProfile `json:"inputs,omitempty"`
	// MAPLaws are the laws of the residuals of the network alone [T] with which the verdict judges it, see [Model.Alone];
	// nil means Gaussians. MAPTemperature is its temperature; 0 and 1 mean none.
	MAPLaws        []law.Law `json:"map_laws,omitempty"`
	MAPTemperature float64   `json:"map_temperature,omitempty"`
	gp.Record
}

// Dtype returns the element type of the weights and the posterior.
func (m *Model) Dtype() tensor.Dtype { return m.Net.Params()[0].Value.Dtype() }

// fingerprint identifies the weights, see [layers.Fingerprint].
func (m *Model) fingerprint() string { return layers.Fingerprint(m.Net) }

// explain adds the name of an operation to the error of the operation, if there is one.
func explain(operation string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", operation, *err)
	}
}

// MAP returns the model without its posterior and calibration, and with the observation model with which the network was
// trained. Both models share the weights.
func (m *Model) MAP() *Model {
	c := m.without(ActionFit, ActionUpdate, ActionCalibrate)
	if r, ok := m.Task.Outputs.(*task.Regression); ok {
		c.Task.Outputs = r.Trained()
	}
	c.Posterior, c.Calibration, c.Laws = nil, nil, nil
	return c
}

// Alone returns the network alone as the verdict of the last fit judges it, with the law or the temperature that makes it
// best; see [Verdict].
func (m *Model) Alone() *Model {
	c := m.MAP()
	for _, e := range m.History {
		if e.Action != ActionFit || m.Posterior == nil {
			continue
		}
		if c.Laws = e.MAPLaws; e.MAPTemperature > 0 && e.MAPTemperature != 1 {
			c.Calibration = &Calibration{Temperature: e.MAPTemperature}
		}
	}
	if c.checkLaws() != nil || c.checkCalibration() != nil { // of a file that another program has changed
		return m.MAP()
	}
	return c
}

// without returns a copy of the model. The events with the given actions are not in the history of the copy.
func (m *Model) without(actions ...string) *Model {
	c := m.copied()
	c.History = slices.DeleteFunc(slices.Clone(m.History), func(e Event) bool { return slices.Contains(actions, e.Action) })
	return c
}

// copied returns a copy of the model. Others may use the model meanwhile.
func (m *Model) copied() *Model {
	engines.Lock()
	defer engines.Unlock()
	c := *m
	return &c
}

// String names the model as in a table of scores: "MAP" without a posterior, with a law "MAP + student-t", otherwise the
// posterior's name, such as "VaLLA 100", and with a calibration "VaLLA 100, conformal" or "VaLLA 100, law".
func (m *Model) String() string {
	name := "MAP"
	if m.Posterior == nil {
		if law := lawNames(m.Laws); law != "" {
			name += " + " + law
		}
		return name + m.Calibration.suffix()
	}
	name = m.Posterior.String()
	if m.Laws != nil && m.lawful() >= 0 {
		name += ", law"
	}
	return name + m.Calibration.suffix()
}

// NoiseVariance returns the squared scale of the targets around the latent function, in the network's units: the
// variance of Gaussian noise. It is 0 for models without noise, such as classes. A temperature of the calibration
// scales the variance.
func (m *Model) NoiseVariance() float64 {
	r, ok := m.Task.Outputs.(*task.Regression)
	if !ok {
		return 0
	}
	v := r.NoiseVariance
	if m.Posterior != nil {
		v = m.Posterior.NoiseVariance
	}
	t := m.temperature()
	return v * t * t
}

// NoiseStds returns the standard deviation of each target around the latent function, in the units of the
// target, or of the transformed target; nil in classification, for observation models without noise, such as counts, and
// where each input has a scale of its own.
func (m *Model) NoiseStds() []float64 {
	if r, ok := m.Task.Outputs.(*task.Regression); ok && m.NoiseVariance() > 0 && m.Task.Scale == nil {
		return r.NoiseStds(m.NoiseVariance())
	}
	return nil
}

// transform returns the name of the target transform; "" if there is none.
func (m *Model) transform() string {
	if r, ok := m.Task.Outputs.(*task.Regression); ok && r.Transforms != nil {
		return r.Transforms[0].Name
	}
	return ""
}

// gp returns the distribution of the latent function in the network's units.
func (m *Model) gp() gp.Posterior {
	if m.runtime.serves(m) {
		return m.runtime
	}
	var p gp.Posterior = ensemble.Points(m.network(), m.Dtype())
	if m.Posterior != nil {
		p = m.Posterior.Stored
	} else if cut, err := m.cut(); cut != nil && err == nil {
		p = cut.Through(gp.Point{Net: cut.Rest, Dtype: m.Dtype()})
	}
	p = m.ownScales(p)
	if by := m.affine(); by.Mean != nil {
		p = gp.Scale(p, by)
	}
	if m.Task.Scale != nil {
		return gp.InUnits(p, m.Task.Scale.Posterior())
	}
	return p
}

// otherWeights returns the error about a posterior that was fitted to weights with a fingerprint where the network has weights with
// another, and nil where both are one. The error wraps [errFingerprint].
func otherWeights(own, fitted string) error {
	if own == fitted {
		return nil
	}
	return fmt.Errorf("%w: expected the fingerprint %s, found weights with %s", errFingerprint, fitted, own)
}

// take gives the model a posterior that was fitted to its weights. After an error nothing has changed.
func (m *Model) take(p *Posterior) error {
	if err := m.checkPosterior(p); err != nil {
		return fmt.Errorf("posterior: %w", err)
	}
	m.Posterior = p
	return nil
}

// checkPosterior returns an error if a part of a posterior other than its arrays is wrong.
func (m *Model) checkPosterior(p *Posterior) error {
	if p == nil || p.Stored == nil {
		return fmt.Errorf("nothing was fitted")
	}
	if _, err := method.Lookup(p.Method); err != nil {
		return err
	}
	if t := p.Temperature; t != 0 && (!m.Task.Classifies() || !(t > 0 && t-t == 0)) {
		return fmt.Errorf("temperature %g of %s, expected a positive number, and none but for classes", t, m.Task.Kind())
	}
	noisy := likelihood.Noisy(m.Task.Likelihood())
	switch v := p.NoiseVariance; {
	case noisy && !(v > 0 && v-v == 0):
		return fmt.Errorf("noise variance %g, expected a positive number", v)
	case !noisy && v != 0:
		return fmt.Errorf("noise variance %g of %s, expected 0", v, m.Task.Kind())
	}
	if p.Model != nil {
		if l, err := p.Model.Likelihood(); err != nil || l.String() != m.Task.Likelihood().String() {
			return cmp.Or(err, fmt.Errorf("the likelihood %s, expected %s", p.Model.Name, m.Task.Likelihood()))
		}
	}
	// Some posteriors depend on the noise and hold it themselves.
	of, _ := frozen.Stored(p.Stored)
	if s, ok := of.(interface{ NoiseStd() float64 }); ok && s.NoiseStd()*s.NoiseStd() != p.NoiseVariance {
		return fmt.Errorf("noise variance %g, expected %g as in the posterior itself", p.NoiseVariance, s.NoiseStd()*s.NoiseStd())
	}
	return nil
}

// check returns an error if a part of a model other than its arrays is wrong.
func (m *Model) check() error {
	if m.Form == nil {
		return fmt.Errorf("no form, expected one that describes the network")
	}
	if err := m.Task.Check(); err != nil {
		return err
	}
	if in, want := m.Form.InputShape(), m.Task.Inputs.Shape; !slices.Equal(in, want) {
		return fmt.Errorf("the network takes examples of shape %v, the inputs have %v", in, want)
	}
	if c, want := layers.OutputSize(m.Form), m.Task.Size(); c != want {
		return fmt.Errorf("the network has %d outputs, expected %d%s", c, want, m.ofClasses())
	}
	n, err := layers.Parameters(m.Form)
	if err == nil && n == 0 {
		err = fmt.Errorf("a network without parameters (%s), expected some", m.Form)
	}
	return err
}

// checkAll returns an error if a part of a model that is to be written is wrong.
func (m *Model) checkAll() error {
	if err := m.check(); err != nil {
		return err
	}
	if err := m.checkNet(); err != nil {
		return err
	}
	if err := m.checkCalibration(); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	if err := m.checkLaws(); err != nil {
		return err
	}
	if m.Posterior == nil {
		return nil
	}
	return fault.In("posterior", m.checkPosterior(m.Posterior))
}

// checkNet returns an error unless the network has the arrays of its form.
func (m *Model) checkNet() error {
	if len(m.Net.Params()) == 0 {
		return fmt.Errorf("a network without parameters, expected %s", m.Form)
	}
	want, err := layers.Build(m.Form, m.Dtype(), nil)
	if err != nil {
		return err
	}
	same := func(a, b *graph.Param) bool {
		return a.Name == b.Name && a.Value.Dtype() == b.Value.Dtype() && slices.Equal(a.Value.Shape(), b.Value.Shape())
	}
	if !slices.EqualFunc(layers.Arrays(m.Net), layers.Arrays(want), same) {
		return fmt.Errorf("the network's arrays are not those of its form, %s", m.Form)
	}
	return nil
}
