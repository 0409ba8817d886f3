package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/data"
)

// sampling has the flag of commands that may draw a sample from many rows.
type sampling struct {
	Sample int `set:"sample" auto:"all rows of one file" min:"1" help:"draw this number of rows at random from all rows of DATA, which may be several files and is read once, one file after the other"` // number of rows; 0 means all

	seen int // number of all rows; 0 without a sample
}

// tables checks the arguments: one file, or several files if a sample is drawn.
func (s *sampling) tables(cmd *cobra.Command, args []string) error {
	if s.Sample > 0 && len(args) > 0 {
		return nil
	}
	return oneTable(cmd, args)
}

// more returns how many rows a set stands for beside its own, where it has what is left of the rows of the sample.
func (s *sampling) more(set *data.Set) int {
	kept := s.kept()
	if kept == 0 {
		return 0
	}
	return int(float64(s.seen-kept) * float64(set.N()) / float64(kept))
}

// kept is the number of rows of the sample.
func (s *sampling) kept() int { return min(s.seen, s.Sample) }

// openFile is an open file whose rows can be read at once, as a [data.Table] or as a [data.Set].
type openFile[T any] interface {
	All(limit int64) (T, error)
	Draw(ctx context.Context, d data.Draw) (T, int, error)
}

// take returns all rows of an open file, or the sample of its rows and of the rows of other files. Rows that need
// more than limit bytes are an error; a limit of 0 stands for the available memory.
func take[T any](cmd *cobra.Command, s *sampling, seed uint64, from openFile[T], rest []string, limit memory) (T, error) {
	if s == nil || s.Sample == 0 {
		return from.All(int64(limit))
	}
	files := len(rest) + 1
	d := newDrawer(cmd.ErrOrStderr(), false)
	out, seen, err := from.Draw(cmd.Context(), data.Draw{Rest: rest, Rows: s.Sample, Seed: seed, Limit: int64(limit), Tell: func(done, rows int) {
		d.show(progress{label: "sample", done: int64(done), total: int64(files), unit: "files", text: fmt.Sprintf("%d rows", rows)})
	}})
	d.close()
	if s.seen = seen; err == nil {
		printNotes(cmd, []string{fmt.Sprintf("%d of %d rows were drawn at random from %d files.", s.kept(), seen, files)})
	}
	return out, err
}
