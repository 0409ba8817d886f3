package pass

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/listing"
)

// ScoreOptions say how [Score] writes.
type ScoreOptions struct {
	Level float64 // the probability of the intervals, or of the sets of classes
	Link  task.Link
	Names bool // the names of the columns come first
}

// Score writes the predictions for the rows of a part as comma-separated text, a line for each,
// as valla predict does, and returns the number of rows and notes on them. What it writes for a
// row depends on the row and the model alone. Several goroutines must not use m at once.
func Score(ctx context.Context, m *valla.Model, r data.TableReader, part data.Part, o ScoreOptions, to io.Writer) (int64, []string, error) {
	rows, err := m.OpenPart(r, part, false)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	w := listing.NewWriter(to)
	if o.Names {
		if err := names(ctx, m, rows, o, w); err != nil {
			return 0, nil, err
		}
	}
	n := int64(0)
	err = batches(ctx, rows, func(set *data.Set) error {
		p, err := m.Predict(ctx, set.X, valla.PredictOptions{Link: o.Link, First: int(n)})
		if err != nil {
			return err
		}
		n += int64(p.N())
		list, err := listing.Of(p, o.Level, listing.IDs(rows)...)
		if err != nil {
			return err
		}
		return w.Rows(list)
	})
	return n, rows.Notes(), err
}

// names writes the names of the columns, also where a part has no rows.
func names(ctx context.Context, m *valla.Model, rows *valla.Rows, o ScoreOptions, w *listing.Writer) error {
	var none valla.Prediction
	if err := m.Fill(ctx, gp.Gaussian{}, valla.PredictOptions{Link: o.Link}, &none); err != nil {
		return err
	}
	list, err := listing.Of(&none, o.Level, listing.IDs(rows)...)
	if err != nil {
		return err
	}
	return w.Header(list)
}

// batches calls f with the rows, batch by batch.
func batches(ctx context.Context, rows *valla.Rows, f func(*data.Set) error) error {
	for {
		first := rows.Read
		set, err := rows.Next(rows.Batch())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := f(set); err != nil {
			return fmt.Errorf("%s: rows from %d on: %w", rows.Path(), first, err)
		}
	}
}
