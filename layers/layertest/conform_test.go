package layertest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
)

// gain is a layer from outside the package layers: it multiplies its input by a number
// that is trained.
type gain struct {
	Start float64 `json:"start,omitempty"` // value of the number; 0: 1
}

func (g gain) Make(m *layers.Maker, in []int) (layers.Network, []int, error) {
	start := g.Start
	if start == 0 {
		start = 1
	}
	return gainNet{m.Param(m.Name("", "gain")+".weight", layers.Constant(start), 1)}, in, nil
}

type gainNet struct{ factor *graph.Param }

func (g gainNet) Params() []*graph.Param { return []*graph.Param{g.factor} }

func (g gainNet) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	ones := make([]int, x.Dims())
	for i := range ones {
		ones[i] = 1
	}
	return b.Mul(x, b.Reshape(b.Param(g.factor), ones...))
}

// scaledMLP is a form from outside the package layers: a perceptron with a gain on each
// output.
type scaledMLP struct {
	layers.MLP
	Gain float64 `json:"gain"`
}

func (s scaledMLP) Structure() (layers.Layers, error) {
	if s.Gain <= 0 {
		return nil, fmt.Errorf("gain %g, expected more than 0", s.Gain)
	}
	list, err := s.MLP.Structure()
	return append(list, gain{Start: s.Gain}), err
}

func (s scaledMLP) String() string { return fmt.Sprintf("%v, gain %g", s.MLP, s.Gain) }

func init() {
	layers.RegisterLayer[gain]("test-gain")
	layers.Register[scaledMLP]("test-scaled-mlp")
	layers.RegisterLayer[faulty]("test-faulty")
	layers.Register[twoLines]("test-two-lines")
}

func TestLayerFromOutside(t *testing.T) {
	naive := func(net layers.Network, x []float64) []float64 {
		for i := range x {
			x[i] *= net.Params()[0].At(0)
		}
		return x
	}
	layertest.Conform(t, []layertest.Case{
		{Name: "gain", Layer: gain{Start: 2}, Input: []int{5}, Naive: naive},
		{Name: "gain of images", Layer: gain{}, Input: []int{2, 3, 4}, Naive: naive},
		{Name: "gain in a residual layer", Layer: layers.ResidualLayer{Inner: layers.Layers{gain{}, gain{Start: 3}}}, Input: []int{5}},
	})
}

func TestFormFromOutside(t *testing.T) {
	form := scaledMLP{layers.MLP{Inputs: 2, Hidden: []int{4}, Outputs: 3, Activation: "tanh"}, 0.5}
	layertest.ConformForms(t, []layers.Form{form})
	data, err := layers.MarshalForm(form)
	want := `{"kind":"test-scaled-mlp","inputs":2,"hidden":[4],"outputs":3,"activation":"tanh","gain":0.5}`
	if err != nil || string(data) != want {
		t.Errorf("MarshalForm %s, error %v, want %s", data, err, want)
	}
	form.Gain = -1
	if err := layers.Check(form); err == nil || err.Error() != "layers: test-scaled-mlp: gain -1, expected more than 0" {
		t.Errorf("Check: %v", err)
	}
}

// faulty is a layer with the fault that its functions give it. In a file it loses them.
type faulty struct {
	Of      string `json:"of"` // the fault
	forward func(b *graph.Builder, x *graph.Node) *graph.Node
	make    func(m *layers.Maker, in []int) ([]*graph.Param, []int)
}

func (f faulty) Make(m *layers.Maker, in []int) (layers.Network, []int, error) {
	net, out := faultyNet{forward: f.forward}, in
	if f.make != nil {
		net.params, out = f.make(m, in)
	}
	return net, out, nil
}

type faultyNet struct {
	params  []*graph.Param
	forward func(b *graph.Builder, x *graph.Node) *graph.Node
}

func (f faultyNet) Params() []*graph.Param { return f.params }

func (f faultyNet) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	switch {
	case f.forward != nil:
		return f.forward(b, x)
	case len(f.params) > 0: // the graph does not know that this is the parameter
		return b.Mul(x, b.Param(&graph.Param{Name: "alias", Value: f.params[0].Value}))
	}
	return b.Scale(x, 2)
}

// broken are layers with one fault each, for inputs [4], and what the suite must say.
var broken = []struct {
	faulty
	want string
}{
	{faulty{Of: "test-mixes", forward: func(b *graph.Builder, x *graph.Node) *graph.Node {
		return b.Sub(x, b.SumTo(x, 1, x.Shape()[1]))
	}}, "alone and in a batch"},
	{faulty{Of: "test-other-shape", forward: func(b *graph.Builder, x *graph.Node) *graph.Node {
		return b.Reshape(x, x.Shape()[0], x.Shape()[1], 1)
	}}, "outputs of shape (1, 4, 1), expected [1 4]"},
	{faulty{Of: "test-refuses", forward: func(b *graph.Builder, _ *graph.Node) *graph.Node { return b.Failf("no") }}, "batch of 1: no"},
	{faulty{Of: "test-value", forward: func(b *graph.Builder, x *graph.Node) *graph.Node { return b.Scale(x, 2.0001) }}, "plain loops"},
	{faulty{Of: "test-imprecise", forward: func(b *graph.Builder, x *graph.Node) *graph.Node {
		return b.Affine(b.Mul(b.Affine(x, 1, 1e3), b.Affine(x, 1, -1e3)), 1, 1e6) // x²
	}}, "float32 and float64 outputs"},
	{faulty{Of: "test-loses-settings", forward: func(b *graph.Builder, x *graph.Node) *graph.Node { return b.Scale(x, 3) }}, "has other outputs"},
	{faulty{Of: "test-same-names", make: func(m *layers.Maker, in []int) ([]*graph.Param, []int) {
		p := m.Param("p", layers.Constant(1), 1)
		return []*graph.Param{p, {Name: p.Name, Value: p.Value}}, in
	}}, `two arrays are called "p"`},
	{faulty{Of: "test-hides-parameter", make: func(m *layers.Maker, in []int) ([]*graph.Param, []int) {
		m.Param("p", layers.Constant(1), 2)
		return nil, in
	}}, "the network has 0 parameters, counted without building it 2"},
	{faulty{Of: "test-gradient", make: func(m *layers.Maker, in []int) ([]*graph.Param, []int) {
		return []*graph.Param{m.Param("p", layers.Constant(1), 1)}, in
	}}, "first derivatives: slope"},
	{faulty{Of: "test-stated-shape", make: func(_ *layers.Maker, in []int) ([]*graph.Param, []int) { return nil, in[:1] }},
		"outputs of shape (2, 3, 4), expected [2 3]"},
	{faulty{Of: "test-panics", make: func(_ *layers.Maker, in []int) ([]*graph.Param, []int) { return nil, [][]int{nil, in}[len(in)] }},
		"panic: runtime error: index out of range"},
}

func TestSuiteFindsFaults(t *testing.T) {
	double := func(_ layers.Network, x []float64) []float64 {
		for i := range x {
			x[i] *= 2
		}
		return x
	}
	for _, c := range broken {
		got := reports(t, layertest.Case{Layer: c.faulty, Input: []int{4}, Naive: double}.Check)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: reported\n%s\nwant %q in it", c.Of, got, c.want)
		}
	}
	if got := reports(t, layertest.Case{Layer: faulty{Of: "test-loses-settings"}, Input: []int{4}, Naive: double}.Check); got != "" {
		t.Errorf("reported of a layer without fault:\n%s", got)
	}
}

// twoLines is a form that has two lines of text, and loses them in a file.
type twoLines struct {
	layers.MLP
	text string
}

func (f twoLines) String() string { return f.text + f.MLP.String() }

func TestSuiteFindsFaultsOfForms(t *testing.T) {
	f := twoLines{layers.MLP{Inputs: 1, Outputs: 1}, "a\n"}
	got := reports(t, func(t testing.TB) { layertest.CheckForm(t, f) })
	for _, want := range []string{"expected one short line", "is read back as 1-1"} {
		if !strings.Contains(got, want) {
			t.Errorf("reported\n%s\nwant %q in it", got, want)
		}
	}
}

// recorder collects what a check reports.
type recorder struct {
	testing.TB
	reports []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// reports runs a check that may stop half way.
func reports(t *testing.T, check func(t testing.TB)) string {
	r, done := &recorder{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		check(r)
	}()
	<-done
	return strings.Join(r.reports, "\n")
}
