package valla

import (
	"errors"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

const (
	// The steps of a fit take affordable operations together, a minute or two on one core, but there are leastSteps
	// for classes and costlySteps for other targets at least. With fewer than costlySteps the inducing points of classes rest,
	// since so few steps move them little: steps and validations then need no Jacobian at Z again. ResNets on CIFAR-10 have the same NLL
	// after 30 such steps as after 100 steps of points that move, see docs/benchmarks.md. Perceptrons on images of digits make all their steps.
	affordable, leastSteps, costlySteps = 2e12, 30, 100
	// costly is the most operations of the fewest steps, of their validations and of what follows, in float64 and in float32. In
	// float64 networks of a million weights are then fitted within five minutes on two cores, see docs/gallery.md; in float32
	// ResNets on CIFAR-10 keep all their weights. Where there are more, a fit has fewer inducing points by default.
	costly, costlySingle = 3e12, 1.7e13
	// usualInducing is the number of inducing points of other fits.
	usualInducing = 100
	// predicted is about how many rows are predicted after a fit, for its verdict.
	predicted = 700
	// oneNumber is about how many operations of products take as long as one number that is computed alone.
	oneNumber = 16
	// mostParts is how many parts a mini-batch may have for lack of memory. Each part computes the Jacobian at the
	// inducing points again. With more parts a fit has fewer inducing points by default.
	mostParts = 4
)

// fewerInducing are the numbers of inducing points of costly fits, the largest first. Fewer inducing points cost less
// accuracy than fewer rows of a mini-batch, and still fewer cost more than the last layer's weights, see docs/gallery.md.
var fewerInducing = []int{usualInducing, 50, 20}

// shorten chooses the largest number of inducing points with which the fewest steps take at most the costly
// operations, or the smallest number where none does, and whether the inducing points rest. It returns how many steps a fit makes for their
// cost, which may be fewer than usual, and whether they are affordable.
func (s *Settings) shorten(p gp.Problem, batch int, limit int64) (steps int, fits bool, err error) {
	fixed, err := still(p)
	if err != nil {
		return 0, false, err
	}
	numbers, most, class := fewerInducing, costly, likelihood.IsClass(p.Likelihood)
	if p.Dtype() == tensor.Float32 {
		most = costlySingle
	}
	if s.Inducing > 0 {
		numbers = []int{s.Inducing}
	}
	given, open := s.FixInducing, class && s.Iterations == 0
	rests := fixed || given
	for _, m := range numbers {
		s.Inducing, s.FixInducing = m, given
		points := len((&fitting{p: p, s: *s, still: fixed}).points())
		c, err := costOfFit(p, points, batch, s.Likeliest, rests, limit)
		if err != nil {
			return 0, false, err
		}
		if steps = c.steps(most); open && steps < costlySteps {
			s.FixInducing = true
			if !rests {
				if c, err = costOfFit(p, points, batch, s.Likeliest, true, limit); err != nil {
					return 0, false, err
				}
				steps = min(c.steps(most), costlySteps)
			}
		}
		least := costlySteps
		if s.FixInducing && class {
			least = leastSteps
		}
		if fits = c.after+float64(least)*c.step <= most; fits {
			break
		}
	}
	return max(steps, fewest(p)), fits, nil
}

// steps returns how many steps of a fit are affordable, where all of it takes the most operations.
func (c fitCost) steps(most float64) int {
	return int(min(affordable/max(c.flops, 1), (most-c.after)/max(c.step, 1)))
}

// fewest returns how many steps a fit makes at least.
func fewest(p gp.Problem) int {
	if likelihood.IsClass(p.Likelihood) {
		return leastSteps
	}
	return costlySteps
}

// fitCost is the cost of a fit in operations of products.
type fitCost struct {
	flops float64 // of a step, each operation counted once, as affordable counts them
	step  float64 // of a step with its share of the validations
	after float64 // of the split of the variance and of the verdict
}

// costOfFit returns the cost of a fit with m inducing points, mini-batches of some rows and the setting likeliest. Where there is not enough
// memory it exceeds what is costly.
func costOfFit(p gp.Problem, m, batch, likeliest int, fixed bool, limit int64) (c fitCost, err error) {
	var g *inputsGraph
	var layer *Layer
	few, parts := &graph.MemoryError{}, mostParts
	size, _, err := graph.Tile("valla: a natural-gradient step", batch, (limit+1)/2, func(rows int) (int64, error) {
		if rows*mostParts < batch {
			return 0, few
		}
		if rows > mostPlanned {
			return math.MaxInt64, nil
		}
		var err error
		if g, layer, _, err = plannedStep(p.Net, p.Train.X.Shape()[1:], m, rows, fixed); err != nil {
			return 0, err
		}
		return g.draft.Bytes(), nil
	})
	if err == nil {
		parts = batch / size
	} else if !errors.As(err, &few) {
		return c, err
	}
	c.flops = work(g.draft.Cost().Each) * float64(parts)
	c.step = heft(g.draft.Cost().Each)*float64(parts)*(1+validationShare) + matrixFlops(m)
	if err != nil {
		c.after = 2 * costlySingle
	}
	if err != nil || costlySteps*c.step*float64(max(1, p.Outputs()/fewOutputs)) < affordable { // then predictions are cheap, too
		return c, nil
	}
	if c.after, err = heftAfter(&fitting{p: p, layer: layer}, likeliest, limit); errors.As(err, &few) {
		c.after, err = 2*costlySingle, nil
	}
	return c, err
}

// heftAfter is the heft of the predictions after a fit.
func heftAfter(f *fitting, likeliest int, limit int64) (float64, error) {
	seen := predicted
	if likelihood.Noisy(f.p.Likelihood) {
		seen += min(f.p.Train.N(), maxSplit)
	}
	inputs, cost, err := gp.PredictionCost("valla: a prediction", limit, f.evaluations(gp.FewClasses(likeliest, f.p.Outputs()), f.alone()))
	return heft(cost.Each) / float64(max(1, inputs)) * float64(seen), err
}

// heft is the number of operations of products that take as long as a run.
func heft(w graph.Work) float64 { return w.Products + oneNumber*w.Elements }

// matrixFlops is about how many operations a step takes for the matrices of m inducing points.
func matrixFlops(m int) float64 {
	return 2 * manyRungs * spectra * float64(m) * float64(m) * float64(m)
}
