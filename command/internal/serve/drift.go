package serve

import (
	"sync"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/audit"
)

// drift counts the inputs of predicted rows in the bins of the training.
type drift struct {
	mu     sync.Mutex
	train  []data.ColumnProfile // inputs of the training [D]
	counts [][]float64          // rows by bin [D][bins]
	rows   float64              // rows, of which old ones count less
	since  int                  // rows since the last report
	last   []float64            // the last report [D]; nil: none yet
}

const (
	driftRows  = 20_000 // rows after which all counts are halved
	driftEvery = 200    // rows between two reports
	firstRows  = 1000   // first predicted rows, with which later predictions are compared
)

// newDrift returns counts for the inputs of a training; nil if these are not known.
func newDrift(train []data.ColumnProfile) *drift {
	if train == nil {
		return nil
	}
	d := &drift{train: train}
	for _, p := range train {
		d.counts = append(d.counts, make([]float64, len(p.Shares)))
	}
	return d
}

// add counts rows of inputs [n·D]. From time to time it returns the population stability indices of all inputs; nil otherwise.
func (d *drift) add(x []float64) []float64 {
	if d == nil || len(x)%len(d.train) != 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, v := range x {
		j := i % len(d.train)
		d.counts[j][d.train[j].Bin(v)]++
	}
	n := len(x) / len(d.train)
	d.rows, d.since = d.rows+float64(n), d.since+n
	if d.since < driftEvery {
		return nil
	}
	d.since = 0
	out := make([]float64, len(d.train))
	for j, p := range d.train {
		shares := make([]float64, len(p.Shares))
		for k, c := range d.counts[j] {
			shares[k] = c / d.rows
		}
		out[j] = audit.PSI(p.Shares, shares)
	}
	if d.rows > driftRows {
		d.rows /= 2
		for _, list := range d.counts {
			for k := range list {
				list[k] /= 2
			}
		}
	}
	d.last = out
	return out
}

// report returns the last population stability indices [D]; nil if there are none yet.
func (d *drift) report() []float64 {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// familiarity is the distribution of the field Unfamiliar of predictions for the training rows: even from 0 to 1. It is nil if a model with
// these quantiles of spreads has no such field, or if more than 5 % of the training rows have the same spread, so that it is not even.
func familiarity(spreads []float64) []data.ColumnProfile {
	for i := range spreads {
		if same := i + len(spreads)/20; same < len(spreads) && spreads[i] == spreads[same] {
			return nil
		}
	}
	if len(spreads) == 0 {
		return nil
	}
	const bins = 10
	p := data.ColumnProfile{Name: "unfamiliar"}
	for k := range bins {
		if p.Shares = append(p.Shares, 1.0/bins); k > 0 {
			p.Edges = append(p.Edges, float64(k)/bins)
		}
	}
	return []data.ColumnProfile{p}
}

// outputDrift compares predictions with the first ones.
type outputDrift struct {
	mu    sync.Mutex
	first []float64 // predictions of the first rows [n·T]; nil: they are in later
	later *drift    // compares later predictions; nil: too few rows so far
}

// add counts predictions [n·T] of a number of targets. From time to time it returns the population stability index of each target; nil otherwise.
func (o *outputDrift) add(v []float64, targets int) []float64 {
	if o == nil || targets == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.later != nil {
		return o.later.add(v)
	}
	if o.first = append(o.first, v...); len(o.first) < firstRows*targets {
		return nil
	}
	first := make([]data.ColumnProfile, targets)
	for j := range first {
		var column []float64
		for i := j; i < len(o.first); i += targets {
			column = append(column, o.first[i])
		}
		first[j] = data.ProfileOf("", column)
	}
	o.first, o.later = nil, newDrift(first)
	return nil
}

// report returns the last population stability indices [T]; nil if there are none yet.
func (o *outputDrift) report() []float64 {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.later.report()
}
