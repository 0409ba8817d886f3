package jacobian_test

import (
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// onImages is a network whose hidden layer is an image [B,2,4,4] that goes through
// middle and ends as so many features.
func onImages(features int, middle func(m *maker) formula) func(m *maker) formula {
	return func(m *maker) formula {
		in, mid := m.dense("in", inputs, 32), middle(m)
		flat := func(b *builder, x *node) *node { return layers.Flatten{}.Forward(b, x) }
		image := layers.Images{Channels: 2, Height: 4, Width: 4}.Forward
		return chain(in, (*builder).Tanh, image, mid, flat, (*builder).Tanh, m.dense("out", features, m.outputs))
	}
}

// conv is a convolution without bias.
type conv struct {
	w               *graph.Param
	stride, padding int
}

func (c conv) Params() []*graph.Param { return []*graph.Param{c.w} }

func (c conv) Forward(b *builder, x *node) *node {
	return b.Conv2D(x, b.Param(c.w), c.stride, c.padding)
}

func (m *maker) conv(name string, in, out, kernel, stride, padding int) conv {
	return conv{m.param(name+".weight", out, in, kernel, kernel), stride, padding}
}

// norm is a batch norm with running statistics that are not trivial.
func (m *maker) norm(name string, channels int) layers.Network {
	n := layers.NewBatchNorm(name, channels, m.dt)
	gamma, beta := n.Scale()
	gamma.Value, beta.Value = m.positive(name+".weight", channels).Value, m.param(name+".bias", channels).Value
	m.params = append(m.params[:len(m.params)-2], gamma, beta)
	for i := range channels {
		layers.State(n)[0].Set(i, 0.3*m.rng.NormFloat64())
		layers.State(n)[1].Set(i, 2+m.rng.Float64())
	}
	return n
}

// imageExamples: convolutions and what goes with them.
var imageExamples = []example{
	{"convolution with bias", true, onImages(48, func(m *maker) formula {
		c, bias := m.conv("c", 2, 3, 3, 1, 1), m.param("c.bias", 3)
		return chain(c.Forward, func(b *builder, x *node) *node { return b.Add(x, b.Reshape(b.Param(bias), 1, 3, 1, 1)) })
	})},
	{"strided convolution", true, onImages(8, func(m *maker) formula { return m.conv("c", 2, 2, 3, 2, 1).Forward })},
	{"filters used twice", true, onImages(32, func(m *maker) formula {
		c := m.conv("c", 2, 2, 3, 1, 1)
		return chain(c.Forward, (*builder).Tanh, c.Forward)
	})},
	{"batch norm", true, onImages(32, func(m *maker) formula { return m.norm("n", 2).Forward })},
	{"residual block", true, onImages(12, func(m *maker) formula {
		return layers.Residual{
			Inner:    layers.Sequential{m.conv("a", 2, 3, 3, 2, 1), m.norm("an", 3), layers.Activation("softplus"), m.conv("b", 3, 3, 3, 1, 1), m.norm("bn", 3)},
			Shortcut: layers.Sequential{m.conv("s", 2, 3, 1, 2, 0), m.norm("sn", 3)},
		}.Forward
	})},
	{"zero-padding shortcut", true, onImages(16, func(m *maker) formula {
		return layers.Residual{Inner: m.conv("a", 2, 4, 3, 2, 1), Shortcut: layers.ZeroPadShortcut{Channels: 4, Stride: 2}}.Forward
	})},
	{"max pool", true, onImages(8, func(m *maker) formula {
		return layers.Sequential{m.conv("a", 2, 2, 3, 1, 1), layers.MaxPool{Size: 2, Stride: 2}}.Forward
	})},
	{"average pool", true, onImages(18, func(m *maker) formula {
		return layers.Sequential{m.conv("a", 2, 2, 3, 1, 1), layers.AveragePool{Size: 2, Stride: 1}}.Forward
	})},
	{"global average pool", true, onImages(3, func(m *maker) formula {
		return layers.Sequential{m.conv("a", 2, 3, 3, 1, 1), layers.GlobalAveragePool{}}.Forward
	})},
	{"score, a sum over a product", true, onImages(4, func(m *maker) formula {
		p := m.param("p", 1, 2, 1, 4)
		return func(b *builder, x *node) *node { return b.SumTo(b.Mul(x, b.Param(p)), x.Shape()[0], 1, 4, 1) }
	})},
	{"score with a smaller parameter", true, onImages(2, func(m *maker) formula {
		p := m.param("p", 4, 1)
		return func(b *builder, x *node) *node { return b.SumTo(b.Mul(b.Param(p), x), x.Shape()[0], 2, 1, 1) }
	})},
	{"filters made of parameters", false, onImages(32, func(m *maker) formula {
		p := m.param("p", 2, 2, 3, 3)
		return func(b *builder, x *node) *node { return b.Conv2D(x, b.Tanh(b.Param(p)), 1, 1) }
	})},
	{"gain in another shape", true, onImages(32, func(m *maker) formula {
		p := m.param("p", 2, 2)
		return func(b *builder, x *node) *node { return b.Mul(x, b.Reshape(b.Param(p), 1, 1, 1, 4)) }
	})},
}
