package gptest

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

// Compile implements gp.Posterior.
func (l *line) Compile(r gp.Request) (gp.Compiled, error) {
	if r.Limit > 0 && r.Limit < 8*outputs && l.flaw != "compiles without memory" {
		return nil, &graph.MemoryError{What: "a line", Need: 8 * outputs, Limit: r.Limit}
	}
	switch {
	case len(r.Shape) == 1 && r.Shape[0] == 2 || l.flaw == "any width":
	case l.flaw == "silent errors":
		return nil, fmt.Errorf("wrong inputs")
	default:
		return nil, fmt.Errorf("inputs of shape %v, expected [2]", r.Shape)
	}
	l.calls += 1e-12
	c := &compiledLine{l: l, size: r.Size}
	if r.Marginal {
		return reduced{c, l.flaw}, nil
	}
	return c, nil
}

type compiledLine struct {
	l    *line
	size int
	kept []float64
}

func (c *compiledLine) Bytes() int64 { return 8 * int64(outputs*(1+c.l.is("beyond the limit"))) }

func (c *compiledLine) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	l, n := c.l, len(x)/2
	if l.flaw == "compiled garbage" {
		c.kept = make([]float64, 3)
	}
	g.Resize(n, outputs, false)
	clear(g.Cov)
	for i := range n {
		at := i
		if l.flaw == "last of a batch" && i == c.size-1 && i > 0 {
			at = 0
		}
		for k := range outputs {
			g.Mean[i*outputs+k] = l.mean(x, at, k) + x[0]*l.is("neighbours")*min(1, float64(i))
			for j := range outputs {
				v := l.calls*l.is("drifts") + 0.1*float64(j)*l.is("asymmetric")
				if k == j {
					v += half(x, at, at) * (1 + 2*l.is("wide") - 2*l.is("negative"))
				}
				g.Cov[(i*outputs+k)*outputs+j] = v
			}
		}
	}
	if c.size == 5 {
		g.Mean[0] += l.is("compiled for many")
	}
	if l.flaw == "NaN" {
		g.Mean[0] = math.NaN()
	}
	g.ResizeProbs()
	l.probs(g.Probs, g.Mean)
	if l.flaw == "few" {
		g.Cov = g.Cov[:len(g.Cov)-1]
	}
	return nil
}
