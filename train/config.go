package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/kernel"
)

// Config says how [Run] trains.
type Config struct {
	Iterations int       // mini-batches in all
	Optimizer  Optimizer // nil means &Adam{}
	Schedule   Schedule  // nil means Constant
	ClipNorm   float64   // largest norm of all gradients together, to which larger ones are scaled; 0 means none

	// Validate returns a value to minimise, at the present parameters; nil means
	// no validation. It is called after every ValidateEvery iterations (0 means
	// 100) and after the last; the parameters of its smallest value are restored
	// when the run ends.
	Validate      func(ctx context.Context) (float64, error)
	ValidateEvery int
	// Patience is after how many validations in a row without improvement to
	// stop early; 0 means never.
	Patience int
	// KeepLast leaves the parameters as they are after the last step, whatever the
	// validations say.
	KeepLast bool

	// Checkpoint is a file from which a run can go on; "" means none. It is
	// written after every CheckpointEvery iterations (0 means never), and when
	// the run ends or is interrupted. With Resume a run goes on from the file
	// where it exists; without, it starts anew and the file is replaced. A file that cannot be
	// written is an error before the first step, and afterwards a warning, see Progress and Result.
	Checkpoint      string
	CheckpointEvery int
	Resume          bool

	// OnProgress is called after every step and every validation; nil means not.
	OnProgress func(Progress)

	// OnStep is called after every step; nil means not.
	OnStep func(Step)
}

// Step describes one step to [Config.OnStep].
type Step struct {
	Iteration int     // mini-batch number, from 0
	Loss      float64 // before the step
	LRScale   float64 // the value of the schedule
}

// Progress tells how far long work is.
type Progress struct {
	Unit        string  // what is counted: "steps", or "rows" in a pass over data
	Done, Total int     // parts before a resume included
	Loss        float64 // of the last step; NaN where there is none
	Validation  float64 // the last value of the validation; NaN before the first
	Warning     string  // why the latest checkpoint could not be written; "" where all is well
}

// Validation describes one validation of a run.
type Validation struct {
	Iteration  int     `json:"iteration"`  // iterations made
	Loss       float64 `json:"loss"`       // mean loss of the mini-batches since the previous validation
	Validation float64 `json:"validation"` // value of the validation
	Seconds    float64 `json:"seconds"`    // of training, counted over resumed runs
}

// Stopped says why a run ended.
type Stopped string

// The reasons for the end of a run.
const (
	Finished    Stopped = "finished"    // all iterations made
	Early       Stopped = "early"       // Config.Patience ran out
	Interrupted Stopped = "interrupted" // the context was cancelled
	Failed      Stopped = "failed"      // an error
)

// Result describes a run, parts before a resume included.
type Result struct {
	Iterations int          `json:"iterations"`        // made
	Stopped    Stopped      `json:"stopped"`           // why the run ended
	History    []Validation `json:"history,omitempty"` // one per validation

	// BestIteration is the number of iterations after which the validation value was
	// smallest; 0 where there was no validation.
	BestIteration int     `json:"best_iteration,omitempty"`
	BestValue     float64 `json:"best_value,omitempty"` // the smallest value of the validation
	KeptLast      bool    `json:"kept_last,omitempty"`  // the state is the last one, not the best
	Seconds       float64 `json:"seconds"`              // of training, counted over resumed runs

	// Warning says why the last checkpoint could not be written; it is empty where all is well.
	Warning string `json:"warning,omitempty"`
}

const defaultValidateEvery = 100

// complete returns cfg with the defaults filled in, or an error about its values.
func (cfg Config) complete() (Config, error) {
	if cfg.Optimizer == nil {
		cfg.Optimizer = &Adam{}
	}
	if cfg.Schedule == nil {
		cfg.Schedule = Constant
	}
	if cfg.ValidateEvery == 0 {
		cfg.ValidateEvery = defaultValidateEvery
	}
	return cfg, cfg.check()
}

func (cfg Config) check() error {
	if min(cfg.Iterations, cfg.ValidateEvery, cfg.Patience, cfg.CheckpointEvery) < 0 {
		return fmt.Errorf("train: Iterations %d, ValidateEvery %d, Patience %d and CheckpointEvery %d, expected none below zero",
			cfg.Iterations, cfg.ValidateEvery, cfg.Patience, cfg.CheckpointEvery)
	}
	if !(cfg.ClipNorm >= 0 && kernel.Finite(cfg.ClipNorm)) {
		return fmt.Errorf("train: ClipNorm %v, expected a finite number that is not negative", cfg.ClipNorm)
	}
	if cfg.Patience > 0 && cfg.Validate == nil {
		return errors.New("train: Patience needs Validate")
	}
	for _, i := range cfg.scheduleProbes() {
		if s := cfg.Schedule(i, cfg.Iterations); !(s >= 0 && kernel.Finite(s)) {
			return fmt.Errorf("train: schedule gives %v at iteration %d, expected a finite number that is not negative", s, i)
		}
	}
	return cfg.checkPath()
}

// checkPath finds a file that cannot be written now rather than after hours of training.
func (cfg Config) checkPath() error {
	if cfg.Checkpoint == "" {
		if cfg.Resume || cfg.CheckpointEvery > 0 {
			return errors.New("train: Resume and CheckpointEvery need Checkpoint")
		}
		return nil
	}
	if err := atomicfile.Try(cfg.Checkpoint); err != nil {
		return fmt.Errorf("train: checkpoint %s: %w", cfg.Checkpoint, err)
	}
	return nil
}

// scheduleProbes are the iterations at which schedules are checked and compared.
func (cfg Config) scheduleProbes() []int {
	n := cfg.Iterations
	if n == 0 {
		return nil
	}
	return []int{0, n / 4, n / 2, n - 1}
}
