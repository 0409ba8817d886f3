// Package coverage counts the targets that lie in their intervals or sets.
package coverage

import "github.com/go-valla/valla/gp/task"

// Tally counts the targets in intervals, or the classes in sets, and adds up the widths of the intervals or
// the sizes of the sets.
type Tally struct {
	Level float64 // probability of the intervals or sets

	targets int     // targets so far
	inside  float64 // targets in their intervals or sets, see Prediction.Covered
	width   float64 // sum over the targets
}

// Add counts the rows of a prediction for the targets y, [N,T·W] in regression and [N] in classification. A
// classification without sets has nothing to count, nor have labels.
func (t *Tally) Add(p *task.Prediction, y []float64) error {
	if !p.Covers() {
		return nil
	}
	inside, size, err := p.Covered(y, t.Level)
	if err != nil {
		return err
	}
	t.inside += inside
	if p.Classes != nil {
		t.targets, t.width = t.targets+len(y), t.width+size*float64(len(y))
		return nil
	}
	t.targets += len(p.Mean)
	lower, upper, err := p.IntervalAt(y, t.Level)
	for i, std := range p.Std() {
		if len(p.Targets) == 1 {
			std = 1
		}
		t.width += (upper[i] - lower[i]) / std
	}
	return err
}

// Means returns the share of the targets inside, and the mean width of the intervals or the mean size of the
// sets. For several targets the widths are in standard deviations of the predictions. Means returns nil if
// there is nothing to count.
func (t *Tally) Means() (share, width *float64) {
	if t.targets == 0 {
		return nil, nil
	}
	return new(t.inside / float64(t.targets)), new(t.width / float64(t.targets))
}
