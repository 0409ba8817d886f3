package runner

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/corrupt"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
)

const smallImages = `name: images
data: mnist
seeds: [3, 4]
network: {hidden: [12], activation: tanh, dtype: float32, weights: weights/NET_*.npz}
map: {iterations: 200, learning-rate: 1e-2, validate-every: 100, seed: 0}
scoring: {monte-carlo: 20, rotations: 100}
methods:
  - {method: map}
  - {method: lla, weights: last-layer, structure: kfac}
  - {method: valla, optimizer: adam, label: "VaLLA {}", inducing: 10, iterations: 20, validate-every: 10}
  - {method: valla, label: "VaLLA {} natural", inducing: 10, iterations: 10, validate-every: 5}
`

// One network is trained for both seeds, and the methods are scored on it.
func TestImages(t *testing.T) {
	folder := imageSets(t)
	cells, fresh := run(t, open(t, smallImages), Options{Data: folder, Dir: filepath.Join(t.TempDir(), "runs")})
	if fresh != 8 {
		t.Fatalf("%d cells", fresh)
	}
	for name, c := range cells {
		if t0, tempered := c.Facts.Found["temperature"]; tempered {
			t.Errorf("%s has a temperature of %v, which published methods do not have", name, t0)
		}
	}
	m, v := cells["MAP 3"], cells["VaLLA 10 3"]
	if s := m.Scores["probit"]; s["ACC"] < 0.9 || s["OOD-AUC"] == 0 || m.Scores["mc"] != nil || m.N != 80 {
		t.Errorf("MAP's scores %+v", m.Scores)
	}
	if m.Facts.Steps != 200 || m.Fit.Runs != 1 || cells["MAP 4"].Fit != m.Fit {
		t.Errorf("the network's training %+v %+v, for the other seed %+v", m.Facts, m.Fit, cells["MAP 4"].Fit)
	}
	if v.Scores["probit"]["NLL"] == v.Scores["mc"]["NLL"] || v.Scores["probit"]["ACC"] == 0 {
		t.Errorf("VaLLA's scores %+v", v.Scores)
	}
	if len(v.Curves.Rotations) != 19 || cells["VaLLA 10 4"].Curves.Rotations != nil {
		t.Errorf("rotations %+v, of the second seed %+v", v.Curves.Rotations, cells["VaLLA 10 4"].Curves.Rotations)
	}
	// There are fewer than 100 test images, so that all test images are turned by 0°.
	if r, s := v.Curves.Rotations[0], v.Scores["probit"]; r.NLL != s["NLL"] || r.ACC != s["ACC"] || r.ECE != s["ECE"] || v.Curves.Rotations[9].Degrees != 90 {
		t.Errorf("images turned by 0° score %+v, expected %+v", r, s)
	}
	e := v.Curves.Entropy
	for _, densities := range [][]float64{e.In, e.Out} {
		sum := 0.0
		for _, d := range densities {
			sum += d * e.Max / float64(len(densities))
		}
		if math.Abs(sum-1) > 1e-9 || len(densities) != 40 {
			t.Errorf("the %d densities of the entropies integrate to %v", len(densities), sum)
		}
	}
	if math.Abs(e.Max-math.Log(10)) > 1e-12 || len(v.Curves.Reliable) == 0 {
		t.Errorf("largest entropy %v, reliability %v", e.Max, v.Curves.Reliable)
	}
}

// colourSet returns n random images with labels 0, 1, ….
func colourSet(t *testing.T, seed uint64, n int) *image.Set {
	t.Helper()
	rng, file := rand.New(rand.NewPCG(seed, 0)), []byte{}
	for i := range n {
		file = append(file, byte(i%10))
		for range 3 * 32 * 32 {
			file = append(file, byte(rng.UintN(256)))
		}
	}
	s, err := cifar.Decode(bytes.NewReader(file), "test", n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Of colour images every fourth is validated with where the fraction is a quarter, and of
// each a part, the same every time.
func TestCropped(t *testing.T) {
	s := colourSet(t, 2, 20)
	some, again, all := cropped(s, 0.25), cropped(s, 0.25), cropped(s, 0)
	if got, want := some.Labels, []uint8{0, 4, 8, 2, 6}; !slices.Equal(got, want) || some.N != 5 {
		t.Errorf("labels %v of %d images, expected those of every fourth image, %v", got, some.N, want)
	}
	if !slices.Equal(some.Pixels, again.Pixels) {
		t.Error("the parts differ from one time to the next")
	}
	if size := 3 * 32 * 32; slices.Equal(some.Pixels[:size], s.Pixels[:size]) || len(some.Pixels) != 5*size {
		t.Errorf("%d bytes, and the first image is whole or not there", len(some.Pixels))
	}
	if all.N != 20 || !slices.Equal(all.Labels, s.Labels) {
		t.Errorf("the fraction 0 keeps %d images", all.N)
	}
	if one := cropped(s, 1e-9); one.N != 1 {
		t.Errorf("a small fraction keeps %d images, expected 1", one.N)
	}
}

// Images become a set of bytes with a target, and changed ones keep their labels.
func TestChangedImages(t *testing.T) {
	s := colourSet(t, 3, 7)
	b := bytes8(t, asSet(s))
	if shape := asSet(s).X.Shape(); !slices.Equal(shape, []int{7, 3, 32, 32}) || !slices.Equal(b, s.Pixels) {
		t.Errorf("shape %v, or other pixels", shape)
	}
	if y := asSet(s); y.Targets[0] != "label" || y.Y.Float64s()[6] != 6 {
		t.Errorf("targets %v %v", y.Targets, y.Y)
	}
	still, err := turned(s, 0, 5)
	if err != nil || !slices.Equal(bytes8(t, still), s.Pixels[:5*3*32*32]) || still.N() != 5 {
		t.Errorf("turned by 0° the images differ (%v)", err)
	}
	over, err := turned(s, 180, 100)
	if err != nil || over.N() != 7 || slices.Equal(bytes8(t, over), s.Pixels) {
		t.Errorf("%d images turned by 180°, expected all 7 (%v)", over.N(), err)
	}
	kind := corrupt.Names()[0]
	worse, err := corrupted(t.Context(), s, kind, 5, 3)
	if err != nil || worse.N() != 3 || slices.Equal(bytes8(t, worse), s.Pixels[:3*3*32*32]) || worse.Y.Float64s()[2] != 2 {
		t.Errorf("%d images under %s (%v)", worse.N(), kind, err)
	}
	if _, err := corrupted(t.Context(), s, "no such kind", 5, 3); err == nil {
		t.Error("an unknown corruption is no error")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := corrupted(ended, s, kind, 5, 3); err == nil {
		t.Error("the end of the context is no error")
	}
}

func bytes8(t *testing.T, s *data.Set) []uint8 {
	t.Helper()
	v, ok := s.X.Data().([]uint8)
	if !ok {
		t.Fatalf("images of %v, expected bytes", s.X.Dtype())
	}
	return v
}

// Images are scored under each kind of corruption at each level, as the model's Evaluate does, whether or not their predictions are kept.
func TestCorruptions(t *testing.T) {
	keepAll(t, 0)
	s := colourSet(t, 4, 6)
	set := asSet(s)
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{
		Network: valla.Network{Hidden: []int{4}}, Training: valla.Training{Iterations: 2, Validation: new(0.0)}, Classes: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 1}, Validation: new(0.0)}); err != nil {
		t.Fatal(err)
	}
	p := &problem{name: "cifar10", classes: true, train: set, test: set, model: m, corrupt: func(ctx context.Context, kind string, severity, n int) (*data.Set, error) {
		return corrupted(ctx, s, kind, severity, n)
	}}
	cell, again, dir := &result.Cell{}, &result.Cell{}, filepath.Join(t.TempDir(), "x.predicted")
	for _, c := range []*result.Cell{cell, again} {
		if err := score(t.Context(), p, m, spec.Scoring{Corruptions: 2, Rotations: 9}, c, dir, nil); err != nil {
			t.Fatal(err)
		}
	}
	rows := cell.Curves.Corrupted
	if !reflect.DeepEqual(again.Curves.Corrupted, rows) || again.Predict.Runs != 2 {
		t.Errorf("scores by predictions that were kept differ, cost %+v", again.Predict)
	}
	last := rows[len(rows)-1]
	changed, err := p.corrupt(t.Context(), last.Name, last.Level, 2)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Evaluate(t.Context(), changed, valla.PredictOptions{})
	if err != nil || math.Abs(float64(last.NLL-numbers(want)["NLL"])) > 1e-9 || last.ACC != numbers(want)["ACC"] {
		t.Errorf("%+v, expected %+v, error %v", last, want.List, err)
	}
	if len(rows) != len(corrupt.Names())*corrupt.Severities || rows[0].Level != 1 || rows[4].Level != 5 || rows[0].Name != corrupt.Names()[0] {
		t.Errorf("%d rows, %+v", len(rows), rows)
	}
	if cell.Curves.Rotations != nil || cell.N != 6 || cell.Curves.Entropy.Out != nil || cell.Scores["probit"]["OOD-AUC"] != 0 {
		t.Errorf("cell %+v", cell)
	}
}

// The networks that the paper used, on the data that it used, score what its authors' runs
// say, to six digits.
func TestFixturePublishedNetworks(t *testing.T) {
	fixture.Shared(t, "weights", "ludvins_mlp_mnist.npz")
	for name, want := range map[string]map[string]float64{
		"mnist":  {"ACC": 0.9759, "NLL": 0.075852, "OOD-AUC": 0.904711},
		"fmnist": {"ACC": 0.8659, "NLL": 0.373304, "OOD-AUC": 0.873660},
	} {
		// One set in each precision, because all four runs take long.
		dtype := map[string]string{"mnist": "float32", "fmnist": "float64"}[name]
		text, _ := spec.Text(name)
		e, err := spec.Read(name+".yaml", text, "quick")
		if err != nil {
			t.Fatal(err)
		}
		e.Network.Dtype, e.Scoring.Rotations = dtype, 0
		if err := (Overrides{Methods: []string{"map"}}).Apply(e); err != nil {
			t.Fatal(err)
		}
		cells, _ := run(t, e, Options{Data: fixture.Shared(t, "data"), Dir: t.TempDir()})
		for what, v := range want {
			// Half a unit of the sixth decimal, and its rounding.
			if got := float64(cells["MAP 0"].Scores["probit"][what]); math.Abs(got-v) > 0.7e-6 {
				t.Errorf("%s %s: %s %.7f, want %.6f", name, dtype, what, got, v)
			}
		}
	}
}

// Weights that were asked for must exist. Those of the experiment are read if they exist, and
// the network is not trained then.
func TestWeights(t *testing.T) {
	folder := imageSets(t)
	e := open(t, smallImages)
	if err := (Overrides{Methods: []string{"map"}}).Apply(e); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), e, Options{Data: folder, Dir: t.TempDir(), Weights: filepath.Join(folder, "none.npz")})
	if err == nil || !strings.Contains(err.Error(), "none.npz") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	out := t.TempDir()
	trained, _ := run(t, e, Options{Data: folder, Dir: out})
	files, _ := filepath.Glob(filepath.Join(out, "images", "full", "work", "*.valla"))
	m, err := valla.Load(files[0])
	if err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(filepath.Dir(folder), "weights")
	if err := os.MkdirAll(weights, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := layers.Save(filepath.Join(weights, "mlp_mnist.npz"), m.Net); err != nil {
		t.Fatal(err)
	}
	read, fresh := run(t, e, Options{Data: folder, Dir: out})
	if a, b := trained["MAP 3"], read["MAP 3"]; fresh != 2 || a.Hash == b.Hash || a.Scores["probit"]["NLL"] != b.Scores["probit"]["NLL"] ||
		b.Facts.Note != "weights read from a file" || b.Fit.Runs != 0 || b.Facts.Steps != 0 {
		t.Errorf("%d cells; trained %+v, read %+v", fresh, a, b)
	}
	given, fresh := run(t, e, Options{Data: folder, Dir: out, Weights: filepath.Join(weights, "mlp_*.npz")})
	if fresh != 0 || given["MAP 4"].Hash != read["MAP 4"].Hash {
		t.Errorf("%d cells for the same weights by another name", fresh)
	}
}

// An asterisk and NET stand for names in the file of the experiment. The folders above it
// keep their names.
func TestWeightsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "NET*")
	if err := os.MkdirAll(filepath.Join(dir, "w"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "w", "resnet20-mnist.npz")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{Data: filepath.Join(dir, "data")}
	n := spec.Network{Network: valla.Network{Form: "resnet20"}, Weights: "w/NET-*.npz"}
	if got, err := o.weightsFile(n, "mnist"); got != file || err != nil {
		t.Errorf("file %q, error %v, expected %q", got, err, file)
	}
	if got, err := o.weightsFile(n, "fmnist"); got != "" || err != nil {
		t.Errorf("an absent file: %q, error %v", got, err)
	}
	if got, err := o.weightsFile(spec.Network{}, "mnist"); got != "" || err != nil {
		t.Errorf("no file: %q, error %v", got, err)
	}
}
