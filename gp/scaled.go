package gp

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Affine changes the Gaussians of C outputs: a mean μ becomes Mean∘μ + Shift, and a covariance Q
// diag(Std) Q diag(Std). With Mean = Std it is the law of Mean∘f + Shift for f ~ N(μ, Q). A
// posterior's own probabilities p of classes become softmax(Mean∘log p + Shift), which is what
// becomes of softmax when its logits are changed.
type Affine struct{ Mean, Shift, Std []float64 } // [C] each

// Equal reports whether a and b change Gaussians in the same way.
func (a Affine) Equal(b Affine) bool {
	return slices.Equal(a.Mean, b.Mean) && slices.Equal(a.Shift, b.Shift) && slices.Equal(a.Std, b.Std)
}

// apply overwrites means [N,C], covariances [N,C,C], or variances [N,C] if they are alone, and probabilities, which may be
// missing.
func (a Affine) apply(mean, cov, probs []float64, marginal bool) {
	c := len(a.Mean)
	for i, v := range mean {
		mean[i] = a.Mean[i%c]*v + a.Shift[i%c]
	}
	for i := range cov {
		other := i / c % c
		if marginal {
			other = i % c
		}
		cov[i] *= a.Std[other] * a.Std[i%c]
	}
	for row := range slices.Chunk(probs, c) {
		for k, p := range row {
			row[k] = a.Mean[k]*math.Log(max(p, math.SmallestNonzeroFloat64)) + a.Shift[k]
		}
		kernel.Softmax(row, row)
	}
}

// Scale returns p with its Gaussians changed.
func Scale(p Posterior, by Affine) Posterior {
	return changed{p, func(_ []float64, g *Gaussian) { by.apply(g.Mean, g.Cov, g.Probs, g.Marginal > 0) }}
}

// ScaledJoint is a JointPosterior whose joint Gaussians are changed.
type ScaledJoint struct {
	JointPosterior
	By Affine // how they are changed
}

// Joint implements JointPosterior.
func (s ScaledJoint) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	if mean, cov, err = s.JointPosterior.Joint(ctx, x); err != nil {
		return nil, nil, err
	}
	mean = mean.Clone().(*tensor.Dense)
	s.By.apply(mean.Float64s(), nil, nil, false)
	n, c, q := mean.Shape().TotalSize(), len(s.By.Std), cov.Float64s()
	for i := range n {
		for j := range n {
			q[i*n+j] *= s.By.Std[i%c] * s.By.Std[j%c]
		}
	}
	return mean, cov, nil
}
