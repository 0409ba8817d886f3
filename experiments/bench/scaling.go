package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
	"github.com/jedib0t/go-pretty/v6/table"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"
)

// sweep changes one size of a step of VaLLA, in float64 with a network 784-200-200-C of tanh.
// The other sizes keep their usual values.
type sweep struct {
	name   string                // of the size
	sizes  []int                 // the sizes that are measured, ascending
	sizing func(size int) sizing // all sizes of a step whose one size is given
}

// sizing holds the sizes of a step: inducing points, mini-batch, outputs, rows of the data, and
// neurons in each of the two hidden layers.
type sizing struct{ inducing, batch, classes, rows, width int } // numbers of the kinds above, in their order

// step makes a step of VaLLA of these sizes.
func (s sizing) step(dt tensor.Dtype) (*work, error) {
	spec := mnist
	spec.Outputs, spec.Hidden = s.classes, []int{s.width, s.width}
	return vallaStep(spec, s.inducing, s.batch, max(s.batch, s.rows))(dt)
}

var usual = sizing{100, batch, 10, 1000, 200}

var sweeps = []sweep{
	{"M", []int{25, 50, 100, 200, 400}, func(n int) sizing { s := usual; s.inducing = n; return s }},
	{"B", []int{25, 50, 100, 200, 400}, func(n int) sizing { s := usual; s.batch = n; return s }},
	{"C", []int{2, 5, 10, 20, 50, 100}, func(n int) sizing { s := usual; s.classes = n; return s }},
	{"N", []int{500, 2000, 8000, 32_000}, func(n int) sizing { s := usual; s.rows = n; return s }},
	{"P", []int{weights(50), weights(100), weights(200), weights(400), weights(800)}, func(n int) sizing { s := usual; s.width = widthOf(n); return s }},
}

// weights returns the number of weights of a network with hidden layers of this width.
func weights(width int) int {
	return width*width + (mnist.Inputs+2+usual.classes)*width + usual.classes
}

// widthOf is the inverse of weights.
func widthOf(count int) int {
	width := 1
	for weights(width) < count {
		width++
	}
	return width
}

// growth holds the measurements of a sweep.
type growth struct {
	Size    string    `json:"size"`    // M, B, C, N or P
	Sizes   []float64 `json:"sizes"`   // the sizes that were measured
	Threads []int     `json:"threads"` // numbers of threads
	Seconds []curve   `json:"seconds"` // medians, one curve for each of Threads
	Bytes   curve     `json:"bytes"`   // of the program
	Flops   curve     `json:"flops"`   // of a step
}

// curve is a quantity that grows roughly as a power of a size.
type curve struct {
	Values   []float64 `json:"values"`   // a value for each size
	Exponent float64   `json:"exponent"` // the power of the size
	Factor   float64   `json:"factor"`   // Values ≈ Factor · Size^Exponent
}

// newCurve fits a power by least squares in the logarithms.
func newCurve(sizes, values []float64) curve {
	x, y := make([]float64, len(sizes)), make([]float64, len(values))
	for i := range x {
		x[i], y[i] = math.Log(sizes[i]), math.Log(values[i])
	}
	a, b := stat.LinearRegression(x, y, nil, false)
	return curve{values, b, math.Exp(a)}
}

// scalingReport is the outcome of --scaling.
type scalingReport struct {
	session
	Step   string   `json:"step"`          // what a step does, in words
	CPU    bool     `json:"cpu,omitempty"` // CPU time on one thread
	Growth []growth `json:"growth"`        // one for each sweep
}

// scale measures the sweeps, prints the exponents and draws the curves.
func (c *Command) scale(ctx context.Context, stdout io.Writer) error {
	r := scalingReport{session: newSession(), CPU: c.cpu,
		Step: "VaLLA step, classification 784-200-200-C, float64; M = 100, B = 100, C = 10 and N = 1,000 where they do not change"}
	var err error
	for _, s := range sweeps {
		var g growth
		g, err = c.measureSweep(ctx, s)
		if len(g.Sizes) > 1 { // a curve needs two points
			r.Growth = append(r.Growth, g)
		}
		if err != nil {
			break
		}
	}
	if len(r.Growth) == 0 {
		return err
	}
	r.Load[1] = load()
	return errors.Join(err, c.printDrawn(stdout, "scaling", r.draw, r, r.text)) // what was measured, also after an interruption
}

// draw writes path.png and path.svg, with a chart of the time and a chart of the memory for each
// sweep. All axes are logarithmic.
func (r scalingReport) draw(path string) error {
	var times, memory []figure.Chart
	chart := func(title, x, y string, curves []figure.Series) figure.Chart {
		return figure.Curves(figure.Axes{Title: title, X: x, Y: y, LogX: true, Log: true}, curves)
	}
	for _, g := range r.Growth {
		var curves []figure.Series
		var exponents []string
		for i, c := range g.Seconds {
			curves = append(curves, c.series(g.Sizes, result.Plural(g.Threads[i], "thread"), 1e3))
			exponents = append(exponents, fmt.Sprintf("%.2f", c.Exponent))
		}
		times = append(times, chart("exponent "+strings.Join(exponents, ", "), g.Size, "time of a step, ms", curves))
		memory = append(memory, chart(fmt.Sprintf("exponent %.2f", g.Bytes.Exponent), g.Size, "memory, MB", []figure.Series{g.Bytes.series(g.Sizes, "memory", 1e-6)}))
	}
	return figure.Save(path, append(times, memory...)...)
}

// series returns the curve in another unit, for a picture.
func (c curve) series(sizes []float64, name string, scale float64) figure.Series {
	s := figure.Series{Name: name, X: sizes}
	for _, v := range c.Values {
		s.Y = append(s.Y, scale*v)
	}
	return s
}

// scalingSteps bounds the number of steps of one size, and scalingBudget their duration.
const (
	scalingSteps  = 12
	scalingBudget = 10 * time.Second
)

// measureSweep measures a sweep on all threads and on one. After an error it has the sizes before.
func (c *Command) measureSweep(ctx context.Context, s sweep) (g growth, err error) {
	most, now, err := c.timing()
	if err != nil {
		return g, err
	}
	threads := threadCounts(most)
	g = growth{Size: s.name, Threads: threads}
	seconds, bytes, flops := make([][]float64, len(threads)), []float64(nil), []float64(nil)
	for _, n := range s.sizes {
		fmt.Fprintf(c.progress, "%s = %d\n", s.name, n)
		r, failed := measure(ctx, benchmark{new: s.sizing(n).step}, tensor.Float64, nil, plan{threads: most, steps: min(c.steps, scalingSteps), budget: scalingBudget, clock: now})
		if failed != nil {
			err = fmt.Errorf("%s = %d: %w", s.name, n, failed)
			break
		}
		g.Sizes, bytes, flops = append(g.Sizes, float64(n)), append(bytes, float64(r.Ours.Bytes)), append(flops, r.Needed.Double+r.Needed.Single)
		for i, t := range []*timing{r.one(), r.Ours}[:len(threads)] {
			seconds[i] = append(seconds[i], t.Median)
		}
		debug.FreeOSMemory()
	}
	if len(g.Sizes) < 2 {
		return g, err
	}
	for _, v := range seconds {
		g.Seconds = append(g.Seconds, newCurve(g.Sizes, v))
	}
	g.Bytes, g.Flops = newCurve(g.Sizes, bytes), newCurve(g.Sizes, flops)
	return g, err
}

// text returns a table of all curves with their exponents.
func (r scalingReport) text() string {
	w := newTable()
	for i, g := range r.Growth {
		if i > 0 {
			w.AppendSeparator()
		}
		head := table.Row{g.Size, "", "exponent"}
		for _, n := range g.Sizes {
			head = append(head, n)
		}
		w.AppendRow(head)
		for j, c := range g.Seconds {
			w.AppendRow(c.cells("ms, "+result.Plural(g.Threads[j], "thread"), 1e3))
		}
		if n := len(g.Seconds); n > 1 {
			w.AppendRow(faster(g.Seconds[0], g.Seconds[n-1]))
		}
		w.AppendRows([]table.Row{g.Flops.cells("MFLOP", 1e-6), g.Bytes.cells("MB", 1e-6)})
	}
	return r.Step + "\n" + r.line(r.Machine.CPU, r.Machine.Go) + w.Render() + "\n"
}

// cells returns the line of a curve in the table.
func (c curve) cells(unit string, scale float64) table.Row {
	row := table.Row{"", unit, fmt.Sprintf("%.2f", c.Exponent)}
	for _, v := range c.Values {
		row = append(row, digits(scale*v))
	}
	return row
}

// faster returns the line with the speed on all threads as a multiple of that on one.
func faster(one, all curve) table.Row {
	row := table.Row{"", "faster by", ""}
	for i, v := range one.Values {
		row = append(row, fmt.Sprintf("× %.2f", v/all.Values[i]))
	}
	return row
}
