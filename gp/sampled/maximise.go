package sampled

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// maximise replaces λ by γ/|θ̄|² (MacKay 1992; Antorán et al. 2023, section 3.2). γ is the number
// of weights that the data determine, tr M (M + λI)⁻¹, as the mean of ζᵀMζ over samples. θ̄ is the
// mode of the linear model.
func (f *fitting) maximise(ctx context.Context, samples int) error {
	gamma, err := f.effective(ctx, samples)
	if err != nil {
		return err
	}
	mode, err := f.bestWeights(ctx, f.mode)
	if err != nil {
		return err
	}
	norm := kernel.Dot(mode, mode)
	copy(f.mode, mode)
	f.numbers.Gamma = min(max(gamma, 1), max(1, float64(f.size-1)))
	f.move(min(f.numbers.Gamma/norm, f.mostLambda()))
	return nil
}

// mostLambda is the largest prior precision: mostPrior times the estimate of tr M that the draws u ~ N(0, M) give. There
// the data determine no weight any more. Where no weights make the linear model better, λ would grow beyond all bounds.
func (f *fitting) mostLambda() float64 {
	return max(mostPrior*kernel.Dot(f.u, f.u)/float64(f.s.Samples), f.numbers.Lambdas[0])
}

// mostPrior is the factor of [fitting.mostLambda]. The posterior variance of an output is then at most a millionth of the
// scatter 1/Λ of the targets.
const mostPrior = 1e6

// effective is the mean of ζᵀMζ.
func (f *fitting) effective(ctx context.Context, samples int) (float64, error) {
	if f.s.Solver == solverSGD {
		m := make([]float64, samples*f.size)
		err := f.product(ctx, f.all, dense.Indices(samples), f.zeta, m)
		return kernel.Dot(f.zeta[:len(m)], m) / float64(samples), err
	}
	sum := 0.0
	for s := range samples {
		sum += f.determined(s)
	}
	return sum / float64(samples), nil
}

const (
	mostNewton = 50  // steps of Newton's method
	mostInner  = 500 // conjugate gradients in each
)

// bestWeights returns θ̄, the minimum of
//
//	Σ_n −log p(y_n | J_n w) + ½ λ |w|²,
//
// by Newton's method from w. A step is found by conjugate gradients, and one more pass tells how
// it changes the outputs, so that a search along the step costs nothing. The result has about the
// relative error of the tolerance.
func (f *fitting) bestWeights(ctx context.Context, w []float64) ([]float64, error) {
	n := &newton{fitting: f, ctx: ctx, w: slices.Clone(w), rng: rand.New(rand.NewPCG(f.r.Seed, newtonStream))}
	n.out = make([]float64, len(f.all.y)/f.lik.Width())
	var err error
	if kernel.Dot(w, w) > 0 {
		if n.out, err = n.push(n.w); err != nil {
			return nil, err
		}
	}
	for range mostNewton {
		near, err := n.step()
		if near || err != nil {
			return n.w, err
		}
	}
	return n.w, nil
}

// newton is the search for the best weights of the linear model.
type newton struct {
	*fitting
	ctx context.Context // of the fit
	w   []float64       // [P]
	out []float64       // J w [N,C]
	rng *rand.Rand      // draws the rows of the Hessian
}

// push returns J v [N,C].
func (n *newton) push(v []float64) ([]float64, error) {
	all := make([]float64, n.p.Train.N()*n.c)
	n.numbers.Passes++
	return all, n.linear.sweep(n.ctx, push, n.p.Train.X, []int{0}, v, nil, func(_, first int, _, along []float64) []float64 {
		copy(all[first*n.c:], along)
		return nil
	})
}

// step makes a step, and tells whether the minimum was near: a step is about as long as the distance, and leaves half of it or
// less; on ResNet-20 the promised fall of the loss was a fifth of the fall before from the third step on. Near the minimum the step needs no search, and nobody asks for the outputs after it.
func (n *newton) step() (near bool, err error) {
	g, err := n.descent()
	if err != nil {
		return false, err
	}
	d, err := n.direction(g)
	if err != nil {
		return false, err
	}
	if tol := n.s.Tolerance; kernel.Dot(d, d) <= tol*tol*kernel.Dot(n.w, n.w) {
		kernel.Add(n.w, n.w, d)
		return true, nil
	}
	change, err := n.push(d)
	if err != nil {
		return false, err
	}
	t := n.search(d, change, kernel.Dot(g, d)/2)
	kernel.Axpy(t, d, n.w)
	kernel.Axpy(t, change, n.out)
	return false, nil
}

// descent is minus the gradient, of all rows.
func (n *newton) descent() ([]float64, error) {
	g := make([]float64, n.size)
	n.numbers.Passes++
	err := n.linear.sweep(n.ctx, pull, n.p.Train.X, []int{0}, nil, g, func(_, first int, out, _ []float64) []float64 {
		at := first * n.c
		return n.residuals(n.out[at:at+len(out)], n.rows(n.all.y, first, len(out)/n.c))
	})
	kernel.Scale(g, -1, g)
	kernel.Axpy(-n.numbers.Lambda, n.w, g)
	return g, err
}

// residuals are minus the derivatives of log p(y | f) for rows f [n,C] and y [n,W·C].
func (n *newton) residuals(f, y []float64) []float64 {
	out, w := make([]float64, len(f)), n.lik.Width()
	for at := 0; at < len(f); at += n.c {
		n.lik.Gradient(out[at:at+n.c], y[at*w:(at+n.c)*w], f[at:at+n.c])
	}
	kernel.Scale(out, -1, out)
	return out
}

// direction solves H d = g for the Hessian H = Σ J_nᵀ Λ_n J_n + λI at the present outputs. Where
// some rows stand for all in M, some stand for all in H; the gradient g has all rows. It ends where
// the quadratic model falls little further (Nash and Sofer 1990). The preconditioner is the
// preconditioner of M, which has other Λ_n where Λ depends on the outputs; on MNIST this
// preconditioner still halves the iterations.
func (n *newton) direction(g []float64) ([]float64, error) {
	d, r, p, y := make([]float64, n.size), slices.Clone(g), make([]float64, n.size), make([]float64, n.size)
	rows, lambda, gain := n.leading(n.trace(n.all, 0, n.out), n.summed(), n.rng), n.numbers.Lambda, 0.0
	out := rows.taken(n.out, n.c)
	n.sketch.solve(p, r, lambda)
	inner := kernel.Dot(r, p)
	for k := 1; k <= mostInner && inner > 0; k++ {
		q := make([]float64, n.size)
		n.numbers.Passes += float64(rows.N()) / float64(n.p.Train.N())
		err := n.linear.sweep(n.ctx, both, rows.X, []int{0}, p, q, func(_, first int, _, jp []float64) []float64 {
			at := first * n.c
			return n.times(rows, first, out[at:at+len(jp)], jp)
		})
		if err != nil {
			return nil, err
		}
		kernel.Axpy(lambda, p, q)
		alpha := inner / kernel.Dot(p, q)
		kernel.Axpy(alpha, p, d)
		kernel.Axpy(-alpha, q, r)
		more := alpha * inner / 2
		if gain += more; float64(k)*more <= enoughGain*gain {
			break
		}
		n.sketch.solve(y, r, lambda)
		next := kernel.Dot(r, y)
		kernel.Scale(p, next/inner, p)
		kernel.Add(p, p, y)
		inner = next
	}
	return d, nil
}

// enoughGain is the share of the quadratic model's fall, per iteration on average, at which a
// direction is good enough.
const enoughGain = 0.25

// hidden is the fall of the loss, as a share of it, below which rounding may hide it.
const hidden = 1e-12

// search returns the t > 0 that minimises the loss along d, which changes the outputs by change:
// half of the last until the loss falls, from 1 on. Near the minimum rounding hides the fall that
// the quadratic model promises; there the whole step is taken.
func (n *newton) search(d, change []float64, promised float64) float64 {
	at, before := make([]float64, len(n.out)), n.loss(n.out, d, 0)
	if promised <= hidden*math.Abs(before) {
		return 1
	}
	for t := 1.0; t > 1e-6; t /= 2 {
		copy(at, n.out)
		kernel.Axpy(t, change, at)
		if n.loss(at, d, t) <= before {
			return t
		}
	}
	return 0
}

// loss is that at w + t d, with the outputs out, up to a constant.
func (n *newton) loss(out, d []float64, t float64) float64 {
	sum := n.numbers.Lambda * (t*kernel.Dot(n.w, d) + t*t/2*kernel.Dot(d, d))
	for at := 0; at < len(out); at += n.c {
		sum -= n.lik.LogDensity(n.rows(n.all.y, at/n.c, 1), out[at:at+n.c])
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}
