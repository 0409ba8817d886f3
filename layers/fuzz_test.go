package layers

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/npy"
)

// checkLoad loads path into a network of 3-2-2: all finite, or nothing.
func checkLoad(t *testing.T, path string, dt tensor.Dtype) {
	t.Helper()
	net := newMLP(t, dt, 1, 3, 2, 2)
	before := values(net)
	if err := Load(path, net, LoadOptions{}); err != nil {
		if !sameBits(before, values(net)) {
			t.Errorf("a failed Load changed the network: %v", err)
		}
		return
	}
	for _, v := range values(net) {
		for _, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("Load took %g", x)
			}
		}
	}
	if m, err := InferMLP(path, "tanh", LoadOptions{}); err != nil || m.Inputs != 3 || m.Outputs != 2 {
		t.Errorf("Load took what InferMLP makes %v of, error %v", m, err)
	}
}

func FuzzLoadArchive(f *testing.F) {
	net := newMLP(f, tensor.Float32, 2, 3, 2, 2)
	bad := ownFile(f, net)
	bad.set("dense2.bias", arrayOf(tensor.Float64, []float64{1, math.NaN()}, 2))
	for _, w := range []*file{ownFile(f, net), torchFile(f, net, "0", "3"), numberedFile(net), bad} {
		var b bytes.Buffer
		if err := npy.EncodeArchive(&b, w.names, w.arrays); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()-40])
		f.Add(bytes.ReplaceAll(b.Bytes(), []byte("weight"), []byte("Weight")))
		f.Add(bytes.ReplaceAll(b.Bytes(), []byte("(3, 2)"), []byte("(2, 3)")))
	}
	f.Add([]byte{})
	path := filepath.Join(f.TempDir(), "w.npz")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, dt := range dtypes {
			checkLoad(t, path, dt)
		}
	})
}

// One array of a folder is arbitrary: no checksum stands before its bytes.
func FuzzLoadFolder(f *testing.F) {
	for _, a := range []*tensor.Dense{
		arrayOf(tensor.Float64, []float64{1, 2, 3, 4}, 2, 2),
		arrayOf(tensor.Float32, []float64{1, 2, 3, math.Inf(1)}, 2, 2),
		arrayOf(tensor.Float64, []float64{1, 2, 3, 1e300}, 2, 2),
		arrayOf(tensor.Float64, []float64{1, 2}, 1, 2),
		tensor.New(tensor.FromScalar(1.0)),
	} {
		var b bytes.Buffer
		if err := npy.Encode(&b, a); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("\x93NUMPY"))
	dir := f.TempDir()
	if err := Save(dir, newMLP(f, tensor.Float64, 2, 3, 2, 2)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, "dense2.weight.npy"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, dt := range dtypes {
			checkLoad(t, dir, dt)
		}
	})
}
