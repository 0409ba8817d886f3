package valla

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// CompareOptions say what [Model.Compare] does. The zero value compares all that [Contenders]
// names within five minutes.
type CompareOptions struct {
	Methods []string      // names of [Contenders] to compare beside the network alone; nil means all
	Budget  time.Duration // wall time of everything; 0 means 5 minutes
	// Held are rows that neither the training nor a fit has used. With nil they are those that
	// the training of the network held out, where the set is the table of the training; otherwise
	// a tenth of the set, which the network may have seen.
	Held *data.Set
	// Folds is the number of parts of the rows held out. Each part judges what was chosen and
	// calibrated by the others. 1 means that one half of them judges and the other chooses, and 0
	// means 1 where there are 2,000 rows or more, and otherwise 2.
	Folds  int
	Level  float64 // probability of the intervals, or of the sets of classes; 0 means 0.95
	Memory int64   // bytes that a fit may need beside the data; 0 means the method's default
	Seed   uint64

	OnProgress func(contender string, p train.Progress) // if not nil, it is called after each step of a fit
}

// Comparison is the result of [Model.Compare].
type Comparison struct {
	Rows    int      `json:"rows"`  // rows that judge
	Train   int      `json:"train"` // rows to which posteriors are fitted
	Folds   int      `json:"folds"` // 1: other rows choose than judge
	Seen    bool     `json:"seen"`  // the network may have been trained on the rows that judge
	Level   float64  `json:"level"`
	Targets []string `json:"targets"`

	Results []Compared `json:"results"`  // by NLL, the smallest first
	LeftOut []LeftOut  `json:"left_out"` // what has no result
	Seconds float64    `json:"seconds"`  // wall time
	// Recommended is the name of the simplest contender whose NLL cannot be told from the
	// smallest: the mean of the rows' differences is within two of its standard errors, and the
	// share of the targets in its intervals is not below the Level by more than two. The network
	// alone is simplest, then come calibrations, then posteriors, of which one is simpler if it takes
	// less than a quarter of the time. A calibration costs nothing: it is preferred to the network
	// alone where it is better by one standard error. Advice says so in a sentence.
	Recommended string `json:"recommended"`
	Advice      string `json:"advice"`
}

// Compared is how a contender has done. Times are wall times, whatever else the machine did.
type Compared struct {
	Name  string `json:"name"`            // see [Contenders]
	Label string `json:"label"`           // as in a table of scores
	Flags string `json:"flags,omitempty"` // of valla fit or valla calibrate, which make it

	NLL           float64 `json:"nll"` // mean over the rows that judge
	StandardError float64 `json:"standard_error"`
	Behind        float64 `json:"behind"`       // NLL less the smallest one
	BehindError   float64 `json:"behind_error"` // standard error of Behind, from the rows' differences
	Scores        Scores  `json:"scores"`

	// Coverage is the share of the targets in intervals of the Level, and Width how wide these are
	// on average, for several targets in standard deviations of their predictions. Of classes they
	// are the share of the classes in their sets and the size of the sets, which only a conformal
	// calibration has. nil where there are none.
	Coverage *float64 `json:"coverage,omitempty"`
	Width    *float64 `json:"width,omitempty"`

	FitSeconds   float64 `json:"fit_seconds"` // of one fit, or calibration; 0 for the network alone
	FitBytes     int64   `json:"fit_bytes"`   // that objects took at most during a fit beside those before; 0 where there is no fit
	MicrosPerRow float64 `json:"micros_per_row"`

	nlls    []float64 // of the rows
	simpler int       // rank among those that are not fitted
}

// LeftOut is a contender without a result.
type LeftOut struct {
	Name   string `json:"name"`
	Label  string `json:"label"`
	Reason string `json:"reason"`
}

// defaults of CompareOptions.
const (
	defaultBudget = 5 * time.Minute
	foldedRows    = 2000 // fewer rows are divided into folds
)

// Compare tells which method is worth its while for a network and its data. It calibrates the
// network by rows held out, fits methods to the set on which the network was trained, the
// cheapest first, as long as the budget lasts, and scores them all on the same rows. The network
// stays as it is, and a posterior and a calibration of m are not looked at. What cannot be fitted,
// or not within the budget or the memory, is in LeftOut with the reason.
//
// If ctx ends first, Compare returns what has finished with an error that wraps ctx's; with any
// other error the Comparison is nil.
func (m *Model) Compare(ctx context.Context, set *data.Set, o CompareOptions) (*Comparison, error) {
	start := time.Now()
	c, err := m.newContest(set, o)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	limited, cancel := context.WithDeadline(ctx, start.Add(c.o.Budget))
	defer cancel()
	if err := c.run(ctx, limited); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	c.out.conclude()
	c.out.Seconds = time.Since(start).Seconds()
	if ctx.Err() != nil {
		return c.out, fmt.Errorf("compare: %w", ctx.Err())
	}
	return c.out, nil
}

// contest is a comparison that is being made.
type contest struct {
	m     *Model // without posterior and calibration
	o     CompareOptions
	train *data.Set
	folds []fold
	// held says that the fits validate with rows of the folds; otherwise, where the network may
	// have seen these, each does what it would do alone.
	held bool
	late []contender // whose share of the budget was too small
	out  *Comparison
}

// fold are rows that choose and calibrate, and rows that judge.
type fold struct{ choose, judge *data.Set }

// newContest checks the options and divides the rows.
func (m *Model) newContest(set *data.Set, o CompareOptions) (*contest, error) {
	o.Budget, o.Level = cmp.Or(o.Budget, defaultBudget), cmp.Or(o.Level, intervalLevel)
	if err := m.Task.CheckSet(set); err != nil {
		return nil, err
	}
	if o.Held != nil {
		if err := m.Task.CheckSet(o.Held); err != nil {
			return nil, err
		}
	}
	switch {
	case o.Budget < 0 || o.Folds < 0 || o.Memory < 0:
		return nil, settings.Errorf("budget %v, %d folds, memory %d, expected none below 0", o.Budget, o.Folds, o.Memory)
	case !(o.Level > 0 && o.Level < 1):
		return nil, settings.Errorf("level %g, expected a probability between 0 and 1", o.Level)
	}
	c := &contest{m: m.MAP(), o: o, out: &Comparison{Level: o.Level, Targets: m.Task.Outputs.Targets()}}
	pool, err := c.pool(set)
	if err != nil {
		return nil, err
	}
	if err := c.divide(pool); err != nil {
		return nil, err
	}
	c.out.Train = c.train.N()
	return c, nil
}

// pool returns the rows that choose and judge, and keeps the others to fit to.
func (c *contest) pool(set *data.Set) (*data.Set, error) {
	c.train, c.held = set, true
	if c.o.Held != nil {
		return c.o.Held, nil
	}
	for _, e := range c.m.History {
		if n := e.ValidationRows; e.Action == ActionTrain && n > 0 && e.Rows+n == set.N() {
			train, held, err := Holdout(set, float64(n)/float64(set.N()), e.Seed)
			c.train = train
			return held, err
		}
	}
	c.out.Seen, c.held = true, len(c.m.Task.Inputs.Shape) > 1
	var pool *data.Set
	var err error
	c.train, pool, err = Holdout(set, 0.1, c.o.Seed)
	return pool, err
}

// divide makes the folds of at most twice as many rows as judge.
func (c *contest) divide(pool *data.Set) error {
	n := min(pool.N(), 2*maxJudge)
	order := newRand(c.o.Seed, judgeStream).Perm(pool.N())[:n]
	k := c.o.Folds
	if k == 0 {
		if k = 2; n >= foldedRows {
			k = 1
		}
	}
	if c.out.Folds = k; n < max(2, 2*k) {
		return fmt.Errorf("%d rows held out in %d folds, expected at least two for each: give rows that the network has not seen", n, k)
	}
	if k == 1 {
		c.folds = []fold{{pool.Rows(order[:(n+1)/2]), pool.Rows(order[(n+1)/2:])}}
	}
	for i := range k {
		if first, last := i*n/k, (i+1)*n/k; k > 1 {
			c.folds = append(c.folds, fold{pool.Rows(slices.Concat(order[:first], order[last:])), pool.Rows(order[first:last])})
		}
	}
	for _, f := range c.folds {
		c.out.Rows += f.judge.N()
	}
	return nil
}

// conclude sorts the results and recommends one of them.
func (c *Comparison) conclude() {
	if len(c.Results) == 0 {
		c.Advice = "Nothing has finished."
		return
	}
	slices.SortStableFunc(c.Results, func(a, b Compared) int { return cmp.Compare(a.NLL, b.NLL) })
	best := c.Results[0]
	for i := range c.Results {
		r := &c.Results[i]
		r.Behind, r.BehindError = behind(r.nlls, best.nlls)
	}
	take := c.simplest(best)
	c.Recommended, c.Advice = take.Name, c.advice(take, best)
}

// behind is the mean of the rows' differences, with its standard error.
func behind(nlls, best []float64) (mean, standard float64) {
	diff := make([]float64, len(nlls))
	for i := range diff {
		diff[i] = nlls[i] - best[i]
	}
	return average(diff), standardError(diff)
}

// enough is how many standard errors tell two contenders apart.
const enough = 2

// simplest returns the simplest result that cannot be told from the best.
func (c *Comparison) simplest(best Compared) Compared {
	near := func(r Compared) bool { return r.Behind <= enough*r.BehindError && c.holds(r) }
	for _, r := range c.free() {
		if near(r) {
			return r
		}
	}
	take := best
	for _, r := range c.Results {
		if r.simpler == fitted && near(r) && (!c.holds(take) || r.cheaper(take)) {
			take = r
		}
	}
	return take
}

// free are the network alone and its calibrations, that first which should be taken of them: the
// network alone, unless a calibration is better by more than a standard error. A conformal calibration
// is not among them: its NLL is that of what it calibrates.
func (c *Comparison) free() (out []Compared) {
	for _, name := range []string{contenderMAP, CalibrateTemperature, CalibrateVector} {
		i := slices.IndexFunc(c.Results, func(r Compared) bool { return r.Name == name })
		if i < 0 {
			continue
		}
		at := len(out)
		if r := c.Results[i]; at > 0 {
			if worse, by := behind(out[0].nlls, r.nlls); worse > by {
				at = 0
			}
		}
		out = slices.Insert(out, at, c.Results[i])
	}
	return out
}

// much is how many times cheaper a posterior is that is preferred to one with a smaller NLL.
const much = 4

// cheaper says whether a fit takes much less time, a second counting as nothing, and a prediction
// not much more.
func (r Compared) cheaper(than Compared) bool {
	return much*max(1, r.FitSeconds) < than.FitSeconds && r.MicrosPerRow < much*max(1, than.MicrosPerRow)
}

// holds says whether the intervals of a result hold their level, as far as the rows tell. One row
// that lies far outside weighs so much in the NLL that this alone would not show it.
func (c *Comparison) holds(r Compared) bool {
	spread := math.Sqrt(c.Level * (1 - c.Level) / float64(c.Rows))
	return r.Name == CalibrateConformal || r.Coverage == nil || *r.Coverage >= c.Level-enough*spread
}

// advice is the recommendation in a sentence.
func (c *Comparison) advice(take, best Compared) string {
	text := fmt.Sprintf("Take %s: ", take.title())
	rival := c.rival(take)
	switch {
	case take.Name != best.Name:
		text += fmt.Sprintf("it does as well as %s, whose NLL is smaller by %.3g ± %.2g", best.title(), take.Behind, take.BehindError)
	case rival == nil:
		text += "nothing else has finished"
	default:
		text += fmt.Sprintf("its NLL is smaller than that of %s by %.3g ± %.2g", rival.title(), rival.Behind, rival.BehindError)
		if !c.holds(*rival) {
			text += fmt.Sprintf(", whose %g %% intervals hold %.1f %%", 100*c.Level, 100**rival.Coverage)
		}
	}
	if take.FitSeconds < best.FitSeconds/2 && best.FitSeconds > 1 {
		text += fmt.Sprintf(", in %s instead of %s", seconds(take.FitSeconds), seconds(best.FitSeconds))
	}
	if c.Seen {
		text += "; but the network may have been trained on the rows that judge, which favours small error bars"
	}
	return text + "."
}

// rival is the best result that is simpler than one, or else the best other one; nil: none.
func (c *Comparison) rival(of Compared) *Compared {
	var other *Compared
	for i := range c.Results {
		r := &c.Results[i]
		switch {
		case r.Name == of.Name || r.Name == CalibrateConformal:
		case r.simpler < of.simpler:
			return r
		case other == nil:
			other = r
		}
	}
	return other
}

// title names a result in a sentence.
func (r Compared) title() string {
	switch r.Name {
	case contenderMAP:
		return "the network alone"
	case CalibrateTemperature:
		return "temperature scaling"
	case CalibrateVector:
		return "vector scaling"
	}
	return r.Label
}

// seconds writes a duration with few digits.
func seconds(s float64) string {
	switch {
	case s < 0.1:
		return "less than 0.1 s"
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.1f min", s/60)
}

// classes says whether the targets are classes.
func (c *contest) classes() bool {
	_, ok := c.m.Task.Outputs.(*task.Classification)
	return ok
}
