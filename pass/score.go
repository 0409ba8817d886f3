package pass

import (
	"context"
	"io"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/listing"
)

// scoreOptions say how score writes.
type scoreOptions struct {
	Options      // level, link and quantiles
	names   bool // whether the names of the columns come first
}

// score writes the predictions for the rows of a part as comma-separated text, one line for each
// row, as valla predict does. It returns the number of rows, and notes on the rows. The line of a
// row depends on the row and the model alone. Several goroutines must not use m at once.
func score(ctx context.Context, m *valla.Model, r data.TableReader, part data.Part, o scoreOptions, to io.Writer) (int64, []string, error) {
	rows, err := m.Open(r, part, false)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	w := listing.NewWriter(to)
	if o.names {
		if err := names(ctx, m, rows, o, w); err != nil {
			return 0, nil, err
		}
	}
	n, medians := int64(0), 0
	err = listing.Batches(ctx, rows, func(first int, set *data.Set) error {
		p, err := m.Predict(ctx, set.X, valla.PredictOptions{Link: o.Link, First: first})
		if err != nil {
			return err
		}
		n, medians = n+int64(p.N()), medians+p.Medians()
		list, err := o.list(ctx, p, rows)
		if err != nil {
			return err
		}
		return w.Rows(list)
	})
	notes := rows.Notes()
	if medians > 0 {
		notes = append(notes, listing.MedianNote("some")) // without a number the notes of all parts are one
	}
	return n, notes, err
}

// list returns the columns of the predictions p for the last batch of rows.
func (o scoreOptions) list(ctx context.Context, p *valla.Prediction, rows *valla.Rows) (*listing.Predictions, error) {
	return listing.Of(ctx, p, listing.Options{Level: o.Level, Quantiles: o.Quantiles, Above: o.Above}, listing.IDs(rows)...)
}

// names writes the names of the columns to w. The part need not have rows.
func names(ctx context.Context, m *valla.Model, rows *valla.Rows, o scoreOptions, w *listing.Writer) error {
	var none valla.Prediction
	if err := m.Fill(ctx, gp.Gaussian{}, valla.PredictOptions{Link: o.Link}, &none); err != nil {
		return err
	}
	list, err := o.list(ctx, &none, rows)
	if err != nil {
		return err
	}
	return w.Header(list)
}
