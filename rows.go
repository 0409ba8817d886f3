package valla

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// Rows are the rows of a file as examples for a model, batch by batch, so that memory does not
// grow with the file. Columns that the model does not use are never parsed.
type Rows struct {
	Path  string     // path of the file, as messages name it
	About int64      // number of rows in all, approximately; 0 if it is not known
	ID    []string   // columns of the file that name the rows, see [data.Encoding]; the paths of images of a folder
	IDs   [][]string // cells of these columns in the last batch, for each column
	First int        // number of the first row in the file, of which the rows are a part; see [data.Stream]
	Read  int        // number of rows read so far

	m        *Model         // reads the columns that it needs
	stream   *data.Stream   // the file
	features []int          // columns of the features in a batch
	targets  []int          // columns of the targets in a batch; nil if they are not wanted
	lacking  map[string]int // number of missing values that have no precedent in the training rows, by column
	left     int            // number of rows left out
	notes    []string       // of the batches
}

// Open opens a part of a file, which r reads, for predictions or, with targets, for scores. A part that has
// a path alone is the whole file. The rows must be closed.
func (m *Model) Open(r data.TableReader, part data.Part, targets bool) (*Rows, error) {
	r.Names, r.Image = m.Task.Inputs.Columns(), m.Task.Inputs.Shape
	r.Arrays, _ = InputNames(m.Form)
	r.Paddings = m.Task.Inputs.Paddings
	s, err := r.OpenPart(part)
	if err != nil {
		return nil, err
	}
	rows := &Rows{Path: s.Path, About: s.Rows, First: s.First, m: m, stream: s, lacking: map[string]int{}}
	if err := rows.choose(targets); err != nil {
		s.Close()
		return nil, err
	}
	return rows, nil
}

// choose makes the stream read the columns that are wanted.
func (r *Rows) choose(targets bool) error {
	s := r.stream
	f, err := r.m.find(s.Path, s.Columns, s.Images)
	if err == nil && targets {
		err = f.need()
	}
	if err != nil {
		return err
	}
	use := slices.Clone(f.features)
	r.features = dense.Indices(len(use))
	if targets {
		r.targets = dense.UpTo(len(use), len(f.targets))
		use = append(use, f.targets...)
	}
	var names []string
	if e := r.m.Task.Inputs.Encoding; e != nil {
		names = e.ID
	} else if s.Name != "" {
		names = []string{s.Name}
	}
	var ids []int
	for _, name := range names {
		if i := slices.Index(s.Columns, name); i >= 0 && !targets {
			r.ID, ids = append(r.ID, name), append(ids, i)
		}
	}
	s.Use(append(use, ids...), ids)
	return nil
}

// Next returns at most n examples, or [io.EOF] at the end. With n = 0, Next chooses a number of rows that takes
// little memory and wastes little time. Without targets, Y is nil.
func (r *Rows) Next(n int) (*data.Set, error) {
	n = cmp.Or(n, min(mostBatch, max(leastBatch, batchCells/tensor.Shape(r.m.Task.Inputs.Shape).TotalSize())))
	for {
		t, err := r.stream.Next(n)
		if err != nil {
			return nil, err
		}
		r.Read += t.N()
		if set, err := r.set(t); !errors.Is(err, data.ErrIncomplete) {
			return set, err
		}
	}
}

const (
	batchCells            = 4_000_000   // most numbers in the inputs of a batch whose size Next chooses
	leastBatch, mostBatch = 100, 10_000 // bounds of the number of its rows
)

// All returns all examples. Where limit is positive, a table that needs more bytes is an error.
func (r *Rows) All(limit int64) (*data.Set, error) {
	t, err := r.stream.All(limit)
	if err != nil {
		return nil, err
	}
	return r.set(t)
}

// Draw returns a random sample of the examples of the file and of others, and the number of all rows, see [data.Stream.Draw].
func (r *Rows) Draw(ctx context.Context, d data.Draw) (*data.Set, int, error) {
	t, all, err := r.stream.Draw(ctx, d)
	if err != nil {
		return nil, all, err
	}
	set, err := r.set(t)
	return set, all, err
}

func (r *Rows) set(t *data.Table) (*data.Set, error) {
	r.notes = append(r.notes, t.Notes...)
	if r.targets != nil {
		set, left, err := r.m.examples(t, r.features, r.targets, r.lacking)
		r.left += left
		if note := r.m.folderNote(t); note != "" && !slices.Contains(r.notes, note) {
			r.notes = append(r.notes, note)
		}
		return set, err
	}
	r.IDs = r.IDs[:0]
	for k := range r.ID {
		r.IDs = append(r.IDs, t.Texts(len(r.features)+k))
	}
	x, err := r.m.inputs(t, r.features, r.lacking)
	return &data.Set{Features: r.m.Task.Inputs.Features, X: x}, err
}

// folderNote says how the folders of images are taken for classes where the model does not know their names and they
// are not as many; "" where there is nothing to say.
func (m *Model) folderNote(t *data.Table) string {
	c, ok := m.Task.Outputs.(*task.Classification)
	if !ok || c.Names != nil || t.Folders == nil || len(t.Folders) == len(c.Classes) {
		return ""
	}
	return fmt.Sprintf("%s: %d folders for %d classes, whose names the model does not know: the first folder in alphabetical order is the class 0, and so on. "+
		"A model that is fitted to a folder of images finds them by name.", t.Path, len(t.Folders), len(c.Classes))
}

// Notes are sentences on what was noticed in the rows read so far.
func (r *Rows) Notes() []string {
	notes := slices.Clone(r.notes)
	for _, name := range slices.Sorted(maps.Keys(r.lacking)) {
		stands := "the training rows' median stands for it"
		category := func(c data.ColumnCode) bool { return c.Name == name && c.Kind == data.Categories }
		if slices.ContainsFunc(r.m.Task.Inputs.Encoding.Columns, category) {
			stands = "it counts as another category"
		}
		notes = append(notes, fmt.Sprintf("%s: %d rows lack a value of %q, which no training row did: %s.", r.stream.Path, r.lacking[name], name, stands))
	}
	if r.left > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d rows lack a value and were left out.", r.stream.Path, r.left))
	}
	return notes
}

// Close ends the reading.
func (r *Rows) Close() { r.stream.Close() }
