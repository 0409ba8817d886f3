package valla

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// contenderMAP is the name of the network alone, which every comparison has.
const contenderMAP = "map"

// contender is what a comparison compares: the network alone, a calibration of it, or a method.
type contender struct {
	name, label, flags string
	calibration        string // method of Calibrate; "": none
	settings           gp.Settings
	simpler            int
	seconds            float64       // that a fit may take; 0: not known
	share              time.Duration // that was too little
}

// fitted is the rank of posteriors among what is simple.
const fitted = 9

// forms are settings of methods that are contenders beside their defaults.
var forms = []struct{ name, method, setting, value string }{
	{"lla-kfac", "lla", "structure", "kfac"},
	{"lla-last-layer", "lla", "weights", "last-layer"},
}

// Contenders names what [Model.Compare] compares: the network alone (map), its calibrations, the
// methods of [Methods] with their defaults, and LLA of two more forms.
func Contenders() []string {
	names := []string{contenderMAP, CalibrateTemperature, CalibrateVector, CalibrateConformal}
	for _, how := range method.All() {
		names = append(names, how.Name)
		for _, f := range forms {
			if f.method == how.Name {
				names = append(names, f.name)
			}
		}
	}
	return names
}

// newContender returns that of a name.
func newContender(name string) (contender, error) {
	c := contender{name: name, simpler: fitted}
	switch name {
	case contenderMAP:
		c.label, c.simpler = "MAP", 0
	case CalibrateTemperature, CalibrateVector, CalibrateConformal:
		c.label, c.flags, c.calibration = "MAP, "+name, "--method "+name, name
		c.simpler = 1 + slices.Index([]string{CalibrateTemperature, CalibrateVector, CalibrateConformal}, name)
	default:
		of, setting, value := name, "", ""
		for _, f := range forms {
			if f.name == name {
				of, setting, value = f.method, f.setting, f.value
			}
		}
		how, err := method.Lookup(of)
		if err != nil {
			return c, settings.Errorf("contender %q, expected one of %s", name, strings.Join(Contenders(), ", "))
		}
		c.settings, c.flags = how.New(), "--method "+of
		if setting != "" {
			c.flags += fmt.Sprintf(" --%s %s", setting, value)
			if err := settings.Lookup(c.settings, setting).Set(value); err != nil {
				return c, err
			}
		}
		c.label = c.settings.Label()
	}
	return c, nil
}

// contenders are those of the options that suit the outputs, and the network alone.
func (c *contest) contenders() ([]contender, error) {
	names := c.o.Methods
	if names == nil {
		names = slices.DeleteFunc(Contenders(), func(n string) bool { return n == CalibrateVector && !c.classes() })
	}
	names = append([]string{contenderMAP}, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == contenderMAP })...)
	var out []contender
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, settings.Errorf("contender %q stands twice, expected different ones", name)
		}
		one, err := newContender(name)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// run makes the results; limited ends with the budget, and ctx before.
func (c *contest) run(ctx, limited context.Context) error {
	all, err := c.contenders()
	if err != nil {
		return err
	}
	queue := c.estimated(limited, all)
	deadline, _ := limited.Deadline()
	var long []contender // than the time that is left, by their estimate
	for i, one := range queue {
		if time.Until(deadline).Seconds() < one.seconds*float64(len(c.folds)) {
			long = append(long, one)
			continue
		}
		if err := c.round(ctx, limited, one, len(queue)-i); err != nil {
			return err
		}
	}
	for _, one := range slices.Concat(c.late, long) { // who had too little get what is left
		if err := c.round(ctx, limited, one, 1); err != nil {
			return err
		}
	}
	return nil
}

// trust is how many times its estimate a contender may take, and how many times the time that is left
// an estimate may be in the end, when nothing is lost by a try.
const trust = 2

// round gives a contender its time: one of so many shares of what is left, or what it has estimated,
// if that is more.
func (c *contest) round(ctx, limited context.Context, one contender, shares int) error {
	deadline, _ := limited.Deadline()
	left, need := time.Until(deadline), time.Duration(one.seconds*float64(len(c.folds))*float64(time.Second))
	switch {
	case ctx.Err() != nil:
		c.leave(one, "interrupted")
	case one.share > 0 && left <= one.share:
		c.leave(one, reason(ctx, context.DeadlineExceeded, one.share))
	case left <= 0:
		c.leave(one, "nothing was left of the budget")
	case need > trust*left:
		c.leave(one, fmt.Sprintf("would take about %s, more than the %s that are left of the budget", seconds(need.Seconds()), seconds(left.Seconds())))
	default:
		return c.try(ctx, limited, one, min(left, max(left/time.Duration(shares), trust*need)), left)
	}
	return nil
}

// try gives a contender a time. Where it takes longer, and more was left, it may come again.
func (c *contest) try(ctx, limited context.Context, one contender, given, left time.Duration) error {
	own, cancel := context.WithTimeout(limited, given)
	defer cancel()
	r, err := c.contend(own, one)
	switch {
	case err == nil:
		c.out.Results = append(c.out.Results, r)
	case given < left && errors.Is(err, context.DeadlineExceeded) && limited.Err() == nil:
		one.share = given
		c.late = append(c.late, one)
	case one.name == contenderMAP && limited.Err() == nil:
		return err
	default:
		c.leave(one, reason(ctx, err, given))
	}
	return nil
}

// leave notes a contender without a result.
func (c *contest) leave(one contender, why string) {
	c.out.LeftOut = append(c.out.LeftOut, LeftOut{one.name, one.label, why})
}

// reason says in a line why a contender has no result.
func reason(ctx context.Context, err error, left time.Duration) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("took more than the %s that it had of the budget", seconds(left.Seconds()))
	}
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), "fit: "), "\n", "; ")
}

// estimated returns contenders in the order in which they are run: those first that take nothing,
// then methods by what they say that they take. One that cannot say stands where a fair share of the
// budget would, which is what it gets. A method that already fails to say is left out.
func (c *contest) estimated(ctx context.Context, all []contender) (queue []contender) {
	share := c.o.Budget.Seconds() / float64(len(all)*len(c.folds))
	cost := map[string]float64{}
	for _, one := range all {
		if one.settings != nil {
			cost[one.name] = share
		}
		e, ok := one.settings.(gp.Estimator)
		if !ok || ctx.Err() != nil {
			queue = append(queue, one)
			continue
		}
		estimate, err := c.estimate(ctx, e)
		if err != nil && ctx.Err() == nil {
			c.leave(one, reason(ctx, err, 0))
			continue
		}
		one.seconds, cost[one.name] = estimate.Seconds, estimate.Seconds
		queue = append(queue, one)
	}
	slices.SortStableFunc(queue, func(a, b contender) int { return cmp.Compare(cost[a.name], cost[b.name]) })
	return queue
}

// estimate says what a fit of the first fold takes.
func (c *contest) estimate(ctx context.Context, e gp.Estimator) (gp.Estimate, error) {
	o := c.fitOptions(c.folds[0])
	p, err := c.m.Problem(ctx, c.train, o)
	if err != nil {
		return gp.Estimate{}, err
	}
	return e.Estimate(ctx, p, o.Run)
}

// fitOptions are those of a fit that chooses by the rows of a fold.
func (c *contest) fitOptions(f fold) FitOptions {
	o := FitOptions{Run: gp.Run{Seed: c.o.Seed, Memory: c.o.Memory}}
	if c.held {
		o.Held = f.choose
	}
	return o
}

// contend makes the result of a contender.
func (c *contest) contend(ctx context.Context, one contender) (Compared, error) {
	out := Compared{Name: one.name, Label: one.label, Flags: one.flags, simpler: one.simpler}
	scorer, width := c.m.Task.Outputs.Scorer(), tally{level: c.o.Level}
	var last *Model
	for i, f := range c.folds {
		m, bytes, err := c.make(ctx, one, f, i)
		if err != nil {
			return out, err
		}
		if one.name != contenderMAP {
			out.FitSeconds += m.History[len(m.History)-1].Seconds / float64(len(c.folds))
		}
		last, out.FitBytes, out.Label = m, max(out.FitBytes, bytes), m.String()
		x, err := m.Task.Inputs.Apply(f.judge.X, m.Dtype())
		if err != nil {
			return out, err
		}
		j, err := m.judged(ctx, jury{x: x, y: f.judge.Y})
		if err != nil {
			return out, err
		}
		out.nlls = append(out.nlls, j.nlls...)
		if err := errors.Join(scorer.Add(j.Prediction, f.judge.Y), width.add(j.Prediction, f.judge.Y)); err != nil {
			return out, err
		}
	}
	var err error
	out.NLL, out.StandardError = average(out.nlls), standardError(out.nlls)
	out.Coverage, out.Width = width.means()
	if out.Scores, err = scorer.Scores(); err != nil {
		return out, err
	}
	out.MicrosPerRow, err = last.speed(ctx, c.folds[0].judge)
	return out, err
}

// make returns the model of a contender by the rows of fold i, and the memory that its fit took.
func (c *contest) make(ctx context.Context, one contender, f fold, i int) (m *Model, bytes int64, err error) {
	switch {
	case one.calibration != "":
		m, err = c.m.Calibrate(ctx, f.choose, CalibrateOptions{Method: one.calibration})
		return m, 0, err
	case one.settings == nil:
		return c.m, 0, ctx.Err()
	}
	o := c.fitOptions(f)
	o.Settings = one.settings
	if report := c.o.OnProgress; report != nil {
		label := one.label
		if len(c.folds) > 1 {
			label += fmt.Sprintf(" (%d of %d)", i+1, len(c.folds))
		}
		o.OnProgress = func(p train.Progress) { report(label, p) }
	}
	bytes = peak(func() { m, err = c.m.Fit(ctx, c.train, o) })
	return m, bytes, err
}

// tally adds up how many targets lie in intervals, or classes in sets, and how wide these are.
type tally struct {
	level   float64
	targets int
	inside  int
	width   float64
}

// add counts the rows of a prediction.
func (t *tally) add(p *Prediction, y *tensor.Dense) error {
	if p.Classes != nil && p.Conformal == nil {
		return nil
	}
	targets := graph.Floats(y)
	inside, size, err := p.Covered(targets, t.level)
	if err != nil {
		return err
	}
	t.targets, t.inside, t.width = t.targets+len(targets), t.inside+inside, t.width+size*float64(len(targets))
	if p.Classes != nil {
		return nil
	}
	half, err := p.HalfWidths(t.level)
	for i, std := range p.Std() {
		if len(p.Targets) > 1 {
			std = 1
		}
		t.width += 2 * half[i%len(half)] * std
	}
	return err
}

// means are the shares of the targets inside and the mean width; nil where there are none.
func (t *tally) means() (coverage, width *float64) {
	if t.targets == 0 {
		return nil, nil
	}
	return new(float64(t.inside) / float64(t.targets)), new(t.width / float64(t.targets))
}

const (
	speedRows = 64 // that are predicted together
	speedTime = 50 * time.Millisecond
)

// speed is the least time in microseconds that a [Predictor] takes for a row, of 64 together.
func (m *Model) speed(ctx context.Context, set *data.Set) (float64, error) {
	p, err := m.Predictor(PredictorOptions{Sizes: []int{speedRows}})
	if err != nil {
		return 0, err
	}
	rows := set.Rows(upTo(0, min(speedRows, set.N())))
	x, err := task.Inputs{Shape: m.Task.Inputs.Shape}.Apply(rows.X, tensor.Float64)
	if err != nil {
		return 0, err
	}
	var out Prediction
	if err := p.Predict(ctx, x.Float64s(), &out); err != nil { // what is computed only once
		return 0, err
	}
	least := math.Inf(1)
	for begin := time.Now(); time.Since(begin) < speedTime; {
		start := time.Now()
		if err := p.Predict(ctx, x.Float64s(), &out); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start).Seconds())
	}
	return 1e6 * least / float64(rows.N()), nil
}
