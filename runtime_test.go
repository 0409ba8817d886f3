package valla

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-valla/valla/internal/onnxruntime"
	"gorgonia.org/tensor"
)

// needsRuntime skips a test without the library of ONNX Runtime.
func needsRuntime(t testing.TB) {
	t.Helper()
	if os.Getenv(onnxruntime.Variable) == "" {
		t.Skipf("%s names no library", onnxruntime.Variable)
	}
}

// TestExportRuntime: predictions by ONNX Runtime are those of the model, whatever the posterior, the calibration and the link.
func TestExportRuntime(t *testing.T) {
	needsRuntime(t)
	for name, m := range everyPosterior(t) {
		if m.Posterior != nil && (m.Posterior.Method == "mfvi" || m.Posterior.Method == "sngp") {
			oneLine(t, m.UseRuntime(t.Context(), RuntimeOptions{}), m.Posterior.Method, "cannot be exported")
			continue
		}
		t.Run(name, func(t *testing.T) {
			x := m.randomRows(70, false)
			want := numbers(predict(t, m, x))
			by := m.copied()
			if err := by.UseRuntime(t.Context(), RuntimeOptions{Provider: "cpu"}); err != nil {
				t.Fatal(err)
			}
			if !by.runtime.serves(by) {
				t.Fatal("the runtime does not serve the model")
			}
			if d, at := difference(numbers(predict(t, by, x)), want); !(d <= 1e-9) {
				t.Errorf("difference %.2g at number %d", d, at)
			}
			p, err := by.Predictor(PredictorOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var out Prediction
			if err := p.Predict(t.Context(), x.Float64s(), &out); err != nil {
				t.Fatal(err)
			}
			if d, at := difference(numbers(&out), want); !(d <= 1e-9) {
				t.Errorf("Predictor: difference %.2g at number %d", d, at)
			}
		})
	}
}

// TestExportRuntimeErrors: one line says what is wrong, and the model goes on without ONNX Runtime.
func TestExportRuntimeErrors(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 2, 3)
	oneLine(t, m.UseRuntime(t.Context(), RuntimeOptions{Library: filepath.Join(t.TempDir(), "none.so")}), "onnxruntime is not available", "none.so")
	_, _, err := RuntimeProviders(filepath.Join(t.TempDir(), "none.so"))
	oneLine(t, err, "onnxruntime is not available")
	predict(t, m, m.randomRows(2, false))
	needsRuntime(t)
	oneLine(t, m.UseRuntime(t.Context(), RuntimeOptions{Provider: "abacus"}), `"abacus"`, "cpu")
	if _, all, err := RuntimeProviders(""); err != nil || len(all) == 0 || all[len(all)-1] != "cpu" {
		t.Errorf("providers %v, %v", all, err)
	}
}

// BenchmarkRuntime: the time of a file beside the file of the network alone, both by ONNX Runtime with one thread, and beside this program
// with one goroutine.
func BenchmarkRuntime(b *testing.B) {
	needsRuntime(b)
	for _, s := range []service{
		{inputs: 90, outputs: 1, inducing: 100, hidden: []int{200, 200, 200}, dt: tensor.Float32},
		{inputs: 784, outputs: 10, inducing: 100, hidden: []int{200, 200}, dt: tensor.Float32},
	} {
		full := s.model(b)
		alone := full.copied()
		alone.Posterior = nil
		for name, m := range map[string]*Model{"network": alone, "VaLLA": full} {
			path := filepath.Join(b.TempDir(), "net.onnx")
			e, err := m.Export(b.Context(), path, ExportOptions{})
			if err != nil {
				b.Fatal(err)
			}
			first := []string{e.Outputs[0].Name}
			if name == "VaLLA" {
				first = append(first, e.Outputs[1].Name)
			}
			for _, rows := range []int{1, 1000} {
				session, err := onnxruntime.Open("", path, "", 1)
				if err != nil {
					b.Fatal(err)
				}
				x := m.randomRows(rows, false)
				in := runtimeInput(x, e.Input.Type, m.Task.Inputs.Shape)
				b.Run(fmt.Sprintf("%v/%s/rows %d/onnxruntime", s, name, rows), func(b *testing.B) {
					for b.Loop() {
						if _, err := session.Run(e.Input.Name, in, first); err != nil {
							b.Fatal(err)
						}
					}
				})
				session.Close()
				b.Run(fmt.Sprintf("%v/%s/rows %d/own", s, name, rows), func(b *testing.B) { predictOwn(b, m, x) })
			}
		}
	}
}

// predictOwn measures a Predictor.
func predictOwn(b *testing.B, m *Model, x *tensor.Dense) {
	p, err := m.Predictor(PredictorOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var out Prediction
	for b.Loop() {
		if err := p.Predict(b.Context(), x.Float64s(), &out); err != nil {
			b.Fatal(err)
		}
	}
}
