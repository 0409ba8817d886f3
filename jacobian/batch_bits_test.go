package jacobian_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// batchCase is a network whose rows are computed in batches of several sizes.
type batchCase struct {
	name    string
	input   []int // shape of an example
	outputs int
	make    func(m *maker) formula
}

func batchCases() []batchCase {
	wide := func(activation layers.Activation, width int) func(m *maker) formula {
		return func(m *maker) formula {
			return chain(m.dense("a", 11, width), activation.Forward, m.dense("b", width, width), activation.Forward, m.dense("c", width, m.outputs))
		}
	}
	return []batchCase{
		{"perceptron of one output", []int{11}, 1, wide("tanh", 50)},
		{"perceptron of three outputs", []int{11}, 3, wide("softplus", 100)},
		{"wide layer", []int{11}, 2, func(m *maker) formula {
			return chain(m.dense("a", 11, 530), (*builder).Tanh, m.dense("b", 530, m.outputs))
		}},
		{"convolutions", []int{2, 12, 12}, 3, func(m *maker) formula {
			last := m.dense("out", 4*3*3, m.outputs)
			return chain(m.conv("a", 2, 4, 3, 1, 1).Forward, (*builder).Tanh, layers.MaxPool{Size: 2, Stride: 2}.Forward,
				m.conv("b", 4, 4, 3, 2, 1).Forward, (*builder).Tanh, layers.Flatten{}.Forward, last)
		}},
		{"residual network", []int{3, 8, 8}, 4, func(m *maker) formula {
			block := layers.Residual{Inner: layers.Sequential{
				m.conv("a", 16, 16, 3, 1, 1), m.norm("an", 16), layers.Activation("relu"), m.conv("b", 16, 16, 3, 1, 1), m.norm("bn", 16)}}
			return layers.Sequential{m.conv("in", 3, 16, 3, 1, 1), m.norm("n", 16), layers.Activation("relu"), block, layers.Activation("relu"),
				layers.GlobalAveragePool{}, layers.Dense{W: m.param("w", 16, m.outputs), B: m.param("bias", m.outputs)}}.Forward
		}},
		{"attention", []int{6, 8}, 2, attention},
	}
}

// attention is a block of self-attention on six tokens of eight features with layer norm.
func attention(m *maker) formula {
	q, k, v := m.param("q", 8, 8), m.param("k", 8, 8), m.param("v", 8, 8)
	gain, last := m.positive("gain", 8), m.dense("out", 48, m.outputs)
	return func(b *builder, x *node) *node {
		times := func(p *graph.Param) *node { return b.MatMul(x, b.Param(p), false, false) }
		weights := b.Softmax(b.Scale(b.MatMul(times(q), times(k), false, true), 0.35))
		h := b.Add(x, b.MatMul(weights, times(v), false, false))
		centred := b.Sub(h, b.Scale(b.SumAxis(h, 2), 1.0/8))
		h = b.Mul(b.Div(centred, b.Sqrt(b.Affine(b.SumAxis(b.Square(centred), 2), 1.0/8, 1e-5))), b.Param(gain))
		return last(b, b.Reshape(b.GELU(h), h.Shape()[0], 48))
	}
}

// batchOutputs are what methods compute for a row.
var batchOutputs = []string{"outputs", "Diag", "Variances", "Cross", "Rows", "Along forwards", "Along in reverse"}

// batchValues computes all of batchOutputs of the rows of x in batches of a size, rotated by a number
// of rows: for each output, the values of each row.
func batchValues(t *testing.T, c batchCase, net network, dt tensor.Dtype, x, z *tensor.Dense, size, rotated int) [][][]float64 {
	t.Helper()
	b := graph.NewBuilder(dt)
	in := b.Input("x", append([]int{size}, c.input...)...)
	k := jacobian.NTK{Net: net}
	class := make([]int, z.Shape()[0])
	for i := range class {
		class[i] = i % c.outputs
	}
	p := 0
	for _, w := range net.params {
		p += w.Value.Shape().TotalSize()
	}
	directions := func(n int) *tensor.Dense {
		return graph.NewParam("v", fixture.Normal(rand.New(rand.NewPCG(3, 3)), n*p), dt, n, p).Value
	}
	out := net.Forward(b, in)
	var rows []*node
	for _, r := range k.Rows(b, in) {
		rows = append(rows, b.Reshape(r, size, r.Shape().TotalSize()/size))
	}
	nodes := []*node{out, k.Diag(b, in), k.Variances(b, in), k.Cross(b, in, small.Given(b, "z", z), class),
		b.Concat(1, rows...), jacobian.Along(b, net, in, out, directions(1)), jacobian.Along(b, net, in, out, directions(c.outputs+1))}
	f, err := graph.NewBatchWithin(0, b, in, nodes...)
	if err != nil {
		t.Fatal(err)
	}
	all, n, width := graph.Floats(x), x.Shape()[0], f.Width()
	values := make([][][]float64, len(nodes))
	for i := range values {
		values[i] = make([][]float64, n)
	}
	for first := 0; first < n; first += size {
		var some []float64
		count := min(size, n-first)
		for r := range count {
			at := (first + r + rotated) % n
			some = append(some, all[at*width:(at+1)*width]...)
		}
		got, err := f.Run(some)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			flat, each := graph.Floats(v), v.Shape().TotalSize()/size
			for r := range count {
				values[i][(first+r+rotated)%n] = slices.Clone(flat[r*each : (r+1)*each])
			}
		}
	}
	return values
}

// TestRowsOfAnyBatch: a row has the same bits alone and in any batch, at any place of it and with any
// number of threads.
func TestRowsOfAnyBatch(t *testing.T) {
	defer kernel.SetThreads(kernel.Threads())
	const n = 100
	for _, c := range batchCases() {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			t.Run(fmt.Sprint(c.name, " ", dt), func(t *testing.T) {
				net := build(c.make, dt, c.outputs)
				rng := rand.New(rand.NewPCG(5, 5))
				x := leaf(rng, "x", dt, append([]int{n}, c.input...)...).Value
				z := leaf(rng, "z", dt, append([]int{7}, c.input...)...).Value
				kernel.SetThreads(1)
				want := batchValues(t, c, net, dt, x, z, 1, 0)
				for _, b := range []struct{ size, threads int }{{3, 1}, {100, 1}, {1, 2}, {2, 2}, {3, 2}, {5, 2}, {8, 2}, {16, 2}, {64, 2}, {100, 2}} {
					kernel.SetThreads(b.threads)
					got := batchValues(t, c, net, dt, x, z, b.size, 37)
					for i, what := range batchOutputs {
						sameRows(t, fmt.Sprintf("%s, batches of %d, %d threads", what, b.size, b.threads), got[i], want[i])
					}
				}
			})
		}
	}
}

// TestRowsOfSmallBatches: so has a row of every network of the table whose examples are computed one by
// one.
func TestRowsOfSmallBatches(t *testing.T) {
	for _, e := range examples() {
		if e.name == "batch mean taken away" || e.name == "examples compared with each other" {
			continue
		}
		for _, outputs := range []int{1, 3} {
			t.Run(fmt.Sprint(e.name, " ", outputs), func(t *testing.T) {
				c := batchCase{e.name, []int{inputs}, outputs, e.make}
				net := build(c.make, tensor.Float64, outputs)
				rng := rand.New(rand.NewPCG(5, 5))
				x, z := leaf(rng, "x", tensor.Float64, 7, inputs).Value, leaf(rng, "z", tensor.Float64, 4, inputs).Value
				want := batchValues(t, c, net, tensor.Float64, x, z, 1, 0)
				for _, size := range []int{2, 7} {
					got := batchValues(t, c, net, tensor.Float64, x, z, size, 3)
					for i, what := range batchOutputs {
						sameRows(t, fmt.Sprintf("%s, batches of %d", what, size), got[i], want[i])
					}
				}
			})
		}
	}
}

// sameRows reports the first element that differs in its bits.
func sameRows(t *testing.T, what string, got, want [][]float64) {
	t.Helper()
	differ, first := 0, ""
	for r := range want {
		for i, v := range want[r] {
			if math.Float64bits(v) != math.Float64bits(got[r][i]) {
				if differ++; first == "" {
					first = fmt.Sprintf("row %d, element %d is %.17g, alone it is %.17g", r, i, got[r][i], v)
				}
			}
		}
	}
	if differ > 0 {
		t.Errorf("%s: %d elements differ; %s", what, differ, first)
	}
}
