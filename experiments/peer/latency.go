package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/jedib0t/go-pretty/v6/table"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gorgonia.org/tensor"
)

// service is a model whose predictions of single rows are timed.
type service struct {
	name     string
	spec     layers.MLP
	inducing int // of VaLLA; 0 is LLA by Kronecker factors
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
	Name   string          `json:"name"`
	Dtype  string          `json:"dtype"`
	Calls  int             `json:"calls"`
	OneOf  map[int]float64 `json:"one_of"` // of so many calls one takes longer than the value
	sorted []float64
}

// latencyReport is the outcome of --latency.
type latencyReport struct {
	Machine result.Machine `json:"machine"`
	Load    [2]string      `json:"load"`
	Time    string         `json:"time"` // what was measured
	Rows    []latency      `json:"rows"`
}

// shares are the columns of the table: the median, and the times that one call of so many exceeds.
var shares = []int{2, 10, 100, 1000, 10000}

// latencyRounds is the number of turns of each service, so that noise of the machine affects all.
const latencyRounds = 10

// latencies measures single rows, prints the percentiles and draws them.
func (c *command) latencies(ctx context.Context, stdout io.Writer) error {
	r := latencyReport{Machine: result.ThisMachine(valla.Version()), Load: [2]string{load(), ""}}
	now, what := c.clock()
	r.Time = what
	if _, err := now(); err != nil {
		return err
	}
	var calls []func() error
	for _, s := range services {
		for _, dt := range both {
			call, err := s.call(ctx, dt)
			if err != nil {
				return fmt.Errorf("%s, %v: %w", s.name, dt, err)
			}
			r.Rows, calls = append(r.Rows, latency{Name: s.name, Dtype: dt.String()}), append(calls, call)
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
	return errors.Join(err, c.printLatencies(r, stdout)) // what was measured, also after an interruption
}

// latencyTurns measures the rows in turn.
func (c *command) latencyTurns(ctx context.Context, rows []latency, calls []func() error, now clock) error {
	for round := range latencyRounds {
		fmt.Fprintf(c.progress, "round %d of %d\n", round+1, latencyRounds)
		for i := range rows {
			if err := rows[i].measure(ctx, calls[i], c.each/latencyRounds, now); err != nil {
				return fmt.Errorf("%s, %s: %w", rows[i].Name, rows[i].Dtype, err)
			}
		}
	}
	return nil
}

// call returns a function that predicts a row with its error bar.
func (s service) call(ctx context.Context, dt tensor.Dtype) (func() error, error) {
	p, _, err := s.predictor(ctx, dt)
	if err != nil {
		return nil, err
	}
	row := newMaker(tensor.Float64).normal(s.spec.Inputs).Float64s()
	var out valla.Prediction
	return func() error { return p.Predict(ctx, row, &out) }, nil
}

// predictor returns a predictor of the service's model, and VaLLA's layer.
func (s service) predictor(ctx context.Context, dt tensor.Dtype) (*valla.Predictor, *parameters, error) {
	m := newMaker(dt)
	net, err := s.spec.New(dt, m.Rand)
	if err != nil {
		return nil, nil, err
	}
	l := m.layer(m.normal(max(1, s.inducing), s.spec.Inputs), s.spec.Outputs)
	posterior, err := l.posterior(gpvalla.Method, net, lik(s.spec.Outputs, dt))
	if err != nil {
		return nil, nil, err
	}
	if s.inducing == 0 {
		o := &laplace.Settings{Structure: "kfac", PriorStd: 1, NoiseStd: math.Sqrt(noiseVariance)}
		of := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(1, dt), Train: gp.Examples{X: m.normal(200, s.spec.Inputs), Y: m.normal(200, 1)}}
		if posterior, err = o.Posterior(ctx, of, gp.Run{}); err != nil {
			return nil, nil, err
		}
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
	p, err := model.Predictor(valla.PredictorOptions{})
	return p, l, err
}

// predictOne is the prediction of one row by a predictor, with the mean and the covariance of
// the network's outputs as its values.
func predictOne(s service) func(tensor.Dtype) (*work, error) {
	return func(dt tensor.Dtype) (*work, error) {
		p, l, err := s.predictor(context.Background(), dt)
		if err != nil {
			return nil, err
		}
		net, err := s.spec.New(dt, newMaker(dt).Rand) // the predictor's
		if err != nil {
			return nil, err
		}
		m := newMaker(dt)
		row := m.normal(1, s.spec.Inputs)
		x, out := graph.Floats(row), valla.Prediction{}
		return &work{
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
		}, nil
	}
}

// clock returns the time that is measured, and its name.
func (c *command) clock() (now clock, name string) {
	if c.cpu {
		return threadClock, "CPU time"
	}
	return wall(), "time"
}

// measure calls a function for some time, after calls that are not counted.
func (l *latency) measure(ctx context.Context, call func() error, length time.Duration, now clock) error {
	runtime.LockOSThread() // whose clock it may be
	defer runtime.UnlockOSThread()
	const warm = 50
	start := time.Now()
	for i := -warm; i < 1 || time.Since(start) < length; i++ {
		before, err := now()
		if err == nil {
			err = call()
		}
		if err != nil {
			return err
		}
		if after, _ := now(); i >= 0 {
			l.sorted = append(l.sorted, (after - before).Seconds())
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

// printLatencies writes the picture, and prints the table or one JSON document.
func (c *command) printLatencies(r latencyReport, stdout io.Writer) error {
	if err := os.MkdirAll(c.dir, 0o777); err != nil {
		return err
	}
	path := filepath.Join(c.dir, "latency")
	if err := r.draw(path); err != nil {
		return err
	}
	if c.json {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	_, err := fmt.Fprintf(stdout, "%swrote %s.png and %s.svg\n", r.text(), path, path)
	return err
}

// text returns a table of the percentiles.
func (r latencyReport) text() string {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Format.Header = 0
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
	return fmt.Sprintf("%s, %s, one goroutine; load %s before, %s after\n%s\n", r.Machine.CPU, r.Machine.Go, r.Load[0], r.Load[1], w.Render())
}

// draw writes path.png and path.svg: the time that one call of so many exceeds.
func (r latencyReport) draw(path string) error {
	p := newLogPlot("one call of so many takes longer", r.Time+" of a row, µs")
	for i, l := range r.Rows {
		var xys plotter.XYs
		for n := 2.0; n <= float64(l.Calls)/10 && n <= 1e4; n *= 1.1 {
			xys = append(xys, plotter.XY{X: n, Y: 1e6 * l.exceeded(n)})
		}
		line, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		line.Color, line.Width = lineColors[i/len(both)%len(lineColors)], vg.Points(1.4)
		if i%len(both) > 0 {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(line)
		p.Legend.Add(l.Name+", "+l.Dtype, line)
	}
	ticks(p, []float64{2, 10, 100, 1000, 10000})
	p.Y.Min, p.Y.Max = p.Y.Min/1.3, p.Y.Max*math.Pow(p.Y.Max/p.Y.Min, 0.6) // with room for the legend
	p.Y.Tick.Marker = plot.ConstantTicks(decades(p.Y.Min, p.Y.Max))
	return save(path, [][]*plot.Plot{{p}}, 2*tileSize, 1.4*tileSize)
}
