package gp

import "context"

// Spread returns p with own scales of the inputs: own writes the logarithms of the scales of one input
// x [D], whose prediction is row, to dst [C]. Several goroutines call own at once.
func Spread(p Posterior, own func(dst, x []float64, row Gaussian)) Posterior { return spread{p, own} }

// spread is a posterior whose predictions have a LogScale.
type spread struct {
	Posterior
	own func(dst, x []float64, row Gaussian) // see Spread
}

// Compile implements Posterior.
func (s spread) Compile(r Request) (Compiled, error) {
	c, err := s.Posterior.Compile(r)
	if err != nil {
		return nil, err
	}
	return compiledSpread{c, s.own}, nil
}

// compiledSpread is the Compiled of a spread.
type compiledSpread struct {
	Compiled
	own func(dst, x []float64, row Gaussian) // see Spread
}

// Predict implements Compiled.
func (c compiledSpread) Predict(ctx context.Context, x []float64, g *Gaussian) error {
	if err := c.Compiled.Predict(ctx, x, g); err != nil {
		return err
	}
	g.ResizeLogScale()
	n, outputs := g.N(), g.Outputs()
	for i, d := 0, len(x)/n; i < n; i++ {
		c.own(g.LogScale[i*outputs:(i+1)*outputs], x[i*d:(i+1)*d], g.Rows(i, 1))
	}
	return nil
}
