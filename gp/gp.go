// Package gp holds what all post-hoc methods share: the kernel they stand on, the
// Gaussian they predict, and the posterior they are. Each method is a package
// below this one.
package gp

import (
	"context"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Kernel is a covariance function of C outputs that can be written into a graph,
// with gradients to its inputs. jacobian.NTK is one.
type Kernel interface {
	// Diag is the kernel of each example with itself: x [B,…] gives [B,C,C].
	Diag(b *graph.Builder, x *graph.Node) *graph.Node
	// Cross is the kernel between all outputs at x [B,…] and output class[m] at z_m,
	// z [M,…]: [B,C,M].
	Cross(b *graph.Builder, x, z *graph.Node, class []int) *graph.Node
	// Gram is the kernel among the outputs class[m] at z_m: [M,M].
	Gram(b *graph.Builder, z *graph.Node, class []int) *graph.Node
}

// Gaussian is the predictive distribution of the latent function at N inputs, one
// Gaussian over the C outputs for each, in float64. It has no observation noise.
type Gaussian struct {
	Mean *tensor.Dense // [N,C]
	Cov  *tensor.Dense // [N,C,C]
	// Epistemic [N,C], from 0 to 1, are the shares of the targets' variances, noise included,
	// that more data would take away. They are of use where a method lets the noise of the
	// targets into Cov. nil stands for shares that come to the whole of Cov.
	Epistemic *tensor.Dense
}

// Posterior is a distribution over functions, fitted to data.
type Posterior interface {
	// Predict returns the marginals of the latent function at the inputs x [N,…].
	// It returns ctx's error if ctx ends first.
	Predict(ctx context.Context, x *tensor.Dense) (Gaussian, error)
}

// JointPosterior also knows how the function's values at different inputs vary
// together.
type JointPosterior interface {
	Posterior
	// Joint returns the mean [N·C] and the covariance [N·C, N·C] of all outputs at
	// all inputs; entry n·C + c belongs to output c at input n.
	Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error)
}
