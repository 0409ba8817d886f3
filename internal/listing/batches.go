package listing

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
)

// Batches calls f with each batch of rows and the number of its first row in the file, see [valla.Rows]. An error of f ends the
// reading, and Batches adds the path and the first row of the batch. If ctx ends first, Batches returns the
// error of ctx.
func Batches(ctx context.Context, rows *valla.Rows, f func(first int, set *data.Set) error) error {
	for {
		first := rows.First + rows.Read
		set, err := rows.Next(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		err = f(first, set)
		if err != nil && first > 0 {
			err = fmt.Errorf("rows from %d on: %w", first, err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", rows.Path, err)
		}
	}
}
