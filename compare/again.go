package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/train"
)

// again is a rival without a posterior: a network or several, trained again on the table of the training in the way that the
// history of the network tells, but for a change.
type again struct {
	name      string                          // see Names
	label     string                          // name in a table of scores
	given     string                          // see Result.Settings
	trainings int                             // how many times as long as the training of the network it takes
	change    func(*valla.TrainOptions) error // what is different, or why there is no such rival
	but       string                          // what the advice says of it
}

// ensembleSize is the number of networks of the deep ensemble.
const ensembleSize = 5

// meanVariance is the name of the network that tells the noise of each row.
const meanVariance = "mean-variance"

// retrained are the rivals that are trained again.
var retrained = []again{{
	name: "deep-ensemble", label: fmt.Sprintf("deep ensemble of %d", ensembleSize), given: fmt.Sprintf("networks=%d", ensembleSize), trainings: ensembleSize,
	change: func(o *valla.TrainOptions) error {
		o.Training.Networks = ensembleSize
		return nil
	},
	but: fmt.Sprintf("each prediction takes %d networks, and fits of posteriors to an ensemble may be better still (valla train --networks)", ensembleSize),
}, {
	name: meanVariance, label: "mean-variance network", given: "noise-head=log-variance", trainings: 1,
	change: func(o *valla.TrainOptions) error {
		if o.NoiseHead != "" {
			return errors.New("the network itself tells the noise of each row")
		}
		o.NoiseHead, o.Training.Networks = task.LogVariance, 1
		return nil
	},
	but: "it does not know which inputs are unlike the training rows, and fits of posteriors to such a network may be better still (valla train --noise-head log-variance)",
}}

// trainedAgain is a model that serves all folds.
type trainedAgain struct {
	model   *valla.Model // of the rival
	seconds float64      // wall time of its training
	took    cost         // cost of its training
}

// again returns the model of a rival, which is the same for all folds: it sees no rows that choose or judge, except that
// held-out rows end its training as they ended that of the network.
func (c *contest) again(ctx context.Context, one contender) (m *valla.Model, took cost, err error) {
	if done, ok := c.trainings[one.name]; ok {
		return done.model, done.took, nil
	}
	o, err := c.m.Trained()
	if err == nil {
		err = one.again.change(&o)
	}
	if err != nil {
		return nil, cost{}, err
	}
	start := time.Now()
	o.OnProgress = c.progress(one.label)
	took = costOf(func() { m, err = valla.Train(ctx, c.set, o) })
	if err == nil {
		c.trainings[one.name] = trainedAgain{m, time.Since(start).Seconds(), took}
	}
	return m, took, err
}

// progress returns a function that reports the progress of a contender.
func (c *contest) progress(label string) func(train.Progress) {
	return func(p train.Progress) {
		if c.o.OnProgress != nil {
			c.o.OnProgress(label, p)
		}
	}
}
