package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/kernel"
)

// run makes the results. The context limited ends with the budget, or with ctx.
func (c *contest) run(ctx, limited context.Context) error {
	all, err := c.contenders()
	if err != nil {
		return err
	}
	queue := c.estimated(limited, all)
	deadline, _ := limited.Deadline()
	var long []contender // contenders whose estimate exceeds the time that is left
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

// trust is how many times its estimate a contender may take. It is also how many times the time that is
// left an estimate may be in the end, when nothing is lost by a try.
const trust = 2

// round gives a contender its time: one of a number of shares of the time that is left, or the time that
// it has estimated, whichever is more.
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

// try gives a contender a time. A contender that takes longer may come again where more time was left.
func (c *contest) try(ctx, limited context.Context, one contender, given, left time.Duration) error {
	own, cancel := context.WithTimeout(limited, given)
	defer cancel()
	err := c.enter(own, one)
	switch {
	case err == nil:
	case given < left && errors.Is(err, context.DeadlineExceeded) && limited.Err() == nil:
		one.share = given
		c.late = append(c.late, one)
	case one.name == networkAlone && limited.Err() == nil:
		return err
	default:
		c.leave(one, reason(ctx, err, given))
	}
	return nil
}

// enter adds what a contender has done to the result.
func (c *contest) enter(ctx context.Context, one contender) error {
	if one.name == quantileNetwork {
		return c.quantiles(ctx, one)
	}
	r, err := c.contend(ctx, one)
	if err == nil {
		c.out.Results = append(c.out.Results, r)
	}
	return err
}

// leave notes a contender without a result.
func (c *contest) leave(one contender, why string) {
	c.out.LeftOut = append(c.out.LeftOut, LeftOut{one.name, one.label, why})
}

// reason says in a line why a contender has no result. The contender had the time given.
func reason(ctx context.Context, err error, given time.Duration) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("took more than the %s that it had of the budget", seconds(given.Seconds()))
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "fit: "), "predict: ")
	return strings.ReplaceAll(text, "\n", "; ")
}

// estimated returns contenders in the order in which they are run: first the contenders that take no
// time, then methods by their estimates. A method that cannot estimate its time stands where its fair share
// of the budget would. A method whose estimate fails is left out.
func (c *contest) estimated(ctx context.Context, all []contender) (queue []contender) {
	share := c.o.Budget.Seconds() / float64(len(all)*len(c.folds))
	cost := map[string]float64{}
	for _, one := range all {
		if one.settings != nil {
			cost[one.name] = share
		}
		if one.trainings > 0 {
			cost[one.name] = float64(one.trainings) * c.trained()
			one.seconds = cost[one.name] / float64(len(c.folds)) // once for all folds
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

// trained returns the seconds that the training of the network took, or that of a network of an ensemble in the mean, or 0 for a
// network from elsewhere.
func (c *contest) trained() float64 {
	var all []float64
	for _, e := range c.m.History {
		if e.Action == valla.ActionTrain {
			all = append(all, e.Seconds)
		}
	}
	return kernel.Mean(all)
}

// estimate returns the estimate of a fit with the first fold.
func (c *contest) estimate(ctx context.Context, e gp.Estimator) (gp.Estimate, error) {
	o := c.fitOptions(c.folds[0])
	p, err := c.m.Problem(ctx, c.train, o)
	if err != nil {
		return gp.Estimate{}, err
	}
	return e.Estimate(ctx, p, o.Run)
}
