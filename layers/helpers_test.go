package layers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
)

var dtypes = []tensor.Dtype{tensor.Float32, tensor.Float64}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// newMLP returns a tanh network of the given widths, from input to output.
func newMLP(t testing.TB, dt tensor.Dtype, seed uint64, widths ...int) Sequential {
	t.Helper()
	last := len(widths) - 1
	m := MLP{Inputs: widths[0], Hidden: widths[1:last], Outputs: widths[last], Activation: "tanh"}
	net, err := m.New(dt, newRand(seed))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func arrayOf(dt tensor.Dtype, v []float64, shape ...int) *tensor.Dense {
	d := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	for i, x := range v {
		if dt == tensor.Float64 {
			d.Float64s()[i] = x
		} else {
			d.Float32s()[i] = float32(x)
		}
	}
	return d
}

func floats(d *tensor.Dense) []float64 {
	if d.Dtype() == tensor.Float64 {
		return slices.Clone(d.Float64s())
	}
	var out []float64
	for _, x := range d.Float32s() {
		out = append(out, float64(x))
	}
	return out
}

// forward returns net(x) through a compiled graph, row-major.
func forward(t testing.TB, net Network, x *tensor.Dense) []float64 {
	t.Helper()
	b := graph.NewBuilder(x.Dtype())
	in := b.Input("x", x.Shape()...)
	return compute(t, b, net.Forward(b, in), map[*graph.Node]*tensor.Dense{in: x})
}

func compute(t testing.TB, b *graph.Builder, y *graph.Node, in map[*graph.Node]*tensor.Dense) []float64 {
	t.Helper()
	p, err := graph.Compile(b, []*graph.Node{y}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for leaf, v := range in {
		if err := p.Bind(leaf, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return floats(p.Value(y))
}

// values copies all parameters, one slice each.
func values(net Network) [][]float64 {
	var all [][]float64
	for _, p := range net.Params() {
		all = append(all, floats(p.Value))
	}
	return all
}

// sameBits compares by bits, so that −0 is not 0 and a NaN is itself.
func sameBits(a, b [][]float64) bool {
	equal := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
	return slices.EqualFunc(a, b, func(x, y []float64) bool { return slices.EqualFunc(x, y, equal) })
}

// file is an archive in the making.
type file struct {
	names  []string
	arrays []*tensor.Dense
}

func (f *file) add(name string, a *tensor.Dense) {
	f.names = append(f.names, name)
	f.arrays = append(f.arrays, a)
}

// write stores the archive in a new folder and returns its path.
func (f *file) write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.npz")
	if err := npy.WriteArchive(path, f.names, f.arrays); err != nil {
		t.Fatal(err)
	}
	return path
}

// torchFile writes the dense layers of net as PyTorch does: prefix.weight [out,
// in], prefix.bias.
func torchFile(t testing.TB, net Network, prefixes ...string) *file {
	t.Helper()
	f := &file{}
	for i, p := range net.Params() {
		prefix, v := prefixes[i/2], p.Value
		if i%2 == 0 {
			f.add(prefix+".weight", flip(v))
		} else {
			f.add(prefix+".bias", v)
		}
	}
	return f
}

// flip returns the transpose of a matrix, element by element.
func flip(w *tensor.Dense) *tensor.Dense {
	r, c := w.Shape()[0], w.Shape()[1]
	v, out := floats(w), make([]float64, r*c)
	for i := range r {
		for j := range c {
			out[j*r+i] = v[i*c+j]
		}
	}
	return arrayOf(w.Dtype(), out, c, r)
}

// numberedFile writes the dense layers of net as W1, b1, … in the memory layout.
func numberedFile(net Network) *file {
	f := &file{}
	for i, p := range net.Params() {
		f.add(fmt.Sprint("Wb"[i%2:i%2+1], i/2+1), p.Value)
	}
	return f
}
