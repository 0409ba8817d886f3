package runner

import (
	"context"
	"slices"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp/task"
)

// problem is a data set with its trained network: what methods are fitted to.
type problem struct {
	name              string
	train, held, test *data.Set // held is nil where there are no rows to validate with
	classes           bool
	model             *valla.Model // the MAP network
	cost              result.Cost  // of its training
	note              string       // where it comes from, if it was not trained

	// Of images only; nil where there is no such thing.
	other   *data.Set                                                                  // test images of another data set
	turn    func(degrees float64, n int) (*data.Set, error)                            // the first n test images, turned
	corrupt func(ctx context.Context, kind string, severity, n int) (*data.Set, error) // and corrupted
}

// load reads a data set; the seed chooses its split and the rows held out, where these are
// random, and the fraction how many.
func load(name, folder string, fraction float64, seed uint64) (*problem, error) {
	s, err := sets.Lookup(name)
	if err != nil {
		return nil, err
	}
	if s.HasImages() {
		return loadImages(s, folder, fraction)
	}
	parts, err := s.Table(folder, seed)
	if err != nil {
		return nil, err
	}
	p := &problem{name: name, train: parts.Train, held: parts.Validation, test: parts.Test}
	if p.held == nil {
		p.train, p.held, err = valla.Holdout(parts.Train, fraction, seed)
	} else if p.held.N() > mostHeld {
		p.held = p.held.Rows(first(mostHeld))
	}
	return p, err
}

// mostHeld bounds the rows that are validated with, which is done often.
const mostHeld = 10_000

// first is 0 … n−1.
func first(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// noiseStd is the standard deviation of the noise in the units of the one target, 0 for
// classes.
func noiseStd(m *valla.Model) float64 {
	if stds := m.NoiseStds(); len(stds) > 0 {
		return stds[0]
	}
	return 0
}

// inUnits turns one-dimensional inputs of the network back into the data's.
func inUnits(in task.Inputs, z []float64) []float64 {
	out := slices.Clone(z)
	for i := range out {
		if in.Mean != nil {
			out[i] = out[i]*in.Std[0] + in.Mean[0]
		}
	}
	return out
}
