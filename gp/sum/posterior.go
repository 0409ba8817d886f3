package sum

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"gorgonia.org/tensor"
)

// term is a posterior whose covariance is multiplied by a factor.
type term struct {
	gp.Stored
	factor float64
}

// Posterior is a distribution over functions whose mean is that of all of its terms, and
// whose covariance is the sum of theirs, each times a factor. It is not safe for concurrent
// use.
type Posterior struct {
	terms []term
	noise float64 // variance of the targets around the function; 0 with classes
}

var _ gp.Stored = (*Posterior)(nil)

// Factors returns the factors of VaLLA's and of GAPA's covariance.
func (p *Posterior) Factors() (valla, gapa float64) { return p.terms[0].factor, p.terms[1].factor }

// String implements gp.Stored: the names of the terms, with a plus sign between them.
func (p *Posterior) String() string { return p.terms[0].String() + " + " + p.terms[1].String() }

// Predict implements gp.Posterior: for x [N,…] the mean [N,C] and covariance [N,C,C].
func (p *Posterior) Predict(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	all := make([]gp.Gaussian, len(p.terms))
	for k, t := range slices.Backward(p.terms) { // GAPA knows the shape of the inputs
		var err error
		if all[k], err = t.Predict(ctx, x); err != nil {
			return gp.Gaussian{}, fmt.Errorf("%v: %w", p, err)
		}
	}
	n, c := all[0].Mean.Shape()[0], all[0].Mean.Shape()[1]
	cov, known := make([]float64, n*c*c), p.known(all, n, c)
	for k, g := range all {
		for i, v := range g.Cov.Float64s() {
			cov[i] += p.terms[k].factor * v
		}
	}
	out := gp.Gaussian{Mean: all[0].Mean, Cov: tensor.New(tensor.WithShape(n, c, c), tensor.WithBacking(cov))}
	if known != nil {
		for i := range known {
			known[i] = min(known[i]/(cov[i*c+i%c]+p.noise), 1)
		}
		out.Epistemic = tensor.New(tensor.WithShape(n, c), tensor.WithBacking(known))
	}
	return out, nil
}

// known returns the part [n,C] of the targets' variances that more data would take away, nil
// where that is the whole covariance: for each term its variance, or the share that it
// states of its variance and the noise.
func (p *Posterior) known(all []gp.Gaussian, n, c int) []float64 {
	if !slices.ContainsFunc(all, func(g gp.Gaussian) bool { return g.Epistemic != nil }) {
		return nil
	}
	sum := make([]float64, n*c)
	for k, g := range all {
		cov, factor := g.Cov.Float64s(), p.terms[k].factor
		for i := range sum {
			v := factor * cov[i*c+i%c]
			if g.Epistemic != nil {
				v = g.Epistemic.Float64s()[i] * (v + p.noise)
			}
			sum[i] += v
		}
	}
	return sum
}
