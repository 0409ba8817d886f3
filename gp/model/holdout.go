package model

import "github.com/go-valla/valla/data"

// Holdout divides a set as [Train] and [Fit] do: a fraction of the rows, at most
// 10,000, drawn with seed, is held out for validation, which is nil for fraction 0.
func Holdout(set *data.Set, fraction float64, seed uint64) (train, validation *data.Set, err error) {
	s, err := divide(set, fraction, seed)
	return s.train, s.validation, err
}
