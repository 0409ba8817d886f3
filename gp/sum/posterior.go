package sum

import (
	"slices"

	"github.com/go-valla/valla/gp"
)

// term is a posterior and the factor of its covariance in the sum.
type term struct {
	gp.Stored
	factor float64 // of the covariance
}

// posterior is a distribution over functions. All terms have the same mean, which is the mean of the
// posterior. Its covariance is the sum of the covariances of the terms, each times a factor.
type posterior struct {
	terms []term  // VaLLA and GAPA
	noise float64 // variance of the targets around the function, see gp.Scatter; 0 without noise
}

var _ gp.Stored = (*posterior)(nil)

// String implements gp.Stored: the names of the terms, with a plus sign between them.
func (p *posterior) String() string { return p.terms[0].String() + " + " + p.terms[1].String() }

// add writes the sum of the terms' distributions.
func (p *posterior) add(all []gp.Gaussian, sum *gp.Gaussian) {
	c := all[0].Outputs()
	sum.Resize(all[0].N(), c, slices.ContainsFunc(all, func(g gp.Gaussian) bool { return len(g.Epistemic) > 0 }))
	copy(sum.Mean, all[0].Mean)
	clear(sum.Cov)
	for k, g := range all {
		for i, v := range g.Cov {
			sum.Cov[i] += p.terms[k].factor * v
		}
	}
	if len(sum.Epistemic) > 0 {
		p.share(all, c, sum)
	}
}

// share writes the part of the targets' variances that more data would take away: for each
// term its variance, or the share that it states of its variance and the noise.
func (p *posterior) share(all []gp.Gaussian, c int, sum *gp.Gaussian) {
	for i := range sum.Epistemic {
		known := 0.0
		for k, g := range all {
			v := p.terms[k].factor * g.Cov[i*c+i%c]
			if len(g.Epistemic) > 0 {
				v = g.Epistemic[i] * (v + p.noise)
			}
			known += v
		}
		sum.Epistemic[i] = min(known/(sum.Cov[i*c+i%c]+p.noise), 1)
	}
}
