package layers

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/npy"
)

// torchForms are the networks of the state dictionaries in the folder of test data, in the
// names of this package.
var torchForms = map[string]Form{
	"mlp_relu": MLP{Inputs: 5, Hidden: []int{16, 16}, Outputs: 2, Activation: "relu"},
	"cnn_small": SequentialForm{Input: []int{1, 8, 8}, Layers: Layers{
		Conv2D{Filters: 6, Kernel: 3, Padding: 1, Bias: true}, BatchNorm{Eps: float64(float32(1e-5))}, Activation("relu"), MaxPool{Size: 2},
		Conv2D{Filters: 12, Kernel: 3, Padding: 1}, BatchNorm{Eps: float64(float32(1e-5))}, Activation("relu"), GlobalAveragePool{},
		DenseLayer{Outputs: 3},
	}},
}

func TestTorchFiles(t *testing.T) {
	for name, form := range torchForms {
		a, err := npy.ReadArchive(filepath.Join("onnx", "testdata", name+".npz"))
		if err != nil {
			t.Fatal(err)
		}
		x, _ := a.Get("x")
		y, _ := a.Get("y")
		for _, ending := range []string{".pt", ".safetensors"} {
			net, err := Build(form, tensor.Float64, newRand(1))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("onnx", "testdata", name+ending)
			if err := Load(path, net, LoadOptions{}); err != nil {
				t.Fatal(err)
			}
			got := forward(t, net, arrayOf(tensor.Float64, floats(x), x.Shape()...))
			for i, want := range floats(y) {
				if math.Abs(got[i]-want) > 1e-9*max(1, math.Abs(want)) {
					t.Fatalf("%s: output %d is %.12g, PyTorch's %.12g", path, i, got[i], want)
				}
			}
			if m, ok := form.(MLP); ok {
				found, err := InferMLP(path, m.Activation, LoadOptions{})
				if err != nil || found.String() != m.String() {
					t.Errorf("%s: inferred %v, error %v", path, found, err)
				}
			}
			other := newMLP(t, tensor.Float64, 1, 4, 3)
			refused(t, path, other, LoadOptions{}, path, map[string]string{
				"mlp_relu": "looks like a perceptron 5-16-16-2", "cnn_small": "convolution 6×1×3×3, batch norm 6",
			}[name], map[string]string{"mlp_relu": "3 dense layers, the network has 1", "cnn_small": `missing ["dense1.weight"`}[name])
		}
	}
}

// renamed is the file of a network in which the layers have other names and another order.
func renamed(net Sequential, order []int, names ...string) *file {
	f := &file{}
	for _, k := range order {
		for _, p := range Arrays(net[k]) {
			_, ending, _ := strings.Cut(p.Name, ".")
			f.add(names[k]+"."+ending, p.Value)
		}
	}
	return f
}

// testNet is conv 4, batch norm, conv 4, batch norm, dense.
func testNet(t testing.TB, seed uint64) Sequential {
	t.Helper()
	net, err := Build(SequentialForm{Input: []int{4, 3, 3}, Layers: Layers{
		Conv2D{Filters: 4, Kernel: 3, Padding: 1}, BatchNorm{}, Conv2D{Filters: 4, Kernel: 3, Padding: 1}, BatchNorm{}, Flatten{},
		DenseLayer{Outputs: 2},
	}}, tensor.Float64, newRand(seed))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Arrays(net) {
		for i, v := range fixture.Normal(newRand(seed+uint64(len(p.Name))), p.Value.Size()) {
			p.Value.Float64s()[i] = v
		}
	}
	return net
}

func allValues(net Network) (all [][]float64) {
	for _, p := range Arrays(net) {
		all = append(all, p.Floats())
	}
	return all
}

func TestLoadRenamedNetwork(t *testing.T) {
	for _, c := range []struct {
		about string
		order []int // of the layers in the file
		names []string
		want  string // in the error; "" for none
	}{
		{"numbered as in nn.Sequential", []int{0, 1, 2, 3, 5}, []string{"0", "1", "4", "5", "", "10"}, ""},
		{"in order", []int{0, 1, 2, 3, 5}, []string{"stem", "norm", "body", "scale", "", "head"}, ""},
		{"around", []int{0, 1, 2, 3, 5}, []string{"module.model.conv1", "module.model.batchnorm1", "module.model.conv2", "module.model.batchnorm2", "", "module.model.dense1"}, ""},
		{"another order", []int{5, 1, 3, 0, 2}, []string{"conv_a1", "bn1", "conv_a2", "bn2", "", "head"}, ""},
		{"another order, not numbered", []int{5, 0, 2, 1, 3}, []string{"stem", "norm", "body", "scale", "", "head"}, `the order of the layers ["norm." "scale."]`},
	} {
		net := testNet(t, 1)
		f := renamed(net, c.order, c.names...)
		for i, name := range f.names {
			if strings.HasSuffix(name, "head.weight") || name == "10.weight" || strings.HasSuffix(name, "dense1.weight") {
				f.arrays[i] = flip(f.arrays[i])
			}
		}
		f.add(strings.Split(f.names[0], ".")[0]+".num_batches_tracked", tensor.New(tensor.FromScalar(int64(7))))
		other := testNet(t, 2)
		path := f.write(t)
		if c.want != "" {
			refused(t, path, other, LoadOptions{}, c.want)
			continue
		}
		if err := Load(path, other, LoadOptions{}); err != nil {
			t.Errorf("%s: %v", c.about, err)
		} else if !slices.EqualFunc(allValues(net), allValues(other), slices.Equal) {
			t.Errorf("%s: the loaded weights differ", c.about)
		}
	}
}

func TestLooksLikeResNet(t *testing.T) {
	f := &file{}
	for _, name := range []string{"conv1", "layer1.0.conv1", "layer1.1.conv1", "layer2.0.conv2", "fc"} {
		f.add(name+".weight", matrix())
	}
	refused(t, f.write(t), newMLP(t, tensor.Float64, 1, 4, 3), LoadOptions{}, "a residual network with stages of 2, 1 blocks")
}

// TestSquareFiles: square weights under the names that Save writes are [out, in] in a file of safetensors, which Save does not write, and
// [in, out] in an archive, which it does; a stated layout counts in both. Numbered weights are [in, out] everywhere.
func TestSquareFiles(t *testing.T) {
	net := newMLP(t, tensor.Float64, 1, 3, 3)
	own, torch, numbered := ownFile(t, net), torchFile(t, net, "dense1"), numberedFile(net)
	for _, c := range []struct {
		about string
		path  string
		o     LoadOptions
	}{
		{"safetensors", torch.writeSafetensors(t), LoadOptions{}},
		{"safetensors, stated", own.writeSafetensors(t), LoadOptions{InOut}},
		{"safetensors, numbered", numbered.writeSafetensors(t), LoadOptions{}},
		{"archive", own.write(t), LoadOptions{}},
		{"archive, stated", torch.write(t), LoadOptions{OutIn}},
		{"archive, numbered", numbered.write(t), LoadOptions{}},
	} {
		other := newMLP(t, tensor.Float64, 2, 3, 3)
		if err := Load(c.path, other, c.o); err != nil {
			t.Errorf("%s: %v", c.about, err)
		} else if !sameBits(values(net), values(other)) {
			t.Errorf("%s: the weights are others", c.about)
		}
	}
}

// writeSafetensors writes the arrays, all float64, as a .safetensors file.
func (f *file) writeSafetensors(t testing.TB) string {
	t.Helper()
	header, data := map[string]any{}, []byte{}
	for i, name := range f.names {
		from := len(data)
		data, _ = binary.Append(data, binary.LittleEndian, f.arrays[i].Float64s())
		header[name] = map[string]any{"dtype": "F64", "shape": f.arrays[i].Shape(), "data_offsets": []int{from, len(data)}}
	}
	text, err := json.Marshal(header)
	path := filepath.Join(t.TempDir(), "w.safetensors")
	if err == nil {
		err = os.WriteFile(path, slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTorchFile: the file's ending tells that it is PyTorch's.
func TestTorchFile(t *testing.T) {
	net := newMLP(t, tensor.Float64, 1, 3, 3)
	for want, f := range map[Layout]*file{OutIn: torchFile(t, net, "dense1"), InOut: numberedFile(net)} {
		w, err := readWeights(f.write(t))
		if err != nil {
			t.Fatal(err)
		}
		w.torch = true
		if _, got, err := w.match(net.Params()); err != nil || got != want {
			t.Errorf("%q: layout %q, error %v, want %q", f.names, got, err, want)
		}
	}
	for _, ending := range []string{".pt", ".safetensors"} {
		w, err := readWeights(filepath.Join("onnx", "testdata", "mlp_relu"+ending))
		if err != nil || !w.torch {
			t.Errorf("%s: %+v, error %v", ending, w, err)
		}
	}
}
