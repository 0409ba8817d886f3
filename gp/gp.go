// Package gp holds the parts that all post-hoc methods share. A post-hoc method puts error
// bars on a network that is already trained. It takes a [Problem] (the network and data) and
// returns a [Fitted] with a [Posterior], which predicts a [Gaussian] for each input. Each
// method is a package below this one.
package gp

import (
	"context"
	"errors"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Kernel is a covariance function of a function with C outputs. Its methods write it into a
// graph, through which gradients flow to its inputs. jacobian.NTK is a Kernel.
type Kernel interface {
	// Diag returns the covariance of the outputs at each example of x [B,…]: [B,C,C].
	Diag(b *graph.Builder, x *graph.Node) *graph.Node
	// Cross returns the covariance between all outputs at each example of x [B,…] and
	// output class[m] at row m of z [M,…]: [B,C,M].
	Cross(b *graph.Builder, x, z *graph.Node, class []int) *graph.Node
	// Gram returns the covariance among the outputs class[m] at the rows m of z [M,…]:
	// [M,M].
	Gram(b *graph.Builder, z *graph.Node, class []int) *graph.Node
}

// VarianceKernel is a Kernel that computes variances alone with less work.
type VarianceKernel interface {
	Kernel
	// Variances returns the diagonals of Diag, [B,C].
	Variances(b *graph.Builder, x *graph.Node) *graph.Node
}

// Variances writes the variances [B,C] of a kernel's outputs at x [B,…] into the graph.
func Variances(k Kernel, b *graph.Builder, x *graph.Node) *graph.Node {
	if v, ok := k.(VarianceKernel); ok {
		return v.Variances(b, x)
	}
	return b.Diag(k.Diag(b, x))
}

// Posterior is a distribution over functions, fitted to data. A posterior only says how its
// predictions are compiled for a few inputs; [Engine] computes all predictions of a posterior.
type Posterior interface {
	// Compile returns predictions as r asks for them, or a *graph.MemoryError if they need more
	// than r.Limit. The result stays right as long as neither the posterior nor the weights of
	// the network change. Compile is not safe for concurrent use, but earlier results may be used
	// meanwhile.
	Compile(r Request) (Compiled, error)
}

// Request says which predictions a posterior compiles.
type Request struct {
	Shape []int // of one input
	Size  int   // the largest number of inputs at a time
	Limit int64 // the most bytes that the predictions may hold; 0 is no limit
	// Marginal says that the variances of the outputs suffice, see [Gaussian.Marginal]. With many outputs covariances take
	// most of the time and of the memory of a prediction, and class probabilities by [Probit] need none. A posterior that
	// saves nothing by it may leave Marginal aside.
	Marginal bool
}

// Part compiles the predictions of p, a part of predictions that hold so many bytes already. A [*graph.MemoryError] counts these bytes,
// too.
func (r Request) Part(held int64, p Posterior) (Compiled, error) {
	c, err := p.Compile(r.beside(held))
	return c, r.whole(held, err)
}

// Batch compiles outputs as functions of x, as [graph.NewBatchWithin] does, for predictions that hold so many bytes beside the batch.
func (r Request) Batch(held int64, b *graph.Builder, x *graph.Node, outputs ...*graph.Node) (*graph.Batch, error) {
	f, err := graph.NewBatchWithin(r.beside(held).Limit, b, x, outputs...)
	return f, r.whole(held, err)
}

// beside returns the request for what shares the limit of r with so many bytes.
func (r Request) beside(held int64) Request {
	if r.Limit > 0 {
		r.Limit = max(1, r.Limit-held)
	}
	return r
}

// whole returns the error of a part, which counts the part alone, as an error of predictions that hold so many bytes beside it.
func (r Request) whole(held int64, err error) error {
	if full := (*graph.MemoryError)(nil); r.Limit > 0 && held > 0 && errors.As(err, &full) {
		return &graph.MemoryError{What: full.What, Need: held + full.Need, Limit: r.Limit}
	}
	return err
}

// Input returns the shape of r.Size inputs.
func (r Request) Input() []int { return append([]int{r.Size}, r.Shape...) }

// Local is implemented by Settings whose posterior depends on an input only through the inputs of the layers with uncertain
// weights and of those behind them: a fit to these layers, with the outputs of the layers before as examples, gives the same
// posterior, see gp/frozen.
type Local interface {
	Settings
	// Uncertain returns the parameters of a network that are uncertain, and none where the rows choose them.
	Uncertain(net layers.Network) ([]*graph.Param, error)
}

// Compiled computes the predictions of a posterior for a few inputs at a time. A Compiled keeps
// its buffers, so that it allocates nothing once they are large enough, and serves one goroutine
// at a time. The prediction of an input has the same bits whatever the other inputs are, and for
// every size that the posterior was compiled for.
type Compiled interface {
	// Predict writes the distributions of the latent function at n inputs x [n·D], which are in
	// the units of the network, into g. n is at most the compiled size. Predict resizes g.
	Predict(ctx context.Context, x []float64, g *Gaussian) error
	// Bytes returns about how much memory the predictions hold.
	Bytes() int64
}

// JointPosterior is a Posterior that also knows the covariance of the function's values
// between different inputs.
type JointPosterior interface {
	Posterior
	// Joint returns the mean [N·C] and the covariance [N·C, N·C] of all outputs at
	// all inputs; entry n·C + c belongs to output c at input n.
	Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error)
}
