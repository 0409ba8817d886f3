package parts_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/outside/offset"
	_ "example.com/outside/parts"
	"github.com/go-valla/valla"
	"github.com/go-valla/valla/compare"
	"github.com/go-valla/valla/data"
)

// TestModel: a network of the registered form is trained, the registered method is fitted to it, and the file of
// the model has the same predictions.
func TestModel(t *testing.T) {
	form, file, set := filepath.Join(t.TempDir(), "form.json"), filepath.Join(t.TempDir(), "m.valla"), data.Toy(1)
	if err := os.WriteFile(form, []byte(`{"kind": "funnel", "inputs": 1, "widest": 8}`), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Form: form}, Training: valla.Training{Iterations: 200}})
	if err == nil {
		m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &offset.Settings{PriorStd: 2}})
	}
	if err == nil {
		err = m.Save(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := valla.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Predict(t.Context(), set.X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Predict(t.Context(), set.X, valla.PredictOptions{})
	if err != nil || !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Variance, want.Variance) {
		t.Errorf("predictions of the file differ, error %v", err)
	}
	for i, v := range want.Variance {
		if v != want.Variance[0] || !(v > m.NoiseVariance()) {
			t.Errorf("variance %d is %g, want one above the noise's %g", i, v, m.NoiseVariance())
		}
	}
	if e := again.History[1]; again.Form.String() != "funnel of 8" || e.Label != "Offset" || e.Settings["prior-std"] != 2.0 {
		t.Errorf("the file has %v and %+v", again.Form, e)
	}
	if !slices.Contains(compare.Names(), "offset") {
		t.Errorf("compared are %q", compare.Names())
	}
}
