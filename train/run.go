package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// Run minimises obj until all iterations are made, the validation stops
// improving, ctx is cancelled or something fails. Where cfg.Validate is set and cfg.KeepLast
// is not, the parameters and the objective's state end as they were at the best validation;
// otherwise, before any validation and after a failure, they end as they are.
//
// Cancelling ctx stops at the boundary of a step, writes the checkpoint, and
// returns the result with an error that wraps ctx.Err(). A loss, gradient,
// validation value or parameter that is not finite gives a [*NonFiniteError] and
// leaves the last checkpoint alone; on any other failure a checkpoint of the last
// whole step is written first. The result is nil only for errors before the first
// step: a bad configuration, bad parameters, or a checkpoint that is broken
// ([ErrCheckpoint]) or belongs to another run ([ErrMismatch]).
//
// Where the optimizer already remembers steps of the same parameters, it goes on from them.
func Run(ctx context.Context, obj Objective, cfg Config) (*Result, error) {
	r, err := newRunner(obj, cfg)
	if err != nil {
		return nil, err
	}
	return r.finish(r.loop(ctx))
}

// runner is a run under way.
type runner struct {
	cfg    Config    // with the defaults filled in
	obj    Objective // what is minimised
	params []Param   // of obj
	arrays []Array   // the values of params and the arrays of the objective's state
	state  any       // the numbers of the objective's state
	id     identity  // what a checkpoint must agree with

	counters          // what a checkpoint remembers besides arrays
	best     snapshot // at BestIteration; empty before the first validation

	resumed float64   // seconds of training before start
	start   time.Time // of this part of the run

	progress Progress // as last told
}

// counters is what a run has to remember besides arrays.
type counters struct {
	Done          int          // steps made
	LossSum       float64      // of the losses since the last validation
	LossCount     int          // losses in LossSum: those since the last validation
	History       []Validation // the validations
	BestIteration int          // steps made at the best validation; 0 before the first
	BestValue     float64      // of the best validation
	Bad           int          // validations in a row without improvement
	Seconds       float64      // of training, parts before a resume included
}

func newRunner(obj Objective, cfg Config) (*runner, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	r := &runner{cfg: cfg, obj: obj, params: slices.Clone(obj.Params())}
	state := stateOf(obj)
	if err := checkObjective(r.params, state); err != nil {
		return nil, err
	}
	r.arrays, r.state = arraysOf(r.params, state), state.Numbers
	if err := r.checkMemory(); err != nil {
		return nil, err
	}
	r.id = r.identity()
	if cfg.Resume {
		if err := r.load(); err != nil {
			return nil, err
		}
	}
	r.resumed, r.start = r.Seconds, time.Now()
	r.progress = Progress{Unit: "steps", Total: r.cfg.Iterations, Loss: math.NaN(), Validation: math.NaN()}
	return r, nil
}

// checkMemory refuses a run whose optimizer and whose best state, which are copies of its
// arrays, have no room.
func (r *runner) checkMemory() error {
	const copies = 3 // two moments of Adam and the best values
	need := int64(0)
	for _, a := range r.arrays {
		need += copies * int64(a.Value.DataSize()) * int64(a.Value.Dtype().Size())
	}
	return graph.CheckMemory("train: the optimizer of the network", need)
}

// loop makes steps and validations until there is a reason to stop. Where both
// are due the validation comes first, also in a run resumed between them.
func (r *runner) loop(ctx context.Context) (Stopped, error) {
	for {
		switch {
		case r.cfg.Patience > 0 && r.Bad >= r.cfg.Patience:
			return Early, nil
		case r.Done == r.cfg.Iterations && !r.validationDue():
			return Finished, nil
		case ctx.Err() != nil:
			return Interrupted, fmt.Errorf("train: interrupted after %d of %d iterations: %w", r.Done, r.cfg.Iterations, ctx.Err())
		}
		next := r.step
		if r.validationDue() {
			next = r.validate
		}
		if err := next(ctx); err != nil && !cancelled(ctx, err) {
			return Failed, err
		}
	}
}

// cancelled says whether err only reports that ctx was cancelled.
func cancelled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// step evaluates one mini-batch and updates the parameters.
func (r *runner) step(ctx context.Context) error {
	loss, err := r.obj.Evaluate(ctx, r.Done)
	if err != nil {
		return fmt.Errorf("train: iteration %d: %w; %s", r.Done, err, describe(summaries(r.arrays)))
	}
	if err := r.checkGradients(loss); err != nil {
		return err
	}
	if r.cfg.ClipNorm > 0 {
		clip(r.params, r.cfg.ClipNorm)
	}
	scale := r.cfg.Schedule(r.Done, r.cfg.Iterations)
	if len(r.params) > 0 {
		if err := r.cfg.Optimizer.Step(r.params, scale); err != nil {
			return fmt.Errorf("train: iteration %d: %w", r.Done, err)
		}
	}
	if r.cfg.OnStep != nil {
		r.cfg.OnStep(Step{Iteration: r.Done, Loss: loss, LRScale: scale})
	}
	r.Done++
	r.LossSum += loss
	r.LossCount++
	r.progress.Loss = loss
	r.tell()
	if r.cfg.CheckpointEvery > 0 && r.Done%r.cfg.CheckpointEvery == 0 {
		return r.save()
	}
	return nil
}

// validationDue says whether the present parameters are still to be validated.
func (r *runner) validationDue() bool {
	if r.cfg.Validate == nil || r.LossCount == 0 {
		return false
	}
	return r.Done%r.cfg.ValidateEvery == 0 || r.Done == r.cfg.Iterations
}

func (r *runner) validate(ctx context.Context) error {
	value, err := r.cfg.Validate(ctx)
	if err != nil {
		return fmt.Errorf("train: validation after %d iterations: %w", r.Done, err)
	}
	if !kernel.Finite(value) {
		return r.nonFinite(r.Done-1, "validation", value)
	}
	loss := r.LossSum / float64(r.LossCount)
	r.History = append(r.History, Validation{Iteration: r.Done, Loss: loss, Validation: value, Seconds: r.elapsed()})
	r.LossSum, r.LossCount = 0, 0
	if err := r.keepBest(value); err != nil {
		return err
	}
	r.progress.Validation = value
	r.tell()
	return nil
}

// tell reports the progress.
func (r *runner) tell() {
	if r.cfg.OnProgress != nil {
		r.progress.Done = r.Done
		r.cfg.OnProgress(r.progress)
	}
}

// keepBest remembers the present state if value is the smallest so far.
func (r *runner) keepBest(value float64) error {
	if r.best.values != nil && value >= r.BestValue {
		r.Bad++
		return nil
	}
	r.Bad, r.BestIteration, r.BestValue = 0, r.Done, value
	return r.best.take(r.arrays, r.state)
}

// finish writes the last checkpoint, restores the best state and makes the
// result of a run that stopped for the given reason.
func (r *runner) finish(stopped Stopped, err error) (*Result, error) {
	r.Seconds = r.elapsed()
	if mayOverwrite(err) {
		if saveErr := r.save(); saveErr != nil {
			stopped, err = Failed, both(err, saveErr)
		}
	}
	if stopped != Failed && r.best.values != nil && !r.cfg.KeepLast {
		if restoreErr := r.best.restore(r.arrays, r.state); restoreErr != nil {
			stopped, err = Failed, both(err, restoreErr)
		}
	}
	return &Result{
		Iterations: r.Done, Stopped: stopped, History: r.History,
		BestIteration: r.BestIteration, BestValue: r.BestValue, KeptLast: r.cfg.KeepLast, Seconds: r.Seconds,
		Warning: r.progress.Warning,
	}, err
}

// mayOverwrite says whether a run that ended with err replaces the checkpoint:
// not by a diverged state, and not again after that failed.
func mayOverwrite(err error) bool {
	var bad *NonFiniteError
	return !errors.As(err, &bad) && !errors.Is(err, errNotSaved)
}

// both wraps two errors, of which the first may be nil, in one line.
func both(first, second error) error {
	if first == nil {
		return second
	}
	return fmt.Errorf("%w; %w", first, second)
}

func (r *runner) elapsed() float64 { return r.resumed + time.Since(r.start).Seconds() }

// checkGradients returns a NonFiniteError unless the loss and all gradients are finite.
func (r *runner) checkGradients(loss float64) error {
	if !kernel.Finite(loss) {
		return r.nonFinite(r.Done, "loss", loss)
	}
	for _, p := range r.params {
		if i, v := graph.FirstNonFinite(p.Grad); i >= 0 {
			err := r.nonFinite(r.Done, "gradient", v)
			err.Param, err.Index = p.Name, i
			return err
		}
	}
	return nil
}

// checkValues returns a NonFiniteError unless all parameters and the objective's state
// are finite: a step can overflow although its gradient does not.
func (r *runner) checkValues() error {
	for k, a := range r.arrays {
		if i, v := graph.FirstNonFinite(a.Value); i >= 0 {
			what := "parameter"
			if k >= len(r.params) {
				what = "state"
			}
			err := r.nonFinite(max(r.Done-1, 0), what, v)
			err.Param, err.Index = a.Name, i
			return err
		}
	}
	return nil
}

func (r *runner) nonFinite(iteration int, what string, value float64) *NonFiniteError {
	return &NonFiniteError{Iteration: iteration, What: what, Value: value, Params: summaries(r.arrays)}
}
