package runner

import (
	"context"
	"slices"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/internal/settings"
)

// resultVersion is part of every hash. It changes when the same settings no longer mean
// the same results.
const resultVersion = 2

// Run runs what is missing of an experiment, cell after cell. Finished cells are skipped,
// fits that were interrupted go on from their checkpoints. Where ctx ends it returns an
// error that wraps ctx's.
func Run(ctx context.Context, e *spec.Experiment, o Options) error {
	if err := Check(e); err != nil {
		return err
	}
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
	netSeed uint64 // of the split, where it is random, and of the network
	weights string // a file, or ""
	hash    string // of data, network and training
	cells   []plan
}

// plan is a cell to be computed.
type plan struct {
	result.ID
	spec.Variant
	hyperFrom string
	scoring   spec.Scoring
	// settings is what the cell is a function of, beside the program.
	settings []any
}

// plan lists the cells.
func (r *runner) plan() ([]group, error) {
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

// newGroup plans the cells of one data set and seed. A cell of a method that is not for the
// data set is not there.
func (r *runner) newGroup(data string, seed uint64) (group, error) {
	g := group{data: data, netSeed: seed}
	if r.spec.MAP.Seed != nil {
		g.netSeed = *r.spec.MAP.Seed
	}
	var err error
	if g.weights, err = r.weightsFile(r.spec.Network, data); err != nil {
		return g, err
	}
	network := settings.Map(&r.spec.Network.Network)
	shared := []any{resultVersion, data, g.netSeed, network, settings.Map(&r.spec.MAP)}
	if g.weights != "" {
		sum, err := checksum(g.weights)
		if err != nil {
			return g, err
		}
		shared = []any{resultVersion, data, g.netSeed, network, sum, r.spec.MAP.Validation}
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

// cells plans those of a row.
func (r *runner) cells(row spec.Row, data string, seed uint64, shared []any) (cells []plan, err error) {
	if row.Data != nil && !slices.Contains(row.Data, data) {
		return nil, nil
	}
	variants, err := row.Variants()
	if err != nil {
		return nil, err
	}
	for _, v := range variants {
		s := r.spec.Scoring
		if seed != r.spec.Seeds[0] {
			s.Rotations, s.Corruptions = 0, 0
		}
		c := plan{ID: result.ID{Data: r.label(data), Method: row.Method, Row: v.Label, Inducing: v.Inducing, Seed: seed}, Variant: v, hyperFrom: row.HyperFrom, scoring: s}
		var own any
		if v.Settings != nil {
			own = settings.Map(v.Settings)
		}
		c.settings = append(shared[:len(shared):len(shared)], settings.Map(&s), row.Method, own, row.HyperFrom, seed)
		if c.Hash, err = result.Hash(c.settings...); err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	return cells, nil
}

// label is a data set's name in results: with the network's form, where it is no
// perceptron.
func (r *runner) label(data string) string {
	if f := r.spec.Network.Form; f != "mlp" && f != "" {
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
	var p *problem
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
func (r *runner) open(ctx context.Context, g group) (*problem, error) {
	fraction := 0.1 // the default of a training's settings
	if v := r.spec.MAP.Validation; v != nil {
		fraction = *v
	}
	p, err := load(g.data, r.Data, fraction, g.netSeed)
	if err != nil {
		return nil, err
	}
	return p, r.build(ctx, p, g)
}
