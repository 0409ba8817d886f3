package valla

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// A recipe is a number of steps and a weight decay. Where [Training] leaves the steps open, a network for a table is
// trained by several recipes on a part of the training rows, and the other training rows choose the best recipe and
// its best step. The network is then trained anew on all training rows. The rows held out choose nothing, so that a later fit can
// use them for its law and its verdict.
const (
	usualIterations = 5000  // steps where nothing is chosen, and of the first trials
	usualDecay      = 1e-3  // weight decay where nothing is chosen, and of the first trial
	mostIterations  = 40000 // steps of the longest trial

	choosingShare = 0.2 // fraction of the training rows that choose
	leastChoosing = 10  // number of rows that can choose
	validations   = 50  // most validations of a trial
	// searchFlops is the largest number of operations of all steps together, some minutes of work. The usual network
	// needs a tenth of it. A network that is too costly for the first trials gets the usual recipe.
	searchFlops = 4e12

	stillFalling = 0.1 // share of the loss that the last quarter of the steps takes away, from which on a note says so
)

// otherDecays are the weight decays that are tried beside usualDecay.
var otherDecays = []float64{1e-2, 1e-4, 0}

// trial is a network that was trained by a recipe without the choosing rows.
type trial struct {
	*training
	res    *train.Result // of its run
	losses []float64     // of the choosing rows
}

// search looks for the best recipe of a training.
type search struct {
	of        *training
	rows      gp.Examples // rows on which the trials are trained
	choosing  gp.Examples // rows that choose
	steps     int         // of the first trials
	most      int         // steps of the longest trial
	trials    int         // number of trials so far
	stepFlops float64     // operations of a step
	spent     float64     // operations of all trials
	settled   bool        // twice the steps were tried, and were not better
	best      *trial      // nil before the first trial
}

// newSearch returns the search of a training whose recipe is open, and nil where the usual recipe is taken: for
// inputs that are no columns of a table, for few rows, and for costly networks.
func (t *training) newSearch() (*search, error) {
	s := t.o.Training
	if s.Iterations > 0 || s.Patience > 0 || s.KeepLast || s.Augment || t.model.Task.Inputs.Features == nil {
		return nil, nil
	}
	all := &search{of: t, rows: t.train, choosing: t.held, steps: usualIterations, most: mostIterations}
	if t.o.Held == nil {
		rows, choosing, err := holdout.Indices(t.train.N(), choosingShare, t.o.Seed)
		if err != nil || len(choosing) < leastChoosing {
			return nil, nil
		}
		all.rows, all.choosing = t.train.Rows(rows), t.train.Rows(choosing)
	}
	flops, err := gp.ForwardFlops(gp.Problem{Net: t.model.Net, Train: t.train})
	if err != nil {
		return nil, err
	}
	all.stepFlops = 3 * float64(flops) * float64(min(s.BatchSize, t.train.N())) // forwards, and twice as much backwards
	if !all.affordable(float64(len(otherDecays)+1) * float64(all.steps)) {
		return nil, nil
	}
	return all, nil
}

// affordable reports whether there is time for more steps.
func (s *search) affordable(steps float64) bool { return s.spent+steps*s.stepFlops <= searchFlops }

// choose makes the trials. First the weight decay is chosen, unless the settings give it, then the number of steps,
// which is doubled as long as this helps. If ctx ends early, the error wraps ctx's.
func (s *search) choose(ctx context.Context) error {
	decay := s.of.o.Training.WeightDecay
	if decay == nil {
		decay = new(usualDecay)
	}
	if _, err := s.try(ctx, s.steps, decay); err != nil {
		return err
	}
	if s.of.o.Training.WeightDecay == nil {
		for i := range otherDecays {
			if _, err := s.try(ctx, s.steps, &otherDecays[i]); err != nil {
				return err
			}
		}
	}
	for n := 2 * s.steps; n <= s.most && s.affordable(float64(n)); n *= 2 {
		better, err := s.try(ctx, n, s.best.o.Training.WeightDecay)
		if s.settled = err == nil && !better; err != nil || !better {
			return err
		}
	}
	return nil
}

// try trains a new network by a recipe. The trial becomes the best one if there was none, or if its mean loss on the
// choosing rows is smaller by more than two standard errors of the difference. A later trial that diverges is not
// better.
func (s *search) try(ctx context.Context, iterations int, decay *float64) (bool, error) {
	next, err := s.newTrial(iterations, decay)
	if err != nil {
		return false, err
	}
	s.trials++
	s.spent += float64(iterations) * s.stepFlops
	next.res, err = next.steps(ctx)
	if err != nil {
		var diverged *train.NonFiniteError
		switch {
		case s.best == nil && next.res != nil:
			s.best = next // the best network so far
		case s.best != nil && errors.As(err, &diverged):
			return false, nil
		}
		return false, err
	}
	one := next.learner.one(next.model.Task)
	if next.losses, err = next.model.losses(context.WithoutCancel(ctx), s.choosing, one); err != nil {
		return false, err
	}
	if s.best != nil {
		if mean, standard := kernel.MeanDifference(next.losses, s.best.losses); !(mean < -2*standard) {
			return false, nil
		}
	}
	s.best = next
	return true, nil
}

// stepsToBest returns for how many steps a network is to be trained to come as far as the trial had come at its best
// validation, but with a learning rate that has fallen to its end by then: the sum of the learning rates is the same.
func (t *trial) stepsToBest() int {
	course, n := schedules[t.o.Training.Schedule], t.o.Training.Iterations
	made, all := 0.0, 0.0
	for i := range n {
		all += course(i, n)
		if i < t.res.BestIteration {
			made += course(i, n)
		}
	}
	return max(1, int(math.Round(made/all*float64(n))))
}

// newTrial returns the training of a network with new weights.
func (s *search) newTrial(iterations int, decay *float64) (*trial, error) {
	t, m := *s.of, s.of.model.copied()
	var err error
	if m.Net, err = layers.Build(m.Form, m.Dtype(), holdout.Rand(t.o.Seed, holdout.Weights)); err != nil {
		return nil, err
	}
	t.model, t.learner = m, newLearner(m, t.o.head)
	t.train, t.held = s.rows, s.choosing
	t.o.Training.Iterations, t.o.Training.WeightDecay = iterations, decay
	t.o.Training.ValidateEvery = max(t.o.Training.ValidateEvery, iterations/validations)
	t.o.Checkpoint = s.checkpoint(s.trials)
	return &trial{training: &t}, nil
}

// checkpoint returns the file of the checkpoint of a trial, "" for none.
func (s *search) checkpoint(trial int) string {
	if s.of.o.Checkpoint == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d", s.of.o.Checkpoint, trial+1)
}

// removeCheckpoints removes the checkpoints of the trials, which a finished training does not need.
func (s *search) removeCheckpoints() {
	for i := range s.trials {
		if path := s.checkpoint(i); path != "" {
			os.Remove(path)
		}
	}
}

// raiseNoise raises the noise variance of a regression to the mean of two estimates: the mean squared residual of the
// network on its training rows, which can be far too small, and of the best trial on the choosing rows, which is too
// large, since the trial had fewer rows.
func (s *search) raiseNoise(ctx context.Context, m *Model) error {
	r, ok := m.Task.Outputs.(*task.Regression)
	if s.best.losses == nil || !ok {
		return nil
	}
	trial := s.best.model.copied()
	if err := s.of.noise(ctx, trial, s.choosing); err != nil {
		return err
	}
	own, unseen := *r, trial.Task.Outputs.(*task.Regression)
	raised := func(own, unseen float64) float64 { return (own + max(own, unseen)) / 2 }
	own.NoiseVariance, own.Noise = raised(own.NoiseVariance, unseen.NoiseVariance), slices.Clone(own.Noise)
	for t, scale := range own.Noise {
		own.Noise[t] = math.Sqrt(raised(scale*scale, unseen.Noise[t]*unseen.Noise[t]))
	}
	m.Task.Outputs = &own
	return nil
}

// chosenDecay is the name of the fact that rows have chosen the steps and the weight decay.
const chosenDecay = "chosen decay"

// chosen returns the recipe as facts, if rows have chosen it.
func (t *training) chosen() []gp.Fact {
	switch {
	case t.search != nil && t.search.best != nil:
		return []gp.Fact{{Name: chosenDecay, Value: *t.search.best.o.Training.WeightDecay}}
	case t.search == nil && t.o.chosen: // for the network that is trained again
		return []gp.Fact{{Name: chosenDecay, Value: *t.o.Training.WeightDecay}}
	}
	return nil
}

// falling returns a note where the loss was still falling at the end of the training: where the most steps that were
// tried were the best, or where the loss on held-out rows has become much smaller in the last quarter of the steps.
func (t *training) falling(res *train.Result) []string {
	if res.Stopped != train.Finished {
		return nil
	}
	if s := t.search; s != nil {
		if s.settled {
			return nil
		}
		return []string{fmt.Sprintf("The most steps for which there was time, %d, were the best: more of them, the setting iterations, may be still better.", s.best.o.Training.Iterations)}
	}
	if last := res.Iterations * 3 / 4; res.BestIteration > last {
		before := math.Inf(1)
		for _, v := range res.History {
			if v.Iteration <= last {
				before = min(before, v.Validation)
			}
		}
		if share := 1 - res.BestValue/before; before > 0 && share > stillFalling && !math.IsInf(before, 1) {
			return []string{fmt.Sprintf("The loss on the rows held out fell by %.0f %% in the last quarter of the steps: more of them, the setting iterations, may be better.", 100*share)}
		}
	}
	return nil
}
