package valla

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// Combine returns an ensemble of the networks of models: a model without a posterior, whose network has these networks as
// members and whose output is the mean of their outputs. Its variance is the variance between members, beside the noise,
// whose variance is the mean over the models. [Model.Fit] fits a posterior to each member, by any method. The models
// must describe the same inputs and outputs, with the same scaling and element type; posteriors of the models do not
// count. The model has copies of the weights. A fit of the ensemble notes where two networks have equal weights.
func Combine(models ...*Model) (_ *Model, err error) {
	defer explain("combine", &err)
	if len(models) == 0 {
		return nil, fmt.Errorf("no models, expected one at least")
	}
	models = slices.Clone(models)
	for i, m := range models {
		models[i] = m.MAP()
	}
	first := models[0]
	out := &Model{Task: first.Task}
	var networks []layers.Layers
	for i, m := range models {
		if err := first.sameTask(m); err != nil {
			return nil, fmt.Errorf("model %d: %w", i+1, err)
		}
		list, err := m.Form.Structure()
		if err != nil {
			return nil, err
		}
		networks = append(networks, membersOf(list)...)
		out.History = append(out.History, m.History...)
	}
	out.Form = layers.SequentialForm{Input: first.Form.InputShape(), Layers: layers.Layers{layers.EnsembleLayer{Networks: networks}}}
	if out.Net, err = layers.Build(out.Form, first.Dtype(), holdout.Rand(0, holdout.Weights)); err != nil {
		return nil, err
	}
	out.copyWeights(models)
	out.Task.Outputs = meanNoise(models)
	return out, out.check()
}

// membersOf returns the layers of the members of an ensemble, or of the only network.
func membersOf(list layers.Layers) []layers.Layers {
	if len(list) == 1 {
		if e, ok := list[0].(layers.EnsembleLayer); ok {
			return e.Networks
		}
	}
	return []layers.Layers{list}
}

// sameTask returns an error unless a model has the inputs, the outputs and the element type of m.
func (m *Model) sameTask(of *Model) error {
	a, b := m.Task, of.Task
	switch {
	case m.Dtype() != of.Dtype():
		return fmt.Errorf("a network of %v, expected %v as model 1", of.Dtype(), m.Dtype())
	case a.Kind() != b.Kind() || !slices.Equal(a.Targets(), b.Targets()):
		return fmt.Errorf("%s of %q, expected %s of %q as model 1", b.Kind(), b.Targets(), a.Kind(), a.Targets())
	case a.Scale != nil || b.Scale != nil:
		return fmt.Errorf("a network that tells the noise of each row cannot be a member of an ensemble")
	case !reflect.DeepEqual(a.Inputs, b.Inputs):
		return fmt.Errorf("other inputs or another scaling of the inputs than model 1: train networks of different sizes on the same rows with the same seed, or one model with --networks")
	case !reflect.DeepEqual(withoutNoise(a.Outputs), withoutNoise(b.Outputs)):
		return fmt.Errorf("another scaling of the targets, other classes or another likelihood than model 1: train networks of different sizes on the same rows with the same seed, or one model with --networks")
	}
	return nil
}

// withoutNoise returns outputs without the noise of a network.
func withoutNoise(o task.Outputs) task.Outputs {
	if r, ok := o.(*task.Regression); ok {
		c := *r
		c.NoiseVariance, c.Noise = 0, nil
		return &c
	}
	return o
}

// copyWeights gives the members of an ensemble the weights of models.
func (m *Model) copyWeights(models []*Model) {
	var from []layers.Network
	for _, of := range models {
		if all := layers.Members(of.Net); all != nil {
			for _, n := range all {
				from = append(from, n)
			}
			continue
		}
		from = append(from, of.Net)
	}
	for k, n := range layers.Members(m.Net) {
		source := layers.Arrays(from[k])
		for i, p := range layers.Arrays(n) {
			p.Value = source[i].Value.Clone().(*tensor.Dense)
		}
	}
}

// twinNotes returns a note if two members of an ensemble have equal weights, as two equal trainings give them.
func (m *Model) twinNotes() []string {
	var weights []string
	for b, member := range layers.Members(m.Net) {
		own := "" // layers.Fingerprint has the names of arrays, too, which differ
		for _, p := range layers.Arrays(member) {
			own += train.Checksum(p.Value) + " "
		}
		if a := slices.Index(weights, own); a >= 0 {
			return []string{fmt.Sprintf("The networks %d and %d of the ensemble have equal weights, so that one network counts twice: the networks of one training with --networks differ, and so do networks of other sizes.", a+1, b+1)}
		}
		weights = append(weights, own)
	}
	return nil
}

// meanNoise returns the outputs of an ensemble of models, with the mean of their noise variances, for each
// target.
func meanNoise(models []*Model) task.Outputs {
	first, ok := models[0].Task.Outputs.(*task.Regression)
	if !ok {
		return models[0].Task.Outputs
	}
	out, share := *first, 1/float64(len(models))
	out.NoiseVariance, out.Noise = 0, slices.Clone(first.Noise)
	clear(out.Noise)
	for _, m := range models {
		r := m.Task.Outputs.(*task.Regression)
		out.NoiseVariance += share * r.NoiseVariance
		for t, v := range r.Noise {
			out.Noise[t] += share * v * v
		}
	}
	for t, v := range out.Noise {
		out.Noise[t] = math.Sqrt(v)
	}
	return &out
}
