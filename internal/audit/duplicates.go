package audit

import (
	"fmt"

	"github.com/go-valla/valla/internal/dense"
)

const (
	leastCopies = 5     // fewer copies are no finding
	copyShare   = 0.005 // smaller shares of copies are no finding
	leastRun    = 10    // number of rows in a block of copies
	manyValues  = 0.5   // share of different values from which on a column is continuous
)

// duplicates finds rows that are there more than once: in a block, or anywhere if a column is continuous, so that equal
// rows do not come about by chance.
func (r *Rows) duplicates() Finding {
	first, before := map[uint64]int{}, make([]int, r.N())
	copies := 0
	for i := range before {
		h := dense.Mix(dense.Mix(1, of(r.X, i, r.N())), of(r.Y, i, r.N()))
		j, ok := first[h]
		if !ok {
			first[h], before[i] = i, -1
			continue
		}
		before[i] = j
		copies++
	}
	start, length := block(before)
	f := Finding{Kind: Duplicates, Remedy: "Remove the copies: standard errors and bounds count each copy as a row of its own."}
	switch {
	case length >= leastRun:
		f.Text = fmt.Sprintf("Rows %d to %d are copies of rows %d to %d; in all, %d rows of %d are copies.",
			start+1, start+length, before[start]+1, before[start]+length, copies, r.N())
		return f
	case copies >= leastCopies && float64(copies) >= copyShare*float64(r.N()) && r.continuous():
		f.Text = fmt.Sprintf("%d rows of %d are copies of other rows.", copies, r.N())
		return f
	}
	return Finding{}
}

// block returns the longest run of rows that are copies of a run of different rows.
func block(before []int) (start, length int) {
	for i := 0; i < len(before); {
		if before[i] < 0 {
			i++
			continue
		}
		n := 1
		for i+n < len(before) && before[i+n] == before[i]+n && before[i]+n < i {
			n++
		}
		if n > length {
			start, length = i, n
		}
		i += n
	}
	return start, length
}

// of returns the numbers of row i of v, which has n rows.
func of(v []float64, i, n int) []float64 {
	w := len(v) / n
	return v[i*w : (i+1)*w]
}

// continuous reports whether an input or a target has many values.
func (r *Rows) continuous() bool {
	for _, v := range [][]float64{r.X, r.Y} {
		w := len(v) / r.N()
		for j := range w {
			seen := map[float64]bool{}
			for i := j; i < len(v); i += w {
				seen[v[i]] = true
			}
			if float64(len(seen)) > manyValues*float64(r.N()) {
				return true
			}
		}
	}
	return false
}
