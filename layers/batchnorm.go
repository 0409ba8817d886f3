package layers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// batchNorm normalises each channel of vectors [B,C], of sequences [B,C,L] or of images [B,C,H,W] and scales it,
// y = γ (x − μ)/√(v + ε) + β (Ioffe and Szegedy 2015, alg. 1 and 2). In training, see
// [Training], μ and v are the mean and the variance of the batch, and the running
// statistics follow them. Otherwise μ and v are the running statistics, which stay as
// they are.
type batchNorm struct {
	gamma, beta    *graph.Param // [C]
	mean, variance *graph.Param // [C], running statistics, not trainable
	eps            float64      // ε
	momentum       float64      // weight of each new batch in the running statistics
}

// NewBatchNorm returns a layer with γ = 1, β = 0, mean 0, variance 1, ε = 1e-5 and
// momentum 0.1. Its arrays are called name.weight, name.bias, name.running_mean and
// name.running_var. Names, ε and momentum are PyTorch's.
func NewBatchNorm(name string, channels int, dt tensor.Dtype) Normaliser {
	return newBatchNorm(free(dt, nil), name, channels)
}

func newBatchNorm(m *Maker, name string, channels int) batchNorm {
	return batchNorm{
		gamma: m.Param(name+".weight", Constant(1), channels), beta: m.Param(name+".bias", Constant(0), channels),
		mean: m.State(name+".running_mean", Constant(0), channels), variance: m.State(name+".running_var", Constant(1), channels),
		eps: 1e-5, momentum: 0.1,
	}
}

// BatchNorm describes a batch norm of vectors [C], of sequences [C,L] or of images [C,H,W] as [NewBatchNorm] makes it.
type BatchNorm struct {
	Name     string  `json:"name,omitempty"`     // empty: batchnorm1, batchnorm2, …
	Eps      float64 `json:"eps,omitempty"`      // ε; 0: 1e-5
	Momentum float64 `json:"momentum,omitempty"` // weight of each new batch, at most 1; 0: 0.1
}

func init() { RegisterLayer[BatchNorm]("batchnorm") }

// Make implements Layer.
func (l BatchNorm) Make(m *Maker, in []int) (Network, []int, error) {
	if len(in) < 1 || len(in) > 3 {
		return nil, nil, fmt.Errorf("inputs of shape %v, expected vectors [C], sequences [C,L] or images [C,H,W]", in)
	}
	if !(l.Eps >= 0 && l.Eps <= 1) || !(l.Momentum >= 0 && l.Momentum <= 1) {
		return nil, nil, fmt.Errorf("eps %g and momentum %g, expected 0 to 1", l.Eps, l.Momentum)
	}
	n := newBatchNorm(m, m.Name(l.Name, "batchnorm"), in[0])
	n.eps, n.momentum = cmp.Or(l.Eps, n.eps), cmp.Or(l.Momentum, n.momentum)
	return n, in, nil
}

// Forward implements Network.
func (n batchNorm) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	inv := n.inverseStd(b, n.per(b, x, n.variance))
	// Written as a sum, the normalised input is what γ is multiplied with, and what
	// the rows of its Jacobian are made of.
	normal := b.Add(b.Mul(x, inv), b.Neg(b.Mul(n.per(b, x, n.mean), inv)))
	return n.affine(b, normal)
}

// per returns the node of p [C] in a shape that broadcasts over x [B,C,…].
func (n batchNorm) per(b *graph.Builder, x *graph.Node, p *graph.Param) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(b.Param(p), n.over(x, p.Value.Shape().TotalSize())...)
}

// over is [1,C,1,…] with as many axes as x.
func (n batchNorm) over(x *graph.Node, channels int) []int {
	shape := slices.Repeat([]int{1}, x.Dims())
	shape[1] = channels
	return shape
}

func (n batchNorm) inverseStd(b *graph.Builder, variance *graph.Node) *graph.Node {
	std := b.Sqrt(b.Affine(variance, 1, n.eps))
	if b.Err() != nil {
		return nil
	}
	return b.Div(b.Fill(1, std.Shape()...), std)
}

func (n batchNorm) affine(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Add(b.Mul(x, n.per(b, x, n.gamma)), n.per(b, x, n.beta))
}

// Training implements Trainer. It normalises with the batch's own mean and variance and
// moves the running ones towards them. The running variance follows the unbiased estimate,
// with n − 1 in the denominator.
func (n batchNorm) Training(b *graph.Builder, x *graph.Node) (*graph.Node, []Update) {
	if b.Err() != nil {
		return nil, nil
	}
	s := x.Shape()
	channels := n.gamma.Value.Shape().TotalSize()
	if len(s) < 2 || s[1] != channels || s.TotalSize() == channels {
		return b.Failf("layers: batch norm: shape %v, expected [B,%d,…] and more than one place", s, channels), nil
	}
	count := s.TotalSize() / channels
	average := func(y *graph.Node, over int) *graph.Node {
		return b.Scale(b.SumTo(y, n.over(x, channels)...), 1/float64(over))
	}
	mean := average(x, count)
	centred := b.Sub(x, mean)
	variance := average(b.Mul(centred, centred), count)
	y := n.affine(b, b.Mul(centred, n.inverseStd(b, variance)))
	population := b.Scale(variance, float64(count)/float64(count-1))
	return y, []Update{n.running(b, n.mean, mean), n.running(b, n.variance, population)}
}

func (n batchNorm) running(b *graph.Builder, p *graph.Param, batch *graph.Node) Update {
	return Update{p, b.Add(b.Scale(b.Param(p), 1-n.momentum), b.Scale(b.Reshape(batch, p.Value.Shape()...), n.momentum))}
}

// Params implements Network.
func (n batchNorm) Params() []*graph.Param { return []*graph.Param{n.gamma, n.beta} }

// State implements Stateful.
func (n batchNorm) State() []*graph.Param { return []*graph.Param{n.mean, n.variance} }

// Scale implements Normaliser.
func (n batchNorm) Scale() (gamma, beta *graph.Param) { return n.gamma, n.beta }
