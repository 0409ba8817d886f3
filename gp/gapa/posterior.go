package gapa

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// posterior is a fitted GAPA. Its mean is the network; its covariance s r(u) J diag(c²) Jᵀ is
// the covariance of the latent function, without noise, in float64.
type posterior struct {
	net    layers.Network // the network g
	site   shifted        // the layer that has the processes
	layer  int            // the number of the site
	input  tensor.Shape   // of one example
	memory *memory        // the rows that are kept
	scales []float64      // c² [d]
	factor float64        // s
	limit  int64          // bytes
	order  []int          // the training rows, those that are kept first; nil where the posterior was restored
}

var _ gp.Stored = (*posterior)(nil)

// String implements gp.Stored.
func (p *posterior) String() string { return label }

// covariance is the writer of J diag(c²) Jᵀ.
func (p *posterior) covariance() writer {
	stds := make([]float64, len(p.scales))
	for j, v := range p.scales {
		stds[j] = math.Sqrt(v)
	}
	return p.site.covariance(stds)
}

// LeftOut calls visit with the distributions at the training inputs x [N,…] of the fit, each of which is
// left out of its own neighbours, so that the variances are like those at inputs that are no
// training rows. A posterior that was restored does not know its rows, which is an error. visit gets the
// inputs batch by batch, with the number of the first, in memory that the next batch overwrites.
func (p *posterior) LeftOut(ctx context.Context, x *tensor.Dense, visit func(first int, g gp.Gaussian)) error {
	if x.Shape()[0] != len(p.order) {
		return fmt.Errorf("gapa: %d inputs, expected the %d training rows of the fit", x.Shape()[0], len(p.order))
	}
	at := make([]int, len(p.order))
	for i, row := range p.order {
		if at[row] = i; i >= p.memory.m {
			at[row] = -1
		}
	}
	pass, err := newPass(p.site, p.input, p.limit-dense.Bytes(p.memory.z), p.covariance())
	if err != nil {
		return fmt.Errorf("gapa: predict: %w", err)
	}
	var g gp.Gaussian
	return pass.each(ctx, x, nil, func(first, n int, out []*tensor.Dense) error {
		r, err := p.memory.remaining(out[0], n, func(i int) int { return at[first+i] })
		if err != nil {
			return err
		}
		p.fill(&g, out, r)
		visit(first, g)
		return nil
	})
}

// fill writes the distributions at inputs of which out are the nodes of the pass, and r [n] the
// remaining shares of the variance.
func (p *posterior) fill(g *gp.Gaussian, out []*tensor.Dense, r []float64) {
	c := out[1].Shape()[1]
	g.Resize(len(r), c, false)
	g.SetMean(out[1])
	dense.Copy(g.Cov, out[2], 0)
	for i, v := range r {
		block := g.Cov[i*c*c : (i+1)*c*c]
		kernel.Scale(block, p.factor*v, block)
	}
}
