package valla

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// nameSplit is the array of L₀ in files.
const nameSplit = "valla.l_epistemic"

const (
	// maxSplit bounds the training rows from which L₀ is found.
	maxSplit = 10_000
	// splitStream is the random stream of a seed that draws them.
	splitStream = 8
)

// split finds which part of the posterior's variance is epistemic: what more data would
// take away. Where α > 0 and the noise is Gaussian, the objective asks only that the sum
// V = Q + σ² is the variance of the targets around the network. Noise that Q can follow
// ends in Q then, and Q does not fall as rows come in.
//
// What the rows determine of the function is another question, with a known answer: if the
// targets scatter around it with the variances V_n that the fit has found, its posterior
// variance is, with the same prior and the same inducing points,
//
//	E(x) = κ(x,x) − K_xz (A₀⁻¹ + K_z)⁻¹ K_zx,   K_z A₀ K_z = Σ_n K_zn K_nz / V_n,
//
// Prop. 2 of the paper with a noise variance for each row. E is the epistemic part of V,
// and V − E what is left for the noise: where there are many rows E is small, and V − E
// is the variance of the residuals there. A₀ = L₀L₀ᵀ is found from 10,000 rows at most, each
// of which stands for several then.
func (f *fitting) split(ctx context.Context) error {
	noise := likelihood.NoiseVariance(f.lik)
	if noise == 0 || alphaOf(f.s.Alpha) == 0 {
		return nil
	}
	x := gp.SampleRows(f.p.Train.X, maxSplit, rand.New(rand.NewPCG(f.r.Seed, splitStream)))
	root, err := f.post.evidenceRoot(ctx, x, noise, float64(f.p.Train.N())/float64(x.Shape()[0]))
	if err != nil {
		return fmt.Errorf("valla: the epistemic part of the variance: %w", err)
	}
	f.post.setSplit(root)
	return nil
}

// evidenceRoot returns L₀ [M,M] for inputs x [n,…], each of which counts weight times.
func (p *Posterior) evidenceRoot(ctx context.Context, x *tensor.Dense, noise, weight float64) ([]float64, error) {
	if err := p.prepare(x); err != nil {
		return nil, err
	}
	gram, err := p.layer.wideGram()
	if err != nil {
		return nil, err
	}
	at, err := newFrame(p.at.m, gram, leastJitter(x.Dtype()))
	if err != nil {
		return nil, err
	}
	q, t := newPredictions(p.at, nil, x.Shape()[0], p.outputs), make([]float64, at.m*at.m)
	err = p.f.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		if err := q.add(first, n, out[1], out[2]); err != nil {
			return err
		}
		v, lambda := q.k[:n*q.c*q.m], diagonals(q.cov[first*q.c*q.c:(first+n)*q.c*q.c], q.c)
		for i, variance := range lambda {
			lambda[i] = weight / (max(variance, 0) + noise)
		}
		at.whiten(v)
		kernel.Add(t, t, weightedGram(q.m, lambda, v))
		return nil
	})
	if err != nil {
		return nil, err
	}
	spectrum, err := at.spectrum(t)
	if err != nil {
		return nil, err
	}
	return spectrum.root(p.at.s)
}

// setSplit keeps a matrix L₀ [M,M].
func (p *Posterior) setSplit(full []float64) {
	m, dt := p.layer.Inducing(), p.layer.Z.Value.Dtype()
	var v []float64
	for i := range m {
		v = append(v, full[i*m:i*m+i+1]...)
	}
	p.evidence, p.known = graph.NewParam(nameSplit, v, dt, len(v)), nil
}
