package valla

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
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

// split finds which part of the targets' variance V = Q + σ² is epistemic: what more data
// would take away. Where α > 0 and the targets have noise, the objective asks of V only that
// it is the variance of the targets around the network. Noise that Q can follow ends in Q
// then, and Q does not fall as rows come in. For noise that is not Gaussian σ² stands for 1/Λ. For other observation
// models, such as counts and classes, the noise depends on the function and there is no ν: all of Q is epistemic.
//
// What the rows determine of the function is another question, with a known answer: if the
// targets scatter around it with the variances V_n that the fit has found, its posterior
// variance is, with the same prior and the same inducing points,
//
//	E₀(x) = κ(x,x) − K_xz (A₀⁻¹ + K_z)⁻¹ K_zx,   K_z A₀ K_z = Σ_n K_zn K_nz / V_n,
//
// Prop. 2 of the paper with a noise variance for each row. Beside noise of the variance ν,
// the mean of V_n, that is the share E₀/(E₀ + ν) of what varies, and in this proportion V is
// divided:
//
//	epistemic V E₀/(E₀ + ν),   aleatoric V ν/(E₀ + ν).
//
// Both are positive and add up to V. Where there are many rows E₀ is small, and the second
// is V, which is the variance of the residuals there; far from them E₀ and V are the prior's,
// and the second is ν. A₀ = L₀L₀ᵀ and ν are found from 10,000 rows at most, each of which
// stands for several then.
func (f *fitting) split(ctx context.Context) error {
	if !f.splits() {
		return nil
	}
	e := f.p.Train.Sample(maxSplit, rand.New(rand.NewPCG(f.r.Seed, splitStream)))
	noise := gp.ScatterOf(f.lik, graph.Floats(e.Y), f.p.Outputs())
	root, scatter, err := f.post.evidenceRoot(ctx, e.X, noise, float64(f.p.All())/float64(e.N()))
	if err != nil {
		return fmt.Errorf("valla: the epistemic part of the variance: %w", err)
	}
	f.post.setSplit(root, scatter)
	return nil
}

// splits reports whether split has something to find.
func (f *fitting) splits() bool { return likelihood.Noisy(f.lik) && *f.s.Alpha != 0 }

// evidenceRoot returns L₀ [M,M] and ν for inputs x [n,…] with the variances noise [n·C], each of which counts weight
// times.
func (p *posterior) evidenceRoot(ctx context.Context, x *tensor.Dense, noise []float64, weight float64) (root []float64, scatter float64, err error) {
	if err := p.solve(); err != nil {
		return nil, 0, err
	}
	gram, err := p.layer.wideGram()
	if err != nil {
		return nil, 0, err
	}
	at, err := newFrame(p.at.m, gram, leastJitter(x.Dtype()))
	if err != nil {
		return nil, 0, err
	}
	t := make([]float64, at.m*at.m)
	err = p.eachPrediction(ctx, x, func(q *predictions, cross *tensor.Dense, first, n int) {
		lambda := slices.Clone(q.g.Cov)
		v := q.values(len(lambda), cross)
		for i, variance := range lambda {
			total := max(variance, 0) + noise[first*len(lambda)/n+i]
			scatter += total / float64(len(noise))
			lambda[i] = weight / total
		}
		at.whiten(v)
		kernel.Add(t, t, weightedGram(nil, q.m, lambda, v))
	})
	if err != nil {
		return nil, 0, err
	}
	spectrum, err := at.spectrum(t)
	if err != nil {
		return nil, 0, err
	}
	root, err = spectrum.root(p.at.s)
	return root, scatter, err
}

// eachPrediction calls visit with the variances [n,C] and k̂ [n·C,M] of n inputs of x [N,…] from number first on. It holds those of one
// batch: of thousands of outputs, all would not fit into memory.
func (p *posterior) eachPrediction(ctx context.Context, x *tensor.Dense, visit func(q *predictions, cross *tensor.Dense, first, n int)) error {
	f, err := p.kernelPass(x.Shape())
	if err != nil {
		return err
	}
	var g gp.Gaussian
	c, q := f.Width(0), &predictions{system: p.at}
	return f.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		g.ResizeFor(n, c, false, true)
		q.into(&g)
		q.rows = q.rows[:0]
		for i := range n {
			q.rows = append(q.rows, first+i)
		}
		err := q.add(0, n, out[0], out[1])
		if err == nil {
			visit(q, out[1], first, n)
		}
		return err
	})
}

// kernelPass compiles the diagonals of κ̂ and k̂ for inputs [N,…]. A single input may need more than the limit
// unless the limit is firm.
func (p *posterior) kernelPass(shape tensor.Shape) (*graph.Batched, error) {
	write := func(size int) (graph.Pass, error) {
		b := p.builder()
		pass := graph.Pass{Builder: b, X: b.Input("x", append([]int{size}, shape[1:]...)...)}
		if pass.Outputs, _ = p.layer.kernels(0, b, pass.X, nil, true); b.Err() != nil {
			return pass, b.Err()
		}
		for _, n := range pass.Outputs {
			pass.Beside += 3 * 8 * int64(n.Shape().TotalSize()) // in float64, and what is made of it
		}
		return pass, nil
	}
	f, _, err := batched("a prediction", shape[0], p.limit, write)
	if beyond := (*graph.MemoryError)(nil); p.firm || !errors.As(err, &beyond) {
		return f, err
	} else if err := graph.CheckMemory("a prediction", beyond.Need); err != nil {
		return nil, err
	}
	one, err := write(1)
	if err != nil {
		return nil, err
	}
	return graph.NewBatched(one.Builder, one.X, one.Outputs...)
}

// setSplit keeps a matrix L₀ [M,M] and ν.
func (p *posterior) setSplit(full []float64, scatter float64) {
	m, dt := p.layer.Inducing(), p.layer.Z.Value.Dtype()
	v := dense.PackLower(m, full)
	p.evidence, p.scatter, p.known = graph.NewParam(nameSplit, v, dt, len(v)), scatter, nil
}
