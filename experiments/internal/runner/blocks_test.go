package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// keepAll keeps blocks that take less than usual.
func keepAll(t *testing.T, least time.Duration) {
	old := longBlock
	longBlock = least
	t.Cleanup(func() { longBlock = old })
}

// TestBlocks: a block is computed once, but for the first block, and where files are damaged or of another fit.
func TestBlocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.predicted")
	// predicted predicts three blocks of a fit, and returns the numbers of the blocks that were computed.
	predicted := func(fit float64) (computed []int) {
		k := blocks{dir: dir}
		for i := range 3 {
			want := gp.Gaussian{Mean: []float64{fit, float64(i)}, Cov: []float64{1, 2}, Marginal: 1}
			got, err := k.predict(func() (gp.Gaussian, error) { computed = append(computed, i); return want, nil })
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("block %d is %+v, error %v, expected %+v", i, got, err, want)
			}
		}
		if again := 3 - len(computed); again > 0 != (k.spent.Runs == 1) || again > 0 != (k.spent.Wall > 0) {
			t.Errorf("blocks %v were computed, the cost of the others is %+v", computed, k.spent)
		}
		return computed
	}
	keepAll(t, 0)
	damage := func(content string) {
		if err := os.WriteFile(filepath.Join(dir, "000001.gob"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		before func()
		fit    float64
		want   []int
	}{
		{func() {}, 1, []int{0, 1, 2}},
		{func() {}, 1, []int{0}},
		{func() { damage("") }, 1, []int{0, 1}},
		{func() { damage("no block") }, 1, []int{0, 1}},
		{func() {}, 1, []int{0}},
		{func() {}, 2, []int{0, 1, 2}},
		{func() { keepAll(t, time.Hour) }, 3, []int{0, 1, 2}},
		{func() {}, 3, []int{0, 1, 2}},
	} {
		c.before()
		if got := predicted(c.fit); !slices.Equal(got, c.want) {
			t.Errorf("case %d: blocks %v were computed, expected %v", i, got, c.want)
		}
	}
	k := blocks{dir: dir}
	bad := errors.New("bad")
	if _, err := k.predict(func() (gp.Gaussian, error) { return gp.Gaussian{}, bad }); err != bad {
		t.Errorf("error %v", err)
	}
}

// TestBlocksResume: predictions that were interrupted go on, and equal those in one go.
func TestBlocksResume(t *testing.T) {
	keepAll(t, 0)
	p, m := curve(t)
	x := tensor.New(tensor.WithShape(3*rowsAtOnce, 1), tensor.WithBacking(make([]float64, 3*rowsAtOnce)))
	for i, v := range x.Float64s() {
		x.Set(i, v+float64(i)/100)
	}
	dir := filepath.Join(t.TempDir(), "x.predicted")
	ctx, cancel := context.WithCancel(t.Context())
	var told []string
	report := func(r train.Progress) {
		told = append(told, fmt.Sprint(r.Done))
		if r.Done == 2*rowsAtOnce {
			cancel()
		}
	}
	q := newPredictor(p, m, spec.Scoring{}, report)
	q.kept.dir = dir
	if _, err := q.latent(ctx, x); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, told %q", err, told)
	}
	whole, err := newPredictor(p, m, spec.Scoring{}, nil).latent(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	q = newPredictor(p, m, spec.Scoring{}, nil)
	q.kept.dir = dir
	got, err := q.latent(t.Context(), x)
	if err != nil || q.kept.spent.Wall == 0 {
		t.Fatalf("error %v, cost of what was kept %+v", err, q.kept.spent)
	}
	if !slices.Equal(got.Mean, whole.Mean) || !slices.Equal(got.Cov, whole.Cov) || !slices.Equal(got.Epistemic, whole.Epistemic) {
		t.Error("the predictions differ from those in one go")
	}
}
