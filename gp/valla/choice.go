package valla

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// compare evaluates the rungs: their values, and those by which σ₀ is chosen.
func (n *natural) compare(ctx context.Context) (values, choice []float64, err error) {
	spectra, err := n.presentSpectra()
	if err != nil {
		return nil, nil, err
	}
	trials := n.ladder.trials(spectra)
	values, robust, err := n.check.values(ctx, n, trials)
	if err != nil {
		return nil, nil, err
	}
	return values, n.check.choice(robust, trials), nil
}

// settled is the share of all iterations before which the ladder stays where the scan has put it.
// Until T has seen much of the data the variances of large σ₀ are far too large, and a ladder that
// follows these variances falls and becomes narrow below the best σ₀.
const settled = 0.05

// validate implements train.Config.Validate: it compares the rungs, of which the best one leads, and aims the ladder at it.
// The result is the value of the best rung.
func (n *natural) validate(ctx context.Context) (float64, error) {
	values, choice, err := n.compare(ctx)
	if err != nil {
		return 0, err
	}
	best := n.ladder.choose(choice)
	if done, all := n.ladder.numbers.Done, n.loop.Iterations; float64(done) >= settled*float64(all) {
		n.ladder.aim(choice, leastStep(done, all))
	}
	return values[best], nil
}

// search moves the ladder before a step. With validation examples it scans before the first step, and later moves the ladder
// where a validation has aimed it. Without any it compares the objectives as often as a validation would take place, at most once after the
// same number of steps.
func (n *natural) search(ctx context.Context, done int) error {
	l, cfg := n.ladder, n.loop
	switch {
	case l.rungs() == 1:
		return nil
	case n.check != nil && done == 0:
		return n.scan(ctx)
	case n.check == nil && done > 0 && done%cfg.ValidateEvery == 0 && l.numbers.Searched != done:
		choice := append([]float64(nil), l.losses.Float64s()[:l.rungs()]...)
		l.choose(choice)
		l.aim(choice, leastStep(done, cfg.Iterations))
		l.numbers.Searched = done
	}
	l.climb()
	return nil
}

// leastStep is the least ratio of neighbouring scales when done of all iterations are made.
func leastStep(done, all int) float64 {
	if 2*done < all {
		return middleStep
	}
	return lastStep
}

const (
	// scanned bounds the training rows that a scan looks at. scannedOutputs bounds the outputs of
	// these rows and of the held-out rows. On Fashion-MNIST more held-out rows made short fits worse,
	// in which T does not settle: such fits began at a smaller σ₀, and the larger σ₀ found too little. The training rows
	// take scanShare of the operations of all steps at most, and so do the held-out rows, unless they are kept for validations, but
	// there are leastScanned of each where the bounds allow it, see scoredShare for what this saves.
	scanned        = 2000
	scannedOutputs = 5000
	scanShare      = 0.1
	leastScanned   = 100
	// scanRatio is the ratio of neighbouring σ₀ of a scan. The scan goes as far as the ladder may.
	scanRatio = 2.0
	// scanStream is the random stream of a seed that draws the rows.
	scanStream = 9
)

// scanRows returns how many training rows, and how many held-out rows, a scan looks at, where so many are worth their time.
func scanRows(outputs int, worth float64) int {
	return max(1, int(min(float64(scannedOutputs/outputs), max(leastScanned, worth))))
}

// scan chooses where the ladder begins. With the curvature Λ of the likelihood at the network's
// outputs T = Σ_n Λ_n v_n v_nᵀ does not depend on σ₀ (for Gaussian noise it is the T of Prop. 2):
// with this T all σ₀ from the smallest to the largest are compared on the held-out rows after one
// pass over training rows. A search by steps alone would depend on where it starts, since the
// best σ₀ may lie behind worse ones. The fit does not begin with this T: for α > 0 it would take
// long to give up a precision that is too high.
func (n *natural) scan(ctx context.Context) error {
	f, err := n.presentFrame()
	if err != nil {
		return err
	}
	rows := scanRows(n.outputs, n.check.rowsFor(n, scanShare*float64(n.loop.Iterations)))
	e := n.p.Train.Sample(min(scanned, rows), rand.New(rand.NewPCG(n.r.Seed, scanStream)))
	n.check.each.Refresh()
	t, err := curvature(ctx, n.check.each, n.lik, f, e, float64(n.p.All())/float64(e.N()))
	if err != nil {
		return err
	}
	p, err := f.spectrum(t)
	if err != nil {
		return err
	}
	var trials []trial
	far := int(math.Log(farthest) / math.Log(scanRatio))
	for k := -far; k <= far; k++ {
		trials = append(trials, trial{p, math.Pow(scanRatio, float64(2*k)), n.ladder.params(0)})
	}
	if n.check.rests {
		rows = max(1, scannedOutputs/n.outputs) // which validations need, too
	}
	few := n.check.some(rows)
	_, robust, err := few.values(ctx, n, trials)
	if err != nil {
		return err
	}
	best := kernel.Least(few.choice(robust, trials))
	n.ladder.place(math.Log(trials[best].scale)/2, math.Log(firstStep))
	return nil
}

// curvature returns T [M,M] of examples with a weight, where each computes what validations do, see [natural.evaluation]. Where it
// derives the likeliest classes alone, T is theirs: the Λ of other classes are about their probabilities. Of the targets only
// exposures and scales count.
func curvature(ctx context.Context, each *graph.Batched, lik likelihood.Likelihood, f *frame, e gp.Examples, weight float64) ([]float64, error) {
	c, m := each.Width(0), f.m
	t, all, y, w := make([]float64, m*m), make([]float64, c), graph.Floats(e.Y), e.Y.Shape()[1]
	room := make([]float64, 2*c)
	err := each.Each(ctx, e.X, func(first, rows int, out []*tensor.Dense) error {
		mean, v := dense.AppendRows(nil, out[0], rows), dense.AppendRows(nil, out[2], rows)
		f.whiten(v)
		places := placesOf(out, rows)
		lambda := make([]float64, len(v)/m)
		k := len(lambda) / rows
		for i := range rows {
			curvatures(lik, all, room, y[(first+i)*w:(first+i+1)*w], mean[i*c:(i+1)*c])
			for a := range k {
				at := a
				if places != nil {
					at = int(places[i*k+a])
				}
				lambda[i*k+a] = weight * all[at]
			}
		}
		kernel.Add(t, t, weightedGram(nil, m, lambda, v))
		return nil
	})
	return t, err
}

// curvatures writes the diagonal of Λ of one example to dst [C], from the root of Λ, because Λ has C² elements. room has 2C numbers.
func curvatures(lik likelihood.Likelihood, dst, room, y, f []float64) {
	w, mean := room[:len(f)], room[len(f):]
	likelihood.RootOf(lik, w, mean, y, f)
	all := kernel.Sum(w)
	for k, v := range w {
		dst[k] = max(v*(1-2*mean[k])+all*mean[k]*mean[k], 0)
	}
}
