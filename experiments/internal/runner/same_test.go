package runner

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/train/metric"
)

// These tests compare the rows of an experiment with what the root package gives for the
// same settings, written down in Go and not read from a text. Equal means equal bits.

// library does what a user of the root package does: it trains, fits and scores.
type library struct {
	train, test *data.Set
	network     valla.TrainOptions
	fit         valla.FitOptions
}

// lawOf returns the law of a row by the end of its name.
func lawOf(row string) string {
	switch {
	case strings.HasSuffix(row, "+ t"):
		return "student-t"
	case strings.HasSuffix(row, "+ law"):
		return ""
	}
	return "gaussian"
}

// model returns the model of a row, whose name ends with its law.
func (l library) model(t *testing.T, net *valla.Model, row string, s gp.Settings, seed uint64) *valla.Model {
	t.Helper()
	if s == nil && lawOf(row) == law.Gaussian {
		return net
	}
	var m *valla.Model
	var err error
	if s == nil {
		m, err = net.Calibrate(t.Context(), l.fit.Held, valla.CalibrateOptions{Method: valla.CalibrateLaw, Law: lawOf(row)})
	} else {
		o := l.fit
		o.Settings, o.Seed, o.Law = s, seed, lawOf(row)
		if strings.HasSuffix(row, ", t inside") {
			o.Likelihood, _ = likelihood.Named("student-t")
		}
		m, err = net.Fit(t.Context(), l.train, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	if name := m.Likelihood().String(); strings.HasSuffix(row, ", t inside") != (name == "student-t") {
		t.Errorf("%s: the likelihood %s", row, name)
	}
	return m
}

// check compares cells with the library's scores and returns the library's models. Settings
// and models are by the row of the cell; MAP has no settings.
func (l library) check(t *testing.T, cells map[string]*result.Cell, seed uint64, rows map[string]gp.Settings, links map[string]valla.PredictOptions) (models map[string]*valla.Model) {
	t.Helper()
	models = map[string]*valla.Model{}
	net, err := valla.Train(t.Context(), l.train, l.network)
	if err != nil {
		t.Fatal(err)
	}
	for row, s := range rows {
		c := cells[fmt.Sprint(row, " ", seed)]
		if c == nil {
			t.Fatalf("no cell of %s with seed %d", row, seed)
		}
		m := l.model(t, net, row, s, seed)
		models[row] = m
		if got := m.Laws != nil; lawOf(row) == "student-t" && !got || lawOf(row) == "gaussian" && got {
			t.Errorf("%s: laws %v", row, m.Laws)
		}
		for kind, link := range links {
			if link.Link == valla.MonteCarlo && s == nil {
				continue
			}
			scores, err := m.Evaluate(t.Context(), l.test, link)
			if err != nil {
				t.Fatal(err)
			}
			if len(scores.List) < 4 || c.N != scores.N {
				t.Errorf("%s: scores %+v of %d rows, expected those of %d", row, scores, c.N, scores.N)
			}
			for _, v := range scores.List {
				if got, ok := c.Scores[kind][v.Name]; !ok || math.Float64bits(float64(got)) != math.Float64bits(v.Value) {
					t.Errorf("%s %s %s: the experiment has %v, the library %v", row, kind, v.Name, got, v.Value)
				}
			}
		}
		if e := m.History[len(m.History)-1]; s != nil && float64(c.Facts.PriorStd) != e.PriorStds[0] {
			t.Errorf("%s: σ₀ is %v, in the library %v", row, c.Facts.PriorStd, e.PriorStds[0])
		}
	}
	return models
}

// A table whose rows are held out at random: the library is given the fraction and the seed.
func TestSameTable(t *testing.T) {
	folder := t.TempDir()
	writeTable(t, folder)
	for _, dtype := range []string{"float64", "float32"} {
		text := strings.Replace(sameTable, "float64", dtype, 1)
		cells, _ := run(t, open(t, text), Options{Data: folder, Dir: t.TempDir()})
		boston, err := sets.Lookup("boston")
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range []uint64{0, 1} {
			parts, err := boston.Table(folder, seed)
			if err != nil {
				t.Fatal(err)
			}
			l := library{train: parts.Train, test: parts.Test, network: valla.TrainOptions{
				Network:  valla.Network{Hidden: []int{8, 6}, Dtype: dtype},
				Training: valla.Training{Iterations: 60, LearningRate: 0.02, Validation: new(0.2), ValidateEvery: 20, Patience: 2}, Seed: seed,
			}, fit: valla.FitOptions{Validation: new(0.2)}}
			l.check(t, cells, seed, map[string]gp.Settings{
				"MAP":                 nil,
				"LLA":                 &laplace.Settings{},
				"LLA last-layer KFAC": &laplace.Settings{Weights: []string{"last-layer"}, Structure: "kfac"},
				"LLA Diag":            &laplace.Settings{Structure: "diag", PriorStd: 0.5},
				"GP-Subset":           &laplace.SubsetSettings{Points: 20},
				"VaLLA 5":             &gpvalla.Settings{Inducing: 5, Iterations: 10, ValidateEvery: 5},
				"VaLLA 7":             &gpvalla.Settings{Inducing: 7, Iterations: 10, ValidateEvery: 5},
				"VaLLA 6 Adam":        &gpvalla.Settings{Optimizer: "adam", Inducing: 6, Alpha: new(0.5), Init: "greedy", Iterations: 15, LearningRate: 0.01, ValidateEvery: 5},
			}, map[string]valla.PredictOptions{"": {}})
		}
	}
}

const sameTable = `name: same
data: boston
seeds: [0, 1]
network: {hidden: [8, 6], dtype: float64}
map: {iterations: 60, learning-rate: 0.02, validation: 0.2, validate-every: 20, patience: 2}
methods:
  - {method: map}
  - {method: lla}
  - {method: lla, weights: last-layer, structure: kfac}
  - {method: lla, structure: diag, prior-std: 0.5}
  - {method: gp-subset, points: 20}
  - {method: valla, inducing: [5, 7], iterations: 10, validate-every: 5}
  - {method: valla, optimizer: adam, inducing: 6, alpha: 0.5, init: greedy, iterations: 15, learning-rate: 0.01, validate-every: 5}
`

// A built-in table with validation rows of its own, and one without any.
func TestSameBuiltIn(t *testing.T) {
	for _, name := range []string{"sine", "toy1d"} {
		rows := map[string]gp.Settings{
			"MAP":      nil,
			"LLA KFAC": &laplace.Settings{Structure: "kfac"},
			"VaLLA 4":  &gpvalla.Settings{Inducing: 4, Iterations: 8},
		}
		withLaws := ""
		if name == "sine" {
			withLaws, rows["LLA KFAC + t"], rows["VaLLA 4 + law"] = sameLaws, rows["LLA KFAC"], rows["VaLLA 4"]
			rows["MAP + t"], rows["VaLLA 4, t inside"] = nil, rows["VaLLA 4"]
		}
		text := strings.NewReplacer("NAME", name, "LAWS", withLaws).Replace(sameBuiltIn)
		cells, _ := run(t, open(t, text), Options{Data: t.TempDir(), Dir: t.TempDir()})
		set, err := sets.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := set.Table("", 0)
		if err != nil {
			t.Fatal(err)
		}
		l := library{train: parts.Train, test: parts.Test, network: valla.TrainOptions{
			Network:  valla.Network{Hidden: []int{9}},
			Training: valla.Training{Iterations: 80, Validation: new(0.0), KeepLast: true}, Held: parts.Validation,
		}, fit: valla.FitOptions{Validation: new(0.0), Held: parts.Validation}}
		l.check(t, cells, 0, rows, map[string]valla.PredictOptions{"": {}})
		if b := cells["VaLLA 4 0"].Curves.Band; b == nil || len(b.Grid) != 300 || len(b.After) != 4 || (b.HeldX != nil) != (parts.Validation != nil) {
			t.Errorf("%s: band %+v", name, b)
		}
	}
}

const sameBuiltIn = `name: same
data: NAME
network: {hidden: [9]}
map: {iterations: 80, validation: 0, keep-last: true}
methods:
  - {method: map}
  - {method: lla, structure: kfac}
  - {method: valla, inducing: 4, iterations: 8}
LAWS`

// sameLaws are rows with laws, for a table with validation rows.
const sameLaws = `  - {method: lla, structure: kfac, label: LLA KFAC + t, law: student-t}
  - {method: valla, label: "VaLLA {} + law", inducing: 4, iterations: 8, law: auto}
  - {method: map, label: MAP + t, law: student-t}
  - {method: valla, label: "VaLLA {}, t inside", inducing: 4, iterations: 8, likelihood: student-t}
`

// Images: a perceptron and a small CNN, with the class probabilities of both kinds.
func TestSameImages(t *testing.T) {
	folder := imageSets(t)
	mnist, err := loadImagesOf("mnist", folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, net := range []valla.Network{
		{Hidden: []int{12}, Dtype: "float32"},
		{Form: "cnn", Filters: []int{1}, Hidden: []int{6}, Activation: "relu", Dtype: "float32"},
	} {
		text, name := sameImages, "mnist"
		if net.Form == "cnn" {
			text, name = strings.Replace(text, "{hidden: [12],", "{form: cnn, filters: 1, hidden: 6, activation: relu,", 1), "mnist-cnn"
		}
		cells, _ := run(t, open(t, text), Options{Data: folder, Dir: filepath.Join(t.TempDir(), "runs")})
		if got := cells["MAP 3"].Data; got != name {
			t.Errorf("the data set is called %s, expected %s", got, name)
		}
		l := library{train: mnist.train, test: mnist.test, network: valla.TrainOptions{
			Network: net, Training: valla.Training{Iterations: 40, ValidateEvery: 20}, Classes: true, Held: mnist.held, Seed: 8,
		}, fit: valla.FitOptions{Held: mnist.held, Untempered: true}}
		models := l.check(t, cells, 3, map[string]gp.Settings{
			"MAP":                 nil,
			"LLA last-layer KFAC": &laplace.Settings{Weights: []string{"last-layer"}, Structure: "kfac"},
			"VaLLA 10":            &gpvalla.Settings{Inducing: 10, Iterations: 3, ValidateEvery: 3},
			"VaLLA 10 Adam":       &gpvalla.Settings{Optimizer: "adam", Inducing: 10, Iterations: 2, ValidateEvery: 2},
		}, map[string]valla.PredictOptions{"probit": {}, "mc": {Link: valla.MonteCarlo, Samples: 30, Seed: 3}})
		checkOutside(t, models["VaLLA 10"], mnist.test, mnist.other, cells["VaLLA 10 3"])
	}
}

// checkOutside compares the OOD-AUC of the cell c with the OOD-AUC of the model m.
func checkOutside(t *testing.T, m *valla.Model, test, other *data.Set, c *result.Cell) {
	t.Helper()
	var entropies [2][]float64
	for i, x := range []*data.Set{test, other} {
		p, err := m.Predict(t.Context(), x.X, valla.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for n := range x.N() {
			entropies[i] = append(entropies[i], metric.Entropy(p.Probs[n*10:(n+1)*10]))
		}
	}
	want, err := metric.OODAUC(entropies[0], entropies[1])
	if got := float64(c.Scores["probit"]["OOD-AUC"]); err != nil || got != want {
		t.Errorf("OOD-AUC %v, in the library %v (%v)", got, want, err)
	}
}

func loadImagesOf(name, folder string) (*problem, error) {
	s, err := sets.Lookup(name)
	if err != nil {
		return nil, err
	}
	return loadImages(s, folder, 0.1)
}

const sameImages = `name: same
data: mnist
seeds: [3]
network: {hidden: [12], dtype: float32}
map: {iterations: 40, validate-every: 20, seed: 8}
scoring: {monte-carlo: 30}
methods:
  - {method: map}
  - {method: lla, weights: last-layer, structure: kfac}
  - {method: valla, inducing: 10, iterations: 3, validate-every: 3}
  - {method: valla, optimizer: adam, inducing: 10, iterations: 2, validate-every: 2}
`
