package valla

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/ensemble"
	"github.com/go-valla/valla/train"
)

// trainSeveral trains an ensemble, see [Train].
func trainSeveral(ctx context.Context, set *data.Set, o TrainOptions) (*Model, error) {
	n := o.Training.Networks
	o.Training.Networks = 0
	var all []*Model
	var runErr error
	for k := range n {
		t, err := newTraining(set, o.of(k, n))
		if err == nil {
			err = ensemble.Check(t.model.Task.Likelihood())
		}
		if err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
		m, err := t.result(ctx)
		if err != nil && (m == nil || ctx.Err() == nil) {
			return nil, err
		}
		if runErr = err; err != nil {
			break
		}
		all, o.Training = append(all, m), t.o.Training
	}
	if len(all) == 0 {
		return nil, runErr
	}
	out, err := Combine(all...)
	if err != nil {
		return nil, err
	}
	out.Task.Outputs = all[0].Task.Outputs // the rows that choose have raised the noise of the first network alone
	return out, runErr
}

// of returns the options of network k of n, counting from 0. It has the checkpoint path.k+1.
func (o TrainOptions) of(k, n int) TrainOptions {
	o.member = uint64(k)
	if o.Checkpoint != "" {
		o.Checkpoint = fmt.Sprintf("%s.%d", o.Checkpoint, k+1)
	}
	if report := o.OnProgress; report != nil {
		o.OnProgress = func(q train.Progress) {
			q.Done, q.Total = k*q.Total+q.Done, n*q.Total
			report(q)
		}
	}
	return o
}
