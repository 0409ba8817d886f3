package command_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/layers"
)

// writeImages writes n images [3,size,size]: the bright images have class 3, the dark images class 1.
// The file contains the classes if classes is true.
func writeImages(t *testing.T, path string, n, size int, classes bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	images, y := make([]uint8, n*3*size*size), make([]float64, n)
	for i := range images {
		example := i / (3 * size * size)
		y[example] = float64(1 + 2*(example%2))
		images[i] = uint8(rng.IntN(120) + 100*(example%2))
	}
	names := []string{"X", "y"}
	arrays := []*tensor.Dense{tensor.New(tensor.WithShape(n, 3, size, size), tensor.WithBacking(images)), tensor.New(tensor.WithShape(n), tensor.WithBacking(y))}
	if !classes {
		names, arrays = names[:1], arrays[:1]
	}
	if err := npy.WriteArchive(path, names, arrays); err != nil {
		t.Fatal(err)
	}
}

// writeForm writes the form of a network to a file.
func writeForm(t *testing.T, path string, f layers.Form) {
	t.Helper()
	text, err := layers.MarshalForm(f)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestResNet goes the whole way with a residual network on images, with each method.
func TestResNet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeImages(t, filepath.Join(dir, "train.npz"), 24, 16, true)
	writeImages(t, filepath.Join(dir, "test.npz"), 10, 16, true)
	writeImages(t, filepath.Join(dir, "new.npz"), 10, 16, false)
	writeForm(t, filepath.Join(dir, "small.json"), layers.ResNet{Channels: 3, Height: 16, Width: 16, Blocks: []int{1, 1, 1}, Shortcut: layers.Projection, Outputs: 2})
	var r report
	decode(t, must(t, dir, "train", "train.npz", "--classes", "--form", "small.json", "--dtype", "float32", "--iterations", "6", "--batch-size", "8", "--augment",
		"--validation", "0.25", "--validate-every", "3", "--mean", "0.5", "--std", "0.25", "--out", "map.valla", "--json"), &r)
	if !strings.HasPrefix(r.Network, "ResNet-8, projection shortcuts, 2 outputs") || !slices.Equal(r.Inputs, []int{3, 16, 16}) || r.Features != nil ||
		!slices.Equal(r.Classes, []float64{1, 3}) || r.NoiseStd != nil || r.Event.Rows != 18 || r.Event.ValidationRows != 6 || r.Event.Result.Iterations != 6 {
		t.Errorf("train reported %+v", r)
	}
	for label, args := range map[string]string{
		"VaLLA 4":  "--inducing 4 --iterations 3 --batch-size 6 --validation 0.25 --memory 2GiB",
		"LLA KFAC": "--method lla --structure kfac --validation 0.25",
	} {
		out := must(t, dir, append(strings.Fields(args), "fit", "train.npz", "--model", "map.valla", "--out", "m.valla")...)
		if !strings.Contains(out, "ResNet-8") || !strings.Contains(out, "posterior") || !strings.Contains(out, label) || !strings.Contains(out, "prior std") {
			t.Errorf("%s: fit printed\n%s", label, out)
		}
		checkResNet(t, dir, label)
	}
	writeTable(t, filepath.Join(dir, "wrong.csv"), example(3, 1))
	fails(t, dir, 1, "wrong.csv: expected inputs of shape [3 16 16]", "predict", "wrong.csv", "--model", "m.valla")
}

// checkResNet evaluates and predicts with m.valla.
func checkResNet(t *testing.T, dir, label string) {
	t.Helper()
	m, err := valla.Load(filepath.Join(dir, "m.valla"))
	if err != nil {
		t.Fatal(err)
	}
	if layers.KindOf(m.Form) != "resnet" || m.String() != label || m.Dtype() != tensor.Float32 {
		t.Errorf("model of %v with %v, want %s", m.Form, m, label)
	}
	var e evaluation
	decode(t, must(t, dir, "eval", "test.npz", "--model", "m.valla", "--json"), &e)
	if e.Rows != 10 || e.Link != "probit" || len(e.Scores) != 2 || e.Scores[1].Method != label || e.Scores[0].NLL == e.Scores[1].NLL || e.Scores[1].ACC != e.Scores[0].ACC {
		t.Errorf("evaluation %+v", e)
	}
	var doc predictions
	decode(t, must(t, dir, "predict", "test.npz", "--model", "m.valla", "--json"), &doc)
	if doc.Rows != 10 || !slices.Equal(doc.Classes, []float64{1, 3}) || !slices.Equal(doc.Targets, []string{"y"}) {
		t.Errorf("document %+v", doc)
	}
	for i, p := range doc.Probs {
		if s := p[0] + p[1]; !(s > 1-1e-12 && s < 1+1e-12) || !(p[0] > 0 && p[0] < 1) {
			t.Errorf("image %d: probabilities %v", i, p)
		}
	}
	csv := must(t, dir, "predict", "test.npz", "--model", "m.valla")
	if !strings.HasPrefix(csv, "class,p_1,p_3\n") || must(t, dir, "predict", "new.npz", "--model", "m.valla") != csv {
		t.Error("the predictions depend on whether the classes are there")
	}
}

// TestForms: a network of layers described in a file is trained, and its weights go into a
// fit as the weights of a network from elsewhere do.
func TestForms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeImages(t, filepath.Join(dir, "train.npz"), 12, 32, true)
	writeForm(t, filepath.Join(dir, "form.json"), layers.CNN{Channels: 3, Height: 32, Width: 32, Filters: []int{2, 2}, Hidden: []int{4}, Outputs: 2, Activation: "relu"})
	must(t, dir, "train", "train.npz", "--classes", "--form", "form.json", "--iterations", "2", "--validation", "0", "--out", "map.valla")
	m, err := valla.Load(filepath.Join(dir, "map.valla"))
	if err != nil {
		t.Fatal(err)
	}
	if err := layers.Save(filepath.Join(dir, "net.npz"), m.Net); err != nil {
		t.Fatal(err)
	}
	elsewhere := []string{"fit", "train.npz", "--net-weights", "net.npz", "--classes", "--method", "lla", "--structure", "diag", "--out", "w.valla", "--json", "--form"}
	for _, args := range [][]string{{"form.json"}, {"cnn", "--filters", "2,2", "--hidden", "4", "--activation", "relu"}} {
		var r report
		decode(t, must(t, dir, with(elsewhere, args...)...), &r)
		w, err := valla.Load(filepath.Join(dir, "w.valla"))
		if err != nil {
			t.Fatal(err)
		}
		if layers.Fingerprint(w.Net) != layers.Fingerprint(m.Net) || r.Network != m.Form.String() {
			t.Errorf("%v: the model has other weights, or the network %s", args, r.Network)
		}
		if text, err := json.Marshal(w.Form); err != nil || !strings.Contains(string(text), `"relu"`) {
			t.Errorf("form %s, error %v", text, err)
		}
	}
	var named report
	decode(t, must(t, dir, "train", "train.npz", "--classes", "--form", "resnet8", "--iterations", "1", "--validation", "0", "--out", "resnet.valla", "--json"), &named)
	if !strings.HasPrefix(named.Network, "ResNet-8, projection shortcuts, 2 outputs") || !slices.Equal(named.Inputs, []int{3, 32, 32}) {
		t.Errorf("resnet8 is %s of inputs %v", named.Network, named.Inputs)
	}
	fails(t, dir, 2, `form "vgg" of the network, expected mlp, cnn, resnet`, "train", "train.npz", "--classes", "--form", "vgg", "--out", "x.valla")
	fails(t, dir, 1, "none.json: no such file", "train", "train.npz", "--classes", "--form", "none.json", "--out", "x.valla")
}
