package valla

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/frozen"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// features are what a model remembers of the part of its network whose weights stay certain.
type features struct {
	at     frozen.Place // of the cut
	memory *frozen.Memory
	// chosen is the estimate of a fit without features that is so long that the defaults choose the last layer with features;
	// nil for other features.
	chosen *gp.Estimate
}

// MakeFeatures opens or makes a file of features, which later fits, predictions and calibrations of m and of models made
// of m read and add to. Features are the outputs of the part of the network before the first of the weights, which are
// chosen as by the setting weights of methods: "last-layer", or names of parameters, with * for any letters. Every
// later fit of m is a fit to the rest of the network with features for inputs: the weights before the cut are certain.
// Predictions take rows as before, and compute features that the file does not have. It is an error if nothing with weights
// comes before, or if the file has features of another network or of another cut. [Model.CloseFeatures] closes the file.
func (m *Model) MakeFeatures(path string, weights []string) (err error) {
	defer explain("features", &err)
	chosen, err := layers.Choose(m.network(), weights...)
	if err != nil {
		return err
	}
	cut, err := frozen.Before(m.network(), m.Task.Inputs.Shape, m.Dtype(), chosen)
	if err != nil {
		return err
	}
	if cut == nil {
		return settings.Errorf("weights %s: no layers with weights come before them, one after the other, so that there are no features", strings.Join(weights, ","))
	}
	return m.open(path, cut)
}

// UseFeatures is [Model.MakeFeatures] for a file that exists already, which tells the cut.
func (m *Model) UseFeatures(path string) (err error) {
	defer explain("features", &err)
	h, err := frozen.ReadHeader(path)
	if err != nil {
		return err
	}
	cut, err := frozen.After(m.network(), h.Place(), m.Task.Inputs.Shape, m.Dtype())
	if err != nil {
		return fmt.Errorf("%s: features of another network: %w", path, err)
	}
	return m.open(path, cut)
}

// open makes m remember features in the file at path.
func (m *Model) open(path string, cut *frozen.Cut) error {
	form, err := layers.MarshalForm(m.Form)
	if err != nil {
		return err
	}
	memory, err := frozen.Open(path, cut, form)
	if err != nil {
		return err
	}
	before := m.features
	if err := m.remember(&features{at: cut.Place(), memory: memory}); err != nil {
		m.features = before
		return errors.Join(err, memory.Close())
	}
	if before != nil {
		return before.memory.Close()
	}
	return nil
}

// remember gives the model and its posterior, if it has a cut, a memory of features.
func (m *Model) remember(f *features) error {
	m.features = f
	if m.Posterior == nil {
		return nil
	}
	of, cut := frozen.Stored(m.Posterior.Stored)
	if cut == nil {
		return nil
	}
	if cut.Place() != f.at {
		return fmt.Errorf("%s: features after %v of the network, expected %v as in the fit of the posterior", f.memory.Path(), f.at, cut.Place())
	}
	own, err := m.cut()
	if err != nil {
		return err
	}
	p := *m.Posterior
	p.Stored = own.Fitted(of, m.Posterior.String())
	m.Posterior = &p
	return nil
}

// CloseFeatures closes the file of features of m, if there is one. Models that read it stay as they are, and compute
// features where they need any.
func (m *Model) CloseFeatures() error {
	if m.features == nil {
		return nil
	}
	return m.features.memory.Close()
}

// cut returns the network in two pieces, with the memory of features; nil without one.
func (m *Model) cut() (*frozen.Cut, error) {
	if m.features == nil {
		return nil, nil
	}
	cut, err := frozen.After(m.network(), m.features.at, m.Task.Inputs.Shape, m.Dtype())
	if err == nil {
		cut.Memory = m.features.memory
	}
	return cut, err
}

// FeaturePlan says what the features of some rows take.
type FeaturePlan struct {
	Shape   []int   // of the features of a row
	Before  string  // name of the first weights behind them
	Rows    int     // number of rows
	Missing int     // rows whose features have to be computed
	Seconds float64 // that this takes, by the number of operations and the speed of products of large matrices
	Bytes   int64   // of the features of all rows in memory
	Disk    int64   // bytes by which the file grows; 0 without a file
}

// PlanFeatures returns what the features of the rows of a set take. The model needs a file of features.
func (m *Model) PlanFeatures(set *data.Set, run gp.Run) (FeaturePlan, error) {
	cut, x, err := m.ahead(set)
	if err != nil {
		return FeaturePlan{}, err
	}
	return planFeatures(cut, x, run)
}

// ahead returns the cut, and the inputs of a set in the units of the network.
func (m *Model) ahead(set *data.Set) (*frozen.Cut, *tensor.Dense, error) {
	cut, err := m.cut()
	if err != nil {
		return nil, nil, err
	}
	if cut == nil {
		return nil, nil, settings.Errorf("a model without features, expected MakeFeatures or UseFeatures before")
	}
	x, err := m.Task.Inputs.Apply(set.X, m.Dtype())
	return cut, x, err
}

// planFeatures returns what the features of inputs in the units of the network take.
func planFeatures(cut *frozen.Cut, x *tensor.Dense, r gp.Run) (FeaturePlan, error) {
	n, row := x.Shape()[0], int64(cut.Width())*int64(x.Dtype().Size())
	p := FeaturePlan{Shape: slices.Clone(cut.Shape), Before: cut.First(), Rows: n, Missing: cut.Memory.Missing(cut, x), Bytes: int64(n) * row}
	cost, err := cut.Plan(p.Missing, r)
	p.Seconds = cost.Seconds
	if cut.Memory.Path() != "" {
		p.Disk = int64(p.Missing) * cut.Memory.RecordBytes()
	}
	return p, err
}

// ComputeFeatures computes the features of the rows of a set that the file of features does not have. If ctx ends first,
// the file keeps those that were computed.
func (m *Model) ComputeFeatures(ctx context.Context, set *data.Set, run gp.Run) (err error) {
	defer explain("features", &err)
	cut, x, err := m.ahead(set)
	if err != nil {
		return err
	}
	_, err = cut.Features(ctx, x, run)
	return err
}

// onFeatures returns the problem of the rest of the network with features for inputs, and the cut; p itself and nil for a
// model without features.
func (m *Model) onFeatures(ctx context.Context, p gp.Problem, o FitOptions) (gp.Problem, *frozen.Cut, error) {
	cut, err := m.cut()
	if cut == nil || err != nil {
		return p, nil, err
	}
	if o.OnFeatures != nil {
		plan, err := planFeatures(cut, p.Train.X, o.Run)
		if err != nil {
			return p, nil, err
		}
		o.OnFeatures(plan)
	}
	p, err = cut.Problem(ctx, p, o.Run)
	return p, cut, err
}

// leastFront is the number of operations of a front for a row from which on its outputs are kept for the time of a fit. For
// cheaper fronts that would save less than it costs.
const leastFront = 4e6

// keeping returns the model for a fit to the rows of a set. It keeps features in memory, until forget, where the settings say that the
// posterior stays the same, see costlyFront.
func (m *Model) keeping(s gp.Settings, set *data.Set, r gp.Run) (*Model, error) {
	local, ok := s.(gp.Local)
	if !ok || m.features != nil {
		return m, nil
	}
	uncertain, err := local.Uncertain(m.network())
	if err != nil || len(uncertain) == 0 {
		return m, nil // the fit explains the error
	}
	cut, err := m.costlyFront(uncertain, set.N(), r)
	if err != nil || cut == nil || m.Task.CheckSet(set) != nil {
		return m, err // the fit explains what is wrong with the set
	}
	return m.remembering(cut, nil), nil
}

// costlyFront returns the cut before uncertain weights, and nil unless the layers before them take most of the operations and the
// features of n rows, twice, take a quarter of the memory of a fit at most.
func (m *Model) costlyFront(uncertain []*graph.Param, n int, r gp.Run) (*frozen.Cut, error) {
	cut, err := frozen.Before(m.network(), m.Task.Inputs.Shape, m.Dtype(), uncertain)
	if err != nil || cut == nil {
		return nil, err
	}
	front, rest, err := cut.Flops()
	if bytes := 2 * int64(n) * int64(cut.Width()) * int64(m.Dtype().Size()); err != nil || front < max(leastFront, rest) || bytes > r.Limit()/4 {
		return nil, err
	}
	return cut, nil
}

// remembering returns the model with features in memory, see features.chosen.
func (m *Model) remembering(cut *frozen.Cut, chosen *gp.Estimate) *Model {
	own := m.copied()
	own.features = &features{cut.Place(), frozen.InMemory(cut), chosen}
	return own
}

// forget ends the memory of features without a file, of the model of a fit and of its result, which may be nil.
func (m *Model) forget(fitted *Model) {
	if m.features == nil || m.features.memory.Path() != "" {
		return
	}
	m.CloseFeatures() // which has no file
	if fitted != nil {
		fitted.features = nil
	}
}

// abridged returns the model for a fit to p. It keeps features in memory, until forget, where the settings choose the last layer because
// all weights would take too much.
func (m *Model) abridged(ctx context.Context, s gp.Settings, p gp.Problem, r gp.Run) (*Model, error) {
	short, ok := s.(gp.Abridged)
	if !ok || m.features != nil {
		return m, nil
	}
	rows := p.Train.N()
	if p.Validation != nil {
		rows += p.Validation.N()
	}
	cut, err := m.costlyFront(layers.LastLayer(m.network()), rows, r)
	if err != nil || cut == nil {
		return m, err
	}
	if alone, e := short.LastLayerAlone(ctx, p, r); alone {
		return m.remembering(cut, &e), nil
	}
	return m, nil
}

// featureNote says what a fit has read.
func featureNote(cut *frozen.Cut) string {
	return fmt.Sprintf("The fit has read features of shape %v, the inputs of %s: the weights before are certain.", cut.Shape, cut.First())
}
