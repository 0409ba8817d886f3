package valla

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// targetsOf returns what the outputs of a network that o describe mean. The scaling comes from the training rows;
// the classes, and the start of an observation model, come from the whole set.
func (o TrainOptions) targetsOf(set, rows *data.Set) (task.Outputs, error) {
	if o.Classes && o.Likelihood != nil {
		return nil, settings.Errorf("classes with a likelihood, expected one of the two")
	}
	if o.Classes {
		return classesOf(set, o.TargetTransform)
	}
	r, err := o.regressionOf(set, rows)
	if err != nil || o.TargetTransform == "" {
		return r, err
	}
	return r.Transformed(set, rows, o.TargetTransform)
}

// classesOf returns the classes of a set. Classes with a target transform are an error.
func classesOf(set *data.Set, transform string) (task.Outputs, error) {
	if err := noTransform(transform); err != nil {
		return nil, err
	}
	return task.Classes(set)
}

// noTransform returns an error if classes have a target transform.
func noTransform(transform string) error {
	if transform != "" {
		return settings.Errorf("target transform %q of classes, expected targets that are real numbers", transform)
	}
	return nil
}

// regressionOf returns the regression that o describe, without a target transform.
func (o TrainOptions) regressionOf(set, rows *data.Set) (*task.Regression, error) {
	if o.Likelihood == nil {
		return varied(rows)
	}
	r, err := task.ModelledTargets(set, rows, o.Likelihood)
	if err == nil && r.Model.Name == gaussianName {
		return varied(rows)
	}
	return r, err
}

// varied standardises targets of Gaussian noise. A target that has one value in all rows leaves nothing to learn, and
// no noise.
func varied(rows *data.Set) (*task.Regression, error) {
	r, err := task.StandardizedTargets(rows)
	if err != nil {
		return nil, err
	}
	return r, checkVaried(rows)
}

// checkVaried returns an error where a target has one value in all rows.
func checkVaried(rows *data.Set) error {
	y, c := graph.Floats(rows.Y), len(rows.Targets)
	for k, name := range rows.Targets {
		constant := true
		for i := k; i < len(y); i += c {
			constant = constant && y[i] == y[k]
		}
		if constant {
			return fmt.Errorf("the target %q is %g in each of the %d training rows, expected different numbers", name, y[k], rows.N())
		}
	}
	return nil
}

// observed returns the model with the observation model of the settings s in place of Gaussian noise, and with the
// observation model with which the network was trained if s is nil or Gaussian noise.
func (m *Model) observed(set *data.Set, s likelihood.Settings) (*Model, error) {
	r, ok := m.Task.Outputs.(*task.Regression)
	switch {
	case s == nil && !ok:
		return m, nil
	case s == nil:
		return m.with(r.Trained()), nil
	case !ok:
		return nil, settings.Errorf("a likelihood for a network of classes, expected a regression")
	}
	if err := m.Task.CheckSet(set); err != nil {
		return nil, err
	}
	own, err := r.Observed(set, s)
	if err != nil {
		return nil, err
	}
	if own.Model.Name == gaussianName {
		own = own.Trained()
	}
	return m.with(own), nil
}

// with returns a copy of the model with another regression.
func (m *Model) with(r *task.Regression) *Model {
	c := m.copied()
	c.Task.Outputs = r
	return c
}

// gaussianName is the name of Gaussian noise, which is learned by the squared error.
const gaussianName = "gaussian"

// learner is what a network is trained by.
type learner struct {
	likelihood.Likelihood       // observation model that is trained along with the network, in its element type; nil: none is
	head                  *head // of a network of two outputs for each target; nil for others
}

// newLearner returns the learner of a model, and one without a likelihood where the task has no observation model.
func newLearner(m *Model, h *head) learner {
	if r, ok := m.Task.Outputs.(*task.Regression); ok && r.Model != nil {
		return learner{Likelihood: m.Task.Likelihood().Copy(m.Dtype())}
	}
	return learner{head: h}
}

// none reports whether the loss has no parameters of its own: the squared error, the cross-entropy and the loss of a head.
func (l learner) none() bool { return l.Likelihood == nil }

// also returns the parameters that are trained along with the weights.
func (l learner) also() []*graph.Param {
	if l.none() {
		return nil
	}
	return l.Params()
}

// loss returns the loss of the training on n rows. The logarithm of the prior density of the parameters, where there is
// one, counts as 1/n of a row.
func (l learner) loss(t task.Task, n int) train.Loss {
	if l.head != nil {
		return l.head.loss
	}
	if l.none() {
		loss, _ := t.Loss()
		return loss
	}
	nll := task.LikelihoodLoss(l.Likelihood)
	s, _ := likelihood.Of(l.Likelihood)
	prior, ok := s.(likelihood.Prior)
	if !ok {
		return nll
	}
	return func(b *graph.Builder, y, f *graph.Node) *graph.Node {
		return b.Sub(nll(b, y, f), b.Scale(b.Sum(prior.LogPrior(b)), 1/float64(n)))
	}
}

// one returns the loss of one example at the present parameters.
func (l learner) one(t task.Task) func(y, f []float64) float64 {
	if l.head != nil {
		return l.head.heldLoss
	}
	if l.none() {
		_, one := t.Loss()
		return one
	}
	return func(y, f []float64) float64 { return -l.LogDensity(y, f) }
}

// identity tells the training with an observation model, or with a head, apart from others.
func (l learner) identity() []string {
	if l.head != nil {
		return []string{l.head.name}
	}
	if l.none() {
		return nil
	}
	return []string{fmt.Sprintf("likelihood %v", l.Likelihood)}
}

// adopt gives the task of a model the parameters that were learned.
func (l learner) adopt(m *Model) error {
	own := *m.Task.Outputs.(*task.Regression)
	own.Model, own.NoiseVariance = own.Model.With(l.Likelihood), likelihood.NoiseVariance(l.Likelihood)
	if v := own.NoiseVariance; likelihood.Noisy(l.Likelihood) && !(v > 0 && !math.IsInf(v, 1)) {
		return fmt.Errorf("the noise variance is %g, expected a positive number", v)
	}
	m.Task.Outputs = &own
	return m.Task.Check()
}
