package valla

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/layers"
)

// Every kind of posterior comes back from its file, which is the same file again.
func TestSaveAndLoad(t *testing.T) {
	x := wave(20, 1).X
	for name, m := range everyPosterior(t) {
		path := written(t, m)
		got := loaded(t, path)
		if !slices.Equal(numbers(predict(t, got, x)), numbers(predict(t, m, x))) {
			t.Errorf("%s: the loaded model predicts other numbers", name)
		}
		if !bytes.Equal(read(t, path), read(t, written(t, got))) {
			t.Errorf("%s: the loaded model is saved as another file", name)
		}
		if got.String() != m.String() || got.fingerprint() != m.fingerprint() || inJSON(t, got.History) != inJSON(t, m.History) {
			t.Errorf("%s: %v became %v", name, m, got)
		}
	}
}

// array returns an array of a posterior's state, which is the posterior's own.
func array(t testing.TB, m *Model, name string) *tensor.Dense {
	t.Helper()
	s, err := m.Posterior.State()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Arrays, func(a gp.Array) bool { return a.Name == name })
	return s.Arrays[i].Value
}

func TestSaveRefusesWhatLoadWould(t *testing.T) {
	regression := func(m *Model) *task.Regression { return m.Task.Outputs.(*task.Regression) }
	for want, spoil := range map[string]func(m *Model){
		"dense1.weight.npy: element 2 is NaN": func(m *Model) { m.Net.Params()[0].Set(2, math.NaN()) },
		"3 names of features":                 func(m *Model) { m.Task.Inputs.Features = []string{"a", "b", "c"} },
		"examples of shape [3]":               func(m *Model) { m.Form = layers.MLP{Inputs: 3, Outputs: 1} },
		"arrays are not those of its form":    func(m *Model) { m.Form = layers.MLP{Inputs: 2, Hidden: []int{5}, Outputs: 1, Activation: "tanh"} },
		"no form":                             func(m *Model) { m.Form = nil },
		"without parameters":                  func(m *Model) { m.Net = layers.Sequential{layers.Activation("tanh")} },
		"noise variance 0":                    func(m *Model) { regression(m).NoiseVariance = 0 },
		"posterior: noise variance NaN":       func(m *Model) { m.Posterior.NoiseVariance = math.NaN() },
		"inputs: column 1":                    func(m *Model) { m.Task.Inputs.Std[1] = -1 },
		`"a" stands twice`:                    func(m *Model) { regression(m).Names = []string{"a"} },
		"targets: 0 means":                    func(m *Model) { regression(m).Mean = nil },
		"valla.l.npy: element 0 is +Inf":      func(m *Model) { array(t, m, "valla.l").Float64s()[0] = math.Inf(1) },
		`method "guess"`:                      func(m *Model) { m.Posterior.Method = "guess" },
		"nothing was fitted":                  func(m *Model) { m.Posterior.Stored = nil },
		"unsupported value":                   func(m *Model) { m.History[0].Seconds = math.NaN() },
		"calibration: temperature NaN":        func(m *Model) { m.Calibration = &Calibration{Temperature: math.NaN()} },
		"calibration: 2 conformal scores of 3": func(m *Model) {
			m.Calibration = &Calibration{Conformal: &calibrate.Conformal{Rows: 3, Scores: []float64{1, 2}}}
		},
		`calibration: link "mc" of the task`: func(m *Model) {
			m.Calibration = &Calibration{Conformal: &calibrate.Conformal{Link: "mc", Rows: 1, Scores: []float64{1}}}
		},
		"outputs of type": func(m *Model) { m.Task.Outputs, m.Posterior = foreignOutputs{regression(m)}, nil },
	} {
		m := newTestModel(t, tensor.Float64, 2, 4)
		spoil(m)
		dir := t.TempDir()
		oneLine(t, m.Save(filepath.Join(dir, "m.valla")), "writing ", "m.valla: ", want)
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left %v behind", want, left)
		}
	}
	m := newTestModel(t, tensor.Float64, 0, 4)
	oneLine(t, m.Save(filepath.Join(t.TempDir(), "no", "m.valla")), "no such file or directory")
}

// foreignOutputs are outputs that files do not know.
type foreignOutputs struct{ *task.Regression }

// A file that is there stays as it is where the new one cannot be written.
func TestSaveKeepsTheOldFile(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 0, 4)
	path := written(t, m)
	before := read(t, path)
	m.Net.Params()[0].Set(0, math.Inf(1))
	if err := m.Save(path); err == nil || !bytes.Equal(read(t, path), before) {
		t.Errorf("error %v, file changed: %t", err, !bytes.Equal(read(t, path), before))
	}
}

func TestAttach(t *testing.T) {
	m, other := newTestModel(t, tensor.Float64, 3, 4), newTestModel(t, tensor.Float64, 0, 4)
	if err := other.attach(m.Posterior, m.fingerprint()); err != nil || other.Posterior != m.Posterior {
		t.Fatalf("equal weights: %v", err)
	}
	other.Net.Params()[1].Set(0, 0.5)
	before := other.Posterior
	err := other.attach(newTestModel(t, tensor.Float64, 1, 4).Posterior, m.fingerprint())
	oneLine(t, err, "the posterior was fitted to other weights", m.fingerprint(), other.fingerprint())
	if !errors.Is(err, errFingerprint) || other.Posterior != before {
		t.Errorf("error %v, posterior replaced: %t", err, other.Posterior != before)
	}
	narrow := newTestModel(t, tensor.Float32, 0, 4)
	if err := narrow.attach(m.Posterior, m.fingerprint()); !errors.Is(err, errFingerprint) {
		t.Errorf("another element type: %v", err)
	}
	lla := fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(8, 3), FitOptions{Settings: &laplace.Settings{}, Validation: new(0.0)})
	classes := newTestClasses(t, tensor.Float64, 3)
	for want, p := range map[string]*Posterior{
		"noise variance 0.125 of classification": {Stored: m.Posterior.Stored, Method: "valla", NoiseVariance: 0.125},
		"nothing was fitted":                     nil,
		`method "mcmc", expected one of`:         {Stored: m.Posterior.Stored, Method: "mcmc"},
	} {
		oneLine(t, classes.attach(p, classes.fingerprint()), "posterior: ", want)
	}
	for _, noise := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		p := *m.Posterior
		p.NoiseVariance = noise
		oneLine(t, m.attach(&p, m.fingerprint()), "noise variance", "expected a positive number")
	}
	p := *lla.Posterior
	p.NoiseVariance *= 2
	oneLine(t, lla.attach(&p, lla.fingerprint()), "as in the posterior itself")
}

// MAP takes the posterior and its history away and leaves the model as it is.
func TestMAPAndString(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 3, 4)
	m.History = append(m.History, Event{Action: ActionFit, Method: "valla", Label: "VaLLA 3"})
	bare := m.MAP()
	if m.Posterior == nil || len(m.History) != 2 || bare.Posterior != nil || len(bare.History) != 1 {
		t.Errorf("%+v became %+v", m, bare)
	}
	if m.String() != "VaLLA 3" || bare.String() != "MAP" || bare.fingerprint() != m.fingerprint() {
		t.Errorf("%v became %v", m, bare)
	}
	near(t, "noise variance", m.NoiseVariance(), 0.125, 0)
	near(t, "noise variance of the network alone", bare.NoiseVariance(), 0.25, 0)
	near(t, "noise std in units of the target", bare.NoiseStds()[0], 0.5*4, 1e-15)
	c := newTestClasses(t, tensor.Float32, 3)
	if c.NoiseVariance() != 0 || c.NoiseStds() != nil || c.Dtype() != tensor.Float32 {
		t.Errorf("classes have the noise %g, %v", c.NoiseVariance(), c.NoiseStds())
	}
}

// The JSON of an event has the record's keys beside its own.
func TestEventJSON(t *testing.T) {
	e := Event{Action: ActionFit, Method: "lla", Label: "LLA", Program: "p", Seed: 7, Seconds: 1.5, Record: gp.Record{
		Rows: 9, ValidationRows: 1, Settings: map[string]any{"rank": 3}, PriorStds: []float64{2}, Facts: []gp.Fact{{Name: "parameters", Value: 4}}}}
	const want = `{"action":"fit","method":"lla","label":"LLA","program":"p","seed":7,"seconds":1.5,"rows":9,"validation_rows":1,` +
		`"settings":{"rank":3},"prior_stds":[2],"facts":[{"name":"parameters","value":4}]}`
	if got := inJSON(t, e); got != want {
		t.Errorf("event %s, want %s", got, want)
	}
}

// Numbers that JSON cannot hold do not keep a posterior from its file.
func TestRecordable(t *testing.T) {
	notes := make([]string, 1, 2)
	r := recordable(gp.Record{Notes: notes, Facts: []gp.Fact{{Name: "a", Value: 1}, {Name: "evidence", Value: math.Inf(-1)}, {Name: "b", Value: math.NaN()}}})
	if len(r.Facts) != 1 || !slices.Equal(r.Notes[1:], []string{"The evidence is -Inf.", "The b is NaN."}) || notes[:2][1] != "" {
		t.Errorf("record %+v", r)
	}
	inJSON(t, r)
}

// member is a part of a model file that a test may change.
type member struct {
	name   string
	body   []byte
	method uint16
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
	list := unpack(t, read(t, written(t, m)))
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
	if err != nil || !slices.Equal(z.Float64s(), array(t, m, "valla.z").Float64s()) {
		t.Errorf("Z is stored as %v, error %v", z, err)
	}
}
