package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/listing"
)

// sampleColumns are the samples as columns: sample_1, or sample_1_NAME where a row has several
// values, NAME being a target or, for the probabilities of a class, p_CLASS.
func sampleColumns(r *listing.Predictions) []listing.Column {
	if r.Samples == nil {
		return nil
	}
	shape, names := r.Samples.Shape(), r.Targets
	size, width := shape[1]*shape[2], shape[2]
	if r.Probs != nil {
		names = nil
		for _, c := range r.Columns {
			if strings.HasPrefix(c.Name, "p_") && c.Texts == nil {
				names = append(names, c.Name)
			}
		}
	}
	with := &listing.Predictions{Rows: r.Rows}
	for s := range shape[0] {
		for k := range width {
			name := fmt.Sprintf("sample_%d", s+1)
			if width > 1 {
				name += "_" + names[k]
			}
			with.Add(name, r.Samples.Float64s()[s*size:(s+1)*size], k, width)
		}
	}
	return with.Columns
}

// sampleLists are the samples for --json: a list of N numbers for each function, or of lists where a
// row has several values.
func sampleLists(r *listing.Predictions) (out [][]any) {
	shape := r.Samples.Shape()
	for function := range slices.Chunk(r.Samples.Float64s(), shape[1]*shape[2]) {
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
