package compare

import (
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/graph"
)

// tally counts the targets in intervals, or the classes in sets, and adds up how wide these are.
type tally struct {
	level   float64 // probability of the intervals
	targets int     // counted so far
	inside  int     // targets in their intervals
	width   float64 // sum over the targets
}

// add counts the rows of a prediction for the targets y. A classifier without sets has nothing to count.
func (t *tally) add(p *valla.Prediction, y *tensor.Dense) error {
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

// means returns the share of the targets inside and the mean width; nil where there are none.
func (t *tally) means() (coverage, width *float64) {
	if t.targets == 0 {
		return nil, nil
	}
	return new(float64(t.inside) / float64(t.targets)), new(t.width / float64(t.targets))
}
