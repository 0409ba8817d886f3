package train

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/npy"
)

// ErrCheckpoint is wrapped by errors about a checkpoint file that is truncated,
// damaged or no checkpoint.
var ErrCheckpoint = errors.New("damaged or no checkpoint")

// A checkpoint file is an uncompressed zip archive of train.json, which is a
// checkpointHeader, and NumPy arrays, one per parameter or array of the objective's state p
// and kind of array:
//
//	now/p.npy      the values
//	best/p.npy     the best validated values, after the first validation
//	slot/s/p.npy   slot s of the optimizer, of parameters only, after the first step
const (
	checkpointFormat = "valla training checkpoint 2"
	olderFormat      = "valla training checkpoint 1"
	headerMember     = "train.json"
)

// checkpoint is a run between two steps.
type checkpoint struct {
	checkpointHeader
	values, best []*tensor.Dense   // one per parameter and array of the state; best is nil before the first validation
	slots        [][]*tensor.Dense // one per slot and parameter
}

type checkpointHeader struct {
	Format string
	identity
	Counters    counters
	Numbers     json.RawMessage `json:",omitempty"` // of the objective's state
	BestNumbers json.RawMessage `json:",omitempty"`
	Steps       int             // of the optimizer
	Slots       []string        // of the optimizer
}

// member is one array of a checkpoint and its place in the archive.
type member struct {
	name  string
	of    int // number of the parameter or array of the state
	value **tensor.Dense
}

// members lists the arrays of c in the order of the file, after making room for those that
// are nil. The first params of the names are those of parameters.
func (c *checkpoint) members(names []string, params int) []member {
	var list []member
	add := func(prefix string, ts []*tensor.Dense, names []string) []*tensor.Dense {
		if ts == nil {
			ts = make([]*tensor.Dense, len(names))
		}
		for i, name := range names {
			list = append(list, member{prefix + "/" + name + ".npy", i, &ts[i]})
		}
		return ts
	}
	c.values = add("now", c.values, names)
	if c.Counters.BestIteration > 0 {
		c.best = add("best", c.best, names)
	}
	if c.slots == nil {
		c.slots = make([][]*tensor.Dense, len(c.Slots))
	}
	for k, slot := range c.Slots {
		c.slots[k] = add("slot/"+slot, c.slots[k], names[:params])
	}
	return list
}

// encode writes c to w. The first params of the names are those of parameters.
func (c *checkpoint) encode(w io.Writer, names []string, params int) error {
	z := zip.NewWriter(w)
	text, err := json.MarshalIndent(c.checkpointHeader, "", " ")
	if err != nil {
		return err
	}
	if err := store(z, headerMember, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	for _, m := range c.members(names, params) {
		if err := store(z, m.name, func(w io.Writer) error { return npy.Encode(w, *m.value) }); err != nil {
			return err
		}
	}
	return z.Close()
}

func store(z *zip.Writer, name string, write func(io.Writer) error) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	return write(w)
}

// decodeCheckpoint reads the checkpoint in the size bytes of r, for a run with the given
// identity and arrays, the first params of which are parameters. Nothing is changed; errors
// wrap ErrCheckpoint or ErrMismatch and do not name the file.
func decodeCheckpoint(r io.ReaderAt, size int64, run identity, arrays []Array, params int) (*checkpoint, error) {
	files, err := readDirectory(r, size)
	if err != nil {
		return nil, err
	}
	c := &checkpoint{}
	if err := files.header(&c.checkpointHeader); err != nil {
		return nil, err
	}
	if err := c.check(run); err != nil {
		return nil, err
	}
	list := c.members(namesOf(arrays), params)
	if len(files) != 1+len(list) {
		return nil, fmt.Errorf("%w: it has %d members, expected %d", ErrCheckpoint, len(files), 1+len(list))
	}
	for _, m := range list {
		if *m.value, err = files.array(m.name, arrays[m.of].Value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// check returns an error unless the header is of the given run and makes sense.
func (h *checkpointHeader) check(run identity) error {
	if h.Format == olderFormat {
		return fmt.Errorf("%w: an older version of the program has written it; start the run anew without it", ErrMismatch)
	}
	if h.Format != checkpointFormat {
		return fmt.Errorf("%w: format %q, expected %q", ErrCheckpoint, h.Format, checkpointFormat)
	}
	if err := run.check(h.identity); err != nil {
		return err
	}
	n := h.Counters
	if n.Done < 0 || n.Bad < 0 || n.LossCount < 0 || n.LossCount > n.Done || h.Steps < 0 || n.BestIteration < 0 || n.BestIteration > n.Done {
		return fmt.Errorf("%w: impossible counters %+v", ErrCheckpoint, n)
	}
	if (len(n.History) > 0) != (n.BestIteration > 0) {
		return fmt.Errorf("%w: %d validations and best iteration %d", ErrCheckpoint, len(n.History), n.BestIteration)
	}
	return nil
}

// archive holds the files of a checkpoint by name.
type archive map[string]*zip.File

func readDirectory(r io.ReaderAt, size int64) (archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	m := make(archive, len(z.File))
	for _, f := range z.File {
		if m[f.Name] != nil || f.Method != zip.Store {
			return nil, fmt.Errorf("%w: member %q occurs twice or is compressed", ErrCheckpoint, f.Name)
		}
		m[f.Name] = f
	}
	return m, nil
}

func (m archive) open(name string) (io.ReadCloser, error) {
	f := m[name]
	if f == nil {
		return nil, fmt.Errorf("%w: it lacks %s", ErrCheckpoint, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCheckpoint, name, err)
	}
	return r, nil
}

func (m archive) header(h *checkpointHeader) error {
	r, err := m.open(headerMember)
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := io.ReadAll(r) // to the end, which verifies the checksum
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCheckpoint, headerMember, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(h); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCheckpoint, headerMember, err)
	}
	return nil
}

// array reads an array that must have the shape and type of like.
func (m archive) array(name string, like *tensor.Dense) (*tensor.Dense, error) {
	r, err := m.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := npy.Decode(r, name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if !alike(t, like) || !plain(t) {
		return nil, fmt.Errorf("%w: %s is %v %v, expected %v %v", ErrCheckpoint, name, t.Dtype(), t.Shape(), like.Dtype(), like.Shape())
	}
	return t, nil
}

func namesOf(arrays []Array) []string {
	names := make([]string, len(arrays))
	for i, a := range arrays {
		names[i] = a.Name
	}
	return names
}
