package data

import (
	"errors"
	"fmt"

	"gorgonia.org/tensor"
)

// Splits is a data set for regression in three parts, and the standardisers of its inputs
// and targets. The parts lie in one piece of memory, one after the other.
type Splits struct {
	Train, Validation, Test *Set
	Inputs                  *Standardizer // of X, fitted on Train
	Targets                 *Standardizer // of Y, fitted on Train

	done bool
}

// inputJitter is a number that the code of the VaLLA paper (utils/dataset.py) adds to the
// standard deviations of the features, but not to that of the target.
const inputJitter = 1e-6

// NewSplits divides set, which may be float32 or float64, in its order. The first train
// examples are for training, the next validation examples for validation, and all others
// for testing. The parts share the memory of set. It is an error if a part has no example.
func NewSplits(set *Set, train, validation int) (*Splits, error) {
	if train < 1 || validation < 1 || set.N()-validation <= train {
		return nil, fmt.Errorf("splits of %d, %d and the other rows: expected at least one in each, found %d rows", train, validation, set.N())
	}
	s := &Splits{
		Train:      set.slice(0, train),
		Validation: set.slice(train, train+validation),
		Test:       set.slice(train+validation, set.N()),
	}
	var err error
	if s.Inputs, err = FitStandardizer(s.Train.X); err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	for j := range s.Inputs.Std {
		s.Inputs.Std[j] += inputJitter
	}
	if s.Targets, err = FitStandardizer(s.Train.Y); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	return s, nil
}

// Standardize replaces, in place, the features of all parts and the targets of Train by
// (value-mean)/std, with the moments of Train. The targets of Validation and Test keep their
// units, because predictions are scored in these; s.Targets.Invert converts predictions to
// them. Standardize must be called at most once.
func (s *Splits) Standardize() error {
	if s.done {
		return errors.New("splits: already standardized")
	}
	s.done = true
	for _, part := range []*Set{s.Train, s.Validation, s.Test} {
		if err := s.Inputs.ApplyInPlace(part.X); err != nil {
			return err
		}
	}
	return s.Targets.ApplyInPlace(s.Train.Y)
}

// slice returns the examples from to to-1; they share memory with s.
func (s *Set) slice(from, to int) *Set {
	return &Set{Features: s.Features, Targets: s.Targets, X: sliceRows(s.X, from, to), Y: sliceRows(s.Y, from, to)}
}

// sliceRows returns rows of a contiguous t [N,D] as a tensor that shares their memory. For
// Gorgonia it is no view: views take slow general code.
func sliceRows(t *tensor.Dense, from, to int) *tensor.Dense {
	d := t.Shape()[1]
	var backing any
	if t.Dtype() == tensor.Float32 {
		backing = t.Float32s()[from*d : to*d : to*d]
	} else {
		backing = t.Float64s()[from*d : to*d : to*d]
	}
	return tensor.New(tensor.WithShape(to-from, d), tensor.WithBacking(backing))
}
