package layertest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
	"gorgonia.org/tensor"
)

// trained is a layer with state whose training has the fault that training gives it.
type trained struct {
	Of       string `json:"of"` // the fault
	training func(n trainedNet, b *graph.Builder, x *graph.Node) (*graph.Node, []layers.Update)
	describe func() (layers.Layers, error)
}

func (l trained) Make(m *layers.Maker, in []int) (layers.Network, []int, error) {
	if len(in) != 1 {
		return nil, nil, fmt.Errorf("inputs of shape %v, expected vectors", in)
	}
	return trainedNet{l, m.State(m.Name("", "trained")+".mean", layers.Constant(1), in...)}, in, nil
}

// trainedNet multiplies its inputs by 1.
type trainedNet struct {
	trained
	mean *graph.Param
}

func (n trainedNet) Params() []*graph.Param { return nil }

func (n trainedNet) State() []*graph.Param { return []*graph.Param{n.mean} }

func (n trainedNet) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Mul(x, b.Reshape(b.Param(n.mean), 1, n.mean.Value.Size()))
}

func (n trainedNet) Training(b *graph.Builder, x *graph.Node) (*graph.Node, []layers.Update) {
	return n.training(n, b, x)
}

func (n trainedNet) Describe() (layers.Layers, error) {
	if n.describe == nil {
		return layers.Layers{trained{Of: n.Of}}, nil
	}
	return n.describe()
}

func init() { layers.RegisterLayer[trained]("test-trained") }

// sound moves the state to the mean of the batch.
func sound(n trainedNet, b *graph.Builder, x *graph.Node) (*graph.Node, []layers.Update) {
	mean := b.Scale(b.SumTo(x, 1, x.Shape()[1]), 1/float64(x.Shape()[0]))
	return n.Forward(b, x), []layers.Update{{Param: n.mean, Value: b.Reshape(mean, x.Shape()[1])}}
}

// TestSuiteFindsFaultsOfTraining: what a network does in training, and how it describes itself, is
// checked.
func TestSuiteFindsFaultsOfTraining(t *testing.T) {
	for _, c := range []struct {
		layer trained
		want  string
	}{
		{trained{training: sound}, ""},
		{trained{training: func(n trainedNet, b *graph.Builder, x *graph.Node) (*graph.Node, []layers.Update) {
			y, updates := sound(n, b, x)
			return b.SumTo(y, y.Shape()[0], 1), updates
		}}, "outputs of shape (3, 1), expected [3 4]"},
		{trained{training: func(n trainedNet, b *graph.Builder, x *graph.Node) (*graph.Node, []layers.Update) {
			y, updates := sound(n, b, x)
			updates[0].Param = graph.NewParam("stranger", make([]float64, 4), tensor.Float64, 4)
			return y, updates
		}}, `training updates "stranger", which is not part of the state`},
		{trained{training: func(n trainedNet, b *graph.Builder, x *graph.Node) (*graph.Node, []layers.Update) {
			y, updates := sound(n, b, x)
			updates[0].Value = b.Reshape(updates[0].Value, 2, 2)
			return y, updates
		}}, `training updates "trained1.mean" of shape (4) to shape (2, 2)`},
		{trained{training: func(_ trainedNet, b *graph.Builder, _ *graph.Node) (*graph.Node, []layers.Update) {
			return b.Failf("not in training"), nil
		}}, "batch of 3: not in training"},
		{trained{training: sound, describe: func() (layers.Layers, error) { return layers.Layers{layers.Flatten{}}, nil }}, `array "trained1.mean" has shape (4), by the description []`},
		{trained{training: sound, describe: func() (layers.Layers, error) { return nil, fmt.Errorf("a secret") }}, "a secret"},
	} {
		got := reports(t, layertest.Case{Layer: c.layer, Input: []int{4}}.Check)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("reported\n%s\nwant %q in it", got, c.want)
		}
	}
}

// narrow is a layer for vectors of at least two elements that refuses others with refuse.
type narrow struct{ refuse func(in []int) error }

func (n narrow) Make(_ *layers.Maker, in []int) (layers.Network, []int, error) {
	if len(in) != 1 || in[0] < 2 {
		return nil, nil, n.refuse(in)
	}
	return faultyNet{}, in, nil
}

func init() { layers.RegisterLayer[narrow]("test-narrow") }

// TestSuiteFindsBadRefusals: a layer refuses inputs in one line, and does not panic.
func TestSuiteFindsBadRefusals(t *testing.T) {
	for want, refuse := range map[string]func(in []int) error{
		"":              func(in []int) error { return fmt.Errorf("shape %v", in) },
		`first\nsecond`: func([]int) error { return fmt.Errorf("first\nsecond") },
		"panic: ":       func(in []int) error { panic(in) },
	} {
		got := reports(t, layertest.Case{Layer: narrow{refuse}, Input: []int{4}}.Check)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("reported\n%s\nwant %q in it", got, want)
		}
	}
}

// TestUnknownKinds: a layer that no file can hold is reported.
func TestUnknownKinds(t *testing.T) {
	type hidden struct{ layers.Flatten }
	if got := reports(t, layertest.Case{Layer: hidden{}, Input: []int{4}}.Check); !strings.Contains(got, `unknown kind "layertest_test.hidden" of layer`) {
		t.Errorf("reported\n%s", got)
	}
	if got := reports(t, layertest.Case{Layer: layers.DenseLayer{}, Input: []int{4}}.Check); !strings.Contains(got, "0 outputs, expected at least 1") {
		t.Errorf("reported\n%s", got)
	}
}

// TestColumns: Jacobian rows in PyTorch's order of dense weights become rows in the network's
// order, which a search for each weight shows.
func TestColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	net := layers.Sequential{
		layers.NewConv2D("c", 1, 2, 2, 1, 0, tensor.Float64, rng), layers.NewDense("a", 3, 2, tensor.Float64, rng), layers.NewDense("b", 2, 4, tensor.Float64, rng),
	}
	// A row names each weight by its array and its place in the array, in the network's order.
	var want, torch []float64
	name := 0.0
	for _, p := range net.Params() {
		s := p.Value.Shape()
		own := make([]float64, s.TotalSize())
		for i := range own {
			own[i] = name
			name++
		}
		want = append(want, own...)
		if len(s) != 2 {
			torch = append(torch, own...)
			continue
		}
		for out := range s[1] {
			for in := range s[0] {
				torch = append(torch, own[in*s[1]+out])
			}
		}
	}
	rows := slices.Concat(torch, torch)
	if got := layertest.Columns(t, net, rows); !slices.Equal(got, slices.Concat(want, want)) {
		t.Errorf("%v, want %v twice", got, want)
	}
	got := reports(t, func(t testing.TB) { layertest.Columns(t, net, rows[1:]) })
	if !strings.Contains(got, fmt.Sprintf("%d elements are no rows of %d columns", len(rows)-1, len(want))) {
		t.Errorf("reported %q", got)
	}
}

// TestImages: the networks of the fixtures have the fixtures' arrays, in both element types.
func TestImages(t *testing.T) {
	for _, name := range []string{"conv_cls", "resnet_cls"} {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			a, net := layertest.Images(t, name, dt)
			stored := 0
			for _, key := range a.Names() {
				if strings.HasPrefix(key, "param") || strings.HasPrefix(key, "buf.") {
					stored++
				}
			}
			arrays := layers.Arrays(net)
			if len(arrays) != stored || stored == 0 {
				t.Errorf("%s: %d arrays, the fixture has %d", name, len(arrays), stored)
			}
			for _, p := range arrays {
				if p.Value.Dtype() != dt || slices.ContainsFunc(p.Floats(), func(v float64) bool { return v != v }) {
					t.Errorf("%s: array %q of %v", name, p.Name, p.Value.Dtype())
				}
			}
		}
	}
}
