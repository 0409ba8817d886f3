package valla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// withForm returns a model of classes with random weights of a form, and a random VaLLA posterior.
func withForm(t *testing.T, form layers.Form, dt tensor.Dtype) *Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, 0))
	net, err := layers.Build(form, dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	return withNet(t, form, net)
}

// withNet is withForm for a network that is there.
func withNet(t *testing.T, form layers.Form, net layers.Sequential) *Model {
	t.Helper()
	rng, shape := rand.New(rand.NewPCG(9, 1)), form.InputShape()
	classes := make([]float64, layers.OutputSize(form))
	for i := range classes {
		classes[i] = float64(i)
	}
	m := newTestModel(t, net.Params()[0].Value.Dtype(), 0)
	m.Form, m.Net = form, net
	m.Task = task.Task{Inputs: task.Inputs{Shape: shape}, Outputs: &task.Classification{Name: "y", Classes: classes}}
	const inducing = 3
	z := make([]float64, inducing*tensor.Shape(shape).TotalSize())
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	class := []int{0, len(classes) - 1, len(classes) / 2}
	stored := storedVaLLA(t, net, z, shape, class, func() float64 { return 0.1 * rng.NormFloat64() }, -1)
	if err := m.attach(&Posterior{Stored: stored, Method: "valla"}, m.fingerprint()); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestExportNetworks: convolutions, residual blocks, and networks from ONNX files with attention.
func TestExportNetworks(t *testing.T) {
	forms := map[string]layers.Form{
		"relu":   layers.MLP{Inputs: 3, Hidden: []int{4, 4}, Outputs: 2, Activation: "relu"},
		"cnn":    layers.CNN{Channels: 2, Height: 6, Width: 5, Filters: []int{2}, Hidden: []int{3}, Outputs: 2, Activation: "tanh"},
		"resnet": layers.ResNet{Channels: 1, Blocks: []int{1, 1}, Shortcut: "zero-pad", Outputs: 2, Height: 4, Width: 4},
		"scale": layers.SequentialForm{Input: []int{3}, Layers: layers.Layers{ // ONNX Runtime takes a factor before a product of matrices into the product
			layers.DenseLayer{Outputs: 1}, layers.Activations()[0], layers.BatchNorm{}, layers.DenseLayer{Outputs: 2},
		}},
	}
	for name, form := range forms {
		for _, dt := range bothTypes {
			t.Run(fmt.Sprint(name, " ", dt), func(t *testing.T) { checkExported(t, withForm(t, form, dt), ExportOptions{}) })
		}
	}
	for _, name := range []string{"mlp_relu", "cnn_small", "transformer_tiny"} {
		t.Run(name, func(t *testing.T) {
			f, err := onnx.Read("layers/onnx/testdata/"+name+".onnx", onnx.Options{})
			if err != nil {
				t.Fatal(err)
			}
			net, err := f.Network(tensor.Float64)
			if err != nil {
				t.Fatal(err)
			}
			checkExported(t, withNet(t, f.Form, net), ExportOptions{})
		})
	}
}

// TestExportBytes: bytes of images are inputs, scaled in the file, by channel.
func TestExportBytes(t *testing.T) {
	m := withForm(t, layers.CNN{Channels: 2, Height: 4, Width: 4, Filters: []int{2}, Outputs: 2, Activation: "relu"}, tensor.Float32)
	m.Task.Inputs.Mean, m.Task.Inputs.Std = []float64{0.4, 0.6}, []float64{0.2, 0.3}
	if e := checkExported(t, m, ExportOptions{Bytes: true}); e.Input.Type != "uint8" || len(e.Input.Shape) != 3 {
		t.Errorf("input %+v", e.Input)
	}
}

// TestExportLaws: laws of residuals with and without own scales, and several targets with conformal intervals.
func TestExportLaws(t *testing.T) {
	own := &law.OwnScale{
		Mean: []float64{0, 0.5, 9, 1}, Inverse: []float64{1, 2, 0.2, 1}, Linear: []float64{0.1, -0.2, 0.05, 0.3}, Inputs: []int{0, 1, 3},
		Slopes: []float64{0.5, -1, 0.7}, Bias: []float64{0.1}, Output: []float64{0.4}, Offset: 0.05, Lowest: -0.6, Highest: 0.5,
	}
	for name, l := range map[string]law.Law{
		"student":  {Family: law.StudentT, DoF: 4, Scale: 0.8},
		"skew":     {Family: law.StudentT, DoF: 5, Scale: 0.8, Skew: 0.3, Own: own},
		"mixture":  {Family: law.Mixture, Weights: []float64{0.75, 0.25}, Shifts: []float64{-0.25, 0.75}, Scales: []float64{0.5, 1.5}},
		"gaussian": {Family: law.Gaussian, Scale: 1, Own: own},
	} {
		for _, dt := range bothTypes {
			m := newTestModel(t, dt, 4, 4)
			m.Laws = []law.Law{l}
			t.Run(fmt.Sprint(name, " ", dt), func(t *testing.T) {
				checkExported(t, m, ExportOptions{Quantiles: []float64{0.001, 0.3, 0.9}})
			})
		}
	}
	set := twins(60, 1)
	m, err := Train(t.Context(), set, TrainOptions{Network: Network{Hidden: []int{4}}, Training: Training{Iterations: 30, BatchSize: 20}})
	if err != nil {
		t.Fatal(err)
	}
	both := fit(t, m, set, FitOptions{Settings: &laplace.Settings{Structure: "kfac"}, Validation: new(0.0)})
	bounds := ExportOptions{Level: 0.9, Quantiles: []float64{0.05, 0.3, 0.5, 0.95}} // the quantiles are bounds of conformal intervals, too
	checkExported(t, calibrated(t, both, twins(40, 2), CalibrateConformal), bounds)
	long := func(seed uint64) *data.Set {
		set := twins(60, seed)
		for i, y := range set.Y.Float64s() {
			set.Y.Float64s()[i] = 1 + math.Abs(y)
		}
		return set
	}
	m, err = Train(t.Context(), long(1), TrainOptions{Network: Network{Hidden: []int{4}}, Training: Training{Iterations: 30, BatchSize: 20}, TargetTransform: task.Log})
	if err != nil {
		t.Fatal(err)
	}
	both = fit(t, m, long(1), FitOptions{Settings: &laplace.Settings{Structure: "kfac"}, Validation: new(0.0)})
	checkExported(t, calibrated(t, both, long(2), CalibrateConformal), bounds)
}

// TestExportErrors: what cannot be exported is refused by name, and nothing is left.
func TestExportErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "net.onnx")
	refused := func(m *Model, o ExportOptions, want ...string) {
		t.Helper()
		_, err := m.Export(t.Context(), path, o)
		oneLine(t, err, want...)
	}
	m := newTestModel(t, tensor.Float64, 2, 3)
	refused(m, ExportOptions{Level: 1.5}, "probability 1.5")
	refused(m, ExportOptions{Quantiles: []float64{0}}, "probability 0")
	refused(m, ExportOptions{Bytes: true}, "columns of a table")
	refused(m, ExportOptions{Rows: denseOf(make([]float64, 3), 1, 3)}, "rows of shape", "[2]")
	r := *m.Task.Outputs.(*task.Regression)
	r.Transforms = []task.Transform{{Name: task.YeoJohnson, Exponent: 0.5}}
	m.Task.Outputs, m.Laws = &r, []law.Law{{Family: law.StudentT, DoF: 5, Scale: 0.8}}
	refused(m, ExportOptions{}, "transform yeo-johnson", "Student's t")
	c := newTestClasses(t, tensor.Float64, 3)
	refused(c, ExportOptions{Link: MonteCarlo}, `link "mc"`)
	refused(c, ExportOptions{Link: Own}, `link "own"`)
	refused(c, ExportOptions{Check: true, Library: filepath.Join(dir, "none.so")}, "onnxruntime is not available", "none.so")
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files %v left, %v", files, err)
	}
}

// TestExportAtThresholds: the rows that chose the thresholds of sets and of a rule lie on them, and rounding changes neither the sets nor
// the marks of these rows.
func TestExportAtThresholds(t *testing.T) {
	set := thirds(60, 1)
	for _, dt := range bothTypes {
		m := fit(t, newTestClasses(t, dt, 3), thirds(80, 2), FitOptions{Settings: &laplace.Settings{Structure: "kfac"}, Validation: new(0.0)})
		for _, o := range []CalibrateOptions{{Method: CalibrateConformal, Level: 0.9}, {Method: CalibrateAbstain, Risk: 0.9, Confidence: 0.8, By: calibrate.ByProbability}} {
			c, err := m.Calibrate(t.Context(), set, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, level := range []float64{0.3, 0.5, 0.6, 0.7, 0.8, 0.9} {
				if _, err := c.Export(t.Context(), filepath.Join(t.TempDir(), "m.onnx"), ExportOptions{Level: level, Rows: set.X}); err != nil {
					t.Errorf("%v, %s at the level %g: %v", dt, o.Method, level, err)
				}
			}
		}
	}
}
