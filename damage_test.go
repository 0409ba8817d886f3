package valla

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp/laplace"
)

// change returns an edit of one member of a file.
func change(name string, f func(body []byte) []byte) func([]member) []member {
	return func(list []member) []member {
		i := slices.IndexFunc(list, func(m member) bool { return m.name == name })
		list[i].body = f(list[i].body)
		return list
	}
}

// replace edits the header, in which white space may be anything.
func replace(old, new string) func([]member) []member {
	return change(headerMember, func(b []byte) []byte {
		space := regexp.MustCompile(`\s+`)
		flat := space.ReplaceAll(b, []byte(" "))
		if !bytes.Contains(flat, []byte(old)) {
			panic("no " + old + " in " + string(flat))
		}
		return bytes.Replace(flat, []byte(old), []byte(new), 1)
	})
}

func put(name string, a []byte) func([]member) []member {
	return change(name, func([]byte) []byte { return a })
}

// damage is an edit of a file with the words of the error that it makes.
type damage struct {
	name string
	edit func([]member) []member
	want []string
	kind error // nil means ErrFormat
}

// checkDamage edits the file of a model in all ways and reads it.
func checkDamage(t *testing.T, m *Model, cases []damage) {
	t.Helper()
	whole := read(t, written(t, m))
	path := filepath.Join(t.TempDir(), "m.valla")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(path, pack(t, c.edit(unpack(t, whole))), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			oneLine(t, err, append(c.want, path)...)
			if got != nil {
				t.Error("a model came with the error")
			}
			kind := ErrFormat
			if c.kind != nil {
				kind = c.kind
			}
			if !errors.Is(err, kind) {
				t.Errorf("error %q, want one that wraps %q", err, kind)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 2, 3)
	other := newTestModel(t, tensor.Float64, 0, 3)
	other.Net.Params()[3].Set(0, 0.75)
	weight, z := "weights/dense1.weight.npy", "posterior/valla.z.npy"
	fingerprints := bytes.Count(unpack(t, read(t, written(t, m)))[0].body, []byte(m.fingerprint()))
	if fingerprints != 2 {
		t.Fatalf("%d fingerprints in the header", fingerprints)
	}
	checkDamage(t, m, []damage{
		{name: "version", edit: replace("valla model 2", "valla model 3"), want: []string{`format "valla model 3", expected "valla model 2"`}},
		{name: "newer fields", edit: func(l []member) []member {
			return replace("valla model 2", "valla model 3")(replace(`"form"`, `"new": 1, "form"`)(l))
		}, want: []string{`expected "valla model 2"`}},
		{name: "no version", edit: put(headerMember, []byte(`{}`)), want: []string{`format ""`}},
		{name: "no task", edit: replace(`"regression": {`, `"regression": null, "classification": null, "posterior": {`), want: []string{"model.json"}},
		{name: "two tasks", edit: replace(`"regression": {`, `"classification": {"target": "y", "classes": [1, 2]}, "regression": {`), want: []string{"either a regression or a classification"}},
		{name: "unknown field", edit: replace(`"dtype"`, `"colour": 1, "dtype"`), want: []string{"model.json", `unknown field "colour"`}},
		{name: "no JSON", edit: put(headerMember, []byte("{")), want: []string{"model.json", "JSON"}},
		{name: "more than JSON", edit: change(headerMember, func(b []byte) []byte { return append(b, '}') }), want: []string{"model.json"}},
		{name: "empty header", edit: put(headerMember, nil), want: []string{"model.json"}},
		{name: "dtype", edit: replace("float64", "int8"), want: []string{`dtype "int8"`}},
		{name: "no dtype", edit: replace(`"float64"`, `""`), want: []string{`dtype ""`}},
		{name: "form", edit: replace(`"mlp"`, `"cube"`), want: []string{"model.json", `"cube"`}},
		{name: "no form", edit: replace(`"form"`, `"form": null, "History"`), want: []string{"model.json"}},
		{name: "activation", edit: replace("tanh", "step"), want: []string{`unknown activation "step"`}},
		{name: "outputs", edit: replace(`"outputs": 1`, `"outputs": 2`), want: []string{"2 outputs, expected 1"}},
		{name: "features", edit: replace(`"a",`, ``), want: []string{"inputs of shape [2] with 1 names of features"}},
		{name: "feature twice", edit: replace(`"a",`, `"b",`), want: []string{`"b" stands twice`}},
		{name: "shape", edit: replace(`"shape": [ 2 ]`, `"shape": [ 0 ]`), want: []string{"inputs of shape [0]"}},
		{name: "means", edit: replace(`"mean": [ 1,`, `"mean": [`), want: []string{"1 means and 2 standard deviations"}},
		{name: "deviation", edit: replace(`"std": [ 3,`, `"std": [ 0,`), want: []string{"column 0", "standard deviation 0"}},
		{name: "targets", edit: replace(`"targets": [ "y" ]`, `"targets": []`), want: []string{"without targets"}},
		{name: "scale of targets", edit: replace(`"std": [ 4 ]`, `"std": [ -4 ]`), want: []string{`"y"`, "standard deviation -4"}},
		{name: "noise of the network", edit: replace(`"noise_variance": 0.25`, `"noise_variance": 0`), want: []string{"noise variance 0"}},
		{name: "noise of the posterior", edit: replace(`"noise_variance": 0.125`, `"noise_variance": -1`), want: []string{"posterior", "noise variance -1"}},
		{name: "method", edit: replace(`"method": "valla"`, `"method": "laplace"`), want: []string{`method "laplace", expected one of valla, lla`}},
		{name: "other method", edit: replace(`"method": "valla"`, `"method": "lla"`), want: []string{`unknown field`}},
		{name: "no state", edit: replace(`"state": {`, `"state": null, "stat": {`), want: []string{"unknown field"}},
		{name: "class", edit: replace(`"inducing": 2`, `"inducing": 2, "class": [0, 1]`), want: []string{"class[1] is 1, the network has 1 outputs"}},
		{name: "classes of fewer", edit: replace(`"inducing": 2`, `"inducing": 2, "class": [0]`), want: []string{"posterior"}},
		{name: "more inducing", edit: replace(`"inducing": 2`, `"inducing": 3`), want: []string{z, "expected float64 of shape (3, 2), found float64 of shape (2, 2)"}},
		{name: "no inducing", edit: replace(`"inducing": 2`, `"inducing": -1`), want: []string{"-1 inducing points"}},
		{name: "width", edit: replace(`"hidden": [`, `"hidden": [3,`), want: []string{"weights/dense2.weight.npy", "expected float64 of shape (3, 3), found float64 of shape (3, 1)"}},
		{name: "negative width", edit: replace(`"hidden": [`, `"hidden": [-3,`), want: []string{"model.json"}},
		{name: "no parameters", edit: replace(`"form": {`, `"form": {"kind": "sequential", "input": [2], "layers": []}, "Form2": {`), want: []string{"model.json"}},
		{name: "other weights", kind: ErrFormat, edit: put("weights/dense2.bias.npy", encoded(t, other.Net.Params()[3].Value)),
			want: []string{"weights", "expected the fingerprint " + m.fingerprint(), other.fingerprint()}},
		{name: "fingerprint of the weights", edit: replace(m.fingerprint(), other.fingerprint()), want: []string{"weights", "found " + m.fingerprint()}},
		{name: "fingerprint of the posterior", kind: errFingerprint, edit: change(headerMember, func(b []byte) []byte {
			at := bytes.LastIndex(b, []byte(m.fingerprint()))
			return slices.Concat(b[:at], []byte(other.fingerprint()), b[at+len(m.fingerprint()):])
		}), want: []string{"the posterior was fitted to other weights", m.fingerprint(), other.fingerprint()}},
		{name: "misshaped", edit: put(weight, encoded(t, denseOf(make([]float64, 6), 3, 2))), want: []string{weight, "expected float64 of shape (2, 3), found float64 of shape (3, 2)"}},
		{name: "element type", edit: put(weight, encoded(t, newTestModel(t, tensor.Float32, 0, 3).Net.Params()[0].Value)), want: []string{weight, "expected float64 of shape (2, 3), found float32 of shape (2, 3)"}},
		{name: "NaN", edit: put(z, encoded(t, denseOf([]float64{1, 2, math.NaN(), 4}, 2, 2))), want: []string{z, "element 2 is NaN"}},
		{name: "infinite weight", edit: put(weight, encoded(t, denseOf([]float64{1, 2, 3, 4, 5, math.Inf(-1)}, 2, 3))), want: []string{weight, "element 5 is -Inf"}},
		{name: "no array", edit: put(z, []byte("hello, world")), want: []string{z, "malformed"}},
		{name: "cut array", edit: change(z, func(b []byte) []byte { return b[:len(b)-8] }), want: []string{z}},
		{name: "long array", edit: change(z, func(b []byte) []byte { return append(b, 0) }), want: []string{z}},
		{name: "missing", edit: func(l []member) []member { return l[:len(l)-1] }, want: []string{"posterior/valla.log_prior_std.npy", "missing"}},
		{name: "missing weights", edit: func(l []member) []member { return slices.Delete(l, 2, 3) }, want: []string{"weights/dense1.bias.npy", "missing"}},
		{name: "no header", edit: func(l []member) []member { return l[1:] }, want: []string{"model.json", "missing"}},
		{name: "empty", edit: func(l []member) []member { return nil }, want: []string{"model.json", "missing"}},
		{name: "extra", edit: func(l []member) []member { return append(l, member{name: "weights/more.npy"}) }, want: []string{"weights/more.npy", "not expected"}},
		{name: "extra of the posterior", edit: func(l []member) []member { return append(l, member{name: "posterior/valla.w.npy", body: l[5].body}) }, want: []string{"posterior/valla.w.npy", "not expected"}},
		{name: "twice", edit: func(l []member) []member { return append(l, l[2]) }, want: []string{"dense1.bias.npy", "twice"}},
		{name: "compressed", edit: func(l []member) []member { l[1].method = zip.Deflate; return l }, want: []string{weight, "compressed"}},
	})
}

func TestLoadErrorsOfLLA(t *testing.T) {
	o := FitOptions{Settings: &laplace.Settings{Structure: "kfac", Hyper: "fixed", PriorStd: 0.375, NoiseStd: 0.5}, Validation: new(0.0)}
	m := fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(8, 3), o)
	values := "posterior/dense1.weight.input.values.npy"
	state := `"state": { "weights": [ "dense1.weight"`
	checkDamage(t, m, []damage{
		{name: "structure", edit: replace(`"structure": "kfac", "space"`, `"structure": "half", "space"`), want: []string{`"half"`}},
		{name: "another structure", edit: replace(`"structure": "kfac", "space"`, `"structure": "diag", "space"`), want: []string{"posterior/dense1.weight.h.npy", "missing"}},
		{name: "prior", edit: replace(`"priors": "shared", "prior_stds": [ 0.375 ]`, `"priors": "shared", "prior_stds": [ -0.375 ]`), want: []string{"posterior", "-0.375"}},
		{name: "noise", edit: replace(`"noise_variance": 0.25, "state"`, `"noise_variance": 0.5, "state"`), want: []string{"noise variance 0.5, expected 0.25"}},
		{name: "input", edit: replace(`"input": [ 2 ]`, `"input": [ 3 ]`), want: []string{"posterior"}},
		{name: "weights", edit: replace(state, `"state": { "weights": [ "dense3.weight"`), want: []string{`"dense3.weight"`}},
		{name: "batch", edit: replace(`"batch": 8`, `"batch": 1000000`), want: []string{"batches of 1000000"}},
		{name: "likelihood", edit: replace(`"likelihood": "gaussian"`, `"likelihood": "softmax"`), want: []string{"likelihood"}},
		{name: "state of another", edit: replace(state, `"state": { "inducing": 1, "weights": [ "dense1.weight"`), want: []string{`unknown field "inducing"`}},
		{name: "method", edit: replace(`"method": "lla", "weights_fingerprint"`, `"method": "valla", "weights_fingerprint"`), want: []string{"unknown field"}},
		{name: "shape", edit: put(values, encoded(t, denseOf([]float64{1, 2}, 2, 1))), want: []string{values, "expected float64 of shape (2), found float64 of shape (2, 1)"}},
		{name: "NaN", edit: put(values, encoded(t, denseOf([]float64{1, math.NaN()}, 2))), want: []string{values, "element 1 is NaN"}},
	})
}

func TestLoadErrorsOfClasses(t *testing.T) {
	m := newTestClasses(t, tensor.Float32, 3)
	checkDamage(t, m, []damage{
		{name: "descending", edit: replace("[ 1, 2, 4 ]", "[ 1, 4, 2 ]"), want: []string{"ascending"}},
		{name: "one more", edit: replace("[ 1, 2, 4 ]", "[ 1, 2, 4, 5 ]"), want: []string{"3 outputs, expected 4; the column", "has 4 classes"}},
		{name: "one", edit: replace("[ 1, 2, 4 ]", "[ 1 ]"), want: []string{"1 classes, expected 2 to 1000"}},
		{name: "target", edit: replace(`"target": "y"`, `"target": "a"`), want: []string{`"a" stands twice`}},
		{name: "noise", edit: replace(`"target": "y"`, `"noise_variance": 1, "target": "y"`), want: []string{"unknown field"}},
	})
}

// A file that is cut, and one with a flipped bit, is an error, or the bit is of no meaning.
func TestLoadOfDamagedFiles(t *testing.T) {
	whole := read(t, written(t, newTestModel(t, tensor.Float64, 2, 3)))
	path := filepath.Join(t.TempDir(), "m.valla")
	for cut := 0; cut < len(whole); cut += 97 {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		oneLine(t, err, path)
		if !errors.Is(err, ErrFormat) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	want, x := loaded(t, written(t, newTestModel(t, tensor.Float64, 2, 3))), wave(3, 1).X
	refused := 0
	for at := 0; at < len(whole); at += 23 {
		file := slices.Clone(whole)
		file[at] ^= 1 << (at % 8)
		m, err := decode(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			refused++
			oneLine(t, err)
		} else if !slices.Equal(numbers(predict(t, m, x)), numbers(predict(t, want, x))) {
			t.Errorf("byte %d: a flipped bit changes the predictions", at)
		}
	}
	if refused*23 < len(whole)/2 {
		t.Errorf("%d of %d flipped bits are refused", refused, len(whole)/23)
	}
	_, err := Load(filepath.Join(t.TempDir(), "none.valla"))
	if oneLine(t, err, "none.valla"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	_, err = Load(t.TempDir())
	oneLine(t, err, "directory")
}

// allocated returns the error of reading a file and the bytes that it allocated.
func allocated(file []byte) (uint64, *Model, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := decode(bytes.NewReader(file), int64(len(file)))
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, m, err
}

// TestLoadAllocatesWhatTheFileHolds gives headers that claim huge arrays.
func TestLoadAllocatesWhatTheFileHolds(t *testing.T) {
	const limit = 16 << 20 // the files have some kB, and reading one array takes buffers of 1 MiB
	form := `{ "kind": "mlp", "inputs": 2, "hidden": [ 3 ], "outputs": 1, "activation": "tanh" }`
	conv := `{"kind":"sequential","input":[2],"layers":[{"kind":"images","channels":2,"height":1,"width":1},` +
		`{"kind":"conv2d","filters":1,"kernel":1,"padding":20000},{"kind":"globalaveragepool"}]}`
	vallaFile := read(t, written(t, newTestModel(t, tensor.Float64, 2, 3)))
	lla := read(t, written(t, fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(8, 3), FitOptions{Settings: &laplace.Settings{Structure: "lowrank", Rank: 2}, Validation: new(0.0)})))
	for name, c := range map[string]struct {
		whole []byte
		edit  func([]member) []member
	}{
		"width":      {vallaFile, replace(`"hidden": [`, `"hidden": [1000000000000, `)},
		"widths":     {vallaFile, replace(`"hidden": [`, `"hidden": [4611686018427387904, 4611686018427387904, `)},
		"many":       {vallaFile, replace(`"hidden": [`, `"hidden": [10000, 10000, `)},
		"padding":    {vallaFile, replace(form, conv)},
		"inducing":   {vallaFile, replace(`"inducing": 2`, `"inducing": 1000000000`)},
		"inputs":     {vallaFile, replace(`"inputs": [ 2 ] }`, `"inputs": [ 2000000000, 2000000000 ] }`)},
		"rank":       {lla, replace(`"rank": 1, "examples"`, `"rank": 1000000000, "examples"`)},
		"input":      {lla, replace(`"input": [ 2 ]`, `"input": [ 1000000000 ]`)},
		"examples":   {lla, replace(`"structure": "lowrank", "space": "`, `"structure": "full", "space": "`)},
		"the header": {vallaFile, replace(`"history": [`, `"history": [ {"rows": 1e99},`)},
		"array": {vallaFile, change("posterior/valla.z.npy", func(b []byte) []byte {
			return bytes.Replace(b, []byte("(2, 2), }         "), []byte("(2000000000, 2), }"), 1)
		})},
	} {
		used, _, err := allocated(pack(t, c.edit(unpack(t, c.whole))))
		t.Run(name, func(t *testing.T) { oneLine(t, err) })
		if used > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d: %v", name, used, len(c.whole), err)
		}
	}
}

// readable checks that a model that was read can be written.
func readable(m *Model) error {
	if err := m.checkAll(); err != nil {
		return err
	}
	_, _, err := m.header()
	return err
}

// Files with other numbers and names in the header and flipped bits in the arrays are
// errors or models that can be written, whatever their posterior, and none takes much
// memory.
func TestLoadOfMutatedFiles(t *testing.T) {
	const limit = 64 << 20 // the files have 10 kB; reading an array and compiling a network take buffers
	rng := rand.New(rand.NewPCG(1, 2))
	for name, m := range everyPosterior(t) {
		list := unpack(t, read(t, written(t, m)))
		for range 12 {
			l := slices.Clone(list)
			for range 1 + rng.IntN(2) {
				mutate(l, rng)
			}
			file := pack(t, l)
			used, m, err := allocated(file)
			if used > limit {
				t.Errorf("%s: %d bytes allocated for a file of %d: %v", name, used, len(file), err)
			}
			if err != nil {
				oneLine(t, err)
			} else if err := readable(m); err != nil {
				t.Errorf("%s: a model that was read cannot be written: %v\n%s", name, err, l[0].body)
			}
		}
	}
}

var (
	number       = regexp.MustCompile(`-?[0-9][0-9.e+-]*`)
	replacements = []string{"0", "-1", "1", "2", "3", "1e308", "1e-308", "4611686018427387904", "1000000", "0.5", "null", `"full"`, `"functions"`, "[]", "4096"}
)

// mutate changes one member of a file, most often the header.
func mutate(l []member, rng *rand.Rand) {
	k := 0
	if rng.IntN(3) == 0 {
		k = rng.IntN(len(l))
	}
	body := slices.Clone(l[k].body)
	if k == 0 {
		at := number.FindAllIndex(body, -1)
		a := at[rng.IntN(len(at))]
		body = slices.Concat(body[:a[0]], []byte(replacements[rng.IntN(len(replacements))]), body[a[1]:])
	} else {
		for range 3 {
			body[len(body)-1-rng.IntN(min(len(body), 64))] ^= byte(1 << rng.IntN(8))
		}
	}
	l[k].body = body
}

func FuzzDecode(f *testing.F) {
	for _, inducing := range []int{0, 2} {
		whole := read(f, written(f, newTestModel(f, tensor.Float64, inducing, 2)))
		f.Add(whole)
		f.Add(whole[:len(whole)/2])
		f.Add(pack(f, replace("tanh", "relu")(unpack(f, whole))))
		f.Add(pack(f, replace(`"inputs": 2`, `"inputs": -2`)(unpack(f, whole))))
	}
	for _, m := range everyPosterior(f) {
		f.Add(read(f, written(f, m)))
	}
	for _, name := range []string{"format2_reg_float64_valla.valla", "format2_cls_float32_lla_diag.valla", "format2_reg_float32_map.valla"} {
		f.Add(read(f, filepath.Join("testdata", name)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := decode(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		if err := readable(m); err != nil {
			t.Errorf("a model that was read cannot be written: %v", err)
		}
	})
}

// FuzzHeader writes any text for the header of files whose arrays are sound.
func FuzzHeader(f *testing.F) {
	lists := [][]member{
		unpack(f, read(f, written(f, newTestModel(f, tensor.Float64, 2, 2)))),
		unpack(f, read(f, written(f, everyPosterior(f)["LLA kfac, priors"]))),
		unpack(f, read(f, filepath.Join("testdata", "format2_cls_float32_kfac.valla"))),
	}
	for _, l := range lists {
		f.Add(l[0].body)
	}
	f.Add([]byte(`{"format":"valla model 1"}`))
	f.Add([]byte(`{"format":"valla model 2","form":{"kind":"sequential","input":[2],"layers":[]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, l := range lists {
			file := pack(t, put(headerMember, text)(slices.Clone(l)))
			m, err := decode(bytes.NewReader(file), int64(len(file)))
			if err == nil {
				err = readable(m)
				if err != nil {
					t.Errorf("a model that was read cannot be written: %v", err)
				}
			}
		}
	})
}
