package train

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/atomicfile"
)

// errNotSaved is wrapped by errors about writing a checkpoint.
var errNotSaved = errors.New("checkpoint not written")

// save writes the checkpoint, where there is to be one. Parameters that are not
// finite are an error, with or without a checkpoint, and never written.
func (r *runner) save() error {
	if err := r.checkValues(); err != nil {
		return err
	}
	if r.cfg.Checkpoint == "" {
		return nil
	}
	r.Seconds = r.elapsed()
	state := r.cfg.Optimizer.State()
	c := &checkpoint{
		checkpointHeader: checkpointHeader{Format: checkpointFormat, Run: r.id, Counters: r.counters, Steps: state.Steps},
		values:           values(r.params),
		best:             r.best,
		slots:            make([][]*tensor.Dense, 0, len(state.Slots)),
	}
	for _, s := range state.Slots {
		c.Slots = append(c.Slots, s.Name)
		c.slots = append(c.slots, s.Arrays)
	}
	err := atomicfile.Write(r.cfg.Checkpoint, 0o644, func(w io.Writer) error { return c.encode(w, namesOf(r.params)) })
	if err != nil {
		return fmt.Errorf("train: %w: %w", errNotSaved, err)
	}
	return nil
}

// load continues from the checkpoint where the file exists. On an error nothing
// was changed.
func (r *runner) load() error {
	f, err := os.Open(r.cfg.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	if err := r.restore(f, info.Size()); err != nil {
		return fmt.Errorf("train: checkpoint %s: %w", r.cfg.Checkpoint, err)
	}
	return nil
}

func (r *runner) restore(f io.ReaderAt, size int64) error {
	c, err := decodeCheckpoint(f, size, r.id, r.params)
	if err != nil {
		return err
	}
	if c.Counters.Done > r.cfg.Iterations {
		return fmt.Errorf("%w: %d iterations of %d are made", ErrCheckpoint, c.Counters.Done, r.cfg.Iterations)
	}
	if err := r.cfg.Optimizer.SetState(c.state(r.cfg.Optimizer.State().Optimizer, namesOf(r.params))); err != nil {
		return err
	}
	for i, p := range r.params {
		copyInto(p.Value, c.values[i])
	}
	r.counters, r.best = c.Counters, c.best
	return nil
}

// state returns the state of the named optimizer that c holds.
func (c *checkpoint) state(optimizer string, params []string) State {
	s := State{Optimizer: optimizer, Steps: c.Steps}
	if c.Steps == 0 {
		return s
	}
	s.Params = params
	for k, name := range c.Slots {
		s.Slots = append(s.Slots, Slot{name, c.slots[k]})
	}
	return s
}

// identity says in words all that must be equal in a run that goes on from a
// checkpoint of this one, so that it gives what this one would have given.
func (r *runner) identity() []string {
	id := []string{
		fmt.Sprintf("Iterations %d", r.cfg.Iterations),
		"optimizer " + r.cfg.Optimizer.State().Optimizer,
	}
	for _, i := range r.cfg.scheduleProbes() {
		id = append(id, fmt.Sprintf("schedule value %v at iteration %d", r.cfg.Schedule(i, r.cfg.Iterations), i))
	}
	if r.cfg.Validate == nil {
		id = append(id, "no validation")
	} else {
		id = append(id, fmt.Sprintf("validation every %d iterations, patience %d", r.cfg.ValidateEvery, r.cfg.Patience))
	}
	for _, p := range r.params {
		id = append(id, "parameter "+p.String())
	}
	if o, ok := r.obj.(Identifier); ok {
		id = append(id, o.Identity()...)
	}
	return id
}
