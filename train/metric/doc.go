// Package metric measures predictions: Gaussian ones of a regression, class
// probabilities of a classification, and scores that should tell two kinds of
// input apart.
//
// [Regression] and [Classification] are accumulators. Their zero values are
// ready to use, predictions are added batch by batch in any split, and the
// split does not change the result. A batch with a value that cannot be right
// (NaN, a variance that is not positive, probabilities that do not sum to one)
// is refused whole, with an error that names the row.
package metric

import "errors"

// ErrInput is wrapped by every error about a value that cannot be right.
var ErrInput = errors.New("invalid input")

// ErrEmpty is returned where a metric is asked for before anything was added.
var ErrEmpty = errors.New("metric: nothing was added")
