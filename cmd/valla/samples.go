package main

import (
	"fmt"
	"slices"
	"strings"
)

// sampleColumns are the samples as columns: sample_1, or sample_1_NAME where a row has several
// values, NAME being a target or, for the probabilities of a class, p_CLASS.
func (r *predictions) sampleColumns() []column {
	if r.samples == nil {
		return nil
	}
	shape, names := r.samples.Shape(), r.targets
	size, width := shape[1]*shape[2], shape[2]
	if r.probs != nil {
		names = nil
		for _, c := range r.columns {
			if strings.HasPrefix(c.name, "p_") && c.texts == nil {
				names = append(names, c.name)
			}
		}
	}
	with := &predictions{rows: r.rows}
	for s := range shape[0] {
		for k := range width {
			name := fmt.Sprintf("sample_%d", s+1)
			if width > 1 {
				name += "_" + names[k]
			}
			with.add(name, r.samples.Float64s()[s*size:(s+1)*size], k, width)
		}
	}
	return with.columns
}

// sampleLists are the samples for --json: a list of N numbers for each function, or of lists where a
// row has several values.
func (r *predictions) sampleLists() (out [][]any) {
	shape := r.samples.Shape()
	for function := range slices.Chunk(r.samples.Float64s(), shape[1]*shape[2]) {
		var rows []any
		for row := range slices.Chunk(function, shape[2]) {
			if rows = append(rows, row); len(row) == 1 {
				rows[len(rows)-1] = row[0]
			}
		}
		out = append(out, rows)
	}
	return out
}
