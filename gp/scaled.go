package gp

import (
	"context"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/kernel"
)

// Scaled is a posterior whose means and covariances are multiplied by positive numbers.
// Probabilities of its own are raised to the power Mean and add up to 1 again, which is what
// becomes of softmax when its logits are multiplied.
type Scaled struct {
	Of        Posterior
	Mean, Cov float64
}

// ScaledCompiler is a Scaled whose posterior is a Compiler.
type ScaledCompiler struct{ Scaled }

// Scale returns p with its means and its covariances multiplied by positive numbers. The
// result is a [Compiler] where p is one.
func Scale(p Posterior, mean, cov float64) Posterior {
	s := Scaled{p, mean, cov}
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
	g.Mean, g.Cov = times(g.Mean, s.Mean), times(g.Cov, s.Cov)
	if g.Probs != nil {
		g.Probs = g.Probs.Clone().(*tensor.Dense)
		temper(g.Probs.Float64s(), g.Probs.Shape()[1], s.Mean)
	}
	return g, nil
}

// temper raises probabilities [N,C] to a power and divides each row by its sum.
func temper(probs []float64, c int, power float64) {
	for row := range slices.Chunk(probs, c) {
		for k, p := range row {
			row[k] = power * math.Log(p)
		}
		Softmax(row)
	}
}

// times returns t, float64, with its elements multiplied by v.
func times(t *tensor.Dense, v float64) *tensor.Dense {
	out := slices.Clone(t.Float64s())
	kernel.Scale(out, v, out)
	return tensor.New(tensor.WithShape(t.Shape()...), tensor.WithBacking(out))
}

// Compile implements Compiler.
func (s ScaledCompiler) Compile(shape []int, size int, limit int64) (Compiled, error) {
	c, err := s.Of.(Compiler).Compile(shape, size, limit)
	if err != nil {
		return nil, err
	}
	return compiledScaled{c, s.Scaled}, nil
}

// compiledScaled is the Compiled of a ScaledCompiler.
type compiledScaled struct {
	Compiled
	s Scaled
}

// Latents implements Compiled.
func (c compiledScaled) Latents(ctx context.Context, x []float64, g *Latents) error {
	if err := c.Compiled.Latents(ctx, x, g); err != nil {
		return err
	}
	kernel.Scale(g.Mean, c.s.Mean, g.Mean)
	kernel.Scale(g.Cov, c.s.Cov, g.Cov)
	if len(g.Probs) > 0 {
		temper(g.Probs, len(g.Cov)/len(g.Mean), c.s.Mean)
	}
	return nil
}
