package layers

import (
	"cmp"
	"fmt"

	"github.com/go-valla/valla/graph"
)

// norm normalises groups of elements of each example to mean 0 and variance 1, and scales them:
// y = γ (x − μ)/√(v + ε) + β. [LayerNorm] and [GroupNorm] describe it.
type norm struct {
	gamma, beta *graph.Param // [C]; beta is nil for RMSNorm
	eps         float64      // ε
	group       int          // elements of a group, neighbours in row-major order
	each        int          // neighbours that share an element of γ and β
	describes   Layer        // the description the layer was made of
}

// Normalise writes the layer norm of x [B,C]: each example is normalised to mean 0 and variance 1,
// then scaled by gamma [C] and shifted by beta [C] (Ba and others 2016, "Layer normalization").
func Normalise(b *graph.Builder, x *graph.Node, gamma, beta *graph.Param, eps float64) *graph.Node {
	return norm{gamma: gamma, beta: beta, eps: eps, group: gamma.Value.Shape()[0], each: 1}.Forward(b, x)
}

// LayerNorm describes a [norm] along the last axis (Ba and others 2016, "Layer normalization").
type LayerNorm struct {
	Name string  `json:"name,omitempty"` // empty: layernorm1, layernorm2, …
	Eps  float64 `json:"eps,omitempty"`  // ε; 0: 1e-5
}

// GroupNorm describes a [norm] of groups of channels of images [C,H,W] (Wu and He 2018, "Group
// normalization"). Instance normalisation has as many groups as channels.
type GroupNorm struct {
	Name   string  `json:"name,omitempty"` // empty: groupnorm1, groupnorm2, …
	Groups int     `json:"groups"`         // number of groups, a divisor of the channels
	Eps    float64 `json:"eps,omitempty"`  // ε; 0: 1e-5
}

// RMSNorm describes a [norm] along the last axis without a mean and without a shift, y = γ x/√(mean x² + ε) (Zhang
// and Sennrich 2019, "Root mean square layer normalization").
type RMSNorm struct {
	Name string  `json:"name,omitempty"` // empty: rmsnorm1, rmsnorm2, …
	Eps  float64 `json:"eps,omitempty"`  // ε; 0: 2⁻²³, which PyTorch takes for float32
}

func init() {
	RegisterLayer[LayerNorm]("layernorm")
	RegisterLayer[RMSNorm]("rmsnorm")
	RegisterLayer[GroupNorm]("groupnorm")
}

// Make implements Layer.
func (l LayerNorm) Make(m *Maker, in []int) (Network, []int, error) {
	n, err := lastAxis(in)
	if err != nil {
		return nil, nil, err
	}
	l.Name = m.Name(l.Name, "layernorm")
	net, err := newNorm(m, l.Name, n, l.Eps)
	net.group, net.each, net.describes = n, 1, l
	return net, in, err
}

// Make implements Layer.
func (l RMSNorm) Make(m *Maker, in []int) (Network, []int, error) {
	n, err := lastAxis(in)
	if err != nil {
		return nil, nil, err
	}
	l.Name = m.Name(l.Name, "rmsnorm")
	if !(l.Eps >= 0 && l.Eps <= 1) {
		return nil, nil, fmt.Errorf("eps %g, expected 0 to 1", l.Eps)
	}
	gamma := m.Param(l.Name+".weight", Constant(1), n)
	return norm{gamma: gamma, eps: cmp.Or(l.Eps, 0x1p-23), group: n, each: 1, describes: l}, in, nil
}

// lastAxis returns the extent of the last axis of examples.
func lastAxis(in []int) (int, error) {
	if len(in) == 0 {
		return 0, fmt.Errorf("examples of one number without an axis, expected at least one axis")
	}
	return in[len(in)-1], nil
}

// Make implements Layer.
func (l GroupNorm) Make(m *Maker, in []int) (Network, []int, error) {
	if err := expectImages(in); err != nil {
		return nil, nil, err
	}
	if l.Groups < 1 || in[0]%l.Groups != 0 {
		return nil, nil, fmt.Errorf("%d groups of %d channels, expected a divisor", l.Groups, in[0])
	}
	l.Name = m.Name(l.Name, "groupnorm")
	net, err := newNorm(m, l.Name, in[0], l.Eps)
	net.group, net.each, net.describes = in[0]/l.Groups*in[1]*in[2], in[1]*in[2], l
	return net, in, err
}

func newNorm(m *Maker, name string, channels int, eps float64) (norm, error) {
	if !(eps >= 0 && eps <= 1) {
		return norm{}, fmt.Errorf("eps %g, expected 0 to 1", eps)
	}
	return norm{
		gamma: m.Param(name+".weight", Constant(1), channels), beta: m.Param(name+".bias", Constant(0), channels), eps: cmp.Or(eps, 1e-5),
	}, nil
}

// Forward implements Network.
func (n norm) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	shape := x.Shape().Clone()
	examples, size := shape[0], shape.TotalSize()/shape[0]
	groups := b.Reshape(x, examples, size/n.group, n.group)
	average := func(y *graph.Node) *graph.Node { return b.Scale(b.SumAxis(y, -1), 1/float64(n.group)) }
	centred := groups
	if n.beta != nil {
		centred = b.Sub(groups, average(groups))
	}
	normal := b.Div(centred, b.Sqrt(b.Affine(average(b.Square(centred)), 1, n.eps)))
	channels := n.gamma.Value.Shape().TotalSize()
	rows := b.Reshape(normal, examples, size/channels/n.each, channels, n.each)
	per := func(p *graph.Param) *graph.Node { return b.Reshape(b.Param(p), 1, 1, channels, 1) }
	scaled := b.Mul(rows, per(n.gamma))
	if n.beta != nil {
		scaled = b.Add(scaled, per(n.beta))
	}
	return b.Reshape(scaled, shape...)
}

// Params implements Network.
func (n norm) Params() []*graph.Param {
	if n.beta == nil {
		return []*graph.Param{n.gamma}
	}
	return []*graph.Param{n.gamma, n.beta}
}

// Scale implements Normaliser; β is nil for RMSNorm.
func (n norm) Scale() (gamma, beta *graph.Param) { return n.gamma, n.beta }

// Describe implements Describer.
func (n norm) Describe() (Layers, error) { return Layers{n.describes}, nil }

// Dropout is the identity: networks of this package are trained and used without dropping
// anything out. It takes the place of the layer in networks from elsewhere.
type Dropout struct {
	none
	Probability float64 `json:"probability,omitempty"` // of dropping an element where the network was trained
}

func init() { RegisterLayer[Dropout]("dropout") }

// Make implements Layer.
func (d Dropout) Make(_ *Maker, in []int) (Network, []int, error) { return d, in, nil }

// Forward implements Network.
func (Dropout) Forward(_ *graph.Builder, x *graph.Node) *graph.Node { return x }
