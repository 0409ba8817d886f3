package layers

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/npy"
)

var oneLine = fixture.OneLine

// spike puts the numbers that conversions lose into the first weight.
func spike(net Network) {
	d := net.Params()[0].Value
	if d.Dtype() == tensor.Float64 {
		copy(d.Float64s(), []float64{math.Copysign(0, -1), math.SmallestNonzeroFloat64, math.MaxFloat64, 1 + 0x1p-52})
	} else {
		copy(d.Float32s(), []float32{float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, math.MaxFloat32, 1 + 0x1p-23})
	}
}

func TestSaveLoadExact(t *testing.T) {
	for _, dt := range dtypes {
		for _, file := range []string{"w.npz", "folder"} {
			t.Run(fmt.Sprint(dt, " ", file), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), file)
				net, other := newMLP(t, dt, 1, 5, 5, 3), newMLP(t, dt, 2, 5, 5, 3)
				spike(net)
				for range 2 { // the second time over what is there
					if err := Save(path, net); err != nil {
						t.Fatal(err)
					}
				}
				array := other.Params()[0].Value
				if err := Load(path, other, LoadOptions{}); err != nil {
					t.Fatal(err)
				}
				if !sameBits(values(net), values(other)) {
					t.Error("the loaded weights differ")
				}
				if Fingerprint(net) != Fingerprint(other) {
					t.Error("the fingerprints differ")
				}
				if other.Params()[0].Value != array {
					t.Error("Load replaced an array instead of filling it")
				}
			})
		}
	}
}

func TestSaveWritesMemoryLayout(t *testing.T) {
	dir := t.TempDir()
	net := newMLP(t, tensor.Float32, 1, 4, 3, 2)
	if err := Save(filepath.Join(dir, "w"), net); err != nil {
		t.Fatal(err)
	}
	for _, p := range net.Params() {
		a, err := npy.Read(filepath.Join(dir, "w", p.Name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		if a.Dtype() != tensor.Float32 || !slices.Equal(a.Shape(), p.Value.Shape()) || !slices.Equal(floats(a), floats(p.Value)) {
			t.Errorf("%s: %v of shape %v on disk, %v in memory", p.Name, a.Dtype(), a.Shape(), p.Value.Shape())
		}
	}
}

// Every convention and layout, from either element type into either.
func TestLoadConventions(t *testing.T) {
	for _, c := range []struct {
		name   string
		widths []int
		write  func(t testing.TB, net Network) *file
		layout Layout
	}{
		{"torch", []int{4, 3, 2}, torchNames("fc1", "fc2"), Auto},
		{"torch, stated", []int{4, 3, 2}, torchNames("fc1", "fc2"), OutIn},
		{"torch, square", []int{3, 3, 3}, torchNames("net.0", "net.2"), Auto},
		{"torch, one layer", []int{3, 3}, torchNames("fc"), Auto},
		{"torch, own names", []int{4, 3, 2}, torchNames("dense1", "dense2"), Auto},
		{"torch, own names, square, stated", []int{3, 3, 3}, torchNames("dense1", "dense2"), OutIn},
		{"torch, some own names", []int{3, 3, 3, 3}, torchNames("dense0", "dense1", "dense2"), Auto},
		{"numbered", []int{4, 3, 2}, numberedNames, Auto},
		{"numbered, square", []int{3, 3, 3}, numberedNames, Auto},
		{"numbered, stated", []int{3, 3, 3}, numberedNames, InOut},
		{"numbered, transposed", []int{4, 3, 3}, flipped(numberedNames), Auto},
		{"numbered, square, transposed", []int{3, 3, 3}, flipped(numberedNames), OutIn},
		{"torch names, memory layout", []int{3, 3, 2}, flipped(torchNames("0", "3")), Auto},
		{"torch names, square, memory layout", []int{3, 3, 3}, flipped(torchNames("0", "3")), InOut},
	} {
		for _, from := range dtypes {
			for _, to := range dtypes {
				t.Run(fmt.Sprint(c.name, " ", from, " ", to), func(t *testing.T) {
					net, other := newMLP(t, from, 1, c.widths...), newMLP(t, to, 2, c.widths...)
					if err := Load(c.write(t, net).write(t), other, LoadOptions{Layout: c.layout}); err != nil {
						t.Fatal(err)
					}
					want := values(net)
					if to == tensor.Float32 {
						round(want)
					}
					if !sameBits(values(other), want) {
						t.Error("the loaded weights differ")
					}
				})
			}
		}
	}
}

func round(v [][]float64) {
	for _, x := range v {
		for i := range x {
			x[i] = float64(float32(x[i]))
		}
	}
}

type writer = func(t testing.TB, net Network) *file

func torchNames(prefixes ...string) writer {
	return func(t testing.TB, net Network) *file { return torchFile(t, net, prefixes...) }
}

func numberedNames(_ testing.TB, net Network) *file { return numberedFile(net) }

// flipped stores the weights in the other layout.
func flipped(write writer) writer {
	return func(t testing.TB, net Network) *file {
		f := write(t, net)
		for i, a := range f.arrays {
			if a.Dims() == 2 {
				f.arrays[i] = flip(a)
			}
		}
		return f
	}
}

func TestLoadFolderWithTorchNames(t *testing.T) {
	net, other := newMLP(t, tensor.Float64, 1, 3, 3, 3), newMLP(t, tensor.Float64, 2, 3, 3, 3)
	dir := t.TempDir()
	f := torchFile(t, net, "2", "10") // alphabetically 10 comes first
	for i, name := range f.names {
		if err := npy.Write(filepath.Join(dir, name+".npy"), f.arrays[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, stray := range []string{"README", "._2.weight.npy"} { // passed over
		if err := os.WriteFile(filepath.Join(dir, stray), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Load(dir, other, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if !sameBits(values(net), values(other)) {
		t.Error("the loaded weights differ")
	}
}

// twice lists its parameters twice, as a network that shares them may.
type twice struct{ Network }

func (n twice) Params() []*graph.Param { return append(n.Network.Params(), n.Network.Params()...) }

func TestSharedParametersAreStoredOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.npz")
	net, other := twice{newMLP(t, tensor.Float64, 1, 3, 2)}, twice{newMLP(t, tensor.Float64, 2, 3, 2)}
	if err := Save(path, net); err != nil {
		t.Fatal(err)
	}
	a, err := npy.ReadArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"dense1.weight", "dense1.bias"}; !slices.Equal(a.Names, want) {
		t.Errorf("arrays %q, want %q", a.Names, want)
	}
	if err := Load(path, other, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if !sameBits(values(net), values(other)) {
		t.Error("the loaded weights differ")
	}
}

func TestSaveErrors(t *testing.T) {
	named := func(name string) Network {
		d := NewDense("d", 2, 2, tensor.Float64, newRand(1))
		d.W.Name = name
		return d
	}
	broken := newMLP(t, tensor.Float32, 1, 2, 2)
	broken.Params()[1].Value.Float32s()[1] = float32(math.NaN())
	integers := NewDense("d", 2, 2, tensor.Float64, newRand(1))
	integers.B.Value = tensor.New(tensor.Of(tensor.Int), tensor.WithShape(2))
	for _, c := range []struct {
		name, path string
		net        Network
		want       string
	}{
		{"NaN", "w.npz", broken, `parameter "dense1.bias": element 1 is NaN`},
		{"NaN", "w", broken, `parameter "dense1.bias": element 1 is NaN`},
		{"one name", "w.npz", named("d.bias"), `two different parameters are named "d.bias"`},
		{"one name", "w", named("d.bias"), `two different parameters are named "d.bias"`},
		{"a way out", "w", named("../d"), `parameter "../d"`},
		{"a subfolder", "w", named(`a\b`), `parameter "a\\b"`},
		{"hidden", "w", named(".d"), `parameter ".d"`},
		{"no name", "w", named(""), `parameter ""`},
		{"no name", "w.npz", named(""), `name ""`},
		{"integers", "w.npz", integers, `"d.bias" holds int`},
		{"others' folder", "others", named("d.weight"), `an array "other" that the network has not`},
	} {
		t.Run(c.name+" "+c.path, func(t *testing.T) {
			dir := t.TempDir()
			others := filepath.Join(dir, "others")
			if err := os.Mkdir(others, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := npy.Write(filepath.Join(others, "other.npy"), arrayOf(tensor.Float64, []float64{1}, 1)); err != nil {
				t.Fatal(err)
			}
			oneLine(t, Save(filepath.Join(dir, c.path), c.net), c.want)
			for _, pattern := range []string{"*.np*", "w/*", ".*"} {
				if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) > 0 {
					t.Errorf("left %q behind", left)
				}
			}
			if left, _ := os.ReadDir(others); len(left) != 1 {
				t.Errorf("wrote into the folder of others: %v", left)
			}
		})
	}
}
