package gptest

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
)

// Compile implements gp.Compiler.
func (l *line) Compile(_ []int, size int, limit int64) (gp.Compiled, error) {
	if limit > 0 && limit < 8*outputs && l.flaw != "compiles without memory" {
		return nil, fmt.Errorf("%d bytes are too few", limit)
	}
	return &compiledLine{l: l, size: size, w: l.W.Floats(), b: l.B.Floats()}, nil
}

type compiledLine struct {
	l    *line
	size int
	w, b []float64
	kept []float64
}

func (c *compiledLine) Bytes() int64 { return 0 }

func (c *compiledLine) Latents(_ context.Context, x []float64, g *gp.Latents) error {
	n := len(x) / 2
	if n > c.size {
		return fmt.Errorf("%d inputs, expected %d at most", n, c.size)
	}
	if c.l.flaw == "compiled garbage" {
		c.kept = make([]float64, 3)
	}
	g.Resize(n, outputs, c.l.flaw == "compiled shares")
	clear(g.Cov)
	for i := range n {
		for k := range outputs {
			g.Mean[i*outputs+k] = x[2*i]*c.w[k] + x[2*i+1]*c.w[outputs+k] + c.b[k] + 1e-9*c.l.is("compiled mean")
			g.Cov[(i*outputs+k)*outputs+k] = half(x, i, i) * (1 + c.l.is("compiled wider"))
		}
	}
	if c.size > 1 {
		g.Mean[0] += c.l.is("compiled for many")
	}
	g.ResizeProbs()
	c.l.probs(g.Probs, g.Mean)
	g.Probs[0] += c.l.is("compiled probabilities")
	return nil
}
