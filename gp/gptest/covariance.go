package gptest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// shapes: mean [N,C], covariance [N,C,C], and shares and probabilities [N,C] or none; finite
// numbers.
func (p *probe) shapes() error {
	g, c := p.got, p.got.Outputs()
	if c < 1 || len(g.Mean) != p.n*c || len(g.Cov) != p.n*c*c {
		return fmt.Errorf("%d means and %d covariances of %d inputs, expected N·C and N·C²", len(g.Mean), len(g.Cov), p.n)
	}
	if e, q := len(g.Epistemic), len(g.Probs); e != 0 && e != p.n*c || q != 0 && q != p.n*c {
		return fmt.Errorf("%d epistemic shares and %d probabilities, expected none or %d", e, q, p.n*c)
	}
	for i, v := range slices.Concat(g.Mean, g.Cov, g.Epistemic, g.Probs) {
		if !kernel.Finite(v) {
			return fmt.Errorf("number %d of mean, covariance, shares and probabilities is %v", i, v)
		}
	}
	return nil
}

// covariance: symmetric and positive semi-definite, for each input and jointly.
func (p *probe) covariance() error {
	for i := range p.n {
		if err := p.psd(fmt.Sprintf("covariance of input %d", i), p.c, p.block(p.cov, i)); err != nil {
			return err
		}
	}
	j, ok := p.Posterior.(gp.JointPosterior)
	if !ok {
		return nil
	}
	_, cov, err := j.Joint(p.ctx, p.X)
	if err != nil {
		return err
	}
	return p.psd("joint covariance", p.n*p.c, cov.Float64s())
}

// belowPrior: prior − posterior is positive semi-definite for each input.
func (p *probe) belowPrior() error {
	if p.prior == nil {
		return nil
	}
	for i := range p.n {
		gain := slices.Clone(p.block(p.prior, i))
		for k, v := range p.block(p.cov, i) {
			gain[k] -= v
		}
		if err := p.psd(fmt.Sprintf("prior minus posterior covariance of input %d", i), p.c, gain); err != nil {
			return err
		}
	}
	return nil
}

// block is the C×C matrix of input i.
func (p *probe) block(v []float64, i int) []float64 { return v[i*p.c*p.c : (i+1)*p.c*p.c] }

// psd checks an n×n matrix; its eigenvalues add up the rounding of n elements.
func (p *probe) psd(what string, n int, v []float64) error {
	for i := range n {
		for k := range i {
			if d := v[i*n+k] - v[k*n+i]; !(max(d, -d) <= p.rounding) {
				return fmt.Errorf("%s: elements (%d,%d) and (%d,%d) are %g and %g", what, i, k, k, i, v[i*n+k], v[k*n+i])
			}
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(mat.NewSymDense(n, v), false) {
		return fmt.Errorf("%s: no eigenvalues found", what)
	}
	if least := eig.Values(nil)[0]; least < -float64(n)*p.rounding {
		return fmt.Errorf("%s: eigenvalue %g, expected none below −%.2g", what, least, float64(n)*p.rounding)
	}
	return nil
}

// joint: mean and diagonal blocks of the joint are what Predict gives.
func (p *probe) joint() error {
	j, ok := p.Posterior.(gp.JointPosterior)
	if !ok {
		return nil
	}
	mean, cov, err := j.Joint(p.ctx, p.X)
	if err != nil {
		return err
	}
	size := p.n * p.c
	if !slices.Equal(mean.Shape(), []int{size}) || !slices.Equal(cov.Shape(), []int{size, size}) {
		return fmt.Errorf("joint mean of shape %v and covariance of shape %v, expected [%d] and [%d,%d]", mean.Shape(), cov.Shape(), size, size, size)
	}
	var blocks []float64
	for i := range size {
		first := i / p.c * p.c
		blocks = append(blocks, cov.Float64s()[i*size+first:i*size+first+p.c]...)
	}
	return errors.Join(
		differ("joint mean", mean.Float64s(), p.mu, p.meanRounding()),
		differ("diagonal blocks of the joint covariance", blocks, p.cov, p.rounding))
}

// mean: the network's outputs, up to sums in another order.
func (p *probe) mean() error {
	if p.Net == nil {
		return nil
	}
	want, err := run(p.X, p.Net.Forward)
	if err != nil {
		return err
	}
	same := differ("mean", p.mu, want, p.meanRounding())
	own := gp.MeanOf(p.Posterior)
	if own == "" {
		return same
	}
	if same == nil {
		return fmt.Errorf("the mean is the network's output, but the posterior says: %s", own)
	}
	return nil
}

// probabilities: those that a posterior has itself are [N,C], none below 0, with the sum 1 for
// each input.
func (p *probe) probabilities() error {
	if len(p.got.Probs) == 0 {
		return nil
	}
	for i := range p.n {
		row := p.probs[i*p.c : (i+1)*p.c]
		if sum := kernel.Sum(row); !(slices.Min(row) >= 0) || !(math.Abs(sum-1) <= 1e-12) {
			return fmt.Errorf("probabilities %g of input %d, expected none below 0 and the sum 1", row, i)
		}
	}
	return nil
}

// meanRounding is 64 units in the last place of the largest mean.
func (p *probe) meanRounding() float64 {
	if p.X.Dtype() == tensor.Float32 {
		return 0x1p-18 * largest(p.mu)
	}
	return 0x1p-47 * largest(p.mu)
}
