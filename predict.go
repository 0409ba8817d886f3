package valla

import (
	"context"
	"errors"
	"slices"
	"sync"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/settings"
)

// PredictOptions say how predictions are made. The zero value is ready to use.
type PredictOptions = task.PredictOptions

// Prediction is the predictive distribution at N inputs, in the units of the data.
type Prediction = task.Prediction

// Scores are the scores of predictions for a set.
type Scores = task.Scores

// The links, see [PredictOptions].
const (
	Probit     = task.Probit
	MonteCarlo = task.MonteCarlo
	Bridge     = task.Bridge
	Own        = task.Own
)

// Predict returns the prediction at the inputs x [N,…], which are in the units of the data. The
// columns of x are in the order of the model's features; [Model.Set] takes them from a table.
// Predict returns ctx's error if ctx ends first. An input or a prediction that is not finite, or a
// variance that is not positive, is an error that names the row. Several goroutines may call
// Predict at once. For single rows a [Predictor] takes less time.
func (m *Model) Predict(ctx context.Context, x *tensor.Dense, o PredictOptions) (p *Prediction, err error) {
	defer explain("predict", &err)
	in, err := m.Task.Inputs.From(o.First).Apply(x, m.Dtype())
	if err != nil {
		return nil, err
	}
	if o.Inputs = nil; m.byInputs() {
		o.Inputs = graph.Floats(x) // scaled inputs in float32 have lost digits, which may move a row to another group
	}
	return m.predict(ctx, in, o, nil)
}

// predict is Predict for inputs in the network's units. If seen is not nil, predict calls seen with each part of
// the latent distribution.
func (m *Model) predict(ctx context.Context, in *tensor.Dense, o PredictOptions, seen func(gp.Gaussian)) (*Prediction, error) {
	all, first, x, p := &Prediction{}, o.First, o.Inputs, new(Prediction)
	err := m.eachLatent(ctx, in, m.marginal(o.Link), func(row int, g gp.Gaussian) error {
		o.First, o.Inputs = first+row, m.groupInputs(in, x, row, g.N())
		if err := m.Fill(ctx, g, o, p); err != nil {
			return err
		}
		if seen != nil {
			seen(g)
		}
		all.Append(p)
		if o.OnRows != nil {
			o.OnRows(all.N(), in.Shape()[0])
		}
		return nil
	})
	if rows := (*gp.RowsError)(nil); errors.As(err, &rows) {
		rows.First += first
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// marginal reports whether predictions by a link need the variances of the outputs alone, and covariances would be costly.
func (m *Model) marginal(link task.Link) bool {
	return m.covariances() < m.Task.Size() && link != MonteCarlo
}

// covariances returns how many covariances each output has in predictions.
func (m *Model) covariances() int { return gp.Covariances(m.Task.Likelihood(), m.Task.Size()) }

// eachLatent calls f with the distribution of the network's outputs at the inputs in, part by part, with variances alone if
// marginal says so. The inputs are in the network's units. first is the number of the first input of a part. The next part
// overwrites g.
func (m *Model) eachLatent(ctx context.Context, in *tensor.Dense, marginal bool, f func(first int, g gp.Gaussian) error) error {
	e, err := m.engine(marginal)
	if err != nil {
		return err
	}
	numbers := m.Task.Size() * m.Task.Size()
	if marginal {
		numbers = m.Task.Size()
	}
	return e.Each(ctx, in, gp.PartRows(numbers), f)
}

// engines guards the field predictions of all models. A model is copied by [Model.copied], because the field may change.
var engines sync.Mutex

// modelEngine is the engine of a model, with the parts of the model from which the engine was made.
type modelEngine struct {
	*gp.Engine
	posterior *Posterior // posterior of the model at the time
	laws      []law.Law  // laws of the model at the time
	by        gp.Affine  // correction of the calibration at the time
	marginal  bool       // predictions have variances alone
}

// engine returns the engine of the model's predictions, with variances alone if marginal says so. It is kept until the
// posterior or the calibration changes. The engine of a network alone is not kept, since its weights may change.
func (m *Model) engine(marginal bool) (*gp.Engine, error) {
	made := func() (*gp.Engine, error) {
		return gp.NewEngine(m.gp(), m.Task.Inputs.Shape, gp.EngineOptions{Marginal: marginal})
	}
	if m.Posterior == nil {
		return made()
	}
	engines.Lock()
	defer engines.Unlock()
	by := m.affine()
	if k := m.predictions; k != nil && k.posterior == m.Posterior && k.marginal == marginal && by.Equal(k.by) && sameLaws(k.laws, m.Laws) {
		return k.Engine, nil
	}
	e, err := made()
	if err == nil {
		m.predictions = &modelEngine{e, m.Posterior, m.Laws, by, marginal}
	}
	return e, err
}

// Fill turns distributions of the network's outputs, which [Model.Latent] and [Predictor.Latent] return, into a
// prediction p. Fill uses the slices of p again where they are long enough. Several goroutines may call Fill at
// once.
func (m *Model) Fill(ctx context.Context, g gp.Gaussian, o PredictOptions, p *Prediction) error {
	if o.Link != "" && !m.Task.Classifies() {
		return settings.Errorf("link %q of predictions without classes, expected none", o.Link)
	}
	unfamiliar, groups, weights := p.Unfamiliar[:0], p.Groups[:0], p.Weights[:0] // Task.Fill makes a new prediction
	if err := m.Task.Fill(ctx, g, m.observation(), o, p); err != nil {
		return err
	}
	p.Unfamiliar, p.Groups, p.Weights = unfamiliar, groups, weights
	m.familiarity(g, p)
	p.Abstain = o.Abstain
	if m.Calibration == nil {
		return nil
	}
	if p.Abstain == nil {
		p.Abstain = m.Calibration.Abstain
		if a := p.Abstain; a != nil && a.Link != "" && a.Link != string(p.Link) {
			return settings.Errorf("the link is %q, but the rule for rows that need a look was chosen with %q: expected the same", p.Link, a.Link)
		}
	}
	p.Conformal = m.Calibration.Conformal
	if c := p.Conformal; c != nil && c.Link != string(p.Link) {
		return settings.Errorf("the link is %q, but the conformal calibration was made with %q: expected the same", p.Link, c.Link)
	}
	return m.group(o.Inputs, p)
}

// group sets the groups or the weights of the rows with inputs x [N·D], if the conformal calibration has some.
func (m *Model) group(x []float64, p *Prediction) error {
	if !m.byInputs() {
		return nil
	}
	d := len(m.Task.Inputs.Features)
	if len(x) != p.N()*d {
		return settings.Errorf("the conformal calibration goes by the inputs: expected %d inputs of %d rows, found %d", p.N()*d, p.N(), len(x))
	}
	for row := range slices.Chunk(x, d) {
		if g := p.Conformal.Groups; g != nil {
			p.Groups = append(p.Groups, g.Group(row))
		} else {
			p.Weights = append(p.Weights, p.Conformal.Shift.Weight(row))
		}
	}
	return nil
}

// byInputs reports whether the conformal calibration depends on the inputs of a row.
func (m *Model) byInputs() bool {
	c := m.Calibration
	return c != nil && c.Conformal != nil && (c.Conformal.Groups != nil || c.Conformal.Shift != nil)
}

// groupInputs returns n rows of inputs, from row first on, in the units of the data, if the conformal calibration goes by them; nil otherwise. They
// are rows of x or, where x is nil, of the scaled inputs in.
func (m *Model) groupInputs(in *tensor.Dense, x []float64, first, n int) []float64 {
	if !m.byInputs() {
		return nil
	}
	d := len(m.Task.Inputs.Features)
	if x != nil {
		return x[first*d : (first+n)*d]
	}
	return m.unscaled(data.TakeRows(in, dense.UpTo(first, n)), d)
}

// unscaled returns scaled inputs [n,d] in the units of the data, up to rounding.
func (m *Model) unscaled(in *tensor.Dense, d int) []float64 {
	x := graph.Floats(in)
	if of := m.Task.Inputs; of.Mean != nil {
		for i := range x {
			x[i] = x[i]*of.Std[i%d] + of.Mean[i%d]
		}
	}
	return x
}

// Latent returns the distribution of the network's outputs at the inputs x [N,…], without noise. The inputs are
// in the units of the data, the outputs are in the units of the network. The memory for C outputs grows with
// N·C², while [Model.Predict] works in parts.
func (m *Model) Latent(ctx context.Context, x *tensor.Dense) (all gp.Gaussian, err error) {
	defer explain("predict", &err)
	in, err := m.Task.Inputs.Apply(x, m.Dtype())
	if err != nil {
		return gp.Gaussian{}, err
	}
	err = m.eachLatent(ctx, in, false, func(_ int, g gp.Gaussian) error {
		all.Append(g)
		return nil
	})
	return all, err
}

// Evaluate returns the scores of the predictions for a set.
func (m *Model) Evaluate(ctx context.Context, set *data.Set, o PredictOptions) (_ Scores, err error) {
	defer explain("evaluate", &err)
	if err := m.Task.CheckSet(set); err != nil {
		return Scores{}, err
	}
	p, err := m.Predict(ctx, set.X, o)
	if err != nil {
		return Scores{}, err
	}
	return m.Task.Score(p, set.Y)
}
