package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/atomicfile"
)

// errNotSaved is wrapped by errors about writing a checkpoint.
var errNotSaved = errors.New("checkpoint not written")

// save writes the checkpoint, where there is to be one. Parameters that are not
// finite are an error, with or without a checkpoint, and never written. A file that cannot be
// written, as on a full disk, is a warning: the run itself is sound.
func (r *runner) save() error {
	if err := r.checkValues(); err != nil {
		return err
	}
	if r.cfg.Checkpoint == "" {
		return nil
	}
	r.Seconds = r.elapsed()
	c, err := r.checkpoint()
	if err != nil {
		return fmt.Errorf("train: %w: %w", errNotSaved, err)
	}
	err = atomicfile.Write(r.cfg.Checkpoint, 0o644, func(w io.Writer) error { return c.encode(w, namesOf(r.arrays), len(r.params)) })
	r.progress.Warning = ""
	if err != nil {
		r.progress.Warning = fmt.Sprintf("%v: %v", errNotSaved, err)
		r.tell()
	}
	return nil
}

// checkpoint returns the present state of the run. It shares the arrays of the run.
func (r *runner) checkpoint() (*checkpoint, error) {
	numbers, err := encodeNumbers(r.state)
	if err != nil {
		return nil, err
	}
	state := r.cfg.Optimizer.State()
	c := &checkpoint{
		checkpointHeader: checkpointHeader{
			Format: checkpointFormat, identity: r.id, Counters: r.counters,
			Numbers: numbers, BestNumbers: r.best.numbers, Steps: state.Steps,
		},
		values: valuesOf(r.arrays),
		best:   r.best.values,
		slots:  make([][]*tensor.Dense, 0, len(state.Slots)),
	}
	for _, s := range state.Slots {
		c.Slots = append(c.Slots, s.Name)
		c.slots = append(c.slots, s.Arrays)
	}
	return c, nil
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
	c, err := decodeCheckpoint(f, size, r.id, r.arrays, len(r.params))
	if err != nil {
		return err
	}
	if c.Counters.Done > r.cfg.Iterations {
		return fmt.Errorf("%w: %d iterations of %d are made", ErrCheckpoint, c.Counters.Done, r.cfg.Iterations)
	}
	if c.Counters.BestIteration > 0 {
		if err := sameNumbers(c.BestNumbers, r.state); err != nil {
			return err
		}
	}
	if err := sameNumbers(c.Numbers, r.state); err != nil {
		return err
	}
	if err := r.cfg.Optimizer.SetState(c.state(r.cfg.Optimizer.State().Optimizer, namesOf(r.arrays[:len(r.params)]))); err != nil {
		return err
	}
	now := snapshot{c.values, c.Numbers}
	if err := now.restore(r.arrays, r.state); err != nil {
		return err
	}
	r.counters, r.best = c.Counters, snapshot{c.best, c.BestNumbers}
	return nil
}

// sameNumbers returns an error unless text holds numbers of the type that like points to.
func sameNumbers(text json.RawMessage, like any) error {
	if like != nil {
		like = reflect.New(reflect.TypeOf(like).Elem()).Interface()
	}
	return decodeNumbers(text, like)
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
type identity struct {
	Run   []string // configuration, objective and the arrays' shapes
	Start []string // what the arrays held before the first step
}

func (r *runner) identity() identity {
	id := []string{
		fmt.Sprintf("Iterations %d", r.cfg.Iterations),
		"optimizer " + r.cfg.Optimizer.State().Optimizer,
	}
	id = append(id, r.cfg.scheduleIdentity()...)
	if r.cfg.ClipNorm > 0 {
		id = append(id, fmt.Sprintf("gradients of a norm of at most %v", r.cfg.ClipNorm))
	}
	if r.cfg.Validate == nil {
		id = append(id, "no validation")
	} else {
		id = append(id, fmt.Sprintf("validation every %d iterations, patience %d", r.cfg.ValidateEvery, r.cfg.Patience))
	}
	if o, ok := r.obj.(Identifier); ok {
		id = append(id, o.Identity()...)
	}
	var start []string
	for i, a := range r.arrays {
		kind := "parameter"
		if i >= len(r.params) {
			kind = "state"
		}
		id = append(id, kind+" "+a.String())
		start = append(start, fmt.Sprintf("start of %s with checksum %08x", a.Name, checksum(a.Value)))
	}
	return identity{id, start}
}

// check returns an error that wraps ErrMismatch unless found is the same identity.
func (want identity) check(found identity) error {
	for _, lists := range [][2][]string{{found.Run, want.Run}, {found.Start, want.Start}} {
		for i := range max(len(lists[0]), len(lists[1])) {
			if found, want := at(lists[0], i), at(lists[1], i); found != want {
				return fmt.Errorf("%w: it has %s, expected %s", ErrMismatch, found, want)
			}
		}
	}
	return nil
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing more"
}

// scheduleChecked is of how many iterations of a long run the schedule is compared.
const scheduleChecked = 4096

// scheduleIdentity tells schedules apart.
func (cfg Config) scheduleIdentity() []string {
	var id []string
	for _, i := range cfg.scheduleProbes() {
		id = append(id, fmt.Sprintf("schedule value %v at iteration %d", cfg.Schedule(i, cfg.Iterations), i))
	}
	step := max(1, cfg.Iterations/scheduleChecked)
	values := []float64{0}
	for i := range cfg.Iterations / step {
		values = append(values, cfg.Schedule(i*step, cfg.Iterations))
	}
	return append(id, fmt.Sprintf("schedule with checksum %08x", crc(values)))
}
