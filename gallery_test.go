package valla_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/mfvi"
	"github.com/go-valla/valla/gp/sngp"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
)

// galleryRows is the number of rows of a fit of a network of the gallery.
const galleryRows = 40

// galleryOutputs are the outputs that are chosen of networks that have several.
var galleryOutputs = map[string][]string{"variance": {"mean"}}

// galleryOptions says how the network called name is read.
func galleryOptions(name string) valla.WeightOptions {
	o := valla.WeightOptions{Classes: slices.Contains(galleryClasses, name)}
	if name == "variance" {
		o.NoiseHead = task.LogVariance
	}
	return o
}

// galleryClasses are the networks of the gallery whose outputs are logits.
var galleryClasses = []string{"classes", "logit", "cnn", "resnet", "mobile", "gru", "text", "vit", "first", "mixer"}

// galleryNames are the networks of a short test; a long one takes all.
var galleryNames = []string{"logit", "variance", "embeddings", "both", "graph"}

// floatsOf returns the elements of an array of floating-point numbers or integers.
func floatsOf(a *tensor.Dense) (v []float64, whole bool) {
	if list, ok := a.Data().([]int64); ok {
		for _, k := range list {
			v = append(v, float64(k))
		}
		return v, true
	}
	return graph.Floats(a), false
}

// galleryInputs returns the inputs of the reference, repeated; repeated numbers that are not whole are moved a little.
func galleryInputs(t *testing.T, ref *npy.Archive, inputs []string) (x []float64, shape []int) {
	t.Helper()
	rng, rows := rand.New(rand.NewPCG(1, 1)), make([][]float64, galleryRows)
	for _, name := range inputs {
		a, ok := ref.Get(name)
		if !ok {
			t.Fatalf("no array %q", name)
		}
		v, whole := floatsOf(a)
		shape = a.Shape()[1:]
		n, width := a.Shape()[0], len(v)/a.Shape()[0]
		for i := range rows {
			for _, e := range v[i%n*width : (i%n+1)*width] {
				if i >= n && !whole && name != "neighbours" {
					e += 0.3 * rng.NormFloat64()
				}
				rows[i] = append(rows[i], e)
			}
		}
	}
	return slices.Concat(rows...), shape
}

// gallery returns the path of a network of the gallery, rows, and the outputs of the network at the first five.
func gallery(t *testing.T, name string) (path string, set *data.Set, y *tensor.Dense) {
	t.Helper()
	path = filepath.Join("layers", "onnx", "testdata", "gallery", name+".onnx")
	ref, err := npy.ReadArchive(strings.TrimSuffix(path, ".onnx") + ".npz")
	if err != nil {
		t.Fatal(err)
	}
	form, err := valla.Network{Form: path, Output: galleryOutputs[name]}.Describe(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	inputs, features := valla.InputNames(form)
	if inputs == nil {
		inputs = []string{"x"}
	}
	x, shape := galleryInputs(t, ref, inputs)
	if len(inputs) > 1 {
		shape = []int{len(features)}
	} else if len(shape) == 1 {
		for i := range shape[0] {
			features = append(features, fmt.Sprint("x", i))
		}
	}
	y, _ = ref.Get("y")
	set = &data.Set{Features: features, X: tensor.New(tensor.WithShape(append([]int{galleryRows}, shape...)...), tensor.WithBacking(x))}
	targets := y.Shape()[1]
	classes := slices.Contains(galleryClasses, name)
	if name == "variance" || classes {
		targets = 1
	}
	rng, all := rand.New(rand.NewPCG(2, 2)), make([]float64, galleryRows*targets)
	for i := range all {
		if all[i] = rng.NormFloat64(); classes {
			all[i] = float64(i % max(2, y.Shape()[1]))
		}
	}
	for i := range targets {
		set.Targets = append(set.Targets, fmt.Sprint("target", i))
	}
	set.Y = tensor.New(tensor.WithShape(galleryRows, targets), tensor.WithBacking(all))
	return path, set, y
}

// TestGallery fits posteriors to networks of PyTorch of many kinds, by default, by LLA and by FMGP: the means of
// predictions are the outputs of PyTorch. VALLA_LONG takes all networks.
func TestGallery(t *testing.T) {
	names := galleryNames
	if os.Getenv("VALLA_LONG") != "" {
		names = nil
		paths, _ := filepath.Glob("layers/onnx/testdata/gallery/*.onnx")
		for _, p := range paths {
			names = append(names, strings.TrimSuffix(filepath.Base(p), ".onnx"))
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			path, set, y := gallery(t, name)
			m, err := valla.FromWeights(t.Context(), path, set, galleryOptions(name))
			if err != nil {
				t.Fatal(err)
			}
			for method, s := range map[string]gp.Settings{"valla": &vallagp.Settings{Iterations: 2, Inducing: 5}, "lla": &laplace.Settings{}, "fmgp": &fmgp.Settings{Iterations: 2, Inducing: 5}} {
				fitted, err := m.Fit(t.Context(), set, valla.FitOptions{Settings: s, Law: "gaussian"})
				if err != nil {
					t.Fatalf("%s: %v", method, err)
				}
				checkGalleryMeans(t, method, fitted, set, y)
			}
		})
	}
}

// TestGalleryMethods fits methods that look at layers to networks of PyTorch.
func TestGalleryMethods(t *testing.T) {
	for name, methods := range map[string][]gp.Settings{
		"flat":     {&gapa.Settings{}, &sngp.Settings{Iterations: 2, Features: 16}, &mfvi.Settings{Iterations: 2, Samples: 3}},
		"variance": {&gapa.Settings{}},
		"text":     {&sngp.Settings{Iterations: 2, Features: 16, Spectral: "none"}, &mfvi.Settings{Iterations: 2, Samples: 3}},
	} {
		path, set, _ := gallery(t, name)
		m, err := valla.FromWeights(t.Context(), path, set, valla.WeightOptions{Classes: slices.Contains(galleryClasses, name), Network: valla.Network{Output: galleryOutputs[name]}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range methods {
			fitted, err := m.Fit(t.Context(), set, valla.FitOptions{Settings: s, Law: "gaussian"})
			if err != nil {
				t.Errorf("%s: %s: %v", name, s.Label(), err)
				continue
			}
			if _, err := fitted.Predict(t.Context(), set.X, valla.PredictOptions{}); err != nil {
				t.Errorf("%s: %s: %v", name, s.Label(), err)
			}
			file := filepath.Join(t.TempDir(), "m.valla")
			if err := fitted.Save(file); err != nil {
				t.Fatal(err)
			}
			if _, err := valla.Load(file); err != nil {
				t.Errorf("%s: %s: %v", name, s.Label(), err)
			}
		}
	}
}

// TestGalleryExport: networks of words and of categories are exported without rows. The file is compared at words that
// occur in the rows of the fit, at which the outputs are defined and differ.
func TestGalleryExport(t *testing.T) {
	for _, name := range []string{"text", "embeddings"} {
		path, set, _ := gallery(t, name)
		m, err := valla.FromWeights(t.Context(), path, set, galleryOptions(name))
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Weights: []string{"last-layer"}}, Law: "gaussian"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fitted.Export(t.Context(), filepath.Join(t.TempDir(), "m.onnx"), valla.ExportOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkGalleryMeans compares the means of a model's predictions, or the logits, with PyTorch's outputs.
func checkGalleryMeans(t *testing.T, method string, m *valla.Model, set *data.Set, y *tensor.Dense) {
	t.Helper()
	p, err := m.Predict(t.Context(), set.X, valla.PredictOptions{})
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	want, n, c := graph.Floats(y), y.Shape()[0], y.Shape()[1]
	if p.Classes != nil || m.Task.Kind() != "regression" { // error bars change probabilities
		for _, v := range slices.Concat(p.Probs, p.Mean) {
			if !(v >= 0 && v <= 1) {
				t.Errorf("%s: probability %g", method, v)
			}
		}
		return
	}
	k := m.Task.Size()
	for i := range n {
		for j := range k {
			if got, w := p.Mean[i*k+j], want[i*c+j]; math.Abs(got-w) > 1e-5*max(1, math.Abs(w)) {
				t.Errorf("%s: mean %d of row %d is %g, want %g", method, j, i, got, w)
			}
			if v := p.Latent[i*k+j]; !(v >= 0) {
				t.Errorf("%s: latent variance %g", method, v)
			}
		}
	}
}

// TestEarlierTransformer: a file of an earlier version, whose posterior belongs to the derivatives of all tokens, predicts as that
// version did.
func TestEarlierTransformer(t *testing.T) {
	path := filepath.Join("testdata", "format2_cls_transformer_kfac.valla")
	m, err := valla.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	_, set, y := gallery(t, "vit")
	p, err := m.Predict(t.Context(), data.TakeRows(set.X, []int{0, 1, 2, 3, 4}), valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	lines, c := strings.Split(strings.TrimSpace(string(text)), "\n")[1:], y.Shape()[1]
	if len(lines) != 5 {
		t.Fatalf("%d rows, want 5", len(lines))
	}
	for i, line := range lines {
		want := make([]float64, c+1)
		if _, err := fmt.Sscanf(line, "%g,%g,%g,%g", &want[0], &want[1], &want[2], &want[3]); err != nil {
			t.Fatal(err)
		}
		for k, v := range p.Probs[i*c : (i+1)*c] {
			if math.Abs(v-want[1+k]) > 1e-9 {
				t.Errorf("row %d: probability %d is %v, want %v", i, k, v, want[1+k])
			}
		}
	}
}
