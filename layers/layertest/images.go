package layertest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Images loads a fixture of an image classifier, conv_cls or one of ResNets, and
// returns it with its network, of the element type dt.
func Images(t testing.TB, name string, dt tensor.Dtype) (fixture.Arrays, layers.Sequential) {
	t.Helper()
	a := fixture.Load(t, name)
	values := map[string]*tensor.Dense{}
	for _, key := range a.Names() {
		if m := stored.FindStringSubmatch(key); m != nil {
			values[m[1]] = a.Dense(t, key)
		}
	}
	net := network(t, values, dt)
	for _, p := range layers.Arrays(net) {
		v := values[p.Name]
		if v == nil {
			t.Fatalf("fixture %s has no array for %q", name, p.Name)
		}
		set(t, p, v)
		delete(values, p.Name)
	}
	for key := range values {
		t.Fatalf("fixture %s: the network has no array %q", name, key)
	}
	return a, net
}

// stored matches param07.NAME and buf.NAME.
var stored = regexp.MustCompile(`^(?:param[0-9]+|buf)\.(.*)$`)

// set copies v, in PyTorch's layout, into p.
func set(t testing.TB, p *graph.Param, v *tensor.Dense) {
	if v.Dims() == 2 {
		if err := v.T(); err != nil {
			t.Fatal(err)
		}
		v = v.Materialize().(*tensor.Dense)
	}
	for i, x := range v.Float64s() {
		p.Set(i, x)
	}
	if p.Value.Shape().TotalSize() != len(v.Float64s()) {
		t.Fatalf("array for %q has shape %v, expected %v", p.Name, v.Shape(), p.Value.Shape())
	}
}

// network returns the fixture's network with other values: a ResNet, or
//
//	h = relu(bn1(conv1(x))),  fc(mean(relu(bn2(conv2(h))) + short(h)))
func network(t testing.TB, values map[string]*tensor.Dense, dt tensor.Dtype) layers.Sequential {
	out := values["fc.weight"].Shape()[0]
	if values["short.weight"] == nil {
		spec := layers.ResNet{Channels: values["conv1.weight"].Shape()[1], Blocks: blocks(values), Shortcut: layers.Projection, Outputs: out}
		return build(t, spec, dt)
	}
	conv := func(name string, stride, padding int) layers.Conv2D {
		s := values[name+".weight"].Shape()
		return layers.Conv2D{Name: name, Filters: s[0], Kernel: s[2], Stride: stride, Padding: padding, Bias: values[name+".bias"] != nil}
	}
	norm := func(name string) layers.Layer { return layers.BatchNorm{Name: name} }
	x := values["conv1.weight"].Shape()
	return build(t, layers.SequentialForm{Input: []int{x[1], 8, 8}, Layers: layers.Layers{
		conv("conv1", 1, 1), norm("bn1"), layers.Activation("relu"),
		layers.ResidualLayer{
			Inner:    layers.Layers{conv("conv2", 2, 1), norm("bn2"), layers.Activation("relu")},
			Shortcut: layers.Layers{conv("short", 2, 0)},
		},
		layers.GlobalAveragePool{}, layers.DenseLayer{Name: "fc", Outputs: out},
	}}, dt)
}

// blocks counts the blocks of each stage by their names, layerS.I.….
func blocks(values map[string]*tensor.Dense) []int {
	var n []int
	for name := range values {
		part := strings.Split(strings.TrimPrefix(name, "layer"), ".")
		s, err := strconv.Atoi(part[0])
		if err != nil {
			continue
		}
		i, err := strconv.Atoi(part[1])
		if err != nil {
			continue
		}
		for len(n) < s {
			n = append(n, 0)
		}
		n[s-1] = max(n[s-1], i+1)
	}
	return n
}

// Columns brings Jacobian rows [n,P] in PyTorch's order of the columns, dense weights
// as [out,in], into the order of the network's parameters.
func Columns(t testing.TB, net layers.Network, rows []float64) []float64 {
	t.Helper()
	var order []int
	for _, p := range net.Params() {
		from, s := len(order), p.Value.Shape()
		for k := range s.TotalSize() {
			if len(s) == 2 {
				k = k%s[1]*s[0] + k/s[1]
			}
			order = append(order, from+k)
		}
	}
	if len(rows)%len(order) != 0 {
		t.Fatalf("%d elements are no rows of %d columns", len(rows), len(order))
	}
	out := make([]float64, len(rows))
	for i := range rows {
		r := i - i%len(order)
		out[i] = rows[r+order[i-r]]
	}
	return out
}
