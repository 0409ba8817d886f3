package train

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
)

// poisoned is a bowl whose loss or gradient is bad at one mini-batch.
type poisoned struct {
	*bowl[float32]
	at    int
	loss  float64 // added to the loss there
	param int     // whose gradient is changed there
	index int
	value float32 // added to that gradient
}

func (o poisoned) Evaluate(ctx context.Context, i int) (float64, error) {
	loss, err := o.bowl.Evaluate(ctx, i)
	if i == o.at {
		loss += o.loss
		floats[float32](o.params[o.param].Grad)[o.index] += o.value
	}
	return loss, err
}

func TestNonFiniteLossOrGradient(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name string
		o    poisoned
		want NonFiniteError
	}{
		{"NaN loss", poisoned{loss: nan}, NonFiniteError{What: "loss"}},
		{"infinite loss", poisoned{loss: -inf}, NonFiniteError{What: "loss"}},
		{"NaN gradient", poisoned{param: 1, index: 1, value: float32(nan)}, NonFiniteError{What: "gradient", Param: "net/b", Index: 1}},
		{"infinite gradient", poisoned{param: 2, value: float32(inf)}, NonFiniteError{What: "gradient", Param: "log σ"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.bowl, c.o.at = newBowl[float32](), 6
			before := ""
			c.o.before = func(i int) error { before = bits(c.o.params); return nil }
			path := filepath.Join(t.TempDir(), "run.checkpoint")
			result, err := Run(t.Context(), c.o, Config{Iterations: 10, Checkpoint: path, CheckpointEvery: 4})
			var got *NonFiniteError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a NonFiniteError", err)
			}
			if got.Iteration != 6 || got.What != c.want.What || got.Param != c.want.Param || got.Index != c.want.Index || kernel.Finite(got.Value) {
				t.Errorf("%+v, want %+v at iteration 6", got, c.want)
			}
			if result.Stopped != Failed || result.Iterations != 6 || bits(c.o.params) != before {
				t.Errorf("%+v, or the parameters changed in the failing step", result)
			}
			resumedAt := -1
			o := newBowl[float32]()
			o.before = func(i int) error { resumedAt = max(resumedAt, 0) + i; return errors.New("enough") }
			_, _ = Run(t.Context(), o, Config{Iterations: 10, Checkpoint: path, Resume: true})
			if resumedAt != 4 {
				t.Errorf("the checkpoint is of iteration %d, want 4", resumedAt)
			}
		})
	}
}

func TestNonFiniteValidation(t *testing.T) {
	o, ref := newBowl[float64](), newBowl[float64]()
	if _, err := Run(t.Context(), ref, Config{Iterations: 6}); err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), o, Config{Iterations: 10, ValidateEvery: 3, Validate: sequence(1, math.NaN())})
	var got *NonFiniteError
	if !errors.As(err, &got) || got.What != "validation" || got.Iteration != 5 || result.Stopped != Failed {
		t.Errorf("%+v, %v", result, err)
	}
	if result.BestIteration != 3 || bits(o.params) != bits(ref.params) {
		t.Errorf("best after %d, want 3, or the parameters are not those after 6", result.BestIteration)
	}
}

// A finite gradient can still overflow a float32 parameter.
func TestOverflowingStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.checkpoint")
	o := poisoned{bowl: newBowl[float32](), at: 2, value: 1e38}
	result, err := Run(t.Context(), o, Config{Iterations: 3, Optimizer: &SGD{LR: 100}, Checkpoint: path})
	var got *NonFiniteError
	if !errors.As(err, &got) || got.What != "parameter" || got.Param != "w" || got.Iteration != 2 || result.Stopped != Failed {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("parameters that are not finite were written")
	}
}

func TestNonFiniteErrorDescribesTheParameters(t *testing.T) {
	params := []Param{
		newParam[float64]("a", []int{2}, 3, -4),
		newParam[float32]("b", []int{2}, 1, float64(float32(math.Inf(1)))),
		newParam[float64]("c", []int{1}, math.NaN()),
		newParam[float64]("d", []int{1}, 1e200),
		newParam[float64]("e", []int{1}, 2),
		newParam[float64]("f", []int{}, 1),
	}
	s := summaries(arraysOf(params, ObjectiveState{}))
	if want := (summary{"a", -4, 3, 5}); s[0] != want {
		t.Errorf("%+v, want %+v", s[0], want)
	}
	if s[3].Norm != 1e200 {
		t.Errorf("norm %v of 1e200", s[3].Norm)
	}
	if !math.IsNaN(s[2].Min) || !math.IsNaN(s[2].Max) || !math.IsNaN(s[2].Norm) {
		t.Errorf("%+v of a NaN", s[2])
	}
	err := &NonFiniteError{Iteration: 12, What: "gradient", Param: "a", Index: 1, Value: math.NaN(), Params: s}
	want := "train: iteration 12: gradient of a[1] is NaN; parameters: b in [1, +Inf], norm +Inf; c in [NaN, NaN], norm NaN; " +
		"d in [1e+200, 1e+200], norm 1e+200; a in [-4, 3], norm 5; and 2 smaller ones"
	if err.Error() != want {
		t.Errorf("%s\nwant %s", err, want)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Error("more than one line")
	}
}
