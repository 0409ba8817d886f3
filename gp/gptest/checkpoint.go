package gptest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train"
)

// checkpoints: a fit that is interrupted and resumed gives the same bits as one that is
// not, and so does a fit that finds no checkpoint. A checkpoint of another seed is an error
// or has no effect. Methods that write no checkpoints keep this promise by starting anew.
func (t *trial) checkpoints() error {
	folder, err := os.MkdirTemp("", "gptest")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	r := gp.Run{Seed: seed, Resume: true, Checkpoint: filepath.Join(folder, "fit")}
	if err := t.resumes(r, "no checkpoint to resume from"); err != nil {
		return err
	}
	half, other := filepath.Join(folder, "half"), filepath.Join(folder, "other")
	if err := os.Mkdir(half, 0o755); err != nil {
		return err
	}
	r.Checkpoint = filepath.Join(half, "fit")
	if err := t.interrupt(r.Checkpoint); err != nil {
		return err
	}
	if err := os.CopyFS(other, os.DirFS(half)); err != nil {
		return err
	}
	if err := t.resumes(r, "a checkpoint"); err != nil {
		return err
	}
	return t.resumesOther(filepath.Join(other, "fit"))
}

// resumes fits, and compares with the first fit.
func (t *trial) resumes(r gp.Run, how string) error {
	f, err := fit(t.ctx, t.make(), t.Problem.Problem, r)
	if err != nil {
		return fmt.Errorf("%s: %w", how, err)
	}
	return t.samePredictions(f.Posterior, how)
}

// interrupt ends a fit half-way through the last part that it reports, and leaves a checkpoint at path.
func (t *trial) interrupt(path string) error {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	_, err := fit(ctx, t.make(), t.Problem.Problem, gp.Run{Seed: seed, Checkpoint: path, OnProgress: func(s train.Progress) {
		if s.Unit == t.steps[len(t.steps)-1].Unit && 2*s.Done >= s.Total {
			cancel()
		}
	}})
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a fit that is interrupted half-way: %w", err)
	}
	return nil
}

// resumesOther: a fit with another seed refuses the checkpoint at path, or ignores it.
func (t *trial) resumesOther(path string) error {
	r := gp.Run{Seed: seed + 1}
	fresh, err := fit(t.ctx, t.make(), t.Problem.Problem, r)
	if err != nil {
		return fmt.Errorf("another seed: %w", err)
	}
	r.Checkpoint, r.Resume = path, true
	f, err := fit(t.ctx, t.make(), t.Problem.Problem, r)
	if errors.Is(err, errPanic) {
		return fmt.Errorf("a checkpoint of another seed: %w", err)
	}
	if err != nil {
		return nil
	}
	want, err := t.predict(fresh)
	if err != nil {
		return err
	}
	got, err := t.predict(f)
	if err != nil {
		return err
	}
	return differ("covariance with a checkpoint of another seed", got.Cov, want.Cov, 0)
}
