// Package model is the finished product: a network with its weights, the scaling of
// its inputs and target, its noise and, once fitted, a posterior of any method, kept in
// one file.
//
//	m, _, err := model.Train(ctx, model.TrainDefaults(), set)  // the MAP network
//	m, _, err = model.Fit(ctx, m, set, model.FitDefaults())    // its error bars, VaLLA's
//	m, err = model.FitLLA(ctx, m, set, model.LLADefaults())    // or those of the LLA family
//	err = m.Save("house.valla")
//	…
//	m, err = model.Load("house.valla")
//	p, err := m.Predict(ctx, x)                                 // in the target's units
//
// The network works in standardised units, in which each input column and the
// target have mean 0 and standard deviation 1 over the training rows. Everything
// that goes in and out of a [Model] is in the units of the data.
//
// Where the target's column holds classes ([TrainOptions.Classes]) the network's outputs
// are logits, there is no noise, and [Model.PredictProbs] and [Model.EvaluateClasses]
// take the places of Predict and Evaluate.
package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/layers"
)

var (
	// ErrFingerprint is wrapped where a posterior is put on weights other than
	// those that it was fitted on.
	ErrFingerprint = errors.New("the posterior was fitted on other weights")
	// ErrFormat is wrapped by errors about a file that is damaged, incomplete or no
	// model at all.
	ErrFormat = errors.New("damaged or no model")
	// ErrOption is wrapped by errors about options that make no sense.
	ErrOption = errors.New("bad option")
)

// Model predicts one number y, or its class, from D named numbers x.
type Model struct {
	Network  layers.MLP        // the architecture
	Net      layers.Sequential // of that form, with the MAP weights
	Features []string          // D names, in the order of the network's inputs
	Target   string
	Classes  []float64 // the values that y has, ascending, by output; nil for a regression

	Inputs  *data.Standardizer // of D columns
	Targets *data.Standardizer // of one column; nil with classes

	// MAPNoise is the variance of y around the network, in standardised units,
	// where nothing else is uncertain; Noise the one beside the posterior. They
	// are equal where there is none, and 0 with classes.
	MAPNoise, Noise float64

	Posterior Posterior // nil for the MAP network alone
	Training  []Run     // how the model came about, the oldest first
}

// Dtype returns the element type of the weights and the posterior.
func (m *Model) Dtype() tensor.Dtype { return m.Net.Params()[0].Value.Dtype() }

// Fingerprint identifies the weights, see [layers.Fingerprint].
func (m *Model) Fingerprint() string { return layers.Fingerprint(m.Net) }

// MAP returns the model without its posterior; it shares the weights.
func (m *Model) MAP() *Model {
	c := *m
	c.Posterior, c.Noise = nil, m.MAPNoise
	c.Training = slices.DeleteFunc(slices.Clone(m.Training), func(r Run) bool { return r.fitted() })
	return &c
}

// check returns what is wrong with the parts of a model beside its arrays.
func (m *Model) check() error {
	d := m.Network.Inputs
	switch {
	case m.Network.Outputs != max(1, len(m.Classes)):
		return fmt.Errorf("the network has %d outputs, expected %d", m.Network.Outputs, max(1, len(m.Classes)))
	case len(m.Features) != d:
		return fmt.Errorf("%d names of features for a network of %d inputs", len(m.Features), d)
	case slices.Contains(m.Features, m.Target):
		return fmt.Errorf("%q is both a feature and the target", m.Target)
	}
	if err := checkScaler("inputs", m.Inputs, d); err != nil {
		return err
	}
	if m.Classes != nil {
		return m.checkClasses()
	}
	if !positive(m.MAPNoise) || !positive(m.Noise) {
		return fmt.Errorf("noise variances %g and %g, expected positive numbers", m.MAPNoise, m.Noise)
	}
	return checkScaler("targets", m.Targets, 1)
}

// checkScaler makes sure that s is there and fits d columns.
func checkScaler(what string, s *data.Standardizer, d int) error {
	if s == nil || len(s.Mean) != d || len(s.Std) != d {
		return fmt.Errorf("%s: expected mean and standard deviation of %d columns", what, d)
	}
	for i := range d {
		if !finite(s.Mean[i]) || !positive(s.Std[i]) {
			return fmt.Errorf("%s: column %d: mean %g, standard deviation %g, expected finite values and a positive deviation",
				what, i, s.Mean[i], s.Std[i])
		}
	}
	return nil
}

// identity is the standardizer of d columns that changes nothing.
func identity(d int) *data.Standardizer {
	return &data.Standardizer{Mean: make([]float64, d), Std: slices.Repeat([]float64{1}, d)}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func positive(v float64) bool { return v > 0 && finite(v) }
