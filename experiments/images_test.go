package experiments

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestImagesExperiment trains a network, fits VaLLA with two seeds and writes everything;
// an interrupted fit that is gone on with ends with the same numbers.
func TestImagesExperiment(t *testing.T) {
	dir := t.TempDir()
	writeImages(t, filepath.Join(dir, "mnist"), 0)
	writeImages(t, filepath.Join(dir, "fashion-mnist"), 7)
	o := ImagesDefaults("mnist")
	o.Data, o.Dir, o.Inducing, o.Seeds = dir, filepath.Join(dir, "out"), []int{10}, []uint64{3, 4}
	o.MAPIterations, o.Iterations, o.MonteCarlo, o.Rotations = 300, 60, 20, true
	res, err := Images(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Scores) != 5 || res.Scores[0].ACC < 0.9 {
		t.Fatalf("scores %+v", res.Scores)
	}
	if res.Scores[1].Probs != "probit" || res.Scores[2].Probs != "mc" || res.Scores[1].NLL == res.Scores[2].NLL {
		t.Errorf("probit and mc rows %+v", res.Scores[1:3])
	}
	if len(res.Rotations) != 2*19 || res.Rotations[0].NLL != res.Scores[0].NLL {
		t.Errorf("%d rotations; unturned NLL %v, test NLL %v", len(res.Rotations), res.Rotations[0].NLL, res.Scores[0].NLL)
	}
	for _, p := range []string{"reliability", "entropy", "rotation", "time"} {
		checkPictures(t, filepath.Join(o.Dir, "mnist-"+p))
	}
	checkReport(t, filepath.Join(o.Dir, "mnist"), &ImagesResult{}, "here, 2 seeds", "VaLLA 10", "![mnist-entropy](mnist-entropy.png)")

	again := o
	again.Dir, again.Seeds, again.Rotations = filepath.Join(dir, "killed"), o.Seeds[:1], false
	kill(t, again)
	resumed, err := Images(ctx, again)
	if err != nil {
		t.Fatal(err)
	}
	for i := range resumed.Scores {
		got, want := resumed.Scores[i], res.Scores[i]
		if got.Seconds, want.Seconds = 0, 0; got != want {
			t.Errorf("after an interruption %+v, without %+v", got, want)
		}
	}
}

// kill runs the experiment until VaLLA has made some steps, and cancels it there.
func kill(t *testing.T, o ImagesOptions) {
	t.Helper()
	stopped, cancel := context.WithCancel(ctx)
	o.OnScore = func(ImageScore) { time.AfterFunc(300*time.Millisecond, cancel) }
	if _, err := Images(stopped, o); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestImagesErrors(t *testing.T) {
	for want, change := range map[string]func(*ImagesOptions){
		"cifar":          func(o *ImagesOptions) { o.Name = "cifar" },
		"unknown method": func(o *ImagesOptions) { o.Methods = []string{"magic"} },
		"no seed":        func(o *ImagesOptions) { o.Seeds = nil },
		"idx3":           func(o *ImagesOptions) { o.Data = t.TempDir() },
	} {
		o := ImagesDefaults("mnist")
		o.Dir = t.TempDir()
		change(&o)
		if _, err := Images(ctx, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// TestPublishedNetworks: the networks that the paper used, on the data that it used,
// score what its authors' runs say, to five digits.
func TestPublishedNetworks(t *testing.T) {
	for name, want := range map[string]ImageScore{
		"mnist":  {ACC: 0.9759, NLL: 0.075852, OODAUC: 0.904711},
		"fmnist": {ACC: 0.8659, NLL: 0.373304, OODAUC: 0.873660},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			o := ImagesDefaults(name)
			o.Data, o.Dir, o.Methods, o.Dtype = fixture.Shared(t, "data"), t.TempDir(), []string{"map"}, dt
			o.Weights = fixture.Shared(t, "weights", "ludvins_mlp_"+name+".npz")
			res, err := Images(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			got := res.Scores[0]
			for what, pair := range map[string][2]float64{"ACC": {got.ACC, want.ACC}, "NLL": {got.NLL, want.NLL}, "OOD-AUC": {got.OODAUC, want.OODAUC}} {
				if math.Abs(pair[0]-pair[1]) > 0.7e-6 { // half a unit of the sixth decimal, and its rounding
					t.Errorf("%s %v: %s %.7f, want %.6f", name, dt, what, pair[0], pair[1])
				}
			}
		}
	}
}

// TestImageReferences: the numbers shown beside ours are there.
func TestImageReferences(t *testing.T) {
	found := 0
	for _, r := range imageReferences("FMNIST") {
		if r.source == "authors' runs" && r.method == "VaLLA 100" && r.probs == "probit" {
			found++
			if r.nll != 0.354741 || r.ood != 0.923029 || r.priorSD != 0.08057 {
				t.Errorf("authors' run %+v", r)
			}
		}
	}
	if found != 1 {
		t.Errorf("the authors' row was found %d times", found)
	}
}
