package onnx

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/layers"
)

// documented returns the parts of the networks on the page of the gallery.
func documented(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/gallery.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|[^|\n]*\\|[^|\n]*\\| ([DNA·]*) \\|").FindAllStringSubmatch(string(page), -1) {
		parts[row[1]] = row[2]
	}
	return parts
}

// kinds writes one letter for each part: D for an affine layer, N for a normalisation, A for an activation, and · for
// another part.
func kinds(parts layers.Sequential) (out string) {
	for _, p := range parts {
		switch p.(type) {
		case layers.Affine:
			out += "D"
		case layers.Normaliser:
			out += "N"
		case layers.Site:
			out += "A"
		default:
			out += "·"
		}
	}
	return out
}

// TestDivide: one part after the other computes what the network computes, with its arrays, and the parts are what
// the network was made of.
func TestDivide(t *testing.T) {
	want := documented(t)
	paths, _ := filepath.Glob("testdata/gallery/*.onnx")
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		t.Run(name, func(t *testing.T) {
			o := galleryOptions[name]
			o.Outputs = o.Outputs[:min(1, len(o.Outputs))]
			if len(o.Outputs) == 0 {
				o.Outputs = nil
			}
			f, net := readGallery(t, name+".onnx", o)
			ref, err := npy.ReadArchive(strings.TrimSuffix(path, ".onnx") + ".npz")
			if err != nil {
				t.Fatal(err)
			}
			parts, err := layers.Chain(net, f.Form.Input, tensor.Float64)
			if err != nil {
				t.Fatal(err)
			}
			x := galleryInputs(t, f, ref)
			near(t, "outputs", forward(t, parts, x, tensor.Float64), forward(t, net, x, tensor.Float64), 1e-12)
			if !maps.Equal(arraySet(parts), arraySet(net)) {
				t.Errorf("arrays %v, want %v", layers.Arrays(parts), layers.Arrays(net))
			}
			if got := kinds(parts); got != want[name] {
				t.Errorf("parts %s, the page of the gallery has %q", got, want[name])
			}
			checkAffine(t, parts)
			for _, p := range parts {
				if _, ok := p.(layers.Divisible); ok {
					t.Errorf("a part %v is divisible", p)
				}
			}
		})
	}
}

// arraySet returns the set of the arrays of a network.
func arraySet(net layers.Network) map[*graph.Param]bool {
	set := map[*graph.Param]bool{}
	for _, p := range layers.Arrays(net) {
		set[p] = true
	}
	return set
}

// checkAffine compares affine parts with their own weights handed in, and checks that they are linear in them.
func checkAffine(t *testing.T, parts layers.Sequential) {
	for _, p := range parts {
		a, ok := p.(layers.Affine)
		if !ok {
			continue
		}
		w, bias := a.Weights()
		shape := []int{2, w.Value.Shape()[0]}
		if w.Value.Dims() == 4 {
			shape = []int{2, w.Value.Shape()[1], 5, 5}
		} else if first := p.(interface{ own() []Node }).own()[0]; first.Attributes["transB"].Int == 1 {
			shape[1] = w.Value.Shape()[1]
		}
		if s, ok := a.(filtering); ok && s.own()[0].Attributes["group"].Int > 1 {
			shape[1] = w.Value.Shape()[0]
		}
		v := make([]float64, tensor.Shape(shape).TotalSize())
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		x := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
		out := compute(t, tensor.Float64, x, 2, func(b *graph.Builder, x *graph.Node) []*graph.Node {
			plain, twice := a.Apply(b, x, b.Param(w), nil), a.Apply(b, x, b.Scale(b.Param(w), 2), nil)
			whole := a.Forward(b, x)
			if bias == nil {
				return []*graph.Node{plain, twice, whole, a.Apply(b, x, b.Param(w), nil)}
			}
			return []*graph.Node{plain, twice, whole, a.Apply(b, x, b.Param(w), b.Param(bias))}
		})
		near(t, fmt.Sprint(w.Name, " twice"), out[1], scaled(out[0], 2), 1e-12)
		near(t, fmt.Sprint(w.Name, " applied"), out[3], out[2], 1e-12)
	}
}

func scaled(v []float64, by float64) []float64 {
	out := slices.Clone(v)
	for i := range out {
		out[i] *= by
	}
	return out
}

// TestPlainAffine: a product that is multiplied by a number, or whose outputs share one number of the bias, is no affine layer: methods
// take its outputs for x·W + b.
func TestPlainAffine(t *testing.T) {
	gemm := func(a attributes, bias int) Graph {
		return chain(nodeOf("Gemm", a, "h", "x", "w", "b"), node("Relu", "h", "r"), nodeOf("MatMul", nil, "y", "r", "v")).array("w", 2, 3).array("b", bias).array("v", 3, 2)
	}
	added := func(bias int) Graph {
		g := gemm(nil, bias)
		g.Nodes = append([]Node{nodeOf("MatMul", nil, "p", "x", "w"), nodeOf("Add", nil, "h", "b", "p")}, g.Nodes[1:]...)
		return g
	}
	for _, c := range []struct {
		g    Graph
		want string
	}{
		{gemm(nil, 3), "DAD"}, {gemm(attributes{"alpha": number(1), "beta": number(1)}, 3), "DAD"}, {gemm(attributes{"alpha": number(0.5)}, 3), "·AD"},
		{gemm(attributes{"beta": number(2)}, 3), "·AD"}, {gemm(nil, 1), "·AD"}, {added(3), "DAD"}, {added(1), "·AD"},
		{chain(nodeOf("MatMul", nil, "p", "x", "w"), nodeOf("Add", nil, "y", "p", "b")).array("w", 2).array("b", 1), "·"},
	} {
		net, err := layers.Build(layers.SequentialForm{Input: []int{2}, Layers: layers.Layers{c.g}}, tensor.Float64, nil)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := layers.Chain(net, []int{2}, tensor.Float64)
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds(parts); got != c.want {
			t.Errorf("%v: parts %s, want %s", c.g.Nodes, got, c.want)
		}
	}
}
