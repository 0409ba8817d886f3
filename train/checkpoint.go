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
// checkpointHeader, and NumPy arrays, one per parameter p and kind of array:
//
//	param/p.npy    the values
//	best/p.npy     the best validated values, after the first validation
//	slot/s/p.npy   slot s of the optimizer, after the first step
const (
	checkpointFormat = "valla training checkpoint 1"
	headerMember     = "train.json"
)

// checkpoint is a run between two steps.
type checkpoint struct {
	checkpointHeader
	values, best []*tensor.Dense   // one per parameter; best is nil before the first validation
	slots        [][]*tensor.Dense // one per slot and parameter
}

type checkpointHeader struct {
	Format   string
	Run      []string // what must be equal in the run that goes on, see runner.identity
	Counters counters
	Steps    int      // of the optimizer
	Slots    []string // of the optimizer
}

// array is one array of a checkpoint and its place in the archive.
type array struct {
	member string
	value  **tensor.Dense
}

// arrays lists the arrays of c for parameters of the given names, in the order of
// the file, after making room for those that are nil.
func (c *checkpoint) arrays(names []string) []array {
	var list []array
	add := func(prefix string, ts []*tensor.Dense) []*tensor.Dense {
		if ts == nil {
			ts = make([]*tensor.Dense, len(names))
		}
		for i, name := range names {
			list = append(list, array{prefix + "/" + name + ".npy", &ts[i]})
		}
		return ts
	}
	c.values = add("param", c.values)
	if c.Counters.BestIteration > 0 {
		c.best = add("best", c.best)
	}
	if c.slots == nil {
		c.slots = make([][]*tensor.Dense, len(c.Slots))
	}
	for k, slot := range c.Slots {
		c.slots[k] = add("slot/"+slot, c.slots[k])
	}
	return list
}

// encode writes c, a checkpoint of parameters of the given names, to w.
func (c *checkpoint) encode(w io.Writer, names []string) error {
	z := zip.NewWriter(w)
	text, err := json.MarshalIndent(c.checkpointHeader, "", " ")
	if err != nil {
		return err
	}
	if err := store(z, headerMember, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	for _, a := range c.arrays(names) {
		if err := store(z, a.member, func(w io.Writer) error { return npy.Encode(w, *a.value) }); err != nil {
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

// decodeCheckpoint reads the checkpoint in the size bytes of r. run is the
// identity and params are the parameters of the run that wants to go on. Nothing
// is changed; errors wrap ErrCheckpoint or ErrMismatch and do not name the file.
func decodeCheckpoint(r io.ReaderAt, size int64, run []string, params []Param) (*checkpoint, error) {
	members, err := readDirectory(r, size)
	if err != nil {
		return nil, err
	}
	c := &checkpoint{}
	if err := members.header(&c.checkpointHeader); err != nil {
		return nil, err
	}
	if err := c.check(run); err != nil {
		return nil, err
	}
	list := c.arrays(namesOf(params))
	if len(members) != 1+len(list) {
		return nil, fmt.Errorf("%w: it has %d members, expected %d", ErrCheckpoint, len(members), 1+len(list))
	}
	for i, a := range list {
		if *a.value, err = members.array(a.member, params[i%len(params)].Value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// check returns an error unless the header is of the given run and makes sense.
func (h *checkpointHeader) check(run []string) error {
	if h.Format != checkpointFormat {
		return fmt.Errorf("%w: format %q, expected %q", ErrCheckpoint, h.Format, checkpointFormat)
	}
	for i := range max(len(run), len(h.Run)) {
		if found, want := at(h.Run, i), at(run, i); found != want {
			return fmt.Errorf("%w: it has %s, expected %s", ErrMismatch, found, want)
		}
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

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing more"
}

// members are the files of an archive by name.
type members map[string]*zip.File

func readDirectory(r io.ReaderAt, size int64) (members, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	m := make(members, len(z.File))
	for _, f := range z.File {
		if m[f.Name] != nil || f.Method != zip.Store {
			return nil, fmt.Errorf("%w: member %q occurs twice or is compressed", ErrCheckpoint, f.Name)
		}
		m[f.Name] = f
	}
	return m, nil
}

func (m members) open(name string) (io.ReadCloser, error) {
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

func (m members) header(h *checkpointHeader) error {
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
func (m members) array(name string, like *tensor.Dense) (*tensor.Dense, error) {
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

func namesOf(params []Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}
