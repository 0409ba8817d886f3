package valla

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
)

// marksOf returns the marks of a set: the smallest of the hashes of its rows, ascending, mostMarks at most. Equal rows
// have equal hashes, so that the marks are a sample of the rows which finds them in another table (the bottom-k sketch of
// Broder 1997).
func marksOf(set *data.Set) []uint64 {
	const mostMarks = 128
	var all []uint64
	for first := 0; first < set.N(); first += 1024 {
		part := set.Rows(dense.UpTo(first, min(1024, set.N()-first)))
		all = append(all, rowHashes(part)...)
		slices.Sort(all)
		all = slices.Compact(all)
		all = all[:min(len(all), mostMarks)]
	}
	return all
}

// rowHashes returns a hash of 53 bits, which JSON holds, of the inputs and targets of each row.
func rowHashes(set *data.Set) []uint64 {
	x, y, out := graph.Floats(set.X), graph.Floats(set.Y), make([]uint64, set.N())
	for i := range out {
		d, t := len(x)/len(out), len(y)/len(out)
		h := dense.Mix(dense.Mix(1, x[i*d:(i+1)*d]), y[i*t:(i+1)*t])
		out[i] = (h * 0xbf58476d1ce4e5b9) >> 11
	}
	return out
}

// Seen finds out whether rows are the rows of a training, a fit or an update. It looks at a sample of the rows.
type Seen struct {
	marks [][]uint64 // of each event of the history that has some
	rows  []int      // rows so far that a mark would have, if they had been there
	found []int      // of these the rows that have one
}

// Seen returns a [Seen] for the rows to which the network was trained, and those to which the posterior was fitted.
func (m *Model) Seen() *Seen {
	s := &Seen{}
	for _, e := range m.History {
		if len(e.Marks) > 0 {
			s.marks, s.rows, s.found = append(s.marks, e.Marks), append(s.rows, 0), append(s.found, 0)
		}
	}
	return s
}

// Add counts rows, with their targets as the model reads them.
func (s *Seen) Add(set *data.Set) {
	if len(s.marks) == 0 {
		return
	}
	for _, h := range rowHashes(set) {
		for i, marks := range s.marks {
			if h > marks[len(marks)-1] {
				continue
			}
			s.rows[i]++
			if _, ok := slices.BinarySearch(marks, h); ok {
				s.found[i]++
			}
		}
	}
}

// Profile returns the distributions of the inputs [D] in the rows to which the network was trained or, where these are not
// known, to which the posterior was fitted. It is nil if the inputs are no columns, or more than 256, and where the file
// holds none that can be right.
func (m *Model) Profile() []data.ColumnProfile {
	for _, e := range m.History {
		bad := func(p data.ColumnProfile) bool { return p.Check() != nil }
		if e.Inputs != nil && len(e.Inputs) == len(m.Task.Inputs.Features) && !slices.ContainsFunc(e.Inputs, bad) {
			return e.Inputs
		}
	}
	return nil
}

// manySeen is the share of rows of the training from which on a note says so. Some rows of a new table may be equal to
// rows of the training by chance.
const manySeen = 0.1

// Notes returns a sentence about rows of the training or of the fit with a sentence on what follows, if there are many, and nothing otherwise.
func (s *Seen) Notes(then string) []string {
	share := s.Share()
	if share < manySeen {
		return nil
	}
	return []string{fmt.Sprintf("About %.0f %% of these rows are rows to which the network was trained or the posterior was fitted. %s", 100*share, then)}
}

// fewestSeen is the number of rows in the sample below which Share knows nothing.
const fewestSeen = 3

// Share returns which share of the rows are rows of the training or of the fit, approximately: 0 where the file of the
// model does not tell, or where there are too few rows. Rows that are equal by chance count, too.
func (s *Seen) Share() float64 {
	share := 0.0
	for i, n := range s.rows {
		if n >= fewestSeen {
			share = max(share, float64(s.found[i])/float64(n))
		}
	}
	return share
}
