package valla

import (
	"context"
	"fmt"
	"os"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
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
		if r, ok := m.Task.Outputs.(*task.Regression); ok && k > 0 {
			own, first := *r, all[0].Task.Outputs.(*task.Regression)
			own.NoiseVariance, own.Noise = first.NoiseVariance, first.Noise
			m.Task.Outputs = &own
		}
	}
	if len(all) == 0 {
		return nil, runErr
	}
	out, err := Combine(all...)
	if err != nil {
		return nil, err
	}
	return out, runErr
}

// of returns the options of network k of n, counting from 0. It has the checkpoint path.k+1.
func (o TrainOptions) of(k, n int) TrainOptions {
	o.member = uint64(k)
	if o.Checkpoint != "" {
		o.Checkpoint = fmt.Sprintf("%s.%d", o.Checkpoint, k+1)
		_, err := os.Stat(o.Checkpoint)
		o.Resume = o.Resume && err == nil
	}
	if report := o.OnProgress; report != nil {
		o.OnProgress = func(q train.Progress) {
			q.Done, q.Total = k*q.Total+q.Done, n*q.Total
			report(q)
		}
	}
	return o
}
