//go:build linux || darwin

package command_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/npy"
)

// galleryClasses are the networks of the gallery whose outputs are logits.
var galleryClasses = strings.Fields("classes logit cnn resnet mobile gru text vit mixer")

// galleryMethods are the flags of the fits of each network of the gallery.
var galleryMethods = []string{"", "--method lla", "--method fmgp"}

// galleryRows is an archive of rows for a network of the gallery.
type galleryRows struct {
	names  []string // of the arrays
	arrays []*tensor.Dense
	flags  []string // of the fit
	first  []byte   // the tensors of a request for the first row
}

// moved repeats an array of the reference for n rows. Repeated numbers that are not whole are moved a little.
func moved(a *tensor.Dense, n int, still bool, rng *rand.Rand) *tensor.Dense {
	shape := append([]int{n}, a.Shape()[1:]...)
	if whole, ok := a.Data().([]int64); ok {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(slices.Repeat(whole, n/a.Shape()[0])))
	}
	v := slices.Repeat(graph.Floats(a), n/a.Shape()[0])
	for i := a.Shape().TotalSize(); i < len(v) && !still; i++ {
		v[i] += 0.3 * rng.NormFloat64()
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

// galleryTargets draws targets of n rows around the outputs y of the reference, or classes by their logits.
func galleryTargets(name string, y *tensor.Dense, n int, rng *rand.Rand) *tensor.Dense {
	outputs, width := graph.Floats(y), y.Shape()[1]
	keep := width
	if name == "variance" {
		keep = 1
	}
	var all []float64
	for i := range n {
		row := outputs[i%y.Shape()[0]*width:][:keep]
		if !slices.Contains(galleryClasses, name) {
			for _, v := range row {
				all = append(all, v+0.3*rng.NormFloat64())
			}
			continue
		}
		if width == 1 {
			row = []float64{0, row[0]}
		}
		scores := slices.Clone(row)
		for k := range scores {
			scores[k] -= math.Log(rng.ExpFloat64())
		}
		all = append(all, float64(slices.Index(scores, slices.Max(scores))))
	}
	if len(all) == n {
		return tensor.New(tensor.WithShape(n), tensor.WithBacking(all))
	}
	return tensor.New(tensor.WithShape(n, keep), tensor.WithBacking(all))
}

// galleryData returns n rows, a multiple of 5, for a network of the gallery.
func galleryData(t *testing.T, name string, n int) (out galleryRows) {
	t.Helper()
	ref, err := npy.ReadArchive(strings.TrimSuffix(galleryFile(t, name), ".onnx") + ".npz")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, uint64(len(name))))
	var requests []map[string]any
	for _, k := range ref.Names {
		a, _ := ref.Get(k)
		switch k {
		case "ntk":
			continue
		case "y":
			a = galleryTargets(name, a, n, rng)
			out.flags = galleryFlags(name, a)
		default:
			a = moved(a, n, k == "neighbours", rng)
			requests = append(requests, galleryTensor(k, a))
		}
		out.names, out.arrays = append(out.names, k), append(out.arrays, a)
	}
	if len(requests) == 1 {
		out.names[slices.Index(out.names, "x")] = "X"
	}
	out.first, err = json.Marshal(map[string]any{"inputs": requests})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// galleryTensor is the first row of an input in a request.
func galleryTensor(name string, a *tensor.Dense) map[string]any {
	shape := slices.Clone([]int(a.Shape()))
	size := a.Shape().TotalSize() / shape[0]
	shape[0] = 1
	if v, ok := a.Data().([]int64); ok {
		return map[string]any{"name": name, "shape": shape, "datatype": "INT64", "data": v[:size]}
	}
	return map[string]any{"name": name, "shape": shape, "datatype": "FP64", "data": graph.Floats(a)[:size]}
}

// galleryFlags are the flags of a fit to targets y.
func galleryFlags(name string, y *tensor.Dense) []string {
	switch {
	case slices.Contains(galleryClasses, name):
		return []string{"--classes"}
	case name == "variance":
		return []string{"--noise-head", "log-variance", "--target", "y"}
	case y.Dims() == 1:
		return []string{"--target", "y"}
	}
	var names []string
	for i := range y.Shape()[1] {
		names = append(names, fmt.Sprint("y", i))
	}
	return []string{"--target", strings.Join(names, ",")}
}

// galleryFile returns the path of a network of the gallery, or of the folder that VALLA_GALLERY names, which large.py writes.
func galleryFile(t *testing.T, name string) string {
	if dir := os.Getenv("VALLA_GALLERY"); dir != "" {
		return filepath.Join(dir, name+".onnx")
	}
	return galleryNetwork(t, name)
}

// TestGalleryCommands fits networks of the gallery of PyTorch, predicts and serves them. If tests are long, it takes all
// networks with 2,000 rows, by default, by LLA and by FMGP, and prints the table of times of docs/gallery.md. With
// VALLA_GALLERY it takes the networks of another folder by default alone.
func TestGalleryCommands(t *testing.T) {
	names, methods, rows := []string{"tagger", "graph", "variance"}, []string{"--method lla"}, 50
	if fixture.Long() {
		names, methods, rows = nil, galleryMethods, 2000
		paths, _ := filepath.Glob(galleryFile(t, "*"))
		for _, p := range paths {
			names = append(names, strings.TrimSuffix(filepath.Base(p), ".onnx"))
		}
		if os.Getenv("VALLA_GALLERY") != "" {
			methods = galleryMethods[:1]
		}
		fmt.Println("| network | by default | by `lla` | by `fmgp` |\n|---|--:|--:|--:|")
	}
	for _, name := range names {
		dir, set, line := t.TempDir(), galleryData(t, name, rows), "| `"+name+"` |"
		if err := npy.WriteArchive(filepath.Join(dir, "rows.npz"), set.names, set.arrays); err != nil {
			t.Fatal(err)
		}
		for _, method := range methods {
			line += " " + fitGallery(t, dir, name, append(strings.Fields(method), set.flags...)) + " |"
			if out := must(t, dir, "predict", "rows.npz", "--model", "m.valla"); strings.Count(out, "\n") != rows+1 {
				t.Errorf("%s %s: %d lines of predictions, expected %d", name, method, strings.Count(out, "\n"), rows+1)
			}
			askGallery(t, dir, name, set.first)
		}
		if fixture.Long() {
			fmt.Println(line)
		}
	}
}

// listedRow is a row of the network embeddings in a Parquet file, with a list for the input of several numbers.
type listedRow struct {
	Shop int64     `parquet:"shop"`
	X    []float64 `parquet:"x,list"`
	Day  int64     `parquet:"day"`
	Y    float64   `parquet:"y"`
}

// TestGalleryLists: a Parquet file with lists for an input, in any order of the columns, gives the predictions that an
// archive of arrays gives.
func TestGalleryLists(t *testing.T) {
	dir, set := t.TempDir(), galleryData(t, "embeddings", 50)
	if err := npy.WriteArchive(filepath.Join(dir, "rows.npz"), set.names, set.arrays); err != nil {
		t.Fatal(err)
	}
	a := map[string]*tensor.Dense{}
	for i, name := range set.names {
		a[name] = set.arrays[i]
	}
	rows, x := make([]listedRow, 50), graph.Floats(a["x"])
	day, shop, y := a["day"].Data().([]int64), a["shop"].Data().([]int64), graph.Floats(a["y"])
	for i := range rows {
		rows[i] = listedRow{shop[i], x[i*len(x)/50 : (i+1)*len(x)/50], day[i], y[i]}
	}
	if err := parquet.WriteFile(filepath.Join(dir, "rows.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range []string{"rows.npz", "rows.parquet"} {
		must(t, dir, "fit", file, "--network", galleryFile(t, "embeddings"), "--target", "y", "--method", "lla", "--weights", "last-layer", "--out", "m.valla")
		out = append(out, must(t, dir, "predict", file, "--model", "m.valla"))
	}
	if out[0] != out[1] {
		t.Errorf("predictions of the archive:\n%.300s\nof the Parquet file:\n%.300s", out[0], out[1])
	}
}

// fitGallery fits a network and returns the planned seconds, the seconds that it took, and those of the processors.
func fitGallery(t *testing.T, dir, name string, flags []string) string {
	t.Helper()
	cmd, start := program(append([]string{"fit", "rows.npz", "--network", galleryFile(t, name), "--out", "m.valla"}, flags...)...), time.Now()
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, flags, err, out)
	}
	took, planned := time.Since(start).Seconds(), "–"
	if line := estimateLine.FindStringSubmatch(string(out)); line != nil {
		planned = line[1] + " " + line[2]
	}
	cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return fmt.Sprintf("%s; %.0f s, %.0f s", planned, took, cpu)
}

// askGallery serves a model and asks for the predictions of a row.
func askGallery(t *testing.T, dir, name string, request []byte) {
	t.Helper()
	s := serving(t, dir, "--model", name+"=m.valla")
	defer s.end(t)
	a, err := http.Post(s.url+"/v2/models/"+name+"/infer", "application/json", strings.NewReader(string(request)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != 200 || !strings.Contains(string(body), `"outputs"`) {
		t.Errorf("%s: status %d, error %v: %.300s", name, a.StatusCode, err, body)
	}
}
