package jacobian_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// recurring is a recurrent layer, of which a dense layer reads the last hidden values.
type recurring struct {
	layers.Dense // of the outputs
	cell         graph.Cell
	reverse      bool
	w, r, c      *graph.Param
}

func newRecurring(cell graph.Cell, reverse bool, inputs, units, outputs int) recurring {
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(name string, shape ...int) *graph.Param {
		v := make([]float64, tensor.Shape(shape).TotalSize())
		for i := range v {
			v[i] = rng.NormFloat64() / math.Sqrt(float64(units))
		}
		return graph.NewParam(name, v, tensor.Float64, shape...)
	}
	rows := cell.Gates() * units
	return recurring{layers.NewDense("head", units, outputs, tensor.Float64, rng), cell, reverse, normal("w", inputs, rows), normal("r", rows, units), normal("c", rows)}
}

func (n recurring) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	states := b.Recurrence(n.cell, n.reverse, b.MatMul(x, b.Param(n.w), false, false), b.Param(n.r), b.Param(n.c), nil)
	if b.Err() != nil {
		return nil
	}
	s, at := states.Shape(), states.Shape()[1]-1
	if n.reverse {
		at = 0
	}
	last := b.Reshape(b.Slice(states, 1, at, at+1), s[0], s[2])
	return n.Dense.Forward(b, b.Slice(last, 1, 0, s[2]/n.cell.States()))
}

func (n recurring) Params() []*graph.Param {
	return append([]*graph.Param{n.w, n.r, n.c}, n.Dense.Params()...)
}

// kernels writes the outputs of net, the variances, the kernel with m inducing inputs and its gradient for them.
func kernels(net layers.Network, dense bool, batch, m int, shape ...int) (b *graph.Builder, x, z *graph.Node, out []*graph.Node) {
	b = graph.NewBuilder(tensor.Float64)
	x, z = b.Input("x", append([]int{batch}, shape...)...), b.Input("z", append([]int{m}, shape...)...)
	k, class := jacobian.NTK{Net: net, Dense: dense}, make([]int, m)
	out = []*graph.Node{net.Forward(b, x), k.Variances(b, x), k.Diag(b, x), k.Cross(b, x, z, class), k.Gram(b, z, class)}
	var ones []*graph.Node
	for _, y := range out[3:] {
		if b.Err() == nil {
			ones = append(ones, b.Fill(1, y.Shape()...))
		}
	}
	return b, x, z, append(out, graph.VJP(b, out[3:], ones, []*graph.Node{z})[0])
}

// sameKernels compares the kernels of a network with the kernels of dense rows, at inputs that draw makes.
func sameKernels(t *testing.T, net layers.Network, draw func(rng *rand.Rand) float64, shape ...int) {
	t.Helper()
	const batch, m = 3, 2
	rng := rand.New(rand.NewPCG(3, 4))
	inputs := func(rows int) *tensor.Dense {
		v := make([]float64, rows*tensor.Shape(shape).TotalSize())
		for i := range v {
			v[i] = draw(rng)
		}
		return tensor.New(tensor.WithShape(append([]int{rows}, shape...)...), tensor.WithBacking(v))
	}
	xs, zs := inputs(batch), inputs(m)
	var values [2][][]float64
	for d, dense := range []bool{false, true} {
		b, x, z, out := kernels(net, dense, batch, m, shape...)
		p := compile(t, b, out...)
		if err := cmp.Or(p.p.Bind(x, xs), p.p.Bind(z, zs)); err != nil {
			t.Fatal(err)
		}
		values[d] = p.run(t)
	}
	for k, what := range []string{"outputs", "variances", "Diag", "Cross", "Gram", "gradient"} {
		near(t, what, values[0][k], values[1][k], 1e-12)
	}
	b := graph.NewBuilder(tensor.Float64)
	for _, p := range (jacobian.NTK{Net: net}).FormedDensely(b, b.Input("x", append([]int{2}, shape...)...)) {
		t.Errorf("%s has dense rows", p.Name)
	}
}

// TestRecurrent: kernels of recurrent networks, and their gradients, are the kernels of dense rows.
func TestRecurrent(t *testing.T) {
	for i, cell := range []graph.Cell{graph.LSTM, graph.GRU, graph.RNN, graph.RNNReLU} {
		t.Run(string(cell), func(t *testing.T) {
			sameKernels(t, newRecurring(cell, i%2 == 1, 2, 3, 2), (*rand.Rand).NormFloat64, 4, 2)
		})
	}
}

// TestSteps: rows of weights that all steps share, and of tables of tokens, are not formed where the sequences are
// short or the table is long, and the kernels are the same.
func TestSteps(t *testing.T) {
	tokens := func(rng *rand.Rand) float64 { return float64(rng.IntN(4)*17 - 30) }
	for name, c := range map[string]struct {
		input []int
		draw  func(rng *rand.Rand) float64
		list  layers.Layers
	}{
		"dense":  {[]int{3, 30}, (*rand.Rand).NormFloat64, layers.Layers{layers.DenseLayer{Outputs: 30}, layers.Activation("tanh"), layers.Flatten{}, layers.DenseLayer{Outputs: 6}}},
		"tokens": {[]int{3}, tokens, layers.Layers{layers.Embedding{Rows: 60, Width: 2}, layers.Activation("tanh"), layers.Flatten{}, layers.DenseLayer{Outputs: 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			net, err := layers.Build(layers.SequentialForm{Input: c.input, Layers: c.list}, tensor.Float64, rand.New(rand.NewPCG(1, 2)))
			if err != nil {
				t.Fatal(err)
			}
			sameKernels(t, net, c.draw, c.input...)
			b, _, _, out := kernels(net, false, 3, 2, c.input...)
			for _, n := range graph.Ancestors(out[1:5]...) {
				_, steps := graph.StepRows(n)
				if _, tables := graph.TokenRows(b, n); steps || tables {
					t.Errorf("rows of shape %v are formed", n.Shape())
				}
			}
		})
	}
}

// TestRecurrentCost: the step of a fit takes time and memory that are linear in the number of steps, in as many
// nodes.
func TestRecurrentCost(t *testing.T) {
	net := newRecurring(graph.LSTM, false, 8, 32, 2)
	var nodes, flops, bytes []float64
	lengths := []int{10, 50, 200}
	for _, steps := range lengths {
		b, x, z, out := kernels(net, false, 32, 20, steps, 8)
		p, err := graph.Compile(b, out, graph.Options{Varying: []*graph.Node{x, z}})
		if err != nil {
			t.Fatal(err)
		}
		_, each := p.Flops()
		nodes, flops, bytes = append(nodes, float64(len(b.Graph().AllNodes()))), append(flops, float64(each)), append(bytes, float64(p.Bytes()))
	}
	for i := range lengths[1:] {
		exponent := func(v []float64) float64 {
			return math.Log(v[i+1]/v[i]) / math.Log(float64(lengths[i+1])/float64(lengths[i]))
		}
		if exponent(flops) > 1.1 || exponent(bytes) > 1.1 || nodes[i+1] != nodes[i] {
			t.Errorf("%d to %d steps: exponents %.2f of the time, %.2f of the memory; %g and %g nodes",
				lengths[i], lengths[i+1], exponent(flops), exponent(bytes), nodes[i], nodes[i+1])
		}
		t.Logf("%d to %d steps: exponents %.2f of the time, %.2f of the memory", lengths[i], lengths[i+1], exponent(flops), exponent(bytes))
	}
}

// TestSequences: no layer of sequences needs dense rows.
func TestSequences(t *testing.T) {
	net, err := layers.Build(layers.SequentialForm{Input: []int{5}, Layers: layers.Layers{
		layers.Embedding{Rows: 9, Width: 4},
		layers.ResidualLayer{Inner: layers.Layers{layers.LayerNorm{}, layers.Attention{Heads: 2, Causal: true}}},
		layers.ResidualLayer{Inner: layers.Layers{layers.RMSNorm{}, layers.DenseLayer{Outputs: 8}, layers.Activation("gelu"), layers.DenseLayer{Outputs: 4}}},
		layers.Recurrent{Cell: "gru", Units: 3, Layers: 2, Bidirectional: true}, layers.BatchNorm{}, layers.PoolSteps{Take: "mean"}, layers.DenseLayer{Outputs: 2},
	}}, tensor.Float64, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(tensor.Float64)
	for _, p := range (jacobian.NTK{Net: net}).FormedDensely(b, b.Input("x", 2, 5)) {
		t.Errorf("%s has dense rows", p.Name)
	}
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
}
