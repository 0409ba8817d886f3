package layers

import (
	"slices"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// BatchNorm normalises each channel of images [B,C,H,W] and scales it,
// y = γ (x − μ)/√(v + ε) + β (Ioffe and Szegedy 2015, alg. 1 and 2). μ and v are running
// statistics, which do not change; only while the network is trained, see [Training],
// they are the batch's.
type BatchNorm struct {
	Gamma, Beta *graph.Param // [C]
	Mean, Var   *graph.Param // [C], running statistics, not trainable
	Eps         float64
	Momentum    float64 // of each new batch in the running statistics
}

// NewBatchNorm returns a layer with γ = 1, β = 0, mean 0 and variance 1, and
// PyTorch's ε = 1e-5 and momentum 0.1 and names: name.weight, name.bias,
// name.running_mean and name.running_var.
func NewBatchNorm(name string, channels int, dt tensor.Dtype) BatchNorm {
	constant := func(part string, v float64) *graph.Param {
		return graph.NewParam(name+"."+part, slices.Repeat([]float64{v}, channels), dt, channels)
	}
	return BatchNorm{
		Gamma: constant("weight", 1), Beta: constant("bias", 0),
		Mean: constant("running_mean", 0), Var: constant("running_var", 1),
		Eps: 1e-5, Momentum: 0.1,
	}
}

// Forward implements Network.
func (n BatchNorm) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	inv := n.inverseStd(b, perChannel(b, n.Var))
	// Written as a sum, the normalised input is what γ is multiplied with, and what
	// the rows of its Jacobian are made of.
	normal := b.Add(b.Mul(x, inv), b.Neg(b.Mul(perChannel(b, n.Mean), inv)))
	return n.affine(b, normal)
}

func (n BatchNorm) inverseStd(b *graph.Builder, variance *graph.Node) *graph.Node {
	std := b.Sqrt(b.Affine(variance, 1, n.Eps))
	if b.Err() != nil {
		return nil
	}
	return b.Div(b.Fill(1, std.Shape()...), std)
}

func (n BatchNorm) affine(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Add(b.Mul(x, perChannel(b, n.Gamma)), perChannel(b, n.Beta))
}

// Training implements Trainer: it normalises with the batch's own mean and variance and
// moves the running ones towards them; the running variance is that of the population.
func (n BatchNorm) Training(b *graph.Builder, x *graph.Node) (*graph.Node, []Update) {
	if b.Err() != nil {
		return nil, nil
	}
	s := x.Shape()
	channels := n.Gamma.Value.Shape().TotalSize()
	if len(s) != 4 || s[1] != channels || s.TotalSize() == channels {
		return b.Failf("layers: batch norm: shape %v, expected [B,%d,H,W] and more than one place", s, channels), nil
	}
	count := s.TotalSize() / channels
	average := func(y *graph.Node, over int) *graph.Node {
		return b.Scale(b.SumTo(y, 1, channels, 1, 1), 1/float64(over))
	}
	mean := average(x, count)
	centred := b.Sub(x, mean)
	variance := average(b.Mul(centred, centred), count)
	y := n.affine(b, b.Mul(centred, n.inverseStd(b, variance)))
	population := b.Scale(variance, float64(count)/float64(count-1))
	return y, []Update{n.running(b, n.Mean, mean), n.running(b, n.Var, population)}
}

func (n BatchNorm) running(b *graph.Builder, p *graph.Param, batch *graph.Node) Update {
	return Update{p, b.Add(b.Scale(b.Param(p), 1-n.Momentum), b.Scale(b.Reshape(batch, p.Value.Shape()...), n.Momentum))}
}

// Params implements Network.
func (n BatchNorm) Params() []*graph.Param { return []*graph.Param{n.Gamma, n.Beta} }

// State implements Stateful.
func (n BatchNorm) State() []*graph.Param { return []*graph.Param{n.Mean, n.Var} }
