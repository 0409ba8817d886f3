package command_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/npy"
)

// galleryNetwork returns the path of a network of the gallery of PyTorch.
func galleryNetwork(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "layers", "onnx", "testdata", "gallery", name+".onnx"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// mixedRows writes rows for the network "embeddings" as arrays of the names of its inputs, and as a table whose columns
// have the names, in another order, and as tables with other names, in the order of the inputs and in another.
func mixedRows(t *testing.T, dir string) {
	t.Helper()
	const n = 30
	rng := rand.New(rand.NewPCG(3, 4))
	x, day, shop, y := make([]float64, 4*n), make([]int64, n), make([]int64, n), make([]float64, n)
	table, other := "shop,x.3,y,x.2,x.1,x.0,day\n", "a,b,c,d,e,f,y\n"
	for i := range n {
		for k := range 4 {
			x[4*i+k] = float64(rng.IntN(1000)) / 256
		}
		day[i], shop[i], y[i] = rng.Int64N(7), rng.Int64N(10), float64(rng.IntN(100))/64
		table += fmt.Sprintf("%d,%v,%v,%v,%v,%v,%d\n", shop[i], x[4*i+3], y[i], x[4*i+2], x[4*i+1], x[4*i], day[i])
		other += fmt.Sprintf("%v,%v,%v,%v,%d,%d,%v\n", x[4*i], x[4*i+1], x[4*i+2], x[4*i+3], day[i], shop[i], y[i])
	}
	arrays := []*tensor.Dense{
		tensor.New(tensor.WithShape(n, 4), tensor.WithBacking(x)), tensor.New(tensor.WithShape(n), tensor.WithBacking(day)),
		tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(shop)), tensor.New(tensor.WithShape(n), tensor.WithBacking(y)),
	}
	if err := npy.WriteArchive(filepath.Join(dir, "rows.npz"), []string{"x", "day", "shop", "y"}, arrays); err != nil {
		t.Fatal(err)
	}
	if err := npy.WriteArchive(filepath.Join(dir, "short.npz"), []string{"x", "y"}, []*tensor.Dense{arrays[0], arrays[3]}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	mixed := strings.Replace(table, "shop,x.3,y,x.2,x.1,x.0,day", "a,b,y,c,d,e,f", 1)
	for name, text := range map[string]string{"other.csv": other, "mixed.csv": mixed} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSeveralInputs: arrays and columns by the names of a network's inputs give the same predictions.
func TestSeveralInputs(t *testing.T) {
	t.Parallel()
	dir, net := t.TempDir(), galleryNetwork(t, "embeddings")
	mixedRows(t, dir)
	fit := []string{"--network", net, "--method", "lla", "--law", "gaussian", "--target", "y"}
	must(t, dir, append([]string{"fit", "rows.npz", "--out", "a.valla"}, fit...)...)
	must(t, dir, append([]string{"fit", "rows.csv", "--out", "b.valla"}, fit...)...)
	want := must(t, dir, "predict", "rows.npz", "--model", "a.valla")
	for _, args := range [][]string{{"rows.csv", "--model", "a.valla"}, {"rows.csv", "--model", "b.valla"}, {"rows.npz", "--model", "b.valla"}} {
		if got := must(t, dir, append([]string{"predict"}, args...)...); got != want {
			t.Errorf("%q predicts other numbers than the arrays", args)
		}
	}
	r := run(t, dir, append([]string{"fit", "other.csv", "--out", "c.valla"}, fit...)...)
	if note := "The columns are the inputs of the network in their order: x is a, b, c, d; day is e; shop is f."; r.code != 0 || !strings.Contains(r.stderr, note) {
		t.Errorf("exit code %d, stderr %q, want the note %q", r.code, r.stderr, note)
	}
	fails(t, dir, 1, `feature "e": expected a whole number`, append([]string{"fit", "mixed.csv", "--out", "c.valla"}, fit...)...)
	fails(t, dir, 1, `"day"`, append([]string{"fit", "short.npz", "--out", "c.valla"}, fit...)...)
}

// TestOutputsOfNetworks: an output is chosen by its name, one logit has two classes, and counts may have exposures.
func TestOutputsOfNetworks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 6))
	table := "x0,x1,x2,x3,x4,y,hours\n"
	for i := range 40 {
		for range 5 {
			table += fmt.Sprintf("%.3f,", rng.NormFloat64())
		}
		table += fmt.Sprintf("%d,%.3f\n", i%2, 0.5+rng.Float64())
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	lla := []string{"fit", "rows.csv", "--target", "y", "--drop", "hours", "--method", "lla", "--out", "m.valla"}
	logit, heads := galleryNetwork(t, "logit"), galleryNetwork(t, "variance")
	must(t, dir, append(lla, "--network", logit, "--classes")...)
	if out := must(t, dir, "eval", "rows.csv", "--model", "m.valla"); !strings.Contains(out, "Brier") {
		t.Errorf("eval prints %q", out)
	}
	must(t, dir, append(lla, "--network", logit, "--likelihood", "poisson")...)
	exposed := []string{"fit", "rows.csv", "--network", logit, "--likelihood", "poisson", "--likelihood-exposure", "--method", "lla", "--out", "m.valla"}
	must(t, dir, append(exposed, "--target", "y,hours")...)
	if out := must(t, dir, "eval", "rows.csv", "--model", "m.valla"); !strings.Contains(out, `scores of "y", "hours"`) {
		t.Errorf("eval prints %q", out)
	}
	fails(t, dir, 1, `2 outputs ["mean" "log_variance"], expected one; choose with --output`, append(lla, "--network", heads)...)
	must(t, dir, append(lla, "--network", heads, "--output", "mean", "--law", "gaussian")...)
	if out := must(t, dir, "network", "show", heads, "--output", "mean,log_variance"); !strings.Contains(out, "logvar.weight") {
		t.Errorf("show prints %q", out)
	}
}

// writeSmall writes a network of two inputs with an output for each element of bias as net.npz, and a table of n rows whose target
// cells are those of y in turn.
func writeSmall(t *testing.T, dir string, bias []float64, n int, y ...string) {
	t.Helper()
	k := len(bias)
	array := func(v []float64, shape ...int) *tensor.Dense {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
	}
	rng := rand.New(rand.NewPCG(5, 6))
	random := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	arrays := []*tensor.Dense{array(random(8), 4, 2), array(random(4), 4), array(random(4*k), k, 4), array(bias, k)}
	if err := npy.WriteArchive(filepath.Join(dir, "net.npz"), []string{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}, arrays); err != nil {
		t.Fatal(err)
	}
	text := "a,b,y\n"
	for i := range n {
		text += fmt.Sprintf("%.4f,%.4f,%s\n", rng.NormFloat64(), rng.NormFloat64(), y[i%len(y)])
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTargetsOfWeights: weights from elsewhere take the number of ordered classes from the targets, use all rows where none are to
// be held out, and say what is wrong with the targets.
func TestTargetsOfWeights(t *testing.T) {
	t.Parallel()
	args := []string{"fit", "rows.csv", "--net-weights", "net.npz", "--activation", "tanh", "--method", "lla", "--out", "m.valla"}
	dir := t.TempDir()
	writeSmall(t, dir, []float64{0}, 30, "0", "1", "2")
	must(t, dir, append(args, "--likelihood", "ordinal")...)
	writeSmall(t, dir, []float64{0}, 30, "0")
	fails(t, dir, 1, "1 ordered classes, expected --likelihood-classes, or targets of at least two classes", append(args, "--likelihood", "ordinal")...)
	writeSmall(t, dir, []float64{0}, 30, "3")
	fails(t, dir, 1, `the target "y" is 3 in each of the 30 training rows, expected different numbers`, args...)
	for n := 1; n <= 3; n++ {
		writeSmall(t, dir, []float64{0}, n, "1", "2.5")
		must(t, dir, append(args, "--validation", "0")...)
	}
	for classes, y := range map[string][]string{`2 classes, ["0" "2"]`: {"0", "2"}, `2 classes, ["blue" "red"]`: {"red", "blue"}} {
		writeSmall(t, dir, []float64{0, 0, 0}, 30, y...)
		fails(t, dir, 1, `3 outputs, expected 2 inputs (the features ["a" "b"]) and 2 outputs; the column "y" has `+classes, append(args, "--classes")...)
		fails(t, dir, 1, `array "fc2.weight": shape (3, 4), expected (2, 4)`, append(args, "--classes", "--hidden", "4")...)
		fails(t, dir, 1, `the column "y" has `+classes, append(args, "--classes", "--hidden", "4")...)
	}
}
