package runner

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/internal/settings"
)

// resultVersion is part of every hash. It has to change when the same settings give other
// results.
const resultVersion = 2

// naturalVersion is part of the hashes of fits by natural gradients. It has to change when the same settings give other results
// of these fits. Cells without it have states that were kept after the ladder of σ₀ had moved.
const naturalVersion = 2

// Run computes the missing cells of an experiment, one after the other. It skips finished
// cells, and it continues interrupted fits from their checkpoints. If ctx ends first, it
// returns an error that wraps ctx's.
func Run(ctx context.Context, e *spec.Experiment, o Options) error {
	if err := Check(e); err != nil {
		return err
	}
	o, err := o.complete()
	if err != nil {
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
	if !r.absent || !r.folder.HasPlan() { // without data a plan with its hashes stays
		if err := r.folder.Expect(r.expected(groups)); err != nil {
			return err
		}
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
	spec     *spec.Experiment  // the experiment that is run
	training spec.Training     // of the network, with the defaults
	folder   result.Folder     // where the results are kept
	sums     map[string]string // of the contents of data sets
	absent   bool              // the files of a data set are missing
}

// group holds the cells that share a network.
type group struct {
	data    string // name of the data set
	netSeed uint64 // of the network, and of the split where it is random
	weights string // a file, or ""
	hash    string // of data, network and training
	cells   []plan // the cells, in the order of the table
}

// plan describes a cell before it is computed.
type plan struct {
	result.ID
	spec.Variant
	hyperFrom string       // the method that gives the hyper-parameters, or ""
	law       string       // law of the residuals, as valla.FitOptions name it
	model     string       // observation model that the fit learns in place of the network's, or ""
	scoring   spec.Scoring // what is scored beyond the usual
	settings  []any        // everything on which the cell depends, except for the program
}

// plan returns all cells of the experiment, finished or not.
func (r *runner) plan() ([]group, error) {
	r.training = r.spec.MAP
	if err := settings.Complete(&r.training); err != nil {
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

// newGroup plans the cells of one data set and seed.
func (r *runner) newGroup(data string, seed uint64) (group, error) {
	g := group{data: data, netSeed: seed}
	if r.spec.MAP.Seed != nil {
		g.netSeed = *r.spec.MAP.Seed
	}
	var err error
	if g.weights, err = r.weightsFile(r.spec.Network, data); err != nil {
		return g, err
	}
	shared, err := r.shared(g)
	if err != nil {
		return g, err
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

// shared returns the settings on which the network of a group depends.
func (r *runner) shared(g group) ([]any, error) {
	network := r.spec.Network.Network
	if err := settings.Complete(&network); err != nil {
		return nil, err
	}
	if strings.HasSuffix(network.Form, ".json") {
		sum, err := checksum(network.Form)
		if err != nil {
			return nil, err
		}
		network.Form += " " + sum
	}
	contents, err := r.contents(g.data, g.netSeed)
	if err != nil {
		return nil, err
	}
	all := []any{resultVersion, g.data, contents, g.netSeed, settings.Map(&network)}
	if g.weights == "" {
		return append(all, settings.Map(&r.training)), nil
	}
	sum, err := checksum(g.weights)
	return append(all, sum, *r.training.Validation), err
}

// cells plans the cells of a row. There are none where the data set does not have the row.
func (r *runner) cells(row spec.Row, data string, seed uint64, shared []any) (cells []plan, err error) {
	if !row.For(data) {
		return nil, nil
	}
	variants, err := row.Variants()
	if err != nil {
		return nil, err
	}
	for _, v := range variants {
		s := r.spec.Scoring
		if seed != r.spec.ShiftSeed {
			s.Rotations, s.Corruptions = 0, 0
		}
		c := plan{ID: result.ID{Data: r.label(data), Method: row.Method, Row: v.Label, Inducing: v.Inducing, Seed: seed}, Variant: v, hyperFrom: row.HyperFrom, law: row.FitLaw(), model: row.Likelihood, scoring: s}
		own, err := completed(v.Settings)
		if err != nil {
			return nil, err
		}
		if own["optimizer"] == "natural" {
			own["version"] = naturalVersion
		}
		for name, value := range map[string]string{"law": row.Law, "likelihood": row.Likelihood} {
			if value == "" || value == law.Gaussian { // the key of the Gaussian is absent, as in published cells
				continue
			}
			if own == nil {
				own = map[string]any{}
			}
			own[name] = value
		}
		c.settings = append(shared[:len(shared):len(shared)], settings.Map(&s), row.Method, own, row.HyperFrom, seed)
		if c.Hash, err = result.Hash(c.settings...); err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	return cells, nil
}

// completed returns the settings of a method with their defaults, nil for MAP. The defaults
// are part of a hash, so that a cell is computed again when a default changes.
func completed(s gp.Settings) (map[string]any, error) {
	if s == nil {
		return nil, nil
	}
	c := reflect.New(reflect.TypeOf(s).Elem())
	c.Elem().Set(reflect.ValueOf(s).Elem())
	return gp.Complete(c.Interface())
}

// perceptron is the form of a network that names of results leave out.
const perceptron = "mlp"

// label returns the name of a data set in results. Where the network is no perceptron, its
// form is part of the name.
func (r *runner) label(data string) string {
	form := strings.TrimSuffix(filepath.Base(cmp.Or(r.spec.Network.Form, perceptron)), ".json")
	if form != perceptron {
		return data + "-" + form
	}
	return data
}

// expected returns the plan in the form in which it is kept.
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

// group computes the missing cells of a group. A cell that was refused for memory is missing
// under another limit, and so is a damaged one. The network is loaded only if a cell is missing.
func (r *runner) group(ctx context.Context, g group) error {
	var p *problem
	for _, c := range g.cells {
		done, err := r.folder.Read(c.ID)
		if errors.Is(err, result.ErrDamaged) {
			err = nil
		}
		if err != nil {
			return err
		}
		fresh := done == nil || !done.Valid(r.Memory)
		if !fresh {
			err = r.folder.Tidy(c.ID, r.checkpoint(c))
		} else {
			if p == nil {
				if p, err = r.open(ctx, g); err != nil {
					return err
				}
			}
			done, err = r.cell(ctx, p, c)
		}
		if err != nil {
			return err
		}
		if r.OnCell != nil {
			r.OnCell(done, fresh)
		}
	}
	return nil
}

// open loads the data and the network of a group.
func (r *runner) open(ctx context.Context, g group) (*problem, error) {
	p, err := r.load(g.data, g.netSeed)
	if err != nil {
		return nil, err
	}
	return p, r.build(ctx, p, g)
}
