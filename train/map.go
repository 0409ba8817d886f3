package train

import (
	"context"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Loss is a training loss: targets y and outputs [B,C] give a scalar, a mean over
// the batch.
type Loss func(b *graph.Builder, y, out *graph.Node) *graph.Node

// SquaredError is the mean over the batch of Σ_c (y_c − out_c)².
func SquaredError(b *graph.Builder, y, out *graph.Node) *graph.Node {
	return perExample(b, b.Sum(b.Square(b.Sub(y, out))), out)
}

// CrossEntropy is the mean over the batch of −Σ_c y_c log softmax(out)_c, for
// one-hot targets y.
func CrossEntropy(b *graph.Builder, y, out *graph.Node) *graph.Node {
	return perExample(b, b.Neg(b.Sum(b.Mul(y, b.LogSoftmax(out)))), out)
}

func perExample(b *graph.Builder, sum, out *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Scale(sum, 1/float64(out.Shape()[0]))
}

// MAP trains a network to its maximum a posteriori weights: it minimises a loss,
// where the optimizer's weight decay stands for the Gaussian prior.
type MAP struct {
	Net       layers.Network // trained in place
	Loss      Loss           // to minimise
	Also      []*graph.Param // parameters of Loss, trained without weight decay; nil: none
	Identity  []string       // further lines that tell runs apart, see [Identifier]
	BatchSize int            // 0 means 100
	Seed      uint64         // of the mini-batches
	Config    Config         // of the loop
}

// Train fits the network's parameters in place to the inputs of x and the targets y [N,C], which have
// the network's element type. [Rows] is the source of inputs that a tensor [N,…] holds; another
// source may augment images anew in each iteration. The running statistics of the network, see
// [layers.Training], belong to the state of the run.
func (m MAP) Train(ctx context.Context, x Source, y *tensor.Dense) (*Result, error) {
	if m.BatchSize == 0 {
		m.BatchSize = 100
	}
	b := graph.NewBuilder(y.Dtype())
	batches, err := NewBatchesOf(b, x, y, m.BatchSize, 1, m.Seed)
	if err != nil {
		return nil, err
	}
	out, updates := layers.Training(b, m.Net, batches.X())
	weights := m.Net.Params()
	obj, err := NewGraph(b, m.Loss(b, batches.Y(), out), slices.Concat(weights, m.Also), batches, updates...)
	if err != nil {
		return nil, err
	}
	for i := len(weights); i < len(obj.params); i++ {
		obj.params[i].NoDecay = true
	}
	obj.Identify(m.Identity...)
	return Run(ctx, obj, m.Config)
}
