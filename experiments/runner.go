package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/experiments/spec"
	"github.com/go-valla/valla/gp/model"
	"github.com/go-valla/valla/graph"
)

// Options say how an experiment is run.
type Options struct {
	Data     string   // the folder of the data sets' folders
	Dir      string   // where the results go, see package result
	Weights  string   // a file of the network's weights, in the place of the experiment's; "" for none
	Commands []string // that make this experiment, for the report
	Progress io.Writer
	Memory   int64 // bytes that a step of a fit may need; 0: as many as it takes
	// OnCell is called with each cell in its order, finished now or before; nil: not.
	OnCell func(c *result.Cell, fresh bool)
}

// resultVersion is part of every hash. It changes when the same settings no longer mean
// the same results.
const resultVersion = 1

// Run runs what is missing of an experiment, cell after cell. Finished cells are skipped,
// fits that were interrupted go on from their checkpoints. Where ctx ends it returns an
// error that wraps ctx's.
func Run(ctx context.Context, e *spec.Experiment, o Options) error {
	r := &runner{Options: o, spec: e}
	groups, err := r.plan()
	if err != nil {
		return err
	}
	if r.folder, err = result.Open(o.Dir, e.Name, e.Profile); err != nil {
		return err
	}
	if err := r.folder.Expect(r.expected(groups)); err != nil {
		return err
	}
	for _, g := range groups {
		if err := r.group(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

type runner struct {
	Options
	spec   *spec.Experiment
	folder result.Folder
}

// group is the cells on one network.
type group struct {
	data    string
	seed    uint64 // of the split, where it is random
	netSeed uint64
	weights string // a file, or ""
	hash    string // of data, network and training
	cells   []cellPlan
}

type cellPlan struct {
	result.ID
	method Method
	spec   spec.Scoring
	// settings is what the cell is a function of, beside the program.
	settings []any
}

// plan lists the cells, after checking the names that the file gives.
func (r *runner) plan() ([]group, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var groups []group
	for _, data := range r.spec.Data {
		for _, seed := range r.spec.Seeds {
			g, err := r.newGroup(data, seed)
			if err != nil {
				return nil, err
			}
			if n := len(groups); n > 0 && groups[n-1].hash == g.hash {
				groups[n-1].cells = append(groups[n-1].cells, g.cells...)
				continue
			}
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func (r *runner) check() error {
	unknown := func(key, name string, known []string) error {
		return &spec.Error{File: r.spec.File, Key: key, Expected: "one of " + strings.Join(known, ", "), Found: fmt.Sprintf("%q", name)}
	}
	if networks[r.spec.Network.Form] == nil {
		return unknown("network.form", r.spec.Network.Form, Networks())
	}
	for _, d := range r.spec.Data {
		if datasets[d] == nil {
			return unknown("data", d, Datasets())
		}
	}
	for i, row := range r.spec.Methods {
		for _, d := range row.Data {
			if datasets[d] == nil {
				return unknown(fmt.Sprintf("methods[%d].data", i), d, Datasets())
			}
		}
	}
	return nil
}

// newGroup plans the cells of one data set and seed. A cell of a method that is not for the
// data set is not there.
func (r *runner) newGroup(data string, seed uint64) (group, error) {
	g := group{data: data, netSeed: seed}
	if r.spec.MAP.Seed != nil {
		g.netSeed = *r.spec.MAP.Seed
	}
	g.seed = g.netSeed
	var err error
	if g.weights, err = r.weightsFile(r.spec.Network, data); err != nil {
		return g, err
	}
	shared := []any{resultVersion, data, g.netSeed, r.spec.Network, r.spec.MAP}
	if g.weights != "" {
		sum, err := checksum(g.weights)
		if err != nil {
			return g, err
		}
		shared = []any{resultVersion, data, g.netSeed, r.spec.Network, sum, r.spec.MAP.Validation}
	}
	if g.hash, err = result.Hash(shared...); err != nil {
		return g, err
	}
	for _, row := range r.spec.Methods {
		cells, err := r.cells(row, data, seed, shared)
		if err != nil {
			return g, err
		}
		g.cells = append(g.cells, cells...)
	}
	return g, nil
}

func (r *runner) cells(row spec.Row, data string, seed uint64, shared []any) (cells []cellPlan, err error) {
	if row.Data != nil && !slices.Contains(row.Data, data) {
		return nil, nil
	}
	for _, m := range row.Settings.(Method).Rows() {
		label, inducing := m.Name()
		if row.Label != "" {
			label = strings.Replace(row.Label, "{}", fmt.Sprint(inducing), 1)
		}
		s := r.spec.Scoring
		if seed != r.spec.Seeds[0] {
			s.Rotations, s.Corruptions = 0, 0
		}
		c := cellPlan{ID: result.ID{Data: r.label(data), Method: row.Method, Row: label, Inducing: inducing, Seed: seed}, method: m, spec: s}
		c.settings = append(shared[:len(shared):len(shared)], s, row.Method, m, seed)
		if c.Hash, err = result.Hash(c.settings...); err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	return cells, nil
}

// label is a data set's name in results: with the network's, where there are others.
func (r *runner) label(data string) string {
	if f := r.spec.Network.Form; f != "mlp" {
		return data + "-" + f
	}
	return data
}

// expected is the plan that is written down.
func (r *runner) expected(groups []group) result.Plan {
	p := result.Plan{Experiment: r.spec.Name, Profile: r.spec.Profile, About: r.spec.About, Commands: r.Commands}
	for _, d := range r.spec.Data {
		p.Data = append(p.Data, r.label(d))
	}
	for _, g := range groups {
		for _, c := range g.cells {
			p.Cells = append(p.Cells, c.ID)
		}
	}
	return p
}

// group runs the cells on one network, which is loaded if there is one to be run.
func (r *runner) group(ctx context.Context, g group) error {
	var p *Problem
	for _, c := range g.cells {
		fresh := !r.folder.Has(c.ID)
		if fresh && p == nil {
			var err error
			if p, err = r.open(ctx, g); err != nil {
				return err
			}
		}
		if fresh {
			if err := r.cell(ctx, p, c); err != nil {
				return err
			}
		}
		if r.OnCell == nil {
			continue
		}
		done, err := r.folder.Read(c.ID)
		if err != nil {
			return err
		}
		r.OnCell(done, fresh)
	}
	return nil
}

// open loads the data and the network of a group.
func (r *runner) open(ctx context.Context, g group) (*Problem, error) {
	p, err := datasets[g.data].load(ctx, loading{
		name: g.data, root: r.Data, seed: g.seed, validation: r.spec.MAP.Validation,
		dtype: dtypes[r.spec.Network.Dtype], network: r.spec.Network,
	})
	if err != nil {
		return nil, err
	}
	return p, r.build(ctx, p, g)
}

// cell computes and writes one cell.
func (r *runner) cell(ctx context.Context, p *Problem, c cellPlan) error {
	fail := func(err error) error { return fmt.Errorf("%s: %s, seed %d: %w", c.Data, c.Row, c.Seed, err) }
	spent, err := r.folder.Spent(c.ID)
	if err != nil {
		return err
	}
	cell := &result.Cell{Experiment: r.spec.Name, Profile: r.spec.Profile, ID: c.ID}
	checkpoint, meter := r.folder.Work(c.Name()+".checkpoint"), result.StartMeter()
	f, err := c.method.Fit(ctx, p, Job{
		Seed: c.Seed, Checkpoint: checkpoint, Memory: r.Memory,
		Meter: Progress{r.Progress, fmt.Sprintf("%s %s seed %d", c.Data, c.Row, c.Seed)},
	})
	cell.Fit = spent.Add(meter.Cost())
	if c.Method == "map" {
		cell.Fit = p.MAP.Cost
	}
	switch {
	case errors.As(err, new(*graph.MemoryError)):
		cell.Refused = err.Error()
	case err != nil:
		return errors.Join(fail(err), r.folder.Interrupt(c.ID, cell.Fit))
	default:
		cell.Facts, cell.Curves.History = f.Facts, f.History
		meter = result.StartMeter()
		if err := p.Task.Score(ctx, p, f, c.spec, cell); err != nil {
			return errors.Join(fail(err), r.folder.Interrupt(c.ID, cell.Fit))
		}
		cell.Predict = meter.Cost()
		if bad := notANumber(cell.Scores); bad != "" {
			return fail(fmt.Errorf("%s is not a number", bad))
		}
	}
	if cell.Settings, err = json.Marshal(c.settings); err != nil {
		return fail(err)
	}
	cell.Machine = result.ThisMachine(model.Version())
	if err := r.folder.Write(cell); err != nil {
		return err
	}
	return remove(checkpoint)
}

// notANumber is the name of a score that is NaN, or "".
func notANumber(scores map[string]result.Scores) string {
	for kind, s := range scores {
		for name, v := range s {
			if math.IsNaN(float64(v)) {
				return strings.TrimSpace(kind + " " + name)
			}
		}
	}
	return ""
}
