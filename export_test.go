package valla

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/moe"
	"github.com/go-valla/valla/gp/sampled"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/sum"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/onnxruntime"
	"gorgonia.org/tensor"
)

// TestExportEvery: the file of every posterior gives the predictions of the model, or the method is refused by its name.
func TestExportEvery(t *testing.T) {
	for name, m := range everyPosterior(t) {
		t.Run(name, func(t *testing.T) {
			if m.Posterior != nil && slices.Contains([]string{"mfvi", "sngp"}, m.Posterior.Method) {
				_, err := m.Export(t.Context(), filepath.Join(t.TempDir(), "net.onnx"), ExportOptions{})
				oneLine(t, err, m.Posterior.Method, "cannot be exported")
				return
			}
			checkExported(t, m, ExportOptions{Quantiles: []float64{0.1, 0.5}})
		})
	}
}

// TestExportMethods: further methods, on classes, with one output and with several, in both element types.
func TestExportMethods(t *testing.T) {
	for _, dt := range bothTypes {
		for name, s := range map[string]gp.Settings{
			"ella":      &ella.Settings{Points: 6, Rank: 4, PriorStd: 0.7},
			"sampled":   &sampled.Settings{Samples: 4, PriorStd: 0.7},
			"fmgp":      &fmgp.Settings{Inducing: 3, Iterations: 2},
			"sfr":       &sfr.Settings{Points: 3, PriorStd: 0.7},
			"moe":       &moe.Settings{Experts: 2, PriorStd: 0.7},
			"gp-subset": &laplace.SubsetSettings{Points: 6, PriorStd: 0.7},
			"valla":     &vallagp.Settings{Inducing: 4, Iterations: 2},
			"gapa":      &gapa.Settings{Options: gapa.Options{Neighbours: 5}},
			"centres":   &gapa.Settings{Options: gapa.Options{Neighbours: 6, Centres: 3}},
			"sum":       &sum.Settings{Settings: vallagp.Settings{Inducing: 4, Iterations: 2}, Options: gapa.Options{Neighbours: 5}},
		} {
			t.Run(fmt.Sprint(name, " ", dt), func(t *testing.T) {
				o := FitOptions{Settings: s, Validation: new(0.0)}
				checkExported(t, fit(t, newTestModel(t, dt, 0, 3), wave(12, 3), o), ExportOptions{})
				checkExported(t, fit(t, newTestClasses(t, dt, 3), thirds(12, 3), o), ExportOptions{})
			})
		}
	}
}

// checkExported exports a model, which compares the file with its predictions as the reader of this project computes it. Where the
// environment names the library of ONNX Runtime, the library computes the file in batches of 1, 7 and 1,000 rows, too.
func checkExported(t *testing.T, m *Model, o ExportOptions) *Export {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.onnx")
	o.Rows = m.randomRows(7, o.Bytes)
	e, err := m.Export(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(onnxruntime.Variable) == "" {
		return e
	}
	s, err := onnxruntime.Open("", path, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, out := range e.Outputs {
		names = append(names, out.Name)
	}
	if o.Level == 0 {
		o.Level = 0.95
	}
	for _, n := range []int{1, 7, 1000} {
		rows := m.randomRows(n, o.Bytes)
		got, err := s.Run(e.Input.Name, runtimeInput(rows, e.Input.Type, m.Task.Inputs.Shape), names)
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.predictedOutputs(t.Context(), rows, e, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			d, at := difference(got[i], want[name])
			if d > m.exportTolerance(e.Wide, name) && m.Dtype() == tensor.Float32 && m.Posterior != nil && m.Posterior.Method == "valla" {
				wide, err := inFloat64(t, m).predictedOutputs(t.Context(), rows, e, o)
				if err != nil {
					t.Fatal(err)
				}
				d, at = difference(got[i], nearer(got[i], want[name], wide[name]))
			}
			if !(d <= m.exportTolerance(e.Wide, name)) {
				t.Errorf("%d rows, output %q by onnxruntime: difference %.2g at number %d", n, name, d, at)
			}
		}
	}
	return e
}

// nearer returns of each pair of numbers of a and b the one nearer to that of x. The derivative of ReLU jumps where its input
// is 0 up to the rounding of float32; there float64 may be on the other side.
func nearer(x, a, b []float64) []float64 {
	out := slices.Clone(a)
	for i, v := range x {
		if math.Abs(b[i]-v) < math.Abs(a[i]-v) {
			out[i] = b[i]
		}
	}
	return out
}

// TestExportOfBytes: a model that was made for bytes is compared at pixels, whether the file takes bytes or numbers.
func TestExportOfBytes(t *testing.T) {
	o := augmentedTrain()
	o.Training.Augment = false
	set := pictures(12, 8, 8)
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.onnx")
	flat := tensor.New(tensor.WithShape(set.N(), set.X.Size()/set.N()), tensor.WithBacking(set.X.Data()))
	for _, bytes := range []bool{false, true} {
		for _, rows := range []*tensor.Dense{nil, set.X, flat} {
			if e, err := m.Export(t.Context(), path, ExportOptions{Bytes: bytes, Rows: rows}); err != nil || (e.Input.Type == "uint8") != bytes {
				t.Errorf("bytes %t, rows %v: %+v, %v", bytes, rows != nil, e, err)
			}
		}
	}
	_, err = m.Export(t.Context(), path, ExportOptions{Bytes: true, Rows: m.randomRows(2, false)})
	oneLine(t, err, "rows of float64", "expected bytes")
}

// TestDifference: a number that is not finite on one side alone is not lost among those after it.
func TestDifference(t *testing.T) {
	for want, c := range map[int][2][]float64{
		0: {{math.NaN(), 1, 2}, {1, 1, 2}},
		1: {{1, 5, 1}, {1, math.Inf(1), 1}},
		2: {{1, 9, math.NaN(), 3}, {1, 1, 1, 3}},
	} {
		if d, at := difference(c[0], c[1]); !math.IsNaN(d) || at != want {
			t.Errorf("difference %g at number %d, want NaN at %d", d, at, want)
		}
	}
}
