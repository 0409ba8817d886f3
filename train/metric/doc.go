// Package metric measures the quality of predictions: Gaussian predictions of a regression,
// class probabilities of a classification, and scores that should distinguish two kinds of
// inputs.
//
// [Regression] and [Classification] are accumulators. Their zero values are ready to use.
// Predictions are added in batches, whose sizes do not change the result. If a batch has a
// value that cannot be right (NaN, a variance that is not positive, probabilities that do not
// sum to one), the whole batch is refused with an error that names the row.
package metric

import "errors"

// ErrInput is wrapped by every error about a value that cannot be right.
var ErrInput = errors.New("invalid input")

// ErrEmpty is returned if scores are asked for before anything was added.
var ErrEmpty = errors.New("metric: nothing was added")
