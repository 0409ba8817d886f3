package layers

import (
	"fmt"
	"path/filepath"
	"testing"

	"gorgonia.org/tensor"
)

func TestInferMLP(t *testing.T) {
	for _, c := range []struct {
		name   string
		widths []int
		write  writer
		layout Layout
		want   string
	}{
		{"own", []int{4, 3, 2}, ownFile, Auto, "{4 [3] 2 relu}"},
		{"own, stated", []int{4, 3, 2}, ownFile, InOut, "{4 [3] 2 relu}"},
		{"own, one layer", []int{4, 1}, ownFile, Auto, "{4 [] 1 relu}"},
		{"own, square", []int{3, 3, 3, 3}, ownFile, Auto, "{3 [3 3] 3 relu}"},
		{"torch", []int{4, 3, 5, 2}, torchNames("0", "10", "20"), Auto, "{4 [3 5] 2 relu}"},
		{"torch, stated", []int{4, 3, 2}, torchNames("0", "3"), OutIn, "{4 [3] 2 relu}"},
		{"torch, square", []int{3, 3}, torchNames("0"), Auto, "{3 [] 3 relu}"},
		{"numbered", []int{1, 50, 50, 1}, numberedNames, Auto, "{1 [50 50] 1 relu}"},
		{"numbered, transposed", []int{1, 5, 1}, flipped(numberedNames), Auto, "{1 [5] 1 relu}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			net := newMLP(t, tensor.Float64, 1, c.widths...)
			path, o := c.write(t, net).write(t), LoadOptions{c.layout}
			m, err := InferMLP(path, "relu", o)
			type fields MLP // without String, which does not show the activation of one layer
			if err != nil || fmt.Sprint(fields(m)) != c.want {
				t.Fatalf("%v and error %v, want %s", m, err, c.want)
			}
			other, err := m.New(tensor.Float64, newRand(2))
			if err != nil {
				t.Fatal(err)
			}
			if err := Load(path, other, o); err != nil {
				t.Fatal(err)
			}
			if !sameBits(values(net), values(other)) {
				t.Error("the weights differ")
			}
		})
	}
}

func TestInferMLPErrors(t *testing.T) {
	zeros := func(shape ...int) *tensor.Dense { return arrayOf(tensor.Float64, nil, shape...) }
	for _, c := range []struct {
		name   string
		spoil  func(f *file)
		layout Layout
		want   string
	}{
		{"nothing", func(f *file) { *f = file{} }, Auto, "there are 0 arrays"},
		{"other names", func(f *file) { *f = file{[]string{"x"}, f.arrays[:1]} }, Auto, `nor W1 and b1; there are 1 arrays: ["x"]`},
		{"missing", func(f *file) { f.remove("dense1.bias") }, Auto, `missing ["dense1.bias"]`},
		{"extra", func(f *file) { f.add("x", zeros(1)) }, Auto, `not expected ["x"]`},
		{"rank", func(f *file) { f.set("dense1.weight", zeros(4, 3, 3, 3)) }, Auto,
			`array "dense1.weight": shape (4, 3, 3, 3), expected two axes`},
		{"bias", func(f *file) { f.set("dense1.bias", zeros(7)) }, Auto,
			`array "dense1.bias": shape (7), expected (4) or (3) beside "dense1.weight" of shape (4, 3)`},
		{"bias as a row", func(f *file) { f.set("dense1.bias", zeros(1, 3)) }, Auto, `array "dense1.bias": shape (1, 3), expected (4) or (3)`},
		{"chain", func(f *file) { f.set("dense2.weight", zeros(7, 2)) }, Auto,
			`array "dense2.weight": shape (7, 2), expected 3 inputs, the outputs of "dense1.weight"`},
		{"stated", func(*file) {}, OutIn, `array "dense1.bias": shape (3), expected (4) for the layout "out,in"`},
		{"unknown layout", func(*file) {}, "x", `unknown layout "x"`},
		{"contradiction", func(f *file) { f.set("dense2.weight", zeros(2, 3)) }, Auto,
			`"dense1.weight" of shape (4, 3) fits only the layout "in,out" but array "dense2.weight" of shape (2, 3) only "out,in"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := ownFile(t, newMLP(t, tensor.Float64, 1, 4, 3, 2))
			c.spoil(f)
			m, err := InferMLP(f.write(t), "tanh", LoadOptions{c.layout})
			oneLine(t, err, c.want)
			if fmt.Sprint(m) != fmt.Sprint(MLP{}) {
				t.Errorf("with the error comes %v", m)
			}
		})
	}
}

func TestInferMLPChecksActivation(t *testing.T) {
	path := ownFile(t, newMLP(t, tensor.Float64, 1, 4, 3, 2)).write(t)
	_, err := InferMLP(path, "swish", LoadOptions{})
	oneLine(t, err, `unknown activation "swish"`)
	_, err = InferMLP(filepath.Join(t.TempDir(), "none.npz"), "tanh", LoadOptions{})
	oneLine(t, err, "none.npz")
}
