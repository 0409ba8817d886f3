package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/task"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/figure"
	"github.com/go-valla/valla/layers"
	"github.com/jedib0t/go-pretty/v6/table"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"
)

// service is a model whose predictions of single rows are timed.
type service struct {
	name     string     // the label in the table
	spec     layers.MLP // the network
	inducing int        // of VaLLA; 0 is LLA by Kronecker factors
}

var wine = layers.MLP{Inputs: 11, Hidden: []int{50, 50}, Outputs: 1, Activation: "tanh"}

var services = []service{
	{"784-200-200-10, VaLLA, M = 100", mnist, 100},
	{"90-200-200-200-1, VaLLA, M = 100", year, 100},
	{"11-50-50-1, LLA KFAC", wine, 0},
	{"11-50-50-1, VaLLA, M = 20", wine, 20},
}

// latency holds the durations of calls of a predictor, in seconds.
type latency struct {
	Name   string          `json:"name"`   // the service
	Dtype  string          `json:"dtype"`  // float64 or float32
	Calls  int             `json:"calls"`  // the number of calls that count
	OneOf  map[int]float64 `json:"one_of"` // by n: the duration in seconds that one call of n exceeds
	sorted []float64       // the durations of all calls in seconds, in ascending order after finish
}

// latencyReport is the outcome of --latency.
type latencyReport struct {
	session
	Time string    `json:"time"` // what was measured
	Rows []latency `json:"rows"` // a row for each service and element type
}

// shares are the columns of the table. Column n holds the duration that one call of n exceeds; 2 is
// the median.
var shares = []int{2, 10, 100, 1000, 10000}

// latencyRounds is the number of turns of each service, so that noise of the machine affects all.
const latencyRounds = 10

// latencies measures single rows, prints the percentiles and draws them.
func (c *Command) latencies(ctx context.Context, stdout io.Writer) error {
	now, what := c.clock()
	r := latencyReport{session: newSession(), Time: what}
	if _, err := now(); err != nil {
		return err
	}
	var calls []*work
	for _, s := range services {
		for _, dt := range both {
			w, err := predictOne(s)(dt)
			if err != nil {
				return fmt.Errorf("%s, %v: %w", s.name, dt, err)
			}
			r.Rows, calls = append(r.Rows, latency{Name: s.name, Dtype: dt.String()}), append(calls, w)
		}
	}
	err := c.latencyTurns(ctx, r.Rows, calls, now)
	for i := range r.Rows {
		r.Rows[i].finish()
		if r.Rows[i].Calls < shares[0] {
			return err // interrupted in the first turn
		}
	}
	r.Load[1] = load()
	return errors.Join(err, c.printDrawn(stdout, "latency", r.draw, r, r.text)) // what was measured, also after an interruption
}

// latencyTurns measures the rows in turn.
func (c *Command) latencyTurns(ctx context.Context, rows []latency, calls []*work, now clock) error {
	for round := range latencyRounds {
		fmt.Fprintf(c.progress, "round %d of %d\n", round+1, latencyRounds)
		for i := range rows {
			if err := rows[i].measure(ctx, calls[i].step, c.each/latencyRounds, now); err != nil {
				return fmt.Errorf("%s, %s: %w", rows[i].Name, rows[i].Dtype, err)
			}
		}
	}
	return nil
}

// predictor returns a predictor of the service's model with a network and VaLLA's layer l.
func (s service) predictor(m maker, net layers.Sequential, l *parameters) (*valla.Predictor, error) {
	posterior, err := l.posterior(gpvalla.Method, net, lik(s.spec.Outputs, m.dt))
	if err == nil && s.inducing == 0 {
		o := &laplace.Settings{Structure: "kfac", PriorStd: 1, NoiseStd: math.Sqrt(noiseVariance)}
		posterior, err = o.Posterior(context.Background(), problem(net, m.normal(200, s.spec.Inputs), m.normal(200, 1)), gp.Run{})
	}
	if err != nil {
		return nil, err
	}
	model := &valla.Model{Form: s.spec, Net: net, Posterior: &valla.Posterior{Stored: posterior, NoiseVariance: noiseVariance}}
	model.Task = task.Task{Inputs: task.Inputs{Shape: []int{s.spec.Inputs}}, Outputs: &task.Regression{Names: []string{"y"}, NoiseVariance: noiseVariance}}
	if n := s.spec.Outputs; n > 1 {
		classes := &task.Classification{Name: "y"}
		for k := range n {
			classes.Classes = append(classes.Classes, float64(k))
		}
		model.Task.Outputs = classes
	}
	return model.Predictor(valla.PredictorOptions{})
}

// predictOne is the prediction of one row by a predictor, with the mean and the covariance of
// the network's outputs as its values.
func predictOne(s service) func(tensor.Dtype) (*work, error) {
	return made(perceptronOf(s.spec), func(m maker, net layers.Sequential) (*work, error) {
		l := m.layer(m.normal(max(1, s.inducing), s.spec.Inputs), s.spec.Outputs)
		p, err := s.predictor(m, net, l)
		if err != nil {
			return nil, err
		}
		m = newMaker(m.dt)
		row := m.normal(1, s.spec.Inputs)
		x, out := graph.Floats(row), valla.Prediction{}
		w := &work{
			arrays: arrays(net, row, m.targets(1, s.spec.Outputs), l),
			step:   func(ctx context.Context) error { return p.Predict(ctx, x, &out) },
			values: func() values {
				var g gp.Gaussian
				if err := p.Latent(context.Background(), x, &g); err != nil {
					return values{}
				}
				v := values{"mean": slices.Clone(g.Mean), "covariance": slices.Clone(g.Cov)}
				if out.Probs != nil {
					v["probabilities"] = slices.Clone(out.Probs)
				}
				return v
			},
		}
		if s.inducing > 0 {
			w.needed, err = rowsNeed(&gpvalla.Settings{Inducing: s.inducing}, problem(net, m.normal(batch, s.spec.Inputs), m.targets(batch, s.spec.Outputs)), 1)
		}
		return w, err
	})
}

// clock returns the time that is measured, and its name.
func (c *Command) clock() (now clock, name string) {
	if c.cpu {
		return threadClock, "CPU time"
	}
	return wall(), "time"
}

// measure calls a function for some time, after calls that are not counted.
func (l *latency) measure(ctx context.Context, call func(context.Context) error, length time.Duration, now clock) error {
	runtime.LockOSThread() // whose clock it may be
	defer runtime.UnlockOSThread()
	const warm = 50
	start := time.Now()
	for i := -warm; i < 1 || time.Since(start) < length; i++ {
		took, err := now.timed(ctx, call)
		if err != nil {
			return err
		}
		if i >= 0 {
			l.sorted = append(l.sorted, took.Seconds())
		}
	}
	return ctx.Err()
}

// finish computes the percentiles.
func (l *latency) finish() {
	slices.Sort(l.sorted)
	l.Calls, l.OneOf = len(l.sorted), map[int]float64{}
	for _, n := range shares {
		if l.Calls >= n {
			l.OneOf[n] = l.exceeded(float64(n))
		}
	}
}

// exceeded returns the duration that one call of n exceeds.
func (l *latency) exceeded(n float64) float64 {
	return stat.Quantile(1-1/n, stat.Empirical, l.sorted, nil)
}

// text returns a table of the percentiles.
func (r latencyReport) text() string {
	w := newTable()
	head := table.Row{r.Time + " of a row, µs", ""}
	for _, n := range shares {
		head = append(head, fmt.Sprintf("p%.6g", 100-100/float64(n)))
	}
	w.AppendHeader(append(head, "calls"))
	for _, l := range r.Rows {
		row := table.Row{l.Name, l.Dtype}
		for _, n := range shares {
			if v, ok := l.OneOf[n]; ok {
				row = append(row, digits(1e6*v))
			} else {
				row = append(row, "")
			}
		}
		w.AppendRow(append(row, l.Calls))
	}
	return r.line(r.Machine.CPU, r.Machine.Go, "one goroutine") + w.Render() + "\n"
}

// draw writes path.png and path.svg: the duration that one call of n exceeds, against n.
func (r latencyReport) draw(path string) error {
	var curves []figure.Series
	for _, l := range r.Rows {
		s := figure.Series{Name: l.Name + ", " + l.Dtype}
		for n := 2.0; n <= float64(l.Calls)/10 && n <= 1e4; n *= 1.1 {
			s.X, s.Y = append(s.X, n), append(s.Y, 1e6*l.exceeded(n))
		}
		curves = append(curves, s)
	}
	axes := figure.Axes{X: "one call of so many takes longer", Y: r.Time + " of a row, µs", LogX: true, Log: true}
	return figure.Save(path, figure.Curves(axes, curves))
}
