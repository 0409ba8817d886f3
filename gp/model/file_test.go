package model

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/jacobian"
)

// A file gives the model back: the same predictions and the same file again, to the
// last bit, for every method.
func TestSaveAndLoad(t *testing.T) {
	x := wave(20, 1).X
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for name, m := range everyPosterior(t, dt) {
			t.Run(fmt.Sprint(dt, name), func(t *testing.T) {
				path := saved(t, m)
				got, err := Load(path)
				if err != nil {
					t.Fatal(err)
				}
				if want, again := latent(t, m, x), latent(t, got, x); !slices.Equal(want, again) {
					t.Error("the loaded model predicts other numbers")
				}
				if a, b := read(t, path), read(t, saved(t, got)); !bytes.Equal(a, b) {
					t.Error("the loaded model is saved as another file")
				}
				if m.Posterior != nil && m.Posterior.String() != got.Posterior.String() {
					t.Errorf("%v became %v", m.Posterior, got.Posterior)
				}
			})
		}
	}
}

// latent returns means and covariances.
func latent(t testing.TB, m *Model, x *tensor.Dense) []float64 {
	t.Helper()
	g, err := m.latent(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(g.Mean.Float64s()), g.Cov.Float64s()...)
}

func TestSaveRefusesWhatLoadWould(t *testing.T) {
	for name, spoil := range map[string]func(m *Model){
		"element 2 is NaN":     func(m *Model) { m.Net.Params()[0].Set(2, math.NaN()) },
		"2 names of features":  func(m *Model) { m.Network.Inputs = 3 },
		"noise variances":      func(m *Model) { m.Noise = 0 },
		"inputs: column 1":     func(m *Model) { m.Inputs.Std[1] = -1 },
		"both a feature":       func(m *Model) { m.Target = "a" },
		"targets: expected":    func(m *Model) { m.Targets = nil },
		"valla.l.npy: element": func(m *Model) { layerOf(m).L.Set(0, math.Inf(1)) },
	} {
		m := newTestModel(t, tensor.Float64, 2, 4)
		spoil(m)
		dir := t.TempDir()
		oneLine(t, m.Save(filepath.Join(dir, "m.valla")), "m.valla", name)
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left %v behind", name, left)
		}
	}
}

func TestAttach(t *testing.T) {
	m, other := newTestModel(t, tensor.Float64, 3, 4), newTestModel(t, tensor.Float64, 0, 4)
	if err := other.Attach(layerOf(m), m.Fingerprint(), 0.1); err != nil {
		t.Fatalf("equal weights: %v", err)
	}
	other.Net.Params()[1].Set(0, 0.5)
	before := other.Posterior
	err := other.Attach(layerOf(m), m.Fingerprint(), 0.1)
	oneLine(t, err, "the posterior was fitted on other weights", m.Fingerprint(), other.Fingerprint())
	if !errors.Is(err, ErrFingerprint) || other.Posterior != before {
		t.Errorf("error %v, posterior replaced: %t", err, other.Posterior != before)
	}
	lla := newTestLLA(t, tensor.Float64, LLAOptions{Hyper: FixedHyper, PriorStd: 1}).Posterior.(LLA)
	err = other.AttachLLA(lla.Posterior, m.Fingerprint())
	if !errors.Is(err, ErrFingerprint) || other.Posterior != before {
		t.Errorf("error %v, posterior replaced: %t", err, other.Posterior != before)
	}
	classes := newTestClasses(t, tensor.Float64, 3)
	oneLine(t, classes.AttachLLA(lla.Posterior, classes.Fingerprint()), "expected inputs of shape [2] and 3 outputs, found [2] and 1")
	class, err := valla.New(jacobian.NTK{Net: m.Net}, layerOf(m).Z.Value, []int{0, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	oneLine(t, m.Attach(class, m.Fingerprint(), 0.1), "an inducing point of class 1, the network has 1 outputs")
	oneLine(t, classes.Attach(class, classes.Fingerprint(), 0.1), "noise variance 0.1 of classes")
	wide := newTestModel(t, tensor.Float32, 0, 4)
	oneLine(t, wide.Attach(layerOf(m), wide.Fingerprint(), 0.1), "expected inducing inputs float32 of shape (M, 2), found float64 of shape (3, 2)")
	oneLine(t, m.Attach(layerOf(m), m.Fingerprint(), 0), "noise variance 0")
}

// member is a part of a model file that a test may change.
type member struct {
	name   string
	body   []byte
	method uint16
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unpack(t testing.TB, file []byte) []member {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var list []member
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, member{f.Name, body, f.Method})
	}
	return list
}

func pack(t testing.TB, list []member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range list {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: m.method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encoded(t testing.TB, a *tensor.Dense) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := npy.Encode(&b, a); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMembers(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 2, 3)
	list := unpack(t, read(t, saved(t, m)))
	want := []string{"model.json", "weights/dense1.weight.npy", "weights/dense1.bias.npy", "weights/dense2.weight.npy",
		"weights/dense2.bias.npy", "posterior/valla.z.npy", "posterior/valla.l.npy", "posterior/valla.log_prior_std.npy"}
	var names []string
	for _, p := range list {
		names = append(names, p.name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("members %q, want %q", names, want)
	}
	z, err := npy.Decode(bytes.NewReader(list[5].body), "z")
	if err != nil || !slices.Equal(z.Float64s(), layerOf(m).Z.Floats()) {
		t.Errorf("Z is stored as %v, error %v", z, err)
	}
}

// change returns an edit of one member of a file.
func change(name string, f func(body []byte) []byte) func([]member) []member {
	return func(list []member) []member {
		i := slices.IndexFunc(list, func(m member) bool { return m.name == name })
		list[i].body = f(list[i].body)
		return list
	}
}

func replace(old, new string) func([]member) []member {
	return change(headerMember, func(b []byte) []byte {
		if !bytes.Contains(b, []byte(old)) {
			panic("no " + old + " in " + string(b))
		}
		return bytes.Replace(b, []byte(old), []byte(new), 1)
	})
}

func put(name string, a []byte) func([]member) []member {
	return change(name, func([]byte) []byte { return a })
}

func TestLoadErrors(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 2, 3)
	whole := read(t, saved(t, m))
	other := newTestModel(t, tensor.Float64, 0, 3)
	other.Net.Params()[3].Set(0, 0.75)
	weight, z := "weights/dense1.weight.npy", "posterior/valla.z.npy"
	for _, c := range []struct {
		name string
		edit func([]member) []member
		want []string
	}{
		{"version", replace("valla model 1", "valla model 2"), []string{`format "valla model 2", expected "valla model 1"`}},
		{"newer fields", func(l []member) []member {
			return replace("valla model 1", "valla model 2")(replace(`"kind"`, `"new": 1, "kind"`)(l))
		}, []string{`expected "valla model 1"`}},
		{"kind", replace("regression", "clustering"), []string{`kind "clustering", expected "regression" or "classification"`}},
		{"kind without classes", replace("regression", "classification"), []string{`kind "classification" with 0 classes`}},
		{"regression with classes", replace(`"inputs": {`, `"classes": [1, 2], "inputs": {`), []string{`kind "regression" with 2 classes`}},
		{"unknown field", replace(`"kind"`, `"colour": 1, "kind"`), []string{"model.json", `unknown field "colour"`}},
		{"no JSON", put(headerMember, []byte("{")), []string{"model.json", "JSON"}},
		{"dtype", replace("float64", "int8"), []string{`dtype "int8"`}},
		{"activation", replace("tanh", "step"), []string{`unknown activation "step"`}},
		{"outputs", replace(`"outputs": 1`, `"outputs": 2`), []string{"2 outputs, expected 1"}},
		{"features", replace(`"a",`, ``), []string{"1 names of features for a network of 2 inputs"}},
		{"scaler", replace(`"map_noise`, `"targets": {"mean": [1], "std": [0]}, "map_noise`), []string{"targets: column 0", "standard deviation 0"}},
		{"noise", replace(`"noise_variance": 0.125`, `"noise_variance": -1`), []string{"noise variance -1"}},
		{"method", replace(`"method": "valla"`, `"method": "laplace"`), []string{`posterior "laplace", expected "valla" or "lla"`}},
		{"method without its state", replace(`"method": "valla"`, `"method": "lla"`), []string{`a posterior "lla" without its state`}},
		{"class", replace(`"inducing": 2`, `"inducing": 2, "class": [0, 1]`), []string{"an inducing point of class 1"}},
		{"classes of fewer", replace(`"inducing": 2`, `"inducing": 2, "class": [0]`), []string{"1 classes for 2 inducing points"}},
		{"inducing", replace(`"inducing": 2`, `"inducing": 3`), []string{z, "expected float64 of shape (3, 2), found float64 of shape (2, 2)"}},
		{"no inducing", replace(`"inducing": 2`, `"inducing": -1`), []string{"-1 inducing points"}},
		{"width", replace(`"hidden": [`, `"hidden": [3,`), []string{"weights/dense2.weight.npy", "expected float64 of shape (3, 3), found float64 of shape (3, 1)"}},
		{"negative width", replace(`"hidden": [`, `"hidden": [-3,`), []string{"does not fit"}},
		{"other weights", put("weights/dense2.bias.npy", encoded(t, other.Net.Params()[3].Value)), []string{"the posterior was fitted on other weights", m.Fingerprint(), other.Fingerprint()}},
		{"shape", put(weight, encoded(t, matrix(make([]float64, 6), 3, 2))), []string{weight, "expected float64 of shape (2, 3), found float64 of shape (3, 2)"}},
		{"element type", put(weight, encoded(t, newTestModel(t, tensor.Float32, 0, 3).Net.Params()[0].Value)), []string{weight, "expected float64 of shape (2, 3), found float32 of shape (2, 3)"}},
		{"NaN", put(z, encoded(t, matrix([]float64{1, 2, math.NaN(), 4}, 2, 2))), []string{z, "element 2 is NaN"}},
		{"no array", put(z, []byte("hello, world")), []string{z, "malformed"}},
		{"missing", func(l []member) []member { return l[:len(l)-1] }, []string{"posterior/valla.log_prior_std.npy", "missing"}},
		{"no header", func(l []member) []member { return l[1:] }, []string{"model.json", "missing"}},
		{"extra", func(l []member) []member { return append(l, member{name: "weights/more.npy"}) }, []string{"weights/more.npy", "not expected"}},
		{"twice", func(l []member) []member { return append(l, l[2]) }, []string{"dense1.bias.npy", "twice"}},
		{"compressed", func(l []member) []member { l[1].method = zip.Deflate; return l }, []string{weight, "compressed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.valla")
			if err := os.WriteFile(path, pack(t, c.edit(unpack(t, whole))), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			oneLine(t, err, append(c.want, path)...)
			if got != nil {
				t.Error("a model came with the error")
			}
			kind := ErrFormat
			if c.name == "other weights" {
				kind = ErrFingerprint
			}
			if !errors.Is(err, kind) {
				t.Errorf("error %q, want one that wraps %q", err, kind)
			}
		})
	}
}

func TestLoadErrorsOfLLA(t *testing.T) {
	m := newTestLLA(t, tensor.Float64, LLAOptions{Structure: laplace.KFAC, Hyper: FixedHyper, PriorStd: 0.375, NoiseStd: 2})
	whole := read(t, saved(t, m))
	values, bias := "posterior/dense1.weight.input.values.npy", "weights/dense2.bias.npy"
	for _, c := range []struct {
		name string
		edit func([]member) []member
		want []string
	}{
		{"structure", replace(`"kfac"`, `"half"`), []string{`structure "half", expected one of ["full" "kfac" "diag" "lowrank"]`}},
		{"another structure", replace(`"kfac"`, `"diag"`), []string{"posterior/dense1.weight.h.npy", "missing"}},
		{"prior", replace("0.375\n", "-0.375\n"), []string{"prior standard deviation -0.375"}},
		{"noise", replace(`"noise_variance": 0.25`, `"noise_variance": 0.5`), []string{"noise variance 0.5, expected 0.25"}},
		{"input", replace(`"input": [
    2`, `"input": [
    3`), []string{"inputs of shape [3] and 1 outputs, expected [2] and 1"}},
		{"weights", replace(`"dense1.weight"`, `"dense3.weight"`), []string{`parameter "dense3.weight" is unknown`}},
		{"batch", replace(`"batch": 8`, `"batch": 1000000`), []string{"batches of 1000000"}},
		{"inducing", replace(`"lla": {`, `"inducing": 1, "lla": {`), []string{`a posterior "lla" without its state, or with that of another method`}},
		{"method", replace(`"method": "lla"`, `"method": "valla"`), []string{`a posterior "valla" with the state of another method`}},
		{"shape", put(values, encoded(t, matrix([]float64{1, 2}, 2, 1))), []string{values, "expected float64 of shape (2), found float64 of shape (2, 1)"}},
		{"NaN", put(values, encoded(t, tensor.New(tensor.WithShape(2), tensor.WithBacking([]float64{1, math.NaN()})))), []string{values, "element 1 is NaN"}},
		{"other weights", put(bias, encoded(t, tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{3})))), []string{"the posterior was fitted on other weights", m.Fingerprint()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := pack(t, c.edit(unpack(t, whole)))
			got, err := decode(bytes.NewReader(file), int64(len(file)))
			oneLine(t, err, c.want...)
			if got != nil {
				t.Error("a model came with the error")
			}
			kind := ErrFormat
			if c.name == "other weights" {
				kind = ErrFingerprint
			}
			if !errors.Is(err, kind) {
				t.Errorf("error %q, want one that wraps %q", err, kind)
			}
		})
	}
}

func TestLoadOfChangedMAPWeights(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 0, 3)
	list := put("weights/dense2.bias.npy", encoded(t, tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{9}))))(unpack(t, read(t, saved(t, m))))
	file := pack(t, list)
	_, err := decode(bytes.NewReader(file), int64(len(file)))
	oneLine(t, err, "weights", "expected the fingerprint "+m.Fingerprint())
}

func TestLoadOfDamagedFiles(t *testing.T) {
	whole := read(t, saved(t, newTestModel(t, tensor.Float64, 2, 3)))
	path := filepath.Join(t.TempDir(), "m.valla")
	for cut := 0; cut < len(whole); cut += 97 {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		oneLine(t, err, path)
	}
	_, err := Load(filepath.Join(t.TempDir(), "none.valla"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	_, err = Load(t.TempDir())
	oneLine(t, err, "directory")
}

// TestLoadAllocatesWhatTheFileHolds gives headers that claim huge arrays.
func TestLoadAllocatesWhatTheFileHolds(t *testing.T) {
	whole := read(t, saved(t, newTestModel(t, tensor.Float64, 2, 3)))
	const limit = 16 << 20 // the file has 4 kB, and reading one array takes buffers of 1 MiB
	for name, edit := range map[string]func([]member) []member{
		"width":    replace(`"hidden": [`, `"hidden": [1000000000000, `),
		"widths":   replace(`"hidden": [`, `"hidden": [4611686018427387904, 4611686018427387904, `),
		"inducing": replace(`"inducing": 2`, `"inducing": 1000000000`),
		"array": change("posterior/valla.z.npy", func(b []byte) []byte {
			return bytes.Replace(b, []byte("(2, 2), }         "), []byte("(2000000000, 2), }"), 1)
		}),
	} {
		file := pack(t, edit(unpack(t, whole)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode(bytes.NewReader(file), int64(len(file)))
		runtime.ReadMemStats(&after)
		oneLine(t, err)
		if used := after.TotalAlloc - before.TotalAlloc; used > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d: %v", name, used, len(file), err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, inducing := range []int{0, 2} {
		whole := read(f, saved(f, newTestModel(f, tensor.Float64, inducing, 2)))
		f.Add(whole)
		f.Add(whole[:len(whole)/2])
		f.Add(pack(f, replace("tanh", "relu")(unpack(f, whole))))
		f.Add(pack(f, replace(`"inputs": 2`, `"inputs": -2`)(unpack(f, whole))))
	}
	for _, m := range everyPosterior(f, tensor.Float64) {
		f.Add(read(f, saved(f, m)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := decode(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		if err := cmp.Or(m.checkAll(), m.encode(io.Discard)); err != nil {
			t.Errorf("a model that was read cannot be written: %v", err)
		}
	})
}

func FuzzHeader(f *testing.F) {
	whole := read(f, saved(f, newTestModel(f, tensor.Float64, 2, 2)))
	list := unpack(f, whole)
	f.Add(list[0].body)
	f.Add([]byte(`{"format":"valla model 1"}`))
	lla := unpack(f, read(f, saved(f, newTestLLA(f, tensor.Float64, LLAOptions{Hyper: FixedHyper, PriorStd: 1}))))
	f.Add(lla[0].body)
	f.Fuzz(func(t *testing.T, text []byte) {
		file := pack(t, put(headerMember, text)(slices.Clone(list)))
		m, err := decode(bytes.NewReader(file), int64(len(file)))
		if err == nil && !json.Valid(text) {
			t.Errorf("no JSON, but a model: %+v", m)
		}
	})
}
