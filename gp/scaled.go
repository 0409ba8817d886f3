package gp

import (
	"context"
	"math"
	"slices"

	"gorgonia.org/tensor"
)

// Affine changes the Gaussians of C outputs: a mean μ becomes Mean∘μ + Shift, and a covariance Q
// diag(Std) Q diag(Std). With Mean = Std it is the law of Mean∘f + Shift for f ~ N(μ, Q). A
// posterior's own probabilities p of classes become softmax(Mean∘log p + Shift), which is what
// becomes of softmax when its logits are changed.
type Affine struct{ Mean, Shift, Std []float64 } // [C] each

// apply overwrites means [N,C], covariances [N,C,C] and probabilities, which may be missing.
func (a Affine) apply(mean, cov, probs []float64) {
	c := len(a.Mean)
	for i, v := range mean {
		mean[i] = a.Mean[i%c]*v + a.Shift[i%c]
	}
	for i := range cov {
		cov[i] *= a.Std[i/c%c] * a.Std[i%c]
	}
	for row := range slices.Chunk(probs, c) {
		for k, p := range row {
			row[k] = a.Mean[k]*math.Log(max(p, math.SmallestNonzeroFloat64)) + a.Shift[k]
		}
		Softmax(row)
	}
}

// Scaled is a posterior whose Gaussians are changed.
type Scaled struct {
	Of Posterior
	By Affine
}

// ScaledCompiler is a Scaled whose posterior is a Compiler.
type ScaledCompiler struct{ Scaled }

// Scale returns p with its Gaussians changed. The result is a [Compiler] where p is one.
func Scale(p Posterior, by Affine) Posterior {
	s := Scaled{p, by}
	if _, ok := p.(Compiler); ok {
		return ScaledCompiler{s}
	}
	return s
}

// Predict implements Posterior.
func (s Scaled) Predict(ctx context.Context, x *tensor.Dense) (Gaussian, error) {
	g, err := s.Of.Predict(ctx, x)
	if err != nil {
		return g, err
	}
	g.Mean, g.Cov = copied(g.Mean), copied(g.Cov)
	if g.Probs != nil {
		g.Probs = copied(g.Probs)
	}
	l := g.Latents()
	s.By.apply(l.Mean, l.Cov, l.Probs)
	return g, nil
}

// copied returns a copy of t, float64.
func copied(t *tensor.Dense) *tensor.Dense {
	return tensor.New(tensor.WithShape(t.Shape()...), tensor.WithBacking(slices.Clone(t.Float64s())))
}

// ScaledJoint is a JointPosterior whose joint Gaussians are changed.
type ScaledJoint struct {
	JointPosterior
	By Affine
}

// Joint implements JointPosterior.
func (s ScaledJoint) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	if mean, cov, err = s.JointPosterior.Joint(ctx, x); err != nil {
		return nil, nil, err
	}
	mean = copied(mean)
	s.By.apply(mean.Float64s(), nil, nil)
	n, c, q := mean.Shape().TotalSize(), len(s.By.Std), cov.Float64s()
	for i := range n {
		for j := range n {
			q[i*n+j] *= s.By.Std[i%c] * s.By.Std[j%c]
		}
	}
	return mean, cov, nil
}

// Compile implements Compiler.
func (s ScaledCompiler) Compile(shape []int, size int, limit int64) (Compiled, error) {
	c, err := s.Of.(Compiler).Compile(shape, size, limit)
	if err != nil {
		return nil, err
	}
	return compiledScaled{c, s.By}, nil
}

// compiledScaled is the Compiled of a ScaledCompiler.
type compiledScaled struct {
	Compiled
	by Affine
}

// Latents implements Compiled.
func (c compiledScaled) Latents(ctx context.Context, x []float64, g *Latents) error {
	if err := c.Compiled.Latents(ctx, x, g); err != nil {
		return err
	}
	c.by.apply(g.Mean, g.Cov, g.Probs)
	return nil
}
