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
}

const (
	driftRows  = 20_000 // rows after which all counts are halved
	driftEvery = 200    // rows between two reports
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
	return out
}
