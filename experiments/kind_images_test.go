package experiments

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// writeImages writes a data set in MNIST's form: 5,000 images to validate with and a
// few more to train with; class c has a bright bar at row 2c + offset.
func writeImages(t *testing.T, dir string, offset int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(offset), 1))
	for name, n := range map[string]int{"train": 5200, "t10k": 80} {
		images := binary.BigEndian.AppendUint32(nil, 0x803)
		for _, d := range []int{n, 28, 28} {
			images = binary.BigEndian.AppendUint32(images, uint32(d))
		}
		labels := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 0x801), uint32(n))
		for range n {
			class := rng.IntN(10)
			labels = append(labels, byte(class))
			for p := range 28 * 28 {
				v := rng.IntN(120)
				if p/28 == 2*class+offset {
					v += 100
				}
				images = append(images, byte(v))
			}
		}
		for file, b := range map[string][]byte{"images-idx3": images, "labels-idx1": labels} {
			if err := os.WriteFile(filepath.Join(dir, name+"-"+file+"-ubyte"), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const smallImages = `name: images
data: mnist
seeds: [3, 4]
network: {hidden: [12], activation: tanh, dtype: float32, weights: weights/net_*.npz}
map: {iterations: 200, rate: 1e-2, validate-every: 100, seed: 0}
scoring: {monte-carlo: 20, rotations: 100}
methods:
  - {method: map}
  - {method: lla, weights: last-layer, structure: kfac}
  - {method: valla, inducing: 10, iterations: 20, validate-every: 10}
  - {method: valla-natural, inducing: 10, iterations: 10, validate-every: 5}
`

// TestImages trains one network for both seeds and scores the methods on it.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	sets := filepath.Join(dir, "data")
	writeImages(t, filepath.Join(sets, "mnist"), 0)
	writeImages(t, filepath.Join(sets, "fashion-mnist"), 7)
	cells, fresh := run(t, open(t, smallImages), Options{Data: sets, Dir: filepath.Join(dir, "runs")})
	if fresh != 8 {
		t.Fatalf("%d cells", fresh)
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
	if len(v.Curves.Rotations) != 19 || v.Curves.Rotations[0].NLL != v.Scores["probit"]["NLL"] || cells["VaLLA 10 4"].Curves.Rotations != nil {
		t.Errorf("rotations %+v, of the second seed %+v", v.Curves.Rotations, cells["VaLLA 10 4"].Curves.Rotations)
	}
	sum := 0.0
	for _, d := range v.Curves.Entropy.In {
		sum += d * v.Curves.Entropy.Max / float64(len(v.Curves.Entropy.In))
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the densities of the entropies integrate to %v", sum)
	}
}

// TestMonteCarlo: examples that are sampled in parts have the probabilities that they have
// when sampled together, and an end of the context is noticed.
func TestMonteCarlo(t *testing.T) {
	rng, n, c := newRand(1, 1), 3*sampledAtOnce/2, 3
	g := gp.Gaussian{Mean: tensor.New(tensor.WithShape(n, c), tensor.Of(tensor.Float64)), Cov: tensor.New(tensor.WithShape(n, c, c), tensor.Of(tensor.Float64))}
	for i := range n * c {
		g.Mean.Float64s()[i] = rng.NormFloat64()
		g.Cov.Float64s()[i*c+i%c] = 1 + rng.Float64()
	}
	want, err := gp.MonteCarloProbs(g, 50, 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := monteCarlo(50, 7)(ctx, g)
	if err != nil || !slices.Equal(got.Float64s(), want.Float64s()) {
		t.Errorf("in parts the probabilities differ; error %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := monteCarlo(50, 7)(ended, g); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}

// TestFixturePublishedNetworks: the networks that the paper used, on the data that it used,
// score what its authors' runs say, to six digits.
func TestFixturePublishedNetworks(t *testing.T) {
	fixture.Shared(t, "weights", "ludvins_mlp_mnist.npz")
	for name, want := range map[string]map[string]float64{
		"mnist":  {"ACC": 0.9759, "NLL": 0.075852, "OOD-AUC": 0.904711},
		"fmnist": {"ACC": 0.8659, "NLL": 0.373304, "OOD-AUC": 0.873660},
	} {
		// One of them in each precision: all four take long.
		for _, dtype := range map[string][]string{"mnist": {"float32"}, "fmnist": {"float64"}}[name] {
			e, err := Open(name, "quick")
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
}

// TestWeights: a file that was asked for must be there.
func TestWeights(t *testing.T) {
	dir := t.TempDir()
	writeImages(t, filepath.Join(dir, "mnist"), 0)
	err := Run(ctx, open(t, smallImages), Options{Data: dir, Dir: t.TempDir(), Weights: filepath.Join(dir, "none.npz")})
	if err == nil || !strings.Contains(err.Error(), "none.npz") {
		t.Errorf("error %v", err)
	}
}
