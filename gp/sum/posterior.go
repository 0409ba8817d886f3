package sum

import (
	"slices"

	"github.com/go-valla/valla/gp"
)

// term is a posterior whose covariance is multiplied by a factor.
type term struct {
	gp.Stored
	factor float64
}

// Posterior is a distribution over functions whose mean is that of all of its terms, and
// whose covariance is the sum of theirs, each times a factor.
type Posterior struct {
	terms []term
	noise float64 // variance of the targets around the function; 0 with classes
}

var _ gp.Stored = (*Posterior)(nil)

// Factors returns the factors of VaLLA's and of GAPA's covariance.
func (p *Posterior) Factors() (valla, gapa float64) { return p.terms[0].factor, p.terms[1].factor }

// String implements gp.Stored: the names of the terms, with a plus sign between them.
func (p *Posterior) String() string { return p.terms[0].String() + " + " + p.terms[1].String() }

// add writes the sum of the terms' distributions.
func (p *Posterior) add(all []gp.Gaussian, sum *gp.Gaussian) {
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
func (p *Posterior) share(all []gp.Gaussian, c int, sum *gp.Gaussian) {
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
