package valla

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/onnxruntime"
	"github.com/go-valla/valla/layers"
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

// TestExportTimes prints the table of times in docs/export.md, with VALLA_LONG: of the file of a network alone, of the file with its
// posterior and all outputs, and of both in this program, each with one thread.
func TestExportTimes(t *testing.T) {
	needsRuntime(t)
	if os.Getenv("VALLA_LONG") == "" {
		t.Skip("VALLA_LONG is not set")
	}
	defer kernel.SetThreads(kernel.Threads())
	kernel.SetThreads(1)
	for _, s := range []service{
		{inputs: 90, outputs: 1, inducing: 100, hidden: []int{200, 200, 200}, dt: tensor.Float32},
		{inputs: 784, outputs: 10, inducing: 100, hidden: []int{200, 200}, dt: tensor.Float32},
	} {
		full := s.model(t)
		alone := full.copied()
		alone.Posterior = nil
		path := filepath.Join(t.TempDir(), "net.onnx")
		if _, err := full.Export(t.Context(), path, ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, rows := range []int{1, 1000} {
			x := full.randomRows(rows, false)
			took := fastest(40, 100/rows+1, inRuntime(t, bareFile(t, full), x, 1), inRuntime(t, path, x, 1), byPredictor(t, alone, x), byPredictor(t, full, x))
			t.Logf("%v, %d rows: in ONNX Runtime %v alone, %v with VaLLA, factor %.1f; here %v, %v, factor %.1f", s, rows,
				took[0], took[1], float64(took[1])/float64(took[0]), took[2], took[3], float64(took[3])/float64(took[2]))
		}
	}
}

// TestExportForward prints the times of a forward pass of ResNet-20 over 100 images in ONNX Runtime and here, with VALLA_LONG, each with
// two threads.
func TestExportForward(t *testing.T) {
	needsRuntime(t)
	if os.Getenv("VALLA_LONG") == "" {
		t.Skip("VALLA_LONG is not set")
	}
	form := layers.ResNet{Channels: 3, Height: 32, Width: 32, Blocks: []int{3, 3, 3}, Shortcut: "zero-pad", Outputs: 10}
	m := withForm(t, form, tensor.Float32).copied()
	m.Posterior = nil
	x, path := m.randomRows(100, false), bareFile(t, m)
	b := graph.NewBuilder(tensor.Float32)
	in := b.Input("x", x.Shape()...)
	f, err := graph.NewBatchWithin(0, b, in, m.network().Forward(b, in))
	if err != nil {
		t.Fatal(err)
	}
	own := func() {
		if _, err := f.Run(x.Float64s()); err != nil {
			t.Error(err)
		}
	}
	defer kernel.SetThreads(kernel.Threads())
	kernel.SetThreads(2)
	took := fastest(15, 1, inRuntime(t, path, x, 2), own)
	t.Logf("ResNet-20, 100 images: in ONNX Runtime %v, here %v, ratio %.2f", took[0], took[1], float64(took[1])/float64(took[0]))
}

// fastest calls functions in turn, each some times in a row, and returns the shortest time of a call of each.
func fastest(rounds, calls int, of ...func()) []time.Duration {
	least := slices.Repeat([]time.Duration{math.MaxInt64}, len(of))
	for range rounds {
		for i, f := range of {
			for range calls {
				start := time.Now()
				f()
				least[i] = min(least[i], time.Since(start))
			}
		}
	}
	return least
}

// bareFile writes the network of a model with nothing else, and returns the path.
func bareFile(t *testing.T, m *Model) string {
	t.Helper()
	model, err := graph.WriteONNX(func(s *graph.Sheet) error {
		b := s.Stage(m.Dtype())
		s.Output("y", m.outputType(), m.network().Forward(b, s.Input(b, "input", m.outputType(), m.Task.Inputs.Shape...)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bare.onnx")
	if _, _, err := model.Write(path, 0); err != nil {
		t.Fatal(err)
	}
	return path
}

// inRuntime returns a function that runs a file with float32 inputs.
func inRuntime(t *testing.T, path string, x *tensor.Dense, threads int) func() {
	t.Helper()
	session, err := onnxruntime.Open("", path, "", threads)
	if err != nil {
		t.Fatal(err)
	}
	in, first := runtimeInput(x, "float32", x.Shape()[1:]), []string{"y"}
	if filepath.Base(path) == "net.onnx" {
		first = []string{"std"}
		if _, err := session.Run("input", in, first); err != nil {
			first = []string{"logit_std"}
		}
	}
	return func() {
		if _, err := session.Run("input", in, first); err != nil {
			t.Error(err)
		}
	}
}

// byPredictor returns a function that predicts with a Predictor.
func byPredictor(t *testing.T, m *Model, x *tensor.Dense) func() {
	t.Helper()
	p, err := m.Predictor(PredictorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out Prediction
	return func() {
		if err := p.Predict(t.Context(), x.Float64s(), &out); err != nil {
			t.Error(err)
		}
	}
}
