package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/settings"
)

// Defaults of Options.
const (
	defaultBudget = 5 * time.Minute
	defaultLevel  = 0.95
	foldedRows    = 2000 // fewer rows are divided into folds
)

// contest is a comparison that is being made.
type contest struct {
	m     *valla.Model // without posterior and calibration
	o     Options      // with its defaults
	set   *data.Set    // table of the training
	train *data.Set    // rows of the fits
	folds []fold       // divisions of the other rows
	held  bool         // fits validate with rows of the folds; otherwise each fit holds out rows as it would do alone
	outer *data.Set    // rows that judge in place of a part of the others; nil without Options.Shift
	late  []contender  // contenders whose share of the budget was too small
	out   *Comparison  // result so far

	trainings map[string]trainedAgain // rivals that were trained again, by their names
}

// fold is a division of the rows that were held out.
type fold struct {
	choose *data.Set // rows that choose and calibrate
	judge  *data.Set // rows that judge
}

// newContest checks the options and divides the rows.
func newContest(ctx context.Context, m *valla.Model, set *data.Set, o Options) (*contest, error) {
	o.Budget, o.Level = cmp.Or(o.Budget, defaultBudget), cmp.Or(o.Level, defaultLevel)
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
	case o.Shift && (o.Held != nil || o.Folds > 1):
		return nil, settings.Errorf("outer rows judge, or held-out rows in folds: expected one of the two")
	}
	c := &contest{m: m.MAP(), o: o, set: set, trainings: map[string]trainedAgain{}, out: &Comparison{Level: o.Level, Shift: o.Shift, Targets: m.Task.Targets()}}
	if o.Shift {
		c.o.Folds = 1 // other rows choose than judge
		if err := c.shift(ctx); err != nil {
			return nil, err
		}
	}
	pool, err := c.pool(c.set)
	if err != nil {
		return nil, err
	}
	if err := c.divide(pool); err != nil {
		return nil, err
	}
	c.out.Train = c.train.N()
	return c, nil
}

// outerShare is the share of the rows that lie outside, see Options.Shift.
const outerShare = 0.1

// shift sets the outer rows aside and trains the network again on the others.
func (c *contest) shift(ctx context.Context) (err error) {
	if len(c.m.Task.Inputs.Shape) != 1 {
		return settings.Errorf("outer rows of inputs of the shape %v, expected a table", c.m.Task.Inputs.Shape)
	}
	if c.set, c.outer, err = holdout.Outer(c.set, outerShare); err != nil {
		return err
	}
	c.m, err = c.m.Several(ctx, c.set, 0, c.progress("the network without outer rows"))
	return err
}

// pool returns the rows that choose and judge, and keeps the other rows for the fits.
func (c *contest) pool(set *data.Set) (*data.Set, error) {
	c.train, c.held = set, true
	if c.o.Held != nil {
		return c.o.Held, nil
	}
	for _, e := range c.m.History {
		if n := e.ValidationRows; e.Action == valla.ActionTrain && n > 0 && e.Rows+n == set.N() {
			return c.split(set, float64(n)/float64(set.N()), e.Seed)
		}
	}
	c.out.Seen, c.held = true, len(c.m.Task.Inputs.Shape) > 1
	return c.split(set, 0.1, c.o.Seed)
}

// split keeps the training rows of [holdout.Split], and returns the held-out rows in the order of the set, which laws of residuals look at.
func (c *contest) split(set *data.Set, fraction float64, seed uint64) (pool *data.Set, err error) {
	if c.train, _, err = holdout.Split(set, fraction, seed); err != nil {
		return nil, err
	}
	held, err := holdout.Positions(set.N(), fraction, seed, false)
	if err != nil {
		return nil, err
	}
	return inOrder(set, held), nil
}

// divide makes the folds of a pool. Twice as many rows as judge in a verdict are the most that it takes.
func (c *contest) divide(pool *data.Set) error {
	n := min(pool.N(), 2*holdout.MostJudges)
	order := holdout.Rand(c.o.Seed, holdout.Judges).Perm(pool.N())[:n]
	k := c.o.Folds
	if k == 0 {
		if k = 2; n >= foldedRows {
			k = 1
		}
	}
	if c.out.Folds = k; n < max(2, 2*k) {
		return fmt.Errorf("%d rows held out in %d folds, expected at least two for each: give rows that the network has not seen", n, k)
	}
	switch {
	case c.outer != nil:
		c.folds = []fold{{pool, c.outer.Rows(dense.Spaced(c.outer.N(), holdout.MostJudges))}}
	case k == 1:
		c.folds = []fold{{inOrder(pool, order[:(n+1)/2]), inOrder(pool, order[(n+1)/2:])}}
	}
	for i := range k {
		if first, last := i*n/k, (i+1)*n/k; k > 1 {
			c.folds = append(c.folds, fold{inOrder(pool, order[:first], order[last:]), inOrder(pool, order[first:last])})
		}
	}
	for _, f := range c.folds {
		c.out.Rows += f.judge.N()
	}
	return nil
}

// inOrder returns some rows of a set in its order.
func inOrder(set *data.Set, rows ...[]int) *data.Set {
	return set.Rows(slices.Sorted(slices.Values(slices.Concat(rows...))))
}

// fitOptions returns the options of a fit that chooses by the rows of f.
func (c *contest) fitOptions(f fold) (o valla.FitOptions) {
	o.Seed, o.Memory = c.o.Seed, c.o.Memory
	if c.held {
		o.Held = f.choose
	}
	return o
}
