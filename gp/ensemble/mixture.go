package ensemble

import (
	"context"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
)

// mixture is a distribution over functions with the moments of its members in equal parts.
type mixture struct {
	members []gp.Posterior // one for each network
	noise   []float64      // variance of the targets around the function of each member, see gp.Scatter; nil: 0
}

// Points returns the posterior of the members of a network of element type dt whose weights are certain, a deep
// ensemble. A network that is no ensemble has a gp.Point.
func Points(net layers.Network, dt tensor.Dtype) gp.Writer {
	all := layers.Members(net)
	if all == nil {
		return gp.Point{Net: net, Dtype: dt}
	}
	m := &mixture{}
	for _, n := range all {
		m.members = append(m.members, gp.Point{Net: n, Dtype: dt})
	}
	return m
}

// Compile implements gp.Posterior.
func (m *mixture) Compile(r gp.Request) (gp.Compiled, error) {
	c := &compiled{m: m, all: make([]gp.Gaussian, len(m.members)), marginal: r.Marginal}
	for k, of := range m.members {
		one, err := r.Part(c.Bytes(), of)
		if err != nil {
			return nil, fmt.Errorf("network %d: %w", k+1, err)
		}
		c.members = append(c.members, one)
	}
	return c, nil
}

// compiled is the gp.Compiled of a mixture.
type compiled struct {
	m       *mixture      // what is compiled
	members []gp.Compiled // one for each network
	all     []gp.Gaussian // predictions of the members

	marginal bool // predictions have variances alone
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() (sum int64) {
	for _, one := range c.members {
		sum += one.Bytes()
	}
	return sum
}

// Predict implements gp.Compiled.
func (c *compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	for k, one := range c.members {
		if err := one.Predict(ctx, x, &c.all[k]); err != nil {
			return fmt.Errorf("network %d: %w", k+1, err)
		}
		if c.marginal {
			c.all[k].Reduce()
		}
	}
	c.m.mix(c.all, g)
	return nil
}

// mix writes the moments of the mixture of the members' predictions.
func (m *mixture) mix(all []gp.Gaussian, g *gp.Gaussian) {
	n, c, share := all[0].N(), all[0].Outputs(), 1/float64(len(all))
	epistemic := slices.ContainsFunc(all, func(g gp.Gaussian) bool { return len(g.Epistemic) > 0 })
	g.ResizeFor(n, c, epistemic, all[0].Marginal > 0)
	clear(g.Mean)
	clear(g.Cov)
	for _, one := range all {
		kernel.Axpy(share, one.Mean, g.Mean)
		kernel.Axpy(share, one.Cov, g.Cov)
	}
	for _, one := range all {
		for i := range n {
			addOuter(g.Block(i), one.Mean[i*c:(i+1)*c], g.Mean[i*c:(i+1)*c], share)
		}
	}
	if len(g.Epistemic) > 0 {
		m.epistemic(all, g)
	}
	if len(all[0].Probs) > 0 {
		g.ResizeProbs()
		clear(g.Probs)
		for _, one := range all {
			kernel.Axpy(share, one.Probs, g.Probs)
		}
	}
}

// addOuter adds share·(v − mean)(v − mean)ᵀ to cov [C,C], or its diagonal to variances [C].
func addOuter(cov, v, mean []float64, share float64) {
	c := len(v)
	if len(cov) == c {
		for i := range c {
			cov[i] += share * (v[i] - mean[i]) * (v[i] - mean[i])
		}
		return
	}
	for i := range c {
		for j := range c {
			cov[i*c+j] += share * (v[i] - mean[i]) * (v[j] - mean[j])
		}
	}
}

// epistemic writes the shares of the targets' variances that more data would take away: what members have, and the part
// between networks.
func (m *mixture) epistemic(all []gp.Gaussian, g *gp.Gaussian) {
	c := g.Outputs()
	for i := range g.Epistemic {
		rest, noise := 0.0, 0.0 // what more data would not take away
		for k, one := range all {
			noise += m.noiseOf(k) / float64(len(all))
			v := one.Variance(i/c, i%c)
			known := v
			if len(one.Epistemic) > 0 {
				known = one.Epistemic[i] * (v + m.noiseOf(k))
			}
			rest += (v + m.noiseOf(k) - known) / float64(len(all))
		}
		total := g.Variance(i/c, i%c) + noise
		g.Epistemic[i] = 0
		if total > 0 {
			g.Epistemic[i] = min(max(1-rest/total, 0), 1)
		}
	}
}

// noiseOf returns the noise of member k.
func (m *mixture) noiseOf(k int) float64 {
	if m.noise == nil {
		return 0
	}
	return m.noise[k]
}

// Joint implements gp.JointPosterior, if all members do.
func (m *mixture) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	share, means := 1/float64(len(m.members)), [][]float64(nil)
	var g, q []float64
	for k, of := range m.members {
		joint, ok := of.(gp.JointPosterior)
		if !ok {
			return nil, nil, fmt.Errorf("network %d: %v has no covariance between inputs", k+1, of)
		}
		one, own, err := joint.Joint(ctx, x)
		if err != nil {
			return nil, nil, fmt.Errorf("network %d: %w", k+1, err)
		}
		if g == nil {
			g, q = make([]float64, one.Size()), make([]float64, own.Size())
		}
		means = append(means, one.Float64s())
		kernel.Axpy(share, one.Float64s(), g)
		kernel.Axpy(share, own.Float64s(), q)
	}
	for _, one := range means {
		addOuter(q, one, g, share)
	}
	return dense.Of(g, len(g)), dense.Of(q, len(g), len(g)), nil
}
