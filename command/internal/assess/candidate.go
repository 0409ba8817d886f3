package assess

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/passes"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// candidate is a model, or a model with a temperature, and its predictions for the rows.
type candidate struct {
	Name   string            // name in tables and legends
	p      *valla.Prediction // predictions for N rows
	y      []float64         // targets [N,T·W], in the order of p
	pits   []metric.Row      // see pits
	scores valla.Scores      // scores of p against y
	order  []int             // numbers of the rows in the order of p; nil: all rows as they come
}

// Models returns the network of m alone and, if m has them, the network with what the verdict gave it, the network with
// the posterior and the calibrated model. The second is there where m has a law of the residuals, or a fit with an observation
// model of its own. The last of these predicts as m does. The index network has the model with which m is to be compared, see valla.Model.Alone.
func Models(m *valla.Model) (all []*valla.Model, network int) {
	all = []*valla.Model{m.MAP()}
	r, numbers := m.Task.Outputs.(*task.Regression)
	lawful := m.Laws != nil || numbers && r.Inside
	if alone := m.Alone(); lawful && (alone.Laws != nil || alone.Calibration != nil) {
		all, network = append(all, alone), 1
	}
	if m.Posterior != nil {
		all = append(all, m.Uncalibrated())
	}
	if m.Calibrated() {
		all = append(all, m)
	}
	return all, network
}

// leastToCross is the least number of rows for which each half chooses a temperature for the other
// half.
const leastToCross = 20

// candidates returns what the page compares: the network alone, the network with the posterior, the
// calibrated model, and the first two of these with a temperature, which only Gaussian noise and logits can have. Notes say what could not be
// compared.
func candidates(ctx context.Context, m *valla.Model, set *data.Set, o valla.PredictOptions) (list []candidate, notes []string, err error) {
	models, network := Models(m)
	base := slices.Clone(models) // models without a law of the network alone and without a calibration
	if m.Calibrated() {
		base = base[:len(base)-1]
	}
	base = slices.Delete(base, 1, 1+network)
	all := &passes.Counter{Total: len(models) * set.N(), Tell: o.OnRows}
	crosses := likelihood.IsClass(m.Likelihood()) || likelihood.IsGaussian(m.Likelihood())
	if crosses && set.N() >= leastToCross {
		all.Total += crossedPasses(set.N()) * len(base)
	}
	for _, model := range models {
		o.OnRows = all.Pass(set.N())
		p, err := model.Predict(ctx, set.X, o)
		if err != nil {
			return nil, nil, err
		}
		if list, err = add(list, m, model.String(), p, set.Y); err != nil {
			return nil, nil, err
		}
	}
	if !crosses {
		return list, nil, nil
	}
	if set.N() < leastToCross {
		return list, []string{fmt.Sprintf("%d rows are too few for a temperature that one half of them chooses for the other.", set.N())}, nil
	}
	return temperatures(ctx, list, m, base, set, o, all)
}

// temperatures adds the models of base with a temperature to the list of candidates for m.
func temperatures(ctx context.Context, list []candidate, m *valla.Model, base []*valla.Model, set *data.Set, o valla.PredictOptions, all *passes.Counter) (_ []candidate, notes []string, err error) {
	for _, model := range base {
		p, y, err := crossed(ctx, model, set, o, all)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s has no temperature: %s.", model, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "calibrate: "), settings.ErrSetting.Error()+": ")))
			continue
		}
		if list, err = add(list, m, model.String()+" + temperature", p, y); err != nil {
			return nil, nil, err
		}
		order, half := holdout.HalvesOrder(set.N(), o.Seed), (set.N()+1)/2
		list[len(list)-1].order = slices.Concat(order[half:], order[:half]) // see crossed
	}
	return list, notes, nil
}

// add appends the candidate with predictions p for the targets y to list.
func add(list []candidate, m *valla.Model, name string, p *valla.Prediction, y *tensor.Dense) ([]candidate, error) {
	s, err := m.Task.Score(p, y)
	values := graph.Floats(y)
	return append(list, candidate{Name: name, p: p, y: values, pits: pits(p, values), scores: s}), err
}

const (
	// choosingPasses is the number of times that the choice of a temperature predicts each row.
	choosingPasses = 3
	// mostToChoose is the largest number of rows that choose a temperature, which is one number.
	mostToChoose = 5000
)

// crossedPasses is the number of rows that crossed predicts for n rows.
func crossedPasses(n int) int {
	return choosingPasses*(min((n+1)/2, mostToChoose)+min(n/2, mostToChoose)) + n
}

// crossed returns the predictions of a model with temperatures, and the targets in the same order.
// Each half of the rows, or 5,000 of its rows, chooses the temperature for the other half, so that no row judges a
// temperature that it has chosen.
func crossed(ctx context.Context, m *valla.Model, set *data.Set, o valla.PredictOptions, rows *passes.Counter) (*valla.Prediction, *tensor.Dense, error) {
	a, b := holdout.Halves(set, o.Seed)
	all, y := &valla.Prediction{}, []float64(nil)
	for _, pair := range [][2]*data.Set{{a, b}, {b, a}} {
		choose := pair[0].Rows(dense.Indices(min(pair[0].N(), mostToChoose)))
		o.OnRows = rows.Pass(choosingPasses * choose.N())
		c, err := m.Calibrate(ctx, choose, valla.CalibrateOptions{Method: valla.CalibrateTemperature, PredictOptions: o})
		if err != nil {
			return nil, nil, err
		}
		o.OnRows = rows.Pass(pair[1].N())
		p, err := c.Predict(ctx, pair[1].X, o)
		if err != nil {
			return nil, nil, err
		}
		all.Append(p)
		y = append(y, graph.Floats(pair[1].Y)...)
	}
	return all, tensor.New(tensor.WithShape(set.Y.Shape()...), tensor.WithBacking(y)), nil
}

// confidence returns the probability of the most probable class of each row, and whether the row is
// classified correctly.
func (c candidate) confidence() (top []float64, right []bool) {
	for i, best := range c.p.Best() {
		top, right = append(top, c.p.Probs[i*len(c.p.Classes)+best]), append(right, c.p.Classes[best] == c.y[i])
	}
	return top, right
}
