package runner

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/internal/npy"
)

// writeTable writes boston.npz below dir/uci: a table of two inputs and a noisy sum of
// squares with two splits of 3 test rows.
func writeTable(t *testing.T, dir string) { writeRows(t, dir, 120) }

// writeRows is writeTable with n rows.
func writeRows(t *testing.T, dir string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	var x, y []float64
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x, y = append(x, a, b), append(y, 3*a*a-b+0.5*rng.NormFloat64())
	}
	test := func(from int64) *tensor.Dense {
		return tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{from, from + 1, from + 2}))
	}
	if err := os.MkdirAll(filepath.Join(dir, "uci"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := npy.WriteArchive(filepath.Join(dir, "uci", "boston.npz"), []string{"X", "y", "test_0", "test_1"}, []*tensor.Dense{
		tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(x)), tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y)), test(0), test(50),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// changeTable changes one target in a file that writeTable has written.
func changeTable(t *testing.T, file string) {
	t.Helper()
	a, err := npy.ReadArchive(file)
	if err != nil {
		t.Fatal(err)
	}
	var arrays []*tensor.Dense
	for _, name := range a.Names {
		v, _ := a.Get(name)
		if name == "y" {
			v.Float64s()[7]++
		}
		arrays = append(arrays, v)
	}
	if err := npy.WriteArchive(file, a.Names, arrays); err != nil {
		t.Fatal(err)
	}
}

// writeImages writes a data set in the form of MNIST: 5,000 images to validate with and a
// few more to train with. Class c has a bright bar at row 2c + offset.
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

// imageSets writes MNIST and Fashion-MNIST in small, and returns the data folder.
func imageSets(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	writeImages(t, filepath.Join(folder, "mnist"), 0)
	writeImages(t, filepath.Join(folder, "fashion-mnist"), 7)
	return folder
}

// open reads an experiment from a text.
func open(t *testing.T, text string) *spec.Experiment {
	t.Helper()
	e, err := spec.Read("small.yaml", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run runs an experiment and returns its cells by row and seed, and how many were fresh.
func run(t *testing.T, e *spec.Experiment, o Options) (cells map[string]*result.Cell, fresh int) {
	t.Helper()
	cells = map[string]*result.Cell{}
	o.OnCell = func(c *result.Cell, isFresh bool) {
		cells[fmt.Sprint(c.Row, " ", c.Seed)] = c
		if isFresh {
			fresh++
		}
	}
	if err := Run(t.Context(), e, o); err != nil {
		t.Fatal(err)
	}
	return cells, fresh
}
