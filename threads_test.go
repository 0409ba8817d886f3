package valla

import (
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/method"
)

// TestModelThreadsOfEveryMethod: one model of each method predicts, is scored and saved, draws and is fitted again in
// sixteen goroutines at once. The race detector watches.
func TestModelThreadsOfEveryMethod(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 0, 4), wave(24, 3)
	all := []gp.Settings{&laplace.Settings{Structure: "kfac", Hyper: "fixed", PriorStd: 1}, &laplace.Settings{Structure: "diag", Hyper: "fixed", PriorStd: 1}}
	for _, how := range method.All() {
		if !slices.Contains([]string{"own", "toy", "blind"}, how.Name) { // methods that tests have registered
			all = append(all, quickSettings(t, how))
		}
	}
	for _, s := range all {
		t.Run(s.Label(), func(t *testing.T) {
			o := FitOptions{Settings: s, Law: "gaussian", Validation: new(0.25)}
			fitted := loaded(t, written(t, fit(t, m, set, o))) // a posterior from a file makes some things when it is first asked
			uses := []func(k int) error{
				func(int) error { _, err := fitted.MAP().Predict(t.Context(), set.X, PredictOptions{}); return err },
				func(int) error { _, err := fitted.Predict(t.Context(), set.X, PredictOptions{}); return err },
				func(int) error { _, err := fitted.Evaluate(t.Context(), set, PredictOptions{}); return err },
				func(k int) error { return fitted.Save(filepath.Join(t.TempDir(), strconv.Itoa(k))) },
				func(int) error { _, err := fitted.Fit(t.Context(), set, o); return err },
				func(int) error {
					p, err := fitted.Predictor(PredictorOptions{})
					if err != nil {
						return err
					}
					return p.Predict(t.Context(), set.X.Float64s()[:6], new(Prediction))
				},
			}
			var work sync.WaitGroup
			for k := range 16 {
				work.Go(func() {
					if err := uses[k%len(uses)](k); err != nil {
						t.Error(err)
					}
				})
			}
			work.Wait()
		})
	}
}
