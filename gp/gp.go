// Package gp holds the parts that all post-hoc methods share. A post-hoc method puts error
// bars on a network that is already trained. It takes a [Problem] (the network and data) and
// returns a [Fitted] with a [Posterior], which predicts a [Gaussian] for each input. Each
// method is a package below this one.
package gp

import (
	"context"

	"github.com/go-valla/valla/graph"
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

// Gaussian is the predictive distribution of the latent function, which is the network's
// output without observation noise, at N inputs. Each input has one Gaussian over the C
// outputs. The values are float64.
type Gaussian struct {
	Mean *tensor.Dense // [N,C]
	Cov  *tensor.Dense // [N,C,C]
	// Epistemic [N,C], from 0 to 1, are the shares of the targets' variances, noise included,
	// that more data would take away. They are of use where a method lets the noise of the
	// targets into Cov. nil stands for shares that come to the whole of Cov.
	Epistemic *tensor.Dense
	// Probs [N,C] are the probabilities of classes where the posterior has ones of its own,
	// such as the mean of softmax over draws of the weights. nil stands for those that Mean
	// and Cov make, see [Probit].
	Probs *tensor.Dense
}

// Posterior is a distribution over functions, fitted to data.
type Posterior interface {
	// Predict returns the distribution of the latent function at each of the inputs x
	// [N,…]. It returns ctx's error if ctx ends first.
	Predict(ctx context.Context, x *tensor.Dense) (Gaussian, error)
}

// JointPosterior is a Posterior that also knows the covariance of the function's values
// between different inputs.
type JointPosterior interface {
	Posterior
	// Joint returns the mean [N·C] and the covariance [N·C, N·C] of all outputs at
	// all inputs; entry n·C + c belongs to output c at input n.
	Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error)
}
