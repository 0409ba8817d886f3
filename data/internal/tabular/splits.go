package tabular

import (
	"errors"
	"fmt"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
)

// splits is a data set for regression in three parts, and the standardisers of its inputs
// and targets. The parts lie in one piece of memory, one after the other.
type splits struct {
	Train, Validation, Test *data.Set          // the parts, in this order
	Inputs                  *data.Standardizer // of X, fitted on Train
	Targets                 *data.Standardizer // of Y, fitted on Train

	done bool // says that the values are standardized
}

// inputJitter is a number that the code of the VaLLA paper (utils/dataset.py) adds to the
// standard deviations of the features, but not to the standard deviation of the target.
const inputJitter = 1e-6

// newSplits divides set, which may be float32 or float64, in its order. The first train
// examples are for training, the next validation examples for validation, and all others
// for testing. The parts share the memory of set. It is an error if a part has no example.
func newSplits(set *data.Set, train, validation int) (*splits, error) {
	if train < 1 || validation < 1 || set.N()-validation <= train {
		return nil, fmt.Errorf("splits of %d, %d and the other rows: expected at least one in each, found %d rows", train, validation, set.N())
	}
	s := &splits{
		Train:      slice(set, 0, train),
		Validation: slice(set, train, train+validation),
		Test:       slice(set, train+validation, set.N()),
	}
	var err error
	if s.Inputs, err = data.FitStandardizer(s.Train.X); err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	for j := range s.Inputs.Std {
		s.Inputs.Std[j] += inputJitter
	}
	if s.Targets, err = data.FitStandardizer(s.Train.Y); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	return s, nil
}

// standardize replaces, in place, the features of all parts and the targets of Train by
// (value-mean)/std, with the moments of Train. The targets of Validation and Test keep their
// units, because predictions are scored in these; s.Targets.Invert converts predictions to
// them. standardize must be called at most once.
func (s *splits) standardize() error {
	if s.done {
		return errors.New("splits: already standardized")
	}
	s.done = true
	for _, part := range []*data.Set{s.Train, s.Validation, s.Test} {
		if err := s.Inputs.ApplyInPlace(part.X); err != nil {
			return err
		}
	}
	return s.Targets.ApplyInPlace(s.Train.Y)
}

// slice returns the examples from to to-1 of s; the result shares the memory of s.
func slice(s *data.Set, from, to int) *data.Set {
	return &data.Set{Features: s.Features, Targets: s.Targets, X: dense.Rows(s.X, from, to), Y: dense.Rows(s.Y, from, to)}
}
