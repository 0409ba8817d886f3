package layers

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/npy"
)

// set replaces or adds an array.
func (f *file) set(name string, a *tensor.Dense) {
	for i := range f.names {
		if f.names[i] == name {
			f.arrays[i] = a
			return
		}
	}
	f.add(name, a)
}

func (f *file) remove(name string) {
	for i := range f.names {
		if f.names[i] == name {
			f.names = append(f.names[:i], f.names[i+1:]...)
			f.arrays = append(f.arrays[:i], f.arrays[i+1:]...)
			return
		}
	}
}

func matrix(v ...float64) *tensor.Dense { return arrayOf(tensor.Float64, v, 3, 2) }

// A network of shapes (4, 3), (3), (3, 2), (2) and a file of it with one thing wrong.
var loadErrors = []struct {
	name   string
	write  writer
	spoil  func(f *file)
	layout Layout
	want   []string
}{
	{"missing", ownFile, func(f *file) { f.remove("dense2.bias") }, Auto,
		[]string{`missing ["dense2.bias"]`, `there are 3 arrays: ["dense1.weight" "dense1.bias" "dense2.weight"]`}},
	{"extra", ownFile, func(f *file) { f.add("step", matrix()) }, Auto,
		[]string{`not expected ["step"]`, `there are 5 arrays`}},
	{"missing and extra", ownFile, func(f *file) { f.names[0] = "weights" }, Auto,
		[]string{`missing ["dense1.weight"], not expected ["weights"]`}},
	{"many extra", ownFile, func(f *file) {
		for i := range 20 {
			f.add(fmt.Sprint("x", i), matrix())
		}
	}, Auto, []string{`"x7" … (12 more)]`, `there are 24 arrays: ["dense1.weight"`}},
	{"other names", ownFile, func(f *file) {
		for i := range f.names {
			f.names[i] = fmt.Sprint("array", i)
		}
	}, Auto, []string{`missing ["dense1.weight" "dense1.bias" "dense2.weight" "dense2.bias"], not expected ["array0"`}},
	{"torch, missing", torchNames("0", "3"), func(f *file) { f.remove("3.bias") }, Auto, []string{`missing ["3.bias"]`}},
	{"torch, extra", torchNames("0", "3"), func(f *file) { f.add("1.running_mean", matrix()) }, Auto,
		[]string{`not expected ["1.running_mean"]`}},
	{"torch, too many", torchNames("0", "3"), func(f *file) { f.add("6.weight", matrix()) }, Auto,
		[]string{`3 dense layers, the network has 2`, `"6.weight"`}},
	{"numbered, too few", numberedNames, func(f *file) { f.remove("W2"); f.remove("b2") }, Auto,
		[]string{`1 dense layers, the network has 2`}},
	{"numbered, with a gap", numberedNames, func(f *file) { f.names[2], f.names[3] = "W3", "b3" }, Auto,
		[]string{`missing ["W2" "b2"], not expected ["W3" "b3"]`}},

	{"shape", ownFile, func(f *file) { f.set("dense2.weight", arrayOf(tensor.Float64, nil, 3, 5)) }, Auto,
		[]string{`array "dense2.weight": shape (3, 5), expected (3, 2)`}},
	{"bias", ownFile, func(f *file) { f.set("dense1.bias", arrayOf(tensor.Float64, nil, 4)) }, Auto,
		[]string{`array "dense1.bias": shape (4), expected (3)`}},
	{"rank", ownFile, func(f *file) { f.set("dense1.bias", arrayOf(tensor.Float64, nil, 1, 3)) }, Auto,
		[]string{`array "dense1.bias": shape (1, 3), expected (3)`}},
	{"column", ownFile, func(f *file) { f.set("dense1.bias", arrayOf(tensor.Float64, nil, 3, 1)) }, Auto,
		[]string{`array "dense1.bias": shape (3, 1), expected (3)`}},
	{"scalar", ownFile, func(f *file) { f.set("dense1.bias", tensor.New(tensor.FromScalar(1.0))) }, Auto,
		[]string{`array "dense1.bias": shape (), expected (3)`}},
	{"torch, shape", torchNames("0", "3"), func(f *file) { f.set("0.weight", arrayOf(tensor.Float64, nil, 5, 4)) }, Auto,
		[]string{`array "0.weight": shape (5, 4), expected (3, 4) for parameter "dense1.weight"`}},
	{"stated in,out", torchNames("0", "3"), nil, InOut, []string{`array "0.weight": shape (3, 4), expected (4, 3)`}},
	{"stated out,in", ownFile, nil, OutIn, []string{`array "dense1.weight": shape (4, 3), expected (3, 4)`}},
	{"unknown layout", ownFile, nil, "oi", []string{`unknown layout "oi"; known are "in,out", "out,in"`}},
	{"contradiction", ownFile, func(f *file) { f.set("dense2.weight", arrayOf(tensor.Float64, nil, 2, 3)) }, Auto,
		[]string{`"dense1.weight" of shape (4, 3) fits only`, `"dense2.weight" of shape (2, 3) only`, "state the layout"}},

	{"NaN", ownFile, func(f *file) { f.set("dense2.weight", matrix(0, 0, 0, 0, math.NaN())) }, Auto,
		[]string{`array "dense2.weight": element 4 is NaN, expected finite numbers`}},
	{"infinity", ownFile, func(f *file) { f.set("dense2.weight", matrix(math.Inf(-1))) }, Auto,
		[]string{`array "dense2.weight": element 0 is -Inf, expected finite numbers`}},
	{"integers", ownFile, func(f *file) {
		f.set("dense2.bias", tensor.New(tensor.WithShape(2), tensor.WithBacking([]int64{1, 2})))
	}, Auto, []string{`array "dense2.bias": holds int64, expected float32 or float64`}},
}

func ownFile(_ testing.TB, net Network) *file {
	f := &file{}
	for _, p := range net.Params() {
		f.add(p.Name, p.Value)
	}
	return f
}

func TestLoadErrors(t *testing.T) {
	for _, c := range loadErrors {
		for _, dt := range dtypes {
			t.Run(fmt.Sprint(c.name, " ", dt), func(t *testing.T) {
				f := c.write(t, newMLP(t, dt, 1, 4, 3, 2))
				if c.spoil != nil {
					c.spoil(f)
				}
				path := f.write(t)
				refused(t, path, newMLP(t, dt, 2, 4, 3, 2), LoadOptions{c.layout}, append(c.want, path)...)
			})
		}
	}
}

// refused checks that Load fails with one line and changes nothing.
func refused(t *testing.T, path string, net Network, o LoadOptions, want ...string) {
	t.Helper()
	before := values(net)
	oneLine(t, Load(path, net, o), want...)
	if !sameBits(before, values(net)) {
		t.Error("a failed Load changed the network")
	}
}

func TestLoadOverflow(t *testing.T) {
	f := ownFile(t, newMLP(t, tensor.Float64, 1, 4, 3, 2))
	f.set("dense2.weight", matrix(0, 0, 1e39))
	path := f.write(t)
	refused(t, path, newMLP(t, tensor.Float32, 2, 4, 3, 2), LoadOptions{},
		`array "dense2.weight": element 2 is 1e+39, too large for a network of float32`)
	if err := Load(path, newMLP(t, tensor.Float64, 2, 4, 3, 2), LoadOptions{}); err != nil {
		t.Errorf("into float64: %v", err)
	}
}

func TestLoadFolderErrors(t *testing.T) {
	net := newMLP(t, tensor.Float64, 1, 4, 3, 2)
	bias := func(dir string) string { return filepath.Join(dir, "dense2.bias.npy") }
	for _, c := range []struct {
		name  string
		spoil func(dir string) error
		want  string
	}{
		{"missing", func(dir string) error { return os.Remove(bias(dir)) }, `missing ["dense2.bias"]`},
		{"extra", func(dir string) error { return npy.Write(filepath.Join(dir, "x.npy"), matrix()) }, `not expected ["x"]`},
		{"truncated", func(dir string) error { return os.Truncate(bias(dir), 130) }, `dense2.bias.npy: malformed`},
		{"shape", func(dir string) error { return npy.Write(bias(dir), matrix()) },
			`dense2.bias.npy: array "dense2.bias": shape (3, 2), expected (2)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "w")
			if err := Save(dir, net); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			refused(t, dir, newMLP(t, tensor.Float64, 2, 4, 3, 2), LoadOptions{}, dir, c.want)
		})
	}
}

// Without numbers the layers have the order of the archive. A folder has no order.
func TestLoadFolderWithoutOrder(t *testing.T) {
	net := newMLP(t, tensor.Float64, 1, 3, 3, 3)
	f, dir := torchFile(t, net, "hidden", "classifier"), t.TempDir()
	for i, name := range f.names {
		if err := npy.Write(filepath.Join(dir, name+".npy"), f.arrays[i]); err != nil {
			t.Fatal(err)
		}
	}
	other := newMLP(t, tensor.Float64, 2, 3, 3, 3)
	refused(t, dir, other, LoadOptions{}, dir, `the order of the layers ["classifier." "hidden."]`, "use an .npz archive")
	if err := Load(f.write(t), other, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if !sameBits(values(net), values(other)) {
		t.Error("the weights loaded from the archive differ")
	}
}

func TestLoadUnreadable(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.npz")
	if err := os.WriteFile(text, []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	net := newMLP(t, tensor.Float64, 1, 2, 2)
	refused(t, text, net, LoadOptions{}, text, "no zip archive")
	if err := Load(text, net, LoadOptions{}); !errors.Is(err, npy.ErrFormat) {
		t.Errorf("error %v is no npy.ErrFormat", err)
	}
	if err := Load(filepath.Join(dir, "none.npz"), net, LoadOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v is no fs.ErrNotExist", err)
	}
}

// A network that is more than dense layers can be loaded by its own names only.
func TestLoadOtherNetworks(t *testing.T) {
	scaled := func() Network {
		d := NewDense("d", 3, 3, tensor.Float64, newRand(1))
		d.B = NewDense("s", 3, 3, tensor.Float64, newRand(2)).W
		return d
	}
	f := &file{}
	f.add("0.weight", matrix())
	f.add("0.bias", matrix())
	torch := f.write(t)
	refused(t, torch, scaled(), LoadOptions{}, `missing ["d.weight" "s.weight"]`)
	odd := append(params(nil), NewDense("d", 3, 2, tensor.Float64, newRand(1)).Params()...)
	odd = append(odd, one("scale", arrayOf(tensor.Float64, nil, 1))...)
	refused(t, torch, odd, LoadOptions{}, `missing ["d.weight" "d.bias" "scale"]`)
	refused(t, torch, params(nil), LoadOptions{}, `1 dense layers, the network has 0`)
	path := filepath.Join(t.TempDir(), "w.npz")
	if err := Save(path, scaled()); err != nil {
		t.Fatal(err)
	}
	if err := Load(path, scaled(), LoadOptions{}); err != nil {
		t.Error(err)
	}
}

func TestLoadAfterFailureOfLastArray(t *testing.T) {
	net := newMLP(t, tensor.Float64, 1, 4, 3, 2)
	f := ownFile(t, newMLP(t, tensor.Float64, 2, 4, 3, 2))
	f.set("dense2.bias", arrayOf(tensor.Float64, []float64{0, math.NaN()}, 2))
	refused(t, f.write(t), net, LoadOptions{}, `array "dense2.bias": element 1 is NaN`)
}
