package gp

import "context"

// Spread returns p with own scales of the inputs: own writes the logarithms of the scales of one input
// x [D], whose prediction is row, to dst [C]. Several goroutines call own at once.
func Spread(p Posterior, own func(dst, x []float64, row Gaussian)) Posterior {
	return changed{p, func(x []float64, g *Gaussian) {
		g.ResizeLogScale()
		n, outputs := g.N(), g.Outputs()
		for i, d := 0, len(x)/n; i < n; i++ {
			own(g.LogScale[i*outputs:(i+1)*outputs], x[i*d:(i+1)*d], g.Rows(i, 1))
		}
	}}
}

// changed is a posterior whose predictions are changed.
type changed struct {
	Posterior
	change func(x []float64, g *Gaussian) // at inputs x [n·D]; several goroutines call it at once
}

// Compile implements Posterior.
func (p changed) Compile(r Request) (Compiled, error) {
	c, err := p.Posterior.Compile(r)
	return compiledChanged{c, p.change}, err
}

// compiledChanged is the Compiled of a changed posterior.
type compiledChanged struct {
	Compiled
	change func(x []float64, g *Gaussian) // see changed
}

// Predict implements Compiled.
func (c compiledChanged) Predict(ctx context.Context, x []float64, g *Gaussian) error {
	if err := c.Compiled.Predict(ctx, x, g); err != nil {
		return err
	}
	c.change(x, g)
	return nil
}
