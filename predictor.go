package valla

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
)

// PredictorOptions say how a [Predictor] works. The zero value is ready to use.
type PredictorOptions struct {
	PredictOptions
	// Sizes are the numbers of rows that are computed together; nil means 1, 8 and 64. Sizes that
	// need more memory than there is are left out, but not the smallest.
	Sizes []int
	// Memory is the largest number of bytes for compiled predictions. 0 means 1 GiB, or what the
	// smallest size needs where that is more. With little memory fewer goroutines are served at
	// the same time.
	Memory int64
}

// Predictor makes the predictions of a model for a few rows in little time, for any number of
// goroutines. What depends on the posterior alone is computed once, when the Predictor is made,
// and a prediction allocates nothing, unless the link is [MonteCarlo]. A Predictor is correct as long as the
// model does not change. A row has the same prediction, bit for bit, as by
// [Model.Predict].
type Predictor struct {
	m      *Model                     // turns latent distributions into predictions
	engine *gp.Engine                 // compiled predictions of the latent distribution, with variances alone where these suffice
	joint  func() (*gp.Engine, error) // with covariances; made when it is needed
	inputs task.Inputs                // scaling of the rows
	dt     tensor.Dtype               // element type of the network
	o      PredictOptions             // options of every prediction
	calls  sync.Pool                  // of *call
}

// Predictor returns a predictor of m.
func (m *Model) Predictor(o PredictorOptions) (*Predictor, error) {
	made := func(marginal bool) (*gp.Engine, error) {
		e, err := gp.NewEngine(m.gp(), m.Task.Inputs.Shape, gp.EngineOptions{Sizes: o.Sizes, Memory: o.Memory, Marginal: marginal})
		if err == nil {
			err = e.Warm(context.Background())
		}
		return e, err
	}
	e, err := made(m.marginal(o.Link))
	if err != nil {
		return nil, fmt.Errorf("predictor: %w", err)
	}
	p := &Predictor{m: m, engine: e, inputs: m.Task.Inputs, dt: m.Dtype(), o: o.PredictOptions}
	p.joint = func() (*gp.Engine, error) { return e, nil }
	if m.marginal(o.Link) {
		p.joint = sync.OnceValues(func() (*gp.Engine, error) { return made(false) })
	}
	p.calls.New = func() any { return new(call) }
	return p, nil
}

// call is the memory of a call of Predict, which later calls use again.
type call struct {
	x []float64   // scaled rows [N·D]
	g gp.Gaussian // latent distribution at the rows
}

// Predict writes the prediction at the rows x [N·D] into the slices of out, which grow where
// they are too short. The rows are in the units of the data, with their D numbers in the order of
// [Model.Predict]; pixels are numbers from 0 to 1. The errors are the same as in Model.Predict.
func (p *Predictor) Predict(ctx context.Context, x []float64, out *Prediction) (err error) {
	defer explain("predict", &err)
	c := p.calls.Get().(*call)
	defer p.calls.Put(c)
	if err := p.latent(ctx, p.engine, c, x, &c.g); err != nil {
		return err
	}
	o := p.o
	o.Inputs = x
	return p.m.Fill(ctx, c.g, o, out)
}

// Latent writes the distribution of the network's outputs at the rows x [N·D] into g, without
// noise. The rows are the same as in Predict, the outputs are in the units of the network.
func (p *Predictor) Latent(ctx context.Context, x []float64, g *gp.Gaussian) (err error) {
	defer explain("predict", &err)
	c := p.calls.Get().(*call)
	defer p.calls.Put(c)
	e, err := p.joint()
	if err != nil {
		return err
	}
	return p.latent(ctx, e, c, x, g)
}

// Marginals is [Predictor.Latent] with variances alone where the predictions of the model need no covariances and
// covariances are costly, see [gp.CostlyClasses]. The predictions that [Model.Fill] makes of g are those of Predict.
func (p *Predictor) Marginals(ctx context.Context, x []float64, g *gp.Gaussian) (err error) {
	defer explain("predict", &err)
	c := p.calls.Get().(*call)
	defer p.calls.Put(c)
	return p.latent(ctx, p.engine, c, x, g)
}

// latent predicts by an engine with the memory of a call.
func (p *Predictor) latent(ctx context.Context, e *gp.Engine, c *call, x []float64, g *gp.Gaussian) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.x = slices.Grow(c.x[:0], len(x))[:len(x)]
	if err := p.inputs.Scale(c.x, x, p.dt); err != nil {
		return err
	}
	return e.Predict(ctx, c.x, g)
}
