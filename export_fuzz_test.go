package valla

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/moe"
	"github.com/go-valla/valla/gp/sampled"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/sum"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/onnxruntime"
	"github.com/go-valla/valla/layers"
)

// FuzzExport: the file of a random small model, read again, gives the predictions of the model.
func FuzzExport(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(exportRandom)
}

// TestExportRandom is FuzzExport for ten seeds, or for those from … to−1 where VALLA_SEEDS says from-to.
func TestExportRandom(t *testing.T) {
	var from, to uint64
	if _, err := fmt.Sscanf(cmp.Or(os.Getenv("VALLA_SEEDS"), "0-10"), "%d-%d", &from, &to); err != nil {
		t.Fatal(err)
	}
	for seed := from; seed < to; seed++ {
		exportRandom(t, seed)
	}
}

func exportRandom(t *testing.T, seed uint64) {
	r := drawing{rand.New(rand.NewPCG(seed, 3))}
	m, o, name := r.model(t)
	o.Rows, o.Check = m.randomRows(5, o.Bytes), os.Getenv(onnxruntime.Variable) != ""
	_, err := m.Export(t.Context(), filepath.Join(t.TempDir(), "net.onnx"), o)
	if errors.Is(err, errDiffers) && m.Dtype() == tensor.Float32 && m.Posterior != nil { // too few digits: the same in float64
		t.Logf("seed %d, %s: %v; the same in float64", seed, name, err)
		_, err = inFloat64(t, m).Export(t.Context(), filepath.Join(t.TempDir(), "net.onnx"), o)
	}
	if err != nil {
		t.Errorf("seed %d, %s: %v", seed, name, err)
	}
}

// drawing draws parts of models.
type drawing struct{ *rand.Rand }

func (r drawing) one(n int) bool { return r.IntN(n) == 0 }

// model returns a random model, options of its file and its description.
func (r drawing) model(t *testing.T) (*Model, ExportOptions, string) {
	dt, o := bothTypes[r.IntN(2)], ExportOptions{Level: 0.5 + r.Float64()/2}
	outputs, classes := 1+r.IntN(3), r.one(2)
	if classes {
		outputs++
	}
	form := r.form(outputs)
	net, err := layers.Build(form, dt, r.Rand)
	if err != nil {
		t.Fatalf("%v: %v", form, err)
	}
	m := &Model{Form: form, Net: net, Task: task.Task{Inputs: task.Inputs{Shape: form.InputShape()}}}
	set := r.set(m, outputs, classes)
	o.Bytes = len(m.Task.Inputs.Shape) == 3 && r.one(2)
	if !classes && r.one(2) {
		o.Quantiles = []float64{r.Float64(), r.Float64()}
	}
	name := fmt.Sprint(form, " ", dt, ", ", m.Task.Kind())
	s := r.settings(m, classes)
	if s == nil {
		return m, o, name + ", no posterior"
	}
	m = fit(t, m, set, FitOptions{Settings: s, Validation: new(0.0)})
	r.calibrate(m, classes, outputs)
	return m, o, fmt.Sprintf("%s, %T%+v", name, s, s)
}

// form returns a network: a perceptron with norms, residual layers or a convolution, or attention.
func (r drawing) form(outputs int) layers.Form {
	activation := func() layers.Layer { return layers.Activations()[r.IntN(len(layers.Activations()))] }
	var all layers.Layers
	shape := []int{1 + r.IntN(4)}
	switch r.IntN(4) {
	case 0:
		shape = []int{1 + r.IntN(2), 3 + r.IntN(3), 3 + r.IntN(3)}
		pools := []layers.Layer{layers.MaxPool{Size: 2}, layers.AveragePool{Size: 2, Stride: 1}, layers.GlobalAveragePool{}, layers.GroupNorm{Groups: 2}, activation()}
		conv := layers.Conv2D{Filters: 2, Kernel: 1 + r.IntN(3), Stride: 1 + r.IntN(2), Padding: 1, Bias: r.one(2)}
		all = layers.Layers{conv, layers.BatchNorm{}, activation(), pools[r.IntN(len(pools))], layers.Flatten{}}
		if _, ok := all[3].(layers.GlobalAveragePool); ok {
			all = all[:4]
		}
	case 1:
		shape = []int{2 + r.IntN(2), 2}
		all = layers.Layers{layers.Attention{Heads: 1 + r.IntN(2), Causal: r.one(2)}, layers.PoolSteps{Take: []string{"mean", "first", "last"}[r.IntN(3)]}}
	}
	for range r.IntN(3) {
		width := 1 + r.IntN(5)
		all = append(all, layers.DenseLayer{Outputs: width}, activation())
		norm := r.IntN(6)
		if width < 3 && norm < 2 { // a norm of two units is a step, whose derivatives have few digits in float32
			norm = 2
		}
		switch norm {
		case 0:
			all = append(all, layers.LayerNorm{})
		case 1:
			all = append(all, layers.RMSNorm{})
		case 2:
			all = append(all, layers.BatchNorm{})
		case 3:
			all = append(all, layers.ResidualLayer{Inner: layers.Layers{layers.DenseLayer{Outputs: width}, activation()}})
		}
	}
	return layers.SequentialForm{Input: shape, Layers: append(all, layers.DenseLayer{Outputs: outputs})}
}

// set gives the model the task of random rows, which it returns.
func (r drawing) set(m *Model, outputs int, classes bool) *data.Set {
	const n = 8
	in, columns := &m.Task.Inputs, outputs
	if r.one(2) {
		for range in.Shape[0] {
			in.Mean, in.Std = append(in.Mean, r.NormFloat64()), append(in.Std, 0.1+3*r.Float64())
		}
	}
	var names []string
	var numbers []float64
	for k := range outputs {
		names, numbers = append(names, fmt.Sprint("y", k)), append(numbers, float64(k))
	}
	if classes {
		m.Task.Outputs, columns, names = &task.Classification{Name: names[0], Classes: numbers}, 1, names[:1]
	} else {
		std := make([]float64, outputs)
		for k := range std {
			std[k] = 0.1 + 5*r.Float64()
		}
		m.Task.Outputs = &task.Regression{Names: names, NoiseVariance: 0.25, Mean: numbers, Std: std}
	}
	y := make([]float64, n*columns)
	for i := range y {
		if y[i] = 3 * r.NormFloat64(); classes {
			y[i] = float64(i % outputs)
		}
	}
	x := m.randomRows(n, false)
	for i, v := range x.Float64s() {
		x.Float64s()[i] = v + 0.3*r.NormFloat64()
	}
	return &data.Set{Features: in.Features, Targets: names, X: x, Y: denseOf(y, n, columns)}
}

// settings returns those of a method; nil: none.
func (r drawing) settings(m *Model, classes bool) gp.Settings {
	prior, alpha := 0.2+r.Float64(), 1.0
	if !classes {
		alpha = float64(r.IntN(2))
	}
	all := []gp.Settings{
		nil,
		&vallagp.Settings{Inducing: 1 + r.IntN(5), Iterations: 2, Alpha: &alpha},
		&laplace.Settings{Structure: []string{"full", "kfac", "diag"}[r.IntN(3)], Hyper: "fixed", PriorStd: prior},
		&laplace.Settings{Weights: []string{"last-layer"}, Hyper: "fixed", PriorStd: prior},
		&laplace.Settings{Structure: "lowrank", Rank: 2, Subset: 4, Hyper: "fixed", PriorStd: prior},
		&laplace.SubsetSettings{Points: 5, PriorStd: prior},
		&ella.Settings{Points: 6, Rank: 3, PriorStd: prior},
		&sampled.Settings{Samples: 3, PriorStd: prior},
		&moe.Settings{Experts: 1 + r.IntN(2), PriorStd: prior},
		&sfr.Settings{Points: 3, PriorStd: prior, OwnMean: r.one(2), Outputs: []string{"separate", "joint"}[r.IntN(2)]},
	}
	if slices.ContainsFunc(m.Form.(layers.SequentialForm).Layers, func(l layers.Layer) bool { _, ok := l.(layers.Activation); return ok }) {
		o := gapa.Options{Neighbours: 1 + r.IntN(6), Centres: r.IntN(3), ScaleSteps: 3, RelativeNoise: 1e-3, LengthScale: 1}
		all = append(all, &gapa.Settings{Options: o}, &sum.Settings{Settings: vallagp.Settings{Inducing: 2, Iterations: 2}, Options: o})
	}
	if len(m.Task.Inputs.Shape) == 1 {
		all = append(all, &fmgp.Settings{Inducing: 3, Iterations: 2})
	}
	return all[r.IntN(len(all))]
}

// calibrate gives the model a temperature, laws of residuals or target transforms.
func (r drawing) calibrate(m *Model, classes bool, outputs int) {
	if r.one(3) {
		m.Calibration = &Calibration{Temperature: 0.3 + 2*r.Float64()}
	}
	if classes || r.one(2) {
		return
	}
	m.Laws = nil
	if r.one(2) {
		r.transform(m, outputs)
	}
	if r.one(2) {
		return
	}
	for range outputs {
		m.Laws = append(m.Laws, law.Law{Family: law.StudentT, DoF: 3 + 5*r.Float64(), Scale: 0.5 + r.Float64(), Skew: r.Float64() - 0.5})
	}
}

// transform gives the model transforms of its targets that can be exported with every law.
func (r drawing) transform(m *Model, outputs int) {
	of := *m.Task.Outputs.(*task.Regression)
	of.Transforms, of.Mean, of.Std = nil, nil, nil
	for range outputs {
		of.Transforms = append(of.Transforms, []task.Transform{{}, {Name: task.Log}, {Name: task.Log1p}}[r.IntN(3)])
		of.Mean, of.Std = append(of.Mean, r.NormFloat64()), append(of.Std, 0.1+0.3*r.Float64())
	}
	m.Task.Outputs = &of
}
