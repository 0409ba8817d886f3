package valla

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ensemble"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// trainSeveral trains an ensemble, see [Train].
func trainSeveral(ctx context.Context, set *data.Set, o TrainOptions) (*Model, error) {
	n := o.Training.Networks
	o.Training.Networks = 0
	if o.NoiseHead != "" {
		return nil, fmt.Errorf("train: %w", settings.Errorf("%d networks with a noise head: a network that tells the noise of each row cannot be a member of an ensemble", n))
	}
	var all []*Model
	var runErr error
	var first *search // of the number of steps and the weight decay
	for k := range n {
		t, err := newTraining(set, o.of(k, n))
		if err == nil {
			err = ensemble.Check(t.model.Task.Likelihood())
		}
		if err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
		m, err := t.result(ctx)
		if err != nil && (m == nil || ctx.Err() == nil) {
			return nil, err
		}
		if runErr = err; err != nil {
			break
		}
		all, o.Training = append(all, m), t.o.Training
		first = cmp.Or(first, t.search)
	}
	if first != nil && runErr == nil {
		first.removeCheckpoints()
	}
	if len(all) == 0 {
		return nil, runErr
	}
	out, err := Combine(all...)
	if err != nil {
		return nil, err
	}
	out.Task.Outputs = all[0].Task.Outputs // the rows that choose have raised the noise of the first network alone
	return out, runErr
}

// Several trains an ensemble of n networks on the table on which the network of m was trained, in the way that its history
// tells and with the same rows held out, see [Train]. It is the deep ensemble that one could have in place of a posterior. With
// n = 0 there are as many networks as m has: it is m without its posterior as it would be with the rows of another set.
// A network from elsewhere, and targets with an observation model of their own, are an error.
func (m *Model) Several(ctx context.Context, set *data.Set, n int, report func(train.Progress)) (_ *Model, err error) {
	defer explain("train several networks", &err)
	o, err := m.Trained()
	if err != nil {
		return nil, err
	}
	o.Training.Networks, o.OnProgress = cmp.Or(n, o.Training.Networks), report
	return Train(ctx, set, o)
}

// Trained returns the options with which [Train] makes the network of m again, in the way that its history tells. Steps and a
// weight decay that rows have chosen are the chosen ones; where the caller adds a NoiseHead they are chosen anew. Of an ensemble
// they are the options of each network, and Training.Networks is their number.
// A network from elsewhere, targets with an observation model of their own, and an ensemble of networks that no training has in
// common are an error.
func (m *Model) Trained() (o TrainOptions, err error) {
	m = m.MAP()
	form, networks, err := m.member()
	if err != nil {
		return o, err
	}
	if o, err = m.training(); err != nil {
		return o, err
	}
	if !m.Task.Classifies() && !m.Task.Gaussian() {
		return o, fmt.Errorf("the likelihood %v has parameters that each network would learn by itself", m.Task.Likelihood())
	}
	e := m.History[0]
	o.Seed, o.Classes, o.TargetTransform = e.Seed, m.Task.Classifies(), m.transform()
	o.Network.Own, o.Training.Networks = form, networks
	o.chosen = slices.ContainsFunc(e.Facts, func(f gp.Fact) bool { return f.Name == chosenDecay })
	if m.Task.Scale != nil {
		o.NoiseHead, o.by = m.Task.Scale.Of, noiseHead
	}
	return o, nil
}

// training returns the settings of the training of the network, without those of its form. The networks of an ensemble have them
// in common.
func (m *Model) training() (o TrainOptions, err error) {
	if len(m.History) == 0 || slices.ContainsFunc(m.History, func(e Event) bool { return e.Action != ActionTrain }) {
		return o, fmt.Errorf("the history does not tell how the network was trained")
	}
	for i, e := range m.History {
		own, err := e.training()
		if err != nil {
			return o, err
		}
		if i > 0 && !reflect.DeepEqual(own, o) {
			return o, fmt.Errorf("the networks of the ensemble were trained in different ways, expected one")
		}
		o = own
	}
	return o, nil
}

// training returns the settings of a training, without those of the form and the number of networks.
func (e Event) training() (o TrainOptions, err error) {
	given, err := json.Marshal(e.Settings)
	if err != nil {
		return o, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(given, &all); err != nil {
		return o, err
	}
	of := func(ptr any, names ...string) error {
		some := maps.Clone(all)
		maps.DeleteFunc(some, func(name string, _ json.RawMessage) bool { return !slices.Contains(names, name) })
		return settings.Assign(ptr, some)
	}
	err = cmp.Or(of(&o.Training, settings.Names(&o.Training)...), of(&o.Network, "dtype", "mean", "std"))
	o.Training.Networks = 0
	return o, err
}

// member returns the form of each network of m, and their number.
func (m *Model) member() (layers.Form, int, error) {
	f, ok := m.Form.(layers.SequentialForm)
	if !ok || layers.Members(m.Net) == nil {
		return m.Form, 1, nil
	}
	var first []byte
	all := membersOf(f.Layers)
	for k, list := range all {
		text, err := layers.MarshalForm(layers.SequentialForm{Input: f.Input, Layers: list})
		switch {
		case err != nil:
			return nil, 0, err
		case k == 0:
			first = text
		case !bytes.Equal(text, first):
			return nil, 0, fmt.Errorf("the networks of the ensemble have different forms, expected one")
		}
	}
	return layers.SequentialForm{Input: f.Input, Layers: all[0]}, len(all), nil
}

// of returns the options of network k of n, counting from 0. It has the checkpoint path.k+1.
func (o TrainOptions) of(k, n int) TrainOptions {
	o.member, o.more = uint64(k), k < n-1
	if o.Checkpoint != "" {
		o.Checkpoint = fmt.Sprintf("%s.%d", o.Checkpoint, k+1)
	}
	if report := o.OnProgress; report != nil {
		o.OnProgress = func(q train.Progress) {
			q.Done, q.Total = k*q.Total+q.Done, n*q.Total
			report(q)
		}
	}
	return o
}
