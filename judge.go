package valla

import (
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
)

const (
	// EnoughToSplit is how many rows held out there must be for half of them to be kept for
	// the verdict. The other half still chooses the prior standard deviation, one number, from
	// 500 rows; of fewer all are used to choose.
	EnoughToSplit = 1000
	// maxJudge bounds the rows of a verdict that are not given for it.
	maxJudge = 2000
)

// division is what a fit does with its rows.
type division struct {
	train *data.Set
	held  *data.Set // to validate with; nil: none
	judge *data.Set // of the verdict; nil: held or train, whichever there is
	fresh bool      // the network was not trained on held
}

// divide divides the rows of a set.
func (m *Model) divide(set *data.Set, o FitOptions) (division, error) {
	d := division{train: set, held: o.Held, judge: o.Judge, fresh: true}
	if o.Judge != nil {
		if err := m.Task.CheckSet(o.Judge); err != nil {
			return d, err
		}
	}
	if o.Held != nil {
		return d, m.Task.CheckSet(o.Held)
	}
	fraction := 0.1
	if o.Validation != nil {
		fraction = *o.Validation
	}
	var err error
	if d.train, d.held, err = Holdout(set, fraction, o.Seed); err != nil || d.held == nil {
		return d, err
	}
	d.fresh = m.heldOut(d.train.N(), d.held.N(), o.Seed)
	if n := d.held.N(); d.judge == nil && d.fresh && n >= EnoughToSplit {
		d.held, d.judge = Halves(d.held, o.Seed)
	}
	return d, nil
}

// heldOut says whether the network's training has held out the same rows.
func (m *Model) heldOut(train, held int, seed uint64) bool {
	for _, e := range m.History {
		if e.Action == ActionTrain {
			return e.Seed == seed && e.Rows == train && e.ValidationRows == held
		}
	}
	return false
}

// Halves divides rows at random into those to choose by, at least as many, and those to
// judge by.
func Halves(set *data.Set, seed uint64) (choose, judge *data.Set) {
	n := set.N()
	order := newRand(seed, judgeStream).Perm(n)
	return set.Rows(order[:(n+1)/2]), set.Rows(order[(n+1)/2:])
}

// jury returns the rows of the verdict, and whether they may have been used before by the
// network or by a fit with the given record.
func (d division) jury(r gp.Record) (rows *data.Set, seen bool) {
	switch {
	case d.judge != nil:
		return d.judge, false
	case d.held != nil:
		rows, seen = d.held, !d.fresh || !r.Untouched
	default:
		rows, seen = d.train, true
	}
	return rows.Rows(some(rows.N(), maxJudge)), seen
}
