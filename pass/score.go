package pass

import (
	"context"
	"io"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/listing"
)

// scoreOptions say how score writes.
type scoreOptions struct {
	level float64   // probability of the intervals, or of the sets of classes
	link  task.Link // link of class probabilities
	names bool      // whether the names of the columns come first
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
	n := int64(0)
	err = listing.Batches(ctx, rows, func(_ int, set *data.Set) error {
		p, err := m.Predict(ctx, set.X, valla.PredictOptions{Link: o.link, First: int(n)})
		if err != nil {
			return err
		}
		n += int64(p.N())
		list, err := listing.Of(p, o.level, listing.IDs(rows)...)
		if err != nil {
			return err
		}
		return w.Rows(list)
	})
	return n, rows.Notes(), err
}

// names writes the names of the columns to w. The part need not have rows.
func names(ctx context.Context, m *valla.Model, rows *valla.Rows, o scoreOptions, w *listing.Writer) error {
	var none valla.Prediction
	if err := m.Fill(ctx, gp.Gaussian{}, valla.PredictOptions{Link: o.link}, &none); err != nil {
		return err
	}
	list, err := listing.Of(&none, o.level, listing.IDs(rows)...)
	if err != nil {
		return err
	}
	return w.Header(list)
}
