package valla

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/frozen"
	"github.com/go-valla/valla/gp/laplace"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/train"
)

// cutModels are models whose networks have layers before the last one, with rows for each, and weights that are uncertain.
func cutModels(t *testing.T) map[string]func() (*Model, *data.Set, []string) {
	fromFile := func(path string, weights []string, shape ...int) func() (*Model, *data.Set, []string) {
		return func() (*Model, *data.Set, []string) {
			rng, n, classes := rand.New(rand.NewPCG(1, 2)), 24, 3
			if len(shape) == 1 { // words
				classes = 2
			}
			x := make([]float64, n*tensor.Shape(shape).TotalSize())
			for i := range x {
				if x[i] = rng.NormFloat64(); len(shape) == 1 {
					x[i] = float64(rng.IntN(20))
				}
			}
			set := &data.Set{X: denseOf(x, append([]int{n}, shape...)...), Targets: []string{"y"}, Y: denseOf(make([]float64, n), n, 1)}
			for i := range n {
				set.Y.Set(i, float64(i%classes))
			}
			m, err := FromWeights(t.Context(), path, set, WeightOptions{Classes: true})
			if err != nil {
				t.Fatal(err)
			}
			return m, set, weights
		}
	}
	return map[string]func() (*Model, *data.Set, []string){
		"perceptron": func() (*Model, *data.Set, []string) {
			return newTestModel(t, tensor.Float64, 0, 5, 4), tame(wave(40, 3)), []string{"dense2.*", "dense3.*"}
		},
		"classes": func() (*Model, *data.Set, []string) {
			return newTestClasses(t, tensor.Float64, 6, 4), tame(thirds(40, 3)), []string{"last-layer"}
		},
		"convolutions of a file": fromFile("layers/onnx/testdata/cnn_small.onnx", []string{"last-layer"}, cnnShape(t)...),
		"transformer of a file":  fromFile("layers/onnx/testdata/transformer_tiny.onnx", []string{"last-layer"}, 8, 5),
		"masked text of a file":  fromFile("layers/onnx/testdata/gallery/text.onnx", []string{"b.*", "out.*"}, 6),
	}
}

// tame brings the inputs of wave into the range of the test networks.
func tame(set *data.Set) *data.Set {
	x := set.X.Float64s()
	for i := 1; i < len(x); i += 2 {
		x[i] = (x[i] - 100) / 100
	}
	return set
}

// cnnShape is the shape of an image of cnn_small.
func cnnShape(t *testing.T) []int {
	t.Helper()
	form, err := Network{Form: "layers/onnx/testdata/cnn_small.onnx"}.Describe(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return form.InputShape()
}

// TestFeaturesAreExact: LLA of the rest of a network with features for inputs is LLA of the whole network, with the same
// verdict, at rows of the fit and at others.
func TestFeaturesAreExact(t *testing.T) {
	for name, of := range cutModels(t) {
		for _, structure := range []string{"full", "kfac", "diag"} {
			t.Run(name+", "+structure, func(t *testing.T) {
				m, set, weights := of()
				o := FitOptions{Settings: &laplace.Settings{Structure: structure, Weights: weights}, Validation: new(0.25)}
				whole := fit(t, m, set, o)
				if err := m.MakeFeatures(filepath.Join(t.TempDir(), "f"), weights); err != nil {
					t.Fatal(err)
				}
				f := fit(t, m, set, o)
				x := set.X.Clone().(*tensor.Dense)
				fresh := 0.123
				if m.Task.Inputs.Whole != nil { // of words
					fresh = math.Abs(x.Float64s()[0] - 7)
				}
				x.Set(0, fresh) // a row that has no features yet
				if got, want := numbers(predict(t, f, x)), numbers(predict(t, whole, x)); !close(got, want, 1e-10) {
					t.Errorf("predictions %.15g, expected %.15g", got[:3], want[:3])
				}
				a, b := f.lastFit(), whole.lastFit()
				if !close([]float64{a.Verdict.NLL, a.Verdict.MAPNLL, a.UsualSpread}, []float64{b.Verdict.NLL, b.Verdict.MAPNLL, b.UsualSpread}, 1e-9) || !slices.Equal(a.Marks, b.Marks) {
					t.Errorf("verdict %v, expected %v", a.Verdict, b.Verdict)
				}
				if notes := strings.Join(a.Notes, " "); !strings.Contains(notes, "The fit has read features of shape") {
					t.Errorf("notes %q", notes)
				}
				if err := m.CloseFeatures(); err != nil {
					t.Fatal(err)
				}
				comesBack(t, f, set.X)
			})
		}
	}
}

// TestFeaturesOfEveryMethod: each method takes features as the inputs of a network and predicts for rows what it predicts for
// their features, also when it comes back from a file.
func TestFeaturesOfEveryMethod(t *testing.T) {
	for _, how := range ownMethods() {
		t.Run(how.Name, func(t *testing.T) {
			m, set := newTestClasses(t, tensor.Float64, 5, 4), tame(thirds(40, 3))
			if err := m.MakeFeatures(filepath.Join(t.TempDir(), "f"), []string{"dense2.*", "dense3.*"}); err != nil {
				t.Fatal(err)
			}
			f := fit(t, m, set, FitOptions{Settings: tinySettings(t, how)})
			of, cut := frozen.Stored(f.Posterior.Stored)
			in, err := m.Task.Inputs.Apply(set.X, tensor.Float64)
			if err != nil {
				t.Fatal(err)
			}
			x, err := cut.Features(t.Context(), in, gp.Run{})
			if err != nil {
				t.Fatal(err)
			}
			want := small.Predict(t, of, x)
			got := small.Predict(t, f.Posterior.Stored, in)
			if !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Cov, want.Cov) {
				t.Errorf("means %v, expected %v", got.Mean[:3], want.Mean[:3])
			}
			if err := m.CloseFeatures(); err != nil {
				t.Fatal(err)
			}
			comesBack(t, f, set.X)
		})
	}
}

// TestFeaturesAreComputedOnce: a second fit computes no features, and gives the same bits.
func TestFeaturesAreComputedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	m, set := newTestModel(t, tensor.Float32, 0, 5, 4), tame(wave(60, 3))
	if err := m.MakeFeatures(path, []string{"last-layer"}); err != nil {
		t.Fatal(err)
	}
	told := 0
	run := gp.Run{OnProgress: func(p train.Progress) {
		if p.Unit == "rows of features" {
			told++
		}
	}}
	plan, err := m.PlanFeatures(set, run)
	if err != nil || plan.Missing != 60 || plan.Rows != 60 || plan.Bytes != 60*4*4 || plan.Disk != 60*(4*4+20) || !slices.Equal(plan.Shape, []int{4}) || plan.Before != "dense3.weight" {
		t.Errorf("plan %+v, error %v", plan, err)
	}
	if err := m.ComputeFeatures(t.Context(), set, run); err != nil || told == 0 {
		t.Fatalf("told %d times, error %v", told, err)
	}
	size := len(read(t, path))
	o := FitOptions{Settings: &vallagp.Settings{Inducing: 3, Iterations: 5}, Run: run}
	first := fit(t, m, set, o)
	if err := m.CloseFeatures(); err != nil {
		t.Fatal(err)
	}
	told = 0
	again := newTestModel(t, tensor.Float32, 0, 5, 4)
	if err := again.UseFeatures(path); err != nil {
		t.Fatal(err)
	}
	o.OnFeatures = func(p FeaturePlan) { plan = p }
	second := fit(t, again, set, o)
	if told != 0 || plan.Missing != 0 || plan.Disk != 0 || len(read(t, path)) != size {
		t.Errorf("the second fit computed features: told %d times, plan %+v, %d bytes of %d", told, plan, len(read(t, path)), size)
	}
	if got, want := numbers(predict(t, second, set.X)), numbers(predict(t, first, set.X)); !slices.Equal(got, want) {
		t.Errorf("predictions %v, expected %v", got[:3], want[:3])
	}
	mean := math.Inf(1)
	if p := predict(t, second, tame(wave(5, 9)).X); len(p.Mean) == 5 {
		mean = p.Mean[0]
	}
	if len(read(t, path)) != size+5*(4*4+20) || math.IsInf(mean, 0) {
		t.Errorf("predictions of five new rows made %d bytes of %d", len(read(t, path)), size)
	}
}

// TestFeatureErrors: files of other networks, other cuts and no files of features are refused in one line.
func TestFeatureErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	m := newTestModel(t, tensor.Float64, 0, 5, 4)
	oneLine(t, m.MakeFeatures(path, []string{"all"}), "features: ", "weights all: no layers with weights come before them")
	oneLine(t, m.MakeFeatures(path, []string{"dense7"}), `parameter "dense7" is unknown`)
	oneLine(t, m.UseFeatures(path), "no such file")
	oneLine(t, m.ComputeFeatures(t.Context(), wave(3, 1), gp.Run{}), "a model without features")
	if err := m.MakeFeatures(path, []string{"last-layer"}); err != nil {
		t.Fatal(err)
	}
	oneLine(t, m.MakeFeatures(path, []string{"dense2.*", "dense3.*"}), path, "features of shape [4] after 4 parts of a network, expected shape [5] after 2 parts")
	oneLine(t, newTestModel(t, tensor.Float32, 0, 5, 4).UseFeatures(path), path, "features in float64, expected float32")
	other := newTestModel(t, tensor.Float64, 0, 5, 4)
	other.Net.Params()[0].Set(0, 7)
	oneLine(t, other.UseFeatures(path), path, "features of another network: the fingerprint is ")
	head := newTestModel(t, tensor.Float64, 0, 5, 4)
	head.Net.Params()[4].Set(0, 7) // behind the cut
	if err := head.UseFeatures(path); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("a,b\n1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	oneLine(t, m.UseFeatures(path), path, "no file of features")
}

// TestFeaturesExportAndUpdate: a posterior behind a cut is exported and takes further rows like one of the whole network.
func TestFeaturesExportAndUpdate(t *testing.T) {
	m, set, more := newTestClasses(t, tensor.Float64, 5, 4), tame(thirds(40, 3)), tame(thirds(12, 7))
	o := FitOptions{Settings: &laplace.Settings{Structure: "full", Weights: []string{"last-layer"}}, Validation: new(0.0)}
	whole := fit(t, m, set, o)
	if err := m.MakeFeatures(filepath.Join(t.TempDir(), "f"), []string{"last-layer"}); err != nil {
		t.Fatal(err)
	}
	f := fit(t, m, set, o)
	if _, err := f.Export(t.Context(), filepath.Join(t.TempDir(), "m.onnx"), ExportOptions{}); err != nil {
		t.Error(err) // the file is compared with the model
	}
	a, err := f.Update(t.Context(), more, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := whole.Update(t.Context(), more, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := numbers(predict(t, a, set.X)), numbers(predict(t, b, set.X)); !close(got, want, 1e-10) {
		t.Errorf("predictions %v, expected %v", got[:3], want[:3])
	}
}

// TestFeaturesInMemory: where the layers before the uncertain weights cost most, LLA reads features from memory, with the
// result of a fit to the whole network.
func TestFeaturesInMemory(t *testing.T) {
	m, set := newTestClasses(t, tensor.Float64, 1500, 1500, 4), tame(thirds(40, 3))
	o := FitOptions{Settings: &laplace.Settings{Structure: "kfac", Weights: []string{"last-layer"}}, Validation: new(0.25)}
	planned := 0
	o.OnFeatures = func(p FeaturePlan) {
		if planned++; p.Rows != 30 || p.Disk != 0 || p.Bytes != 30*4*8 {
			t.Errorf("plan %+v", p)
		}
	}
	f := fit(t, m, set, o)
	if _, cut := frozen.Stored(f.Posterior.Stored); planned != 1 || cut == nil || cut.Shape[0] != 4 || f.features != nil || m.features != nil || f.String() != "LLA last-layer KFAC" {
		t.Fatalf("%v, %d plans, cut %v", f, planned, cut)
	}
	p, err := m.Problem(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := o.Settings.Fit(t.Context(), p, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	want := small.Predict(t, whole.Posterior, p.Train.X)
	got := small.Predict(t, f.Posterior.Stored, p.Train.X)
	if !close(got.Mean, want.Mean, 1e-10) || !close(got.Cov, want.Cov, 1e-10) {
		t.Errorf("covariances %v, expected %v", got.Cov[:3], want.Cov[:3])
	}
	all, err := new(laplace.Settings).Uncertain(m.Net)
	if err != nil || all != nil {
		t.Errorf("%d uncertain weights by default, error %v", len(all), err)
	}
}

// lengthy are settings whose defaults choose the last layer of every network of several.
type lengthy struct{ *vallagp.Settings }

// LastLayerAlone implements gp.Abridged.
func (l lengthy) LastLayerAlone(_ context.Context, p gp.Problem, _ gp.Run) (bool, gp.Estimate) {
	return len(p.Net.Params()) > 2, gp.Estimate{With: "uncertain weights of the last layer alone", Longer: "weights=all", LongerSeconds: 100}
}

// TestFeaturesByDefault: where the defaults choose the last layer behind a costly front, the fit has features for inputs and says so, and
// its file predicts the same.
func TestFeaturesByDefault(t *testing.T) {
	m, set := newTestClasses(t, tensor.Float64, 1500, 1500, 4), tame(thirds(40, 3))
	var e gp.Estimate
	o := FitOptions{Settings: &vallagp.Settings{Iterations: 20}, Validation: new(0.25), OnEstimate: func(of gp.Estimate) { e = of }}
	p, err := m.Problem(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]gp.Settings{"few operations": &vallagp.Settings{}, "no estimate": &laplace.Settings{}} {
		if same, err := m.abridged(t.Context(), s, p, o.Run); err != nil || same != m {
			t.Errorf("%s: another model, error %v", name, err)
		}
	}
	own, err := m.abridged(t.Context(), lengthy{}, p, o.Run)
	if err != nil || own == m {
		t.Fatalf("the same model, error %v", err)
	}
	f := fit(t, own, set, o)
	_, cut := frozen.Stored(f.Posterior.Stored)
	if cut == nil || cut.Shape[0] != 4 || f.features != nil || m.features != nil || f.String() != "VaLLA 100" {
		t.Fatalf("%v, cut %v", f, cut)
	}
	notes := f.History[len(f.History)-1].Record.Notes
	if !strings.Contains(e.With, "last layer alone") || e.Longer != "weights=all" || e.LongerSeconds <= 100 || !strings.Contains(strings.Join(notes, "\n"), "features of shape [4]") {
		t.Errorf("estimate %+v, notes %q", e, notes)
	}
	if got, want := numbers(predict(t, loaded(t, written(t, f)), set.X)), numbers(predict(t, f, set.X)); !close(got, want, 1e-12) {
		t.Errorf("predictions %v, expected %v", got[:3], want[:3])
	}
	small := newTestClasses(t, tensor.Float64, 6, 4)
	if same, err := small.abridged(t.Context(), lengthy{}, p, o.Run); err != nil || same != small {
		t.Errorf("a cheap front: another model, error %v", err)
	}
}
