// Package holdout divides rows at random. It divides all rows into training rows and held-out rows, and
// held-out rows into rows that choose and rows that judge. The same seed always divides the rows of a set
// in the same way.
package holdout

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/settings"
)

// Streams of random numbers that one seed starts.
const (
	Splits  = iota // held-out rows
	Weights        // initial weights
	Judges         // rows that judge
	Samples        // functions of a posterior
)

// Rand returns the generator of a stream.
func Rand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

const (
	// Most is the largest number of held-out rows. It keeps the validation fast, which runs often.
	Most = 10_000
	// EnoughToSplit is the number of held-out rows from which on half the rows are kept for the verdict.
	// The other half, of at least 500 rows, chooses the prior standard deviation, which is one number. Fewer
	// held-out rows all choose.
	EnoughToSplit = 1000
	// MostJudges is the largest number of rows of a verdict for which no rows were given.
	MostJudges = 2000
)

// Split divides a set at random into training rows and held-out rows. The held-out rows are a fraction of
// all rows, from 0 to below 1, and at most [Most] rows. With the fraction 0 there are no held-out rows, and
// held is nil.
func Split(set *data.Set, fraction float64, seed uint64) (train, held *data.Set, err error) {
	if err := task.CheckRows(set); err != nil {
		return nil, nil, err
	}
	rows, out, err := Indices(set.N(), fraction, seed)
	if err != nil {
		return nil, nil, err
	}
	if out == nil {
		return set, nil, nil
	}
	return set.Rows(rows), set.Rows(out), nil
}

// Indices is [Split] for the indices of n rows.
func Indices(n int, fraction float64, seed uint64) (rows, held []int, err error) {
	if !(fraction >= 0 && fraction < 1) {
		return nil, nil, settings.Errorf("validation fraction %g, expected a number from 0 to below 1", fraction)
	}
	if fraction == 0 {
		return dense.Indices(n), nil, nil
	}
	rows, held = data.Split(n, min(fraction, Most/float64(n)), Rand(seed, Splits))
	if len(rows) == 0 || len(held) == 0 {
		return nil, nil, fmt.Errorf("a validation fraction of %g of %d rows leaves %d rows to train and %d to validate, expected some of each",
			fraction, n, len(rows), len(held))
	}
	return rows, held, nil
}

// Halves divides rows at random into rows that choose and rows that judge, both in the order of the set. If the number of rows is
// odd, there is one more row that chooses.
func Halves(set *data.Set, seed uint64) (choose, judge *data.Set) {
	order := HalvesOrder(set.N(), seed)
	return set.Rows(order[:(set.N()+1)/2]), set.Rows(order[(set.N()+1)/2:])
}

// HalvesOrder returns the numbers of the rows of both halves of n rows, those that choose first; each half is in ascending order.
func HalvesOrder(n int, seed uint64) []int {
	order := Rand(seed, Judges).Perm(n)
	slices.Sort(order[:(n+1)/2])
	slices.Sort(order[(n+1)/2:])
	return order
}

// Positions returns, for each row of the set held that [Split] makes of n rows, or with halves of the rows that
// [Halves] lets choose, its number among the n rows.
func Positions(n int, fraction float64, seed uint64, halves bool) ([]int, error) {
	_, held, err := Indices(n, fraction, seed)
	if err != nil || !halves {
		return held, err
	}
	order := HalvesOrder(len(held), seed)
	at := make([]int, (len(held)+1)/2)
	for i := range at {
		at[i] = held[order[i]]
	}
	return at, nil
}
