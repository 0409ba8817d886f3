package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// TestPredictor: parts give the same scores and outputs as the whole, and each part is
// reported.
func TestPredictor(t *testing.T) {
	p, m := curve(t)
	n := 2*rowsAtOnce + 3
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = 4*float64(i)/float64(n)-2, math.Sin(float64(i))
	}
	p.test = &data.Set{Features: p.train.Features, Targets: p.train.Targets,
		X: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
	p.other = p.test
	var told []string
	q := newPredictor(p, m, spec.Scoring{Rotations: 9, Corruptions: 9}, func(r train.Progress) {
		told = append(told, fmt.Sprintf("%d of %d %s", r.Done, r.Total, r.Unit))
	})
	got, err := q.evaluate(t.Context(), p.test)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Evaluate(t.Context(), p.test, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want.List {
		if math.Abs(got.List[i].Value-v.Value) > 1e-12*math.Abs(v.Value) || got.List[i].Name != v.Name {
			t.Errorf("%v, expected %v", got.List[i], v)
		}
	}
	g, err := q.latent(t.Context(), p.test.X)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := m.Latent(t.Context(), p.test.X)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2][]float64{"mean": {g.Mean, whole.Mean}, "cov": {g.Cov, whole.Cov}, "epistemic": {g.Epistemic, whole.Epistemic}} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s %v, expected %v", name, pair[0], pair[1])
		}
	}
	if len(g.Probs) > 0 {
		t.Errorf("probabilities %v", g.Probs)
	}
	for _, done := range []int{n, n + rowsAtOnce, 2 * n} { // after the scores, after a part of the outputs, and at the end
		if want := fmt.Sprintf("%d of %d predicted rows", done, 2*n); !slices.Contains(told, want) {
			t.Errorf("progress %q, expected among them %q", told, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.latent(ended, p.test.X); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}
