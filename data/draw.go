package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/settings"
)

// A Draw is a random sample of the rows of several files, which are read one after the other.
type Draw struct {
	Rest  []string              // paths of the files after the first
	Rows  int                   // of the sample; all rows where the files have no more
	Seed  uint64                // of the sample
	Limit int64                 // of memory for the sample in bytes; 0 means what the machine has left
	Tell  func(files, rows int) // if not nil, it is called with the number of files that are read, and of the rows seen
}

// drawnAtOnce is how many rows of a file are looked at between two reports.
const drawnAtOnce = 1000

// Draw returns a table of the columns in use with rows drawn from all rows of s and of the files of d without
// replacement, each set of rows with the same probability, and the number of all rows. Beside the sample the memory
// holds a file at most. Where there are no more rows than the sample may have, they keep their order.
func (s *Stream) Draw(ctx context.Context, d Draw) (*Table, int, error) {
	if d.Rows < 1 {
		return nil, 0, settings.Errorf("a sample of %d rows, expected at least one", d.Rows)
	}
	s.limit = d.Limit
	r := &reservoir{Draw: d, first: s, rng: rand.New(rand.NewPCG(d.Seed, drawStream)), words: make([]*Words, len(s.use))}
	if err := r.read(ctx, s); err != nil {
		return nil, r.seen, err
	}
	for i, path := range d.Rest {
		r.files = i + 1
		if err := r.open(ctx, path); err != nil {
			return nil, r.seen, err
		}
	}
	return r.table(), r.seen, nil
}

// drawStream keeps the random numbers of a sample apart from others with its seed.
const drawStream = 0x726f7773 // “rows” in ASCII

// reservoir holds the rows of a sample of all rows seen so far (algorithm R of Vitter, 1985).
type reservoir struct {
	Draw
	first  *Stream    // the first file
	rng    *rand.Rand // of the rows that are taken
	files  int        // number of files before the present file
	seen   int        // number of rows seen
	values []float64  // [rows,K]
	words  []*Words   // [K]
	x      gathered   // of images
	names  []string   // of the folders of images, in the order in which they were found
	notes  []string   // on the rows
}

// open reads a file with the columns of the first.
func (r *reservoir) open(ctx context.Context, path string) error {
	s, err := r.first.reader.Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Images != r.first.Images {
		return fmt.Errorf("%s: inputs and columns of other kinds than in %s", path, r.first.Path)
	}
	var at, text []int
	for _, u := range r.first.use {
		i, err := s.Column(u.name)
		if err != nil {
			return err
		}
		if at = append(at, i); u.text {
			text = append(text, i)
		}
	}
	s.Use(at, text)
	return r.read(ctx, s)
}

// read looks at all rows of a file.
func (r *reservoir) read(ctx context.Context, s *Stream) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := s.Next(drawnAtOnce)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(r.notes) == 0 {
			r.notes = t.Notes
		}
		r.renumber(t)
		for i := range t.N() {
			if err := r.look(t, i); err != nil {
				return err
			}
		}
		if r.Tell != nil {
			r.Tell(r.files, r.seen)
		}
	}
}

// look takes row i of a table into the sample, or leaves it out. The row after n others is taken with the probability
// Rows/(n+1), in the place of any row of a full sample.
func (r *reservoir) look(t *Table, i int) error {
	at := r.seen
	if r.seen++; at >= r.Rows {
		if at = r.rng.IntN(r.seen); at >= r.Rows {
			return nil
		}
	} else if err := r.room(at); err != nil {
		return err
	}
	if k := len(t.Columns); k > 0 {
		r.values = placed(r.values, t.Values.Float64s()[i*k:(i+1)*k], at)
	}
	for j := range r.words {
		r.word(t, i, j, at)
	}
	return r.x.put(t, i, at)
}

// renumber gives the classes of a folder of images the numbers of the same names in the folders before it.
func (r *reservoir) renumber(t *Table) {
	places := make([]float64, len(t.Folders))
	for i, name := range t.Folders {
		if !slices.Contains(r.names, name) {
			r.names = append(r.names, name)
		}
		places[i] = float64(slices.Index(r.names, name))
	}
	renumber(t.Values, places)
}

// renumber replaces the numbers of classes of images by their places. There are none where the images have no classes, or no one wants them.
func renumber(classes *tensor.Dense, places []float64) {
	if classes == nil || len(places) == 0 {
		return
	}
	for i, v := range classes.Float64s() {
		classes.Float64s()[i] = places[int(v)]
	}
}

// inOrder gives the folders of the images of a sample their alphabetical order.
func (r *reservoir) inOrder(t *Table) {
	t.Folders = slices.Sorted(slices.Values(r.names))
	places := make([]float64, len(r.names))
	for i, name := range r.names {
		places[i] = float64(slices.Index(t.Folders, name))
	}
	renumber(t.Values, places)
}

// room looks now and then whether there is memory for a sample that has n rows, and makes room for all of it once it is not small.
func (r *reservoir) room(n int) error {
	if n == 0 || n%roomEvery != 0 {
		return nil
	}
	if n == roomEvery && r.first.fits(int64(r.Rows), 0) == nil {
		r.values = slices.Grow(r.values, (r.Rows-n)*len(r.first.use))
	}
	return r.first.fits(int64(n), 0)
}

// word puts the cell of row i and column j of a table into the row at of the sample, if it is a word.
func (r *reservoir) word(t *Table, i, j, at int) {
	from := t.wordsOf(j)
	switch w := r.words[j]; {
	case from != nil && from.Codes[i] > 0:
		if w == nil {
			w = new(Words)
			r.words[j] = w
		}
		word := from.List[from.Codes[i]-1]
		word.Path = t.Path
		if w.put(at, word); len(w.List) > 2*r.Rows { // most of the words are those of rows that were replaced
			r.words[j] = needed(w.Codes, w.List)
		}
	case w != nil && at < len(w.Codes):
		w.Codes[at] = 0
	}
}

// table returns the sample.
func (r *reservoir) table() *Table {
	s, n := r.first, min(r.seen, r.Rows)
	t := &Table{Path: s.Path, Notes: r.notes, X: r.x.tensor(n), Paddings: s.reader.Paddings, text: s.lines, rows: n, first: -1}
	for j, u := range s.use {
		t.Columns = append(t.Columns, u.name)
		if r.words[j] != nil {
			r.words[j].fill(n)
			r.words[j] = needed(r.words[j].Codes, r.words[j].List)
		}
	}
	if slices.ContainsFunc(r.words, func(w *Words) bool { return w != nil }) {
		t.Words = r.words
	}
	if len(s.use) > 0 {
		t.Values = dense.Of(r.values, n, len(s.use))
	}
	r.inOrder(t)
	return t
}

// gathered has rows of the arrays of tables, which have one shape and type.
type gathered struct {
	like *tensor.Dense // array of the first table; nil where tables have none
	path string        // of the first table
	f64  []float64     // the rows, if they have this type
	f32  []float32     // the rows, if they have this type
	u8   []uint8       // the rows, if they have this type
}

// put makes row i of the array of a table the row at.
func (g *gathered) put(t *Table, i, at int) error {
	if t.X == nil {
		return nil
	}
	if g.like == nil {
		g.like, g.path = t.X, t.Path
	}
	if shape := t.X.Shape()[1:]; !slices.Equal(shape, g.like.Shape()[1:]) || t.X.Dtype() != g.like.Dtype() {
		return fmt.Errorf("%s: inputs of shape %v and type %v, expected %v and %v as in %s", t.Path, shape, t.X.Dtype(), g.like.Shape()[1:], g.like.Dtype(), g.path)
	}
	n := t.X.Size() / t.N()
	switch v := t.X.Data().(type) {
	case []float64:
		g.f64 = placed(g.f64, v[i*n:(i+1)*n], at)
	case []float32:
		g.f32 = placed(g.f32, v[i*n:(i+1)*n], at)
	case []uint8:
		g.u8 = placed(g.u8, v[i*n:(i+1)*n], at)
	default:
		return fmt.Errorf("%s: inputs are %v, expected float64, float32 or uint8", t.Path, t.X.Dtype())
	}
	return nil
}

// tensor returns n rows as one array, nil where there are none.
func (g *gathered) tensor(n int) *tensor.Dense {
	if g.like == nil {
		return nil
	}
	shape := append([]int{n}, g.like.Shape()[1:]...)
	switch g.like.Dtype() {
	case tensor.Float64:
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(g.f64))
	case tensor.Float32:
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(g.f32))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(g.u8))
}

// placed makes v the row at of rows that have as many values each; at is at most the number of rows.
func placed[T any](rows, v []T, at int) []T {
	if at*len(v) == len(rows) {
		return append(rows, v...)
	}
	copy(rows[at*len(v):], v)
	return rows
}
