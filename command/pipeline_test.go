package command_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/layers"
)

type scores struct {
	Method               string
	NLL, RMSE, CRPS, CQM float64
	ACC, ECE, Brier      float64 // of classes
	Level, Coverage      float64
	SetSize              float64 `json:"set_size"`
}

type evaluation struct {
	Rows    int
	Targets []string
	Link    string
	OwnMean string `json:"own_mean"`
	Scores  []scores
	Details []map[string]any `json:"statistics"` // further scores, and standard errors
	Seen    float64          // share of rows of the training
	Off     string           // intervals that do not hold their level
}

// posterior returns the scores of the posterior, which come last.
func (e evaluation) posterior() scores { return e.Scores[len(e.Scores)-1] }

type predictions struct {
	Targets                 []string
	Level                   float64
	Rows                    int
	Out, Link               string
	Mean, Std, Lower, Upper []float64
	Epistemic, Aleatoric    []float64
	Classes, Class          []float64
	Probs                   [][]float64
}

// TestPipeline goes the whole way on each kind of file. The numbers must not depend
// on the kind.
func TestPipeline(t *testing.T) {
	t.Parallel()
	var first []scores
	for _, ext := range []string{".csv", ".npy", ".npz"} {
		t.Run(ext, func(t *testing.T) {
			dir := t.TempDir()
			writeTable(t, filepath.Join(dir, "train"+ext), example(200, 1))
			writeTable(t, filepath.Join(dir, "test"+ext), example(100, 2))
			if out := must(t, dir, with(quickTrain, "train", "train"+ext, "--out", "map.valla")...); !strings.Contains(out, "2-10-1 tanh, float64") {
				t.Errorf("train printed %q", out)
			}
			if out := must(t, dir, with(quickFit, "fit", "train"+ext, "--model", "map.valla", "--out", "m.valla")...); !strings.Contains(out, "VaLLA 8") {
				t.Errorf("fit printed %q", out)
			}
			var e evaluation
			decode(t, must(t, dir, "eval", "test"+ext, "--model", "m.valla", "--json"), &e)
			checkScores(t, e)
			if first == nil {
				first = e.Scores
			} else if !slices.Equal(e.Scores, first) {
				t.Errorf("scores %+v, from a .csv file %+v", e.Scores, first)
			}
			rows := readPredictions(t, must(t, dir, "predict", "test"+ext, "--model", "m.valla"))
			if len(rows) != 100 {
				t.Errorf("%d predictions", len(rows))
			}
		})
	}
}

func checkScores(t *testing.T, e evaluation) {
	t.Helper()
	if e.Rows != 100 || len(e.Scores) != 2 || e.Scores[0].Method != "MAP" || e.Scores[1].Method != "VaLLA 8" {
		t.Fatalf("evaluation %+v", e)
	}
	for _, s := range e.Scores {
		// The noise has standard deviation 0.2, whose Gaussian NLL is −0.19.
		if !(s.RMSE > 0.15 && s.RMSE < 0.5) || !(s.NLL > -0.5 && s.NLL < 1) || !(s.CRPS > 0 && s.CRPS < 0.4) || !(s.CQM >= 0 && s.CQM < 0.3) {
			t.Errorf("scores %+v", s)
		}
	}
	if e.Scores[0].RMSE != e.Scores[1].RMSE || e.Scores[0].NLL == e.Scores[1].NLL {
		t.Errorf("the posterior must keep the mean and change the variance: %+v", e.Scores)
	}
}

func TestEvalTable(t *testing.T) {
	dir := fitted(t)
	out := must(t, dir, "eval", "test.csv", "--model", "m.valla")
	for _, want := range []string{"100 rows", `"y"`, "NLL", "RMSE", "CRPS", "CQM", "MAP", "VaLLA 8"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out := must(t, dir, "eval", "test.csv", "--model", "map.valla"); strings.Contains(out, "VaLLA") || !strings.Contains(out, "MAP") {
		t.Errorf("of the MAP network alone:\n%s", out)
	}
}

func TestPredictOutputs(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	want := readPredictions(t, must(t, dir, "predict", "test.csv", "--model", "m.valla", "--level", "0.9"))
	for _, r := range want {
		const z = 1.6448536269514722 // Φ⁻¹(0.95)
		if d := math.Abs(r[0] - z*r[1] - r[2]); d > 1e-9 {
			t.Fatalf("row %v: the lower bound is %g off", r, d)
		}
		if d := math.Abs(r[0] + z*r[1] - r[3]); d > 1e-9 {
			t.Fatalf("row %v: the upper bound is %g off", r, d)
		}
		if d := math.Abs(math.Hypot(r[4], r[5]) - r[1]); d > 1e-9 || !(r[4] >= 0 && r[5] > 0) {
			t.Fatalf("row %v: the parts of the standard deviation do not add up", r)
		}
	}

	var doc predictions
	decode(t, must(t, dir, "predict", "test.csv", "--model", "m.valla", "--level", "0.9", "--json", "--out", "p.csv"), &doc)
	text, err := os.ReadFile(filepath.Join(dir, "p.csv"))
	if err != nil {
		t.Fatal(err)
	}
	fromCSV := readPredictions(t, string(text))
	must(t, dir, "predict", "test.csv", "--model", "m.valla", "--level", "0.9", "--out", "p.npz")
	archive, err := npy.ReadArchive(filepath.Join(dir, "p.npz"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, dir, "predict", "test.csv", "--model", "m.valla", "--level", "0.9", "--out", "p.npy")
	array, err := npy.Read(filepath.Join(dir, "p.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if doc.Rows != 100 || !slices.Equal(doc.Targets, []string{"y"}) || doc.Level != 0.9 || doc.Out != "p.csv" || !array.Shape().Eq(tensor.Shape{100, 6}) {
		t.Errorf("document %+v, array %v", doc, array.Shape())
	}
	columns := [][]float64{doc.Mean, doc.Std, doc.Lower, doc.Upper, doc.Epistemic, doc.Aleatoric}
	for j, name := range []string{"mean", "std", "lower", "upper", "epistemic", "aleatoric"} {
		column, _ := archive.Get(name)
		for i, r := range want {
			if r[j] != columns[j][i] || r[j] != fromCSV[i][j] || r[j] != column.Float64s()[i] || r[j] != array.Float64s()[6*i+j] {
				t.Fatalf("%s of row %d: stdout %g, JSON %g, .csv %g, .npz %g, .npy %g", name, i,
					r[j], columns[j][i], fromCSV[i][j], column.Float64s()[i], array.Float64s()[6*i+j])
			}
		}
	}
	checkQuantileOutputs(t, dir, doc)
}

// checkQuantileOutputs: documents and archives have columns of quantiles. The quantiles of 0.05 and 0.95 are the
// bounds of want, which has the level 0.9.
func checkQuantileOutputs(t *testing.T, dir string, want predictions) {
	t.Helper()
	var doc struct {
		Low  []float64 `json:"q0.05"`
		High []float64 `json:"q0.95"`
	}
	text := must(t, dir, "predict", "test.csv", "--model", "m.valla", "--quantiles", "0.05,0.95", "--json", "--out", "q.npz")
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	archive, err := npy.ReadArchive(filepath.Join(dir, "q.npz"))
	if err != nil {
		t.Fatal(err)
	}
	low, _ := archive.Get("q0.05")
	high, _ := archive.Get("q0.95")
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12*math.Abs(b) } // 0.05 is (1−0.9)/2 but for rounding
	if !slices.EqualFunc(doc.Low, want.Lower, near) || !slices.EqualFunc(doc.High, want.Upper, near) {
		t.Error("the quantiles of 0.05 and 0.95 are not the bounds of the interval with the probability 0.9")
	}
	if !slices.Equal(doc.Low, low.Float64s()) || !slices.Equal(doc.High, high.Float64s()) {
		t.Error("the document and the archive have different quantiles")
	}
}

func TestPredictFindsColumnsByName(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	want := must(t, dir, "predict", "test.csv", "--model", "m.valla")
	for _, columns := range [][]string{{"a", "b"}, {"b", "a"}, {"y", "b", "a"}} {
		writeTable(t, filepath.Join(dir, "new.csv"), example(100, 2), columns...)
		if got := must(t, dir, "predict", "new.csv", "--model", "m.valla"); got != want {
			t.Errorf("columns %q: other predictions", columns)
		}
	}
	writeTable(t, filepath.Join(dir, "new.npy"), example(100, 2), "a", "b")
	if got := must(t, dir, "predict", "new.npy", "--model", "m.valla"); got != want {
		t.Error("columns without names: other predictions")
	}
	writeTable(t, filepath.Join(dir, "new.npy"), example(100, 2))
	fails(t, dir, 1, "new.npy: expected 2 columns without names", "predict", "new.npy", "--model", "m.valla")
	writeTable(t, filepath.Join(dir, "new.csv"), example(100, 2), "y", "b")
	fails(t, dir, 1, `new.csv: no column "a"`, "predict", "new.csv", "--model", "m.valla")
}

// report is what train and fit print.
type report struct {
	Model, Network, Dtype string
	Inputs                []int
	Features, Targets     []string
	Classes               []float64
	NoiseStd              []float64 `json:"noise_std"`
	Laws                  []string  `json:"laws"`
	Event                 valla.Event
	Verdict               *valla.Verdict
}

// setting returns a number among the settings of the event.
func (r report) setting(name string) float64 {
	v, _ := r.Event.Settings[name].(float64)
	return v
}

func TestReports(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(200, 1), "y", "b", "a")
	var r report
	decode(t, must(t, dir, with(quickTrain, "train", "train.csv", "--target", "y", "--out", "map.valla", "--json", "--dtype", "float32",
		"--activation", "relu", "--seed", "5", "--validation", "0.2", "--weight-decay", "0.01", "--patience", "1")...), &r)
	if r.Model != "map.valla" || r.Network != "2-10-1 relu" || r.Dtype != "float32" || !slices.Equal(r.Inputs, []int{2}) ||
		!slices.Equal(r.Targets, []string{"y"}) || !slices.Equal(r.Features, []string{"b", "a"}) || len(r.NoiseStd) != 1 || r.NoiseStd[0] <= 0 {
		t.Errorf("train reported %+v", r)
	}
	if e := r.Event; e.Action != valla.ActionTrain || e.Seed != 5 || e.Rows != 160 || e.ValidationRows != 40 || r.setting("weight-decay") != 0.01 || e.Result == nil {
		t.Errorf("train reported the event %+v", e)
	}
	r = report{}
	decode(t, must(t, dir, with(quickFit, "fit", "train.csv", "--model", "map.valla", "--out", "m.valla", "--json", "--alpha", "0.5", "--validation", "0",
		"--prior-std", "0.5", "--fix-prior", "--noise-std", "0.3", "--fix-noise", "--init", "random-points", "--learning-rate", "0.005")...), &r)
	m, err := valla.Load(filepath.Join(dir, "m.valla"))
	if err != nil {
		t.Fatal(err)
	}
	scale := m.Task.Outputs.(*task.Regression).Std[0] // --noise-std is in the units of the network's outputs
	e := r.Event
	if e.Method != "valla" || e.Label != "VaLLA 8" || r.setting("alpha") != 0.5 || math.Abs(e.PriorStds[0]-0.5) > 1e-6 || e.Rows != 200 || e.ValidationRows != 0 ||
		math.Abs(r.NoiseStd[0]-0.3*scale) > 1e-6 || e.Result.Iterations != 200 || r.setting("learning-rate") != 0.005 {
		t.Errorf("fit reported %+v", r)
	}
}

func TestFitWeightsFromElsewhere(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	path := filepath.Join(dir, "map.valla")
	m, err := valla.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	// As a state dictionary of PyTorch, whose weights are [out, in].
	names := []string{"net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"}
	var arrays []*tensor.Dense
	for _, p := range m.Net.Params() {
		v := p.Value.Clone().(*tensor.Dense)
		if v.Dims() == 2 {
			if err := v.T(); err != nil {
				t.Fatal(err)
			}
		}
		arrays = append(arrays, v)
	}
	if err := npy.WriteArchive(filepath.Join(dir, "net.npz"), names, arrays); err != nil {
		t.Fatal(err)
	}
	for _, layout := range []string{"auto", "out-in"} {
		must(t, dir, with(quickFit, "fit", "train.csv", "--net-weights", "net.npz", "--activation", "tanh", "--layout", layout,
			"--standardize", "--target", "y", "--out", "w.valla")...)
		w, err := valla.Load(filepath.Join(dir, "w.valla"))
		if err != nil {
			t.Fatal(err)
		}
		if layers.Fingerprint(w.Net) != layers.Fingerprint(m.Net) || w.Posterior == nil {
			t.Errorf("layout %s: the model has other weights, or no posterior", layout)
		}
	}
	fails(t, dir, 1, "net.npz", with(quickFit, "fit", "train.csv", "--net-weights", "net.npz", "--activation", "tanh", "--layout", "in-out", "--out", "x.valla")...)
	fails(t, dir, 2, "--net-weights needs --activation", "fit", "train.csv", "--net-weights", "net.npz", "--out", "x.valla")
}

func TestNoteOnFewDistinctInputs(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	r := run(t, dir, "fit", "train.csv", "--model", "map.valla", "--out", "n.valla", "--inducing", "500", "--iterations", "1")
	if r.code != 0 || besideVerdict(r.stderr) != "valla: note: 180 inducing points instead of 500: there are no more different inputs.\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
}
