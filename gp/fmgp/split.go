package fmgp

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// nameKnown is the array of P in files.
const nameKnown = "fmgp.known"

// maxSplit bounds the training rows from which P is found.
const maxSplit = 10_000

// split finds which part of the targets' variance V = Q + σ² is epistemic: what more data
// would take away. Where α > 0 and the targets have noise, the objective asks of V only that it
// is the variance of the targets around the network, so that noise ends in Q. What the rows
// determine of the function, if they scatter around it with the variances V_n that the fit has
// found, is
//
//	E₀(x) = K(x,x) − K_xz (A₀⁻¹ + K_z)⁻¹ K_zx,   K_z A₀ K_z = Σ_n K_zn K_nz / V_n,
//
// as in VaLLA, see its documentation: V is divided in the proportion of E₀ to ν, the mean of
// V_n. With K_z = RRᵀ, v_n = R⁻¹K_zn and Σ_n v_n v_nᵀ/V_n = UΓUᵀ it is K(x,x) − |PᵀK_zx|² with
// P = R⁻ᵀ U (Γ/(1+Γ))^½. It is found from 10,000 rows at most, each of which stands for
// several then. For noise that is not Gaussian σ² stands for 1/Λ. For other observation models, such as counts and
// classes, the noise depends on the function and there is no ν: all of Q is epistemic.
func (f *fitting) split(ctx context.Context) error {
	if !likelihood.Noisy(f.lik) || *f.s.Alpha == 0 {
		return nil
	}
	at, y, n := f.train, f.p.Train.Y, f.train.n()
	if n > maxSplit {
		rows := rand.New(rand.NewPCG(f.r.Seed, splitStream)).Perm(n)[:maxSplit]
		at, y = at.take(rows), data.TakeRows(y, rows)
	}
	noise := gp.ScatterOf(f.lik, graph.Floats(y), f.p.Outputs())
	return fault.In("fmgp: the epistemic part of the variance", f.post.findKnown(ctx, at, noise, float64(f.p.All())/float64(at.n())))
}

// take returns the points with the given numbers.
func (p points) take(rows []int) points {
	out := points{x: data.TakeRows(p.x, rows), g: data.TakeRows(p.g, rows)}
	if p.f != nil {
		out.f = data.TakeRows(p.f, rows)
	}
	return out
}

// findKnown sets P and ν from points with the variances noise [n·C], each of which counts weight times.
func (p *posterior) findKnown(ctx context.Context, at points, noise []float64, weight float64) error {
	l := p.layer.wide()
	r, err := l.root()
	if err != nil {
		return err
	}
	sum, scatter, err := p.evidence(ctx, l, r, at, noise, weight)
	if err != nil {
		return err
	}
	m := l.Inducing()
	gamma, u, err := eigen.Symmetric(m, sum)
	if err != nil {
		return err
	}
	for i := range u {
		g := max(gamma[i%m], 0)
		u[i] *= math.Sqrt(g / (1 + g))
	}
	kernel.Trsm(false, true, m, m, r, m, u, m)
	p.known, p.scatter, p.latent = graph.NewParam(nameKnown, u, tensor.Float64, m, m), scatter, nil
	return nil
}

// evidence returns Σ_n v_n v_nᵀ/V_n [M,M] and ν, for a layer in float64 with K_z = RRᵀ.
func (p *posterior) evidence(ctx context.Context, l *sparseGP, r []float64, at points, noise []float64, weight float64) (sum []float64, scatter float64, err error) {
	m, c := l.Inducing(), l.Kernel.Outputs
	rows, err := p.compile(func(b *graph.Builder, u *graph.Node) []*graph.Node {
		t := l.Terms(b, u)
		if b.Err() != nil {
			return nil
		}
		return []*graph.Node{t.Kxz, t.Variance}
	})
	if err != nil {
		return nil, 0, err
	}
	sum = make([]float64, m*m)
	err = eachPoint(ctx, rows, at, func(first, n int, out []*tensor.Dense) error {
		v := append([]float64(nil), out[0].Float64s()[:n*c*m]...)
		kernel.Trsm(true, true, n*c, m, r, m, v, m)
		for i, q := range out[1].Float64s()[:n*c] {
			total := max(q, 0) + noise[first*c+i]
			scatter += total / float64(at.n()*c)
			kernel.Scale(v[i*m:(i+1)*m], math.Sqrt(weight/total), v[i*m:(i+1)*m])
		}
		kernel.Gemm(true, false, m, m, n*c, 1, v, m, v, m, 1, sum, m)
		return nil
	})
	return sum, scatter, err
}

// root returns the Cholesky factor of K_z [M,M] of a layer in float64, with a jitter, see [gp.Factor].
func (l *sparseGP) root() ([]float64, error) {
	b := graph.NewBuilder(tensor.Float64)
	gram := l.Kernel.Gram(b, b.Param(l.Z), l.Class)
	values, err := graph.Evaluate(b, gram)
	if err != nil {
		return nil, err
	}
	r, _, err := gp.Factor(l.Inducing(), values[0], 0)
	return r, err
}

// shares turns epistemic variances E₀ into shares E₀/(E₀ + ν) of the variance.
func (p *posterior) shares(dst, e []float64) {
	for i := range dst {
		v := max(e[i], 0)
		dst[i] = v / (v + p.scatter)
	}
}
