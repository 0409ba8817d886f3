package jacobian_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

type (
	node    = graph.Node
	builder = graph.Builder
	formula = func(b *builder, x *node) *node
)

// inputs is the width of the networks' inputs, hidden is the width of most of their layers.
const inputs, hidden = 3, 4

// network is a formula with parameters.
type network struct {
	forward formula
	params  []*graph.Param
}

func (n network) Forward(b *builder, x *node) *node { return n.forward(b, x) }
func (n network) Params() []*graph.Param            { return n.params }

// maker draws the parameters of one network, the same ones for every element type.
type maker struct {
	rng     *rand.Rand
	dt      tensor.Dtype
	outputs int
	params  []*graph.Param
}

// param draws a parameter around 0, of a size that keeps hidden layers near 1.
func (m *maker) param(name string, shape ...int) *graph.Param {
	v := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range v {
		v[i] = 0.7 * m.rng.NormFloat64()
	}
	p := graph.NewParam(name, v, m.dt, shape...)
	m.params = append(m.params, p)
	return p
}

// positive draws a parameter in [1, 2).
func (m *maker) positive(name string, shape ...int) *graph.Param {
	p := m.param(name, shape...)
	for i := range p.Floats() {
		p.Set(i, 1+m.rng.Float64())
	}
	return p
}

func (m *maker) dense(name string, in, out int) formula {
	return layers.Dense{W: m.param(name+".weight", in, out), B: m.param(name+".bias", out)}.Forward
}

// build makes the network of a formula with seeded parameters.
func build(make func(m *maker) formula, dt tensor.Dtype, outputs int) network {
	m := &maker{rng: rand.New(rand.NewPCG(11, 7)), dt: dt, outputs: outputs}
	f := make(m)
	return network{forward: f, params: m.params}
}

// chain applies formulas one after the other.
func chain(fs ...formula) formula {
	return func(b *builder, x *node) *node {
		for _, f := range fs {
			x = f(b, x)
		}
		return x
	}
}

// around is a network whose hidden layer [B,hidden] goes through middle.
func around(middle func(m *maker) formula) func(m *maker) formula {
	return func(m *maker) formula {
		return chain(m.dense("in", inputs, hidden), (*builder).Tanh, middle(m), m.dense("out", hidden, m.outputs))
	}
}

// with is around for a formula of one parameter of the given shape.
func with(f func(b *builder, h, p *node) *node, shape ...int) func(m *maker) formula {
	return around(func(m *maker) formula {
		p := m.positive("p", shape...)
		return func(b *builder, h *node) *node { return f(b, h, b.Param(p)) }
	})
}

// plain is around for a formula without parameters.
func plain(f formula) func(m *maker) formula {
	return around(func(*maker) formula { return f })
}

// foreign makes a formula of a stock Gorgonia operation.
func foreign(f func(n *node) (*node, error)) formula {
	return func(b *builder, x *node) *node {
		if b.Err() != nil {
			return nil
		}
		y, err := f(x)
		if err != nil {
			return b.Failf("%w", err)
		}
		return y
	}
}

// example is a network of the table.
type example struct {
	name     string
	factored bool // every use of a parameter has a rule: no dense fallback
	make     func(m *maker) formula
}

// examples is the table of networks, perceptrons first.
func examples() []example {
	var all []example
	for _, a := range layers.Activations() {
		all = append(all, example{fmt.Sprint("perceptron ", a), true, func(m *maker) formula {
			return chain(m.dense("a", inputs, hidden), a.Forward, m.dense("b", hidden, hidden), a.Forward, m.dense("c", hidden, m.outputs))
		}})
	}
	return slices.Concat(all, sharedExamples, parameterExamples, shapeExamples, imageExamples, foreignExamples, outsideExamples)
}

// sharedExamples use a parameter several times, or a layer's input again.
var sharedExamples = []example{
	{"linear", true, func(m *maker) formula { return m.dense("a", inputs, m.outputs) }},
	{"dense layer twice", true, func(m *maker) formula {
		a := m.dense("a", inputs, inputs)
		return chain(a, (*builder).Tanh, a, (*builder).Tanh, m.dense("b", inputs, m.outputs))
	}},
	{"tied weights", true, func(m *maker) formula {
		w, out := m.param("w", inputs, hidden), m.dense("out", inputs, m.outputs)
		return func(b *builder, x *node) *node {
			h := b.Tanh(b.MatMul(x, b.Param(w), false, false))
			return out(b, b.Tanh(b.MatMul(h, b.Param(w), false, true)))
		}
	}},
	{"tied weights as outputs", true, func(m *maker) formula {
		w, in := m.param("w", m.outputs, inputs), m.dense("in", inputs, inputs)
		return func(b *builder, x *node) *node { return b.MatMul(b.Tanh(in(b, x)), b.Param(w), false, true) }
	}},
	{"shared bias", true, around(func(m *maker) formula {
		w, bias := m.param("w", hidden, hidden), m.param("bias", hidden)
		return func(b *builder, h *node) *node {
			h = b.Tanh(b.AddBias(h, b.Param(bias)))
			return b.AddBias(b.MatMul(h, b.Param(w), false, false), b.Param(bias))
		}
	})},
	{"bias that is also a gain", true, with(func(b *builder, h, p *node) *node {
		return b.Mul(b.Tanh(b.Add(h, p)), p)
	}, hidden)},
	{"matrix that is also a gain", true, with(func(b *builder, h, p *node) *node {
		return b.Mul(b.Tanh(b.MatMul(b.SumAxis(h, 1), p, false, false)), p)
	}, 1, hidden)},
	{"residual", true, around(func(m *maker) formula {
		return layers.Residual{Inner: network{forward: chain(m.dense("r", hidden, hidden), (*builder).Tanh)}}.Forward
	})},
	{"dense skip from the input", true, func(m *maker) formula {
		deep := chain(m.dense("a", inputs, hidden), (*builder).Tanh, m.dense("b", hidden, m.outputs))
		skip := m.dense("skip", inputs, m.outputs)
		return func(b *builder, x *node) *node { return b.Add(deep(b, x), skip(b, x)) }
	}},
	{"gated input", true, func(m *maker) formula {
		gate, out := m.dense("gate", inputs, inputs), m.dense("out", inputs, m.outputs)
		return func(b *builder, x *node) *node { return out(b, b.Mul(b.Sigmoid(gate(b, x)), x)) }
	}},
}

// parameterExamples use a parameter otherwise than a dense layer does.
var parameterExamples = []example{
	{"gain [n]", true, with(func(b *builder, h, p *node) *node { return b.Mul(h, p) }, hidden)},
	{"gain [1,n]", true, with(func(b *builder, h, p *node) *node { return b.Mul(p, h) }, 1, hidden)},
	{"gain [1,1]", true, with(func(b *builder, h, p *node) *node { return b.Mul(h, p) }, 1, 1)},
	{"scalar gain", true, with(func(b *builder, h, p *node) *node { return b.Mul(h, p) }, 1)},
	{"divisor", true, with(func(b *builder, h, p *node) *node { return b.Div(h, p) }, hidden)},
	{"dividend", true, with(func(b *builder, h, p *node) *node { return b.Div(p, b.Affine(h, 1, 3)) }, hidden)},
	{"minuend", true, with(func(b *builder, h, p *node) *node { return b.Sub(p, h) }, hidden)},
	{"scalar on the outputs", true, func(m *maker) formula {
		out, s := m.dense("out", inputs, m.outputs), m.param("s", 1)
		return func(b *builder, x *node) *node { return b.Tanh(b.Mul(out(b, x), b.Param(s))) }
	}},
	{"unused", true, func(m *maker) formula { m.param("unused", 2, 3); return m.dense("a", inputs, m.outputs) }},
	{"outputs without slope", true, func(m *maker) formula { return chain(m.dense("a", inputs, m.outputs), (*builder).Step) }},
	{"nothing used", true, func(m *maker) formula {
		m.param("unused", 2, 3)
		return func(b *builder, x *node) *node { return b.BroadcastTo(b.SumAxis(x, 1), x.Shape()[0], m.outputs) }
	}},
	{"W = tanh V", false, with(func(b *builder, h, p *node) *node {
		return b.MatMul(h, b.Tanh(p), false, false)
	}, hidden, hidden)},
	{"W = V∘V", false, with(func(b *builder, h, p *node) *node {
		return b.MatMul(h, b.Mul(p, p), false, false)
	}, hidden, hidden)},
	{"W = Vᵀ", true, with(func(b *builder, h, p *node) *node {
		return b.MatMul(h, b.Transpose(p), false, false)
	}, hidden, hidden)},
	{"product of two parameters", false, around(func(m *maker) formula {
		u, v := m.param("u", hidden, 2), m.param("v", 2, hidden)
		return func(b *builder, h *node) *node {
			return b.MatMul(h, b.MatMul(b.Param(u), b.Param(v), false, false), false, false)
		}
	})},
	{"with a rule and without", false, with(func(b *builder, h, p *node) *node {
		return b.MatMul(b.Tanh(b.MatMul(h, p, false, false)), b.Tanh(p), false, false)
	}, hidden, hidden)},
	{"broadcast by hand", true, with(func(b *builder, h, p *node) *node {
		return b.Mul(h, b.BroadcastTo(p, 1, hidden))
	}, hidden)},
}

// shapeExamples have operations other than products and functions in them.
var shapeExamples = []example{
	{"log-softmax outputs", true, func(m *maker) formula {
		return chain(m.dense("a", inputs, hidden), (*builder).Tanh, m.dense("b", hidden, m.outputs), (*builder).LogSoftmax)
	}},
	{"reshape and transpose", true, plain(func(b *builder, h *node) *node {
		n := h.Shape()[0]
		return b.Sin(b.Reshape(b.Transpose(b.Reshape(h, n, 2, hidden/2)), n, hidden))
	})},
	{"stacks of matrices", true, plain(func(b *builder, h *node) *node {
		n := h.Shape()[0]
		s := b.Reshape(h, n, 2, hidden/2)
		return b.Reshape(b.Add(b.MatMul(s, b.Tanh(s), true, false), b.Gram(s)), n, hidden)
	})},
	{"layer normalisation", true, plain(func(b *builder, h *node) *node {
		centred := b.Sub(h, b.Scale(b.SumAxis(h, 1), 1.0/hidden))
		variance := b.Affine(b.SumAxis(b.Square(centred), 1), 1.0/hidden, 0.1)
		return b.Div(centred, b.Sqrt(variance))
	})},
	{"slices and padding", true, plain(func(b *builder, h *node) *node {
		return b.Add(b.Pad(b.Slice(h, 1, 1, 3), 1, 0, hidden), b.Square(h))
	})},
	{"gain after a reshape", true, around(func(m *maker) formula {
		p := m.positive("p", 2, 1)
		return func(b *builder, h *node) *node {
			n := h.Shape()[0]
			return b.Reshape(b.Mul(b.Reshape(h, n, 2, hidden/2), b.Param(p)), n, hidden)
		}
	})},
	{"batch mean taken away", false, plain(func(b *builder, h *node) *node {
		return b.Tanh(b.Sub(h, b.Scale(b.SumAxis(h, 0), 0.5/float64(h.Shape()[0]))))
	})},
	{"examples compared with each other", false, plain(func(b *builder, h *node) *node {
		return b.Add(h, b.MatMul(b.Gram(h), h, false, false))
	})},
}

// foreignExamples contain stock Gorgonia operations.
var foreignExamples = []example{
	{"gorgonia.Cube", false, plain(foreign(gorgonia.Cube))},
	{"gorgonia.Tanh", false, plain(foreign(gorgonia.Tanh))},
	{"gorgonia.Sigmoid", false, plain(foreign(gorgonia.Sigmoid))},
	{"gorgonia.Mul with a weight", false, with(func(b *builder, h, p *node) *node {
		return foreign(func(n *node) (*node, error) { return gorgonia.Mul(n, p) })(b, h)
	}, hidden, hidden)},
	{"gorgonia.HadamardProd of itself", false, plain(foreign(func(n *node) (*node, error) { return gorgonia.HadamardProd(n, n) }))},
}
