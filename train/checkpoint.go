package train

import (
	"encoding/json"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/archive"
)

// ErrCheckpoint is wrapped by errors about a checkpoint file that is truncated,
// damaged or no checkpoint.
var ErrCheckpoint = archive.ErrFormat

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
	checkpointHeader                   // counters, settings and names
	values, best     []*tensor.Dense   // one per parameter and array of the state; best is nil before the first validation
	slots            [][]*tensor.Dense // one per slot and parameter
}

type checkpointHeader struct {
	Format      string          // checkpointFormat
	identity                    // of the run
	Counters    counters        // the progress of the run
	Numbers     json.RawMessage `json:",omitempty"` // of the objective's state
	BestNumbers json.RawMessage `json:",omitempty"` // of the state at the best validation
	Steps       int             // of the optimizer
	Slots       []string        // of the optimizer
}

// member is one array of a checkpoint and its place in the archive.
type member struct {
	name  string         // path in the archive
	of    int            // number of the parameter or array of the state
	value **tensor.Dense // where the array is or will be
}

// members lists the arrays of c in the order of the file, after making room for those that
// are nil. The first params names belong to parameters.
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

// encode writes c to w. The first params names belong to parameters.
func (c *checkpoint) encode(w io.Writer, names []string, params int) error {
	a := archive.NewWriter(w)
	a.JSON(headerMember, c.checkpointHeader)
	for _, m := range c.members(names, params) {
		a.Array(m.name, *m.value)
	}
	return a.Close()
}

// decodeCheckpoint reads the checkpoint in the size bytes of r, for a run with the given
// identity and arrays, the first params of which are parameters. Nothing is changed; errors
// wrap ErrCheckpoint or ErrMismatch and do not name the file.
func decodeCheckpoint(r io.ReaderAt, size int64, run identity, arrays []Array, params int) (*checkpoint, error) {
	files, err := archive.Open(r, size)
	if err != nil {
		return nil, err
	}
	text, err := files.Text(headerMember)
	if err != nil {
		return nil, err
	}
	c := &checkpoint{}
	if err := archive.Decode(headerMember, text, &c.checkpointHeader); err != nil {
		return nil, err
	}
	if err := c.check(run); err != nil {
		return nil, err
	}
	for _, m := range c.members(namesOf(arrays), params) {
		like := arrays[m.of].Value
		if *m.value, err = files.Array(m.name, like.Dtype(), like.Shape()...); err != nil {
			return nil, err
		}
	}
	return c, files.Empty()
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

func namesOf(arrays []Array) []string {
	names := make([]string, len(arrays))
	for i, a := range arrays {
		names[i] = a.Name
	}
	return names
}
