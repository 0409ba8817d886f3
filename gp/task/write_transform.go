package task

import (
	"math"

	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

// writtenTarget is the predictive distribution of a target as nodes [B,1], in the units of the target or of T(target).
type writtenTarget struct {
	mean, std, epistemic, aleatoric *graph.Node                     // mean and standard deviations
	quantile                        func(p float64) *graph.Node     // nil: there are none in closed form
	cdf                             func(y *graph.Node) *graph.Node // where a transform needs it
	parts                           []writtenPart                   // Gaussians that the distribution mixes; nil: it is none
	lower, upper                    *graph.Node                     // bounds of the interval
}

// writtenPart is a Gaussian.
type writtenPart struct {
	weight   float64     // of the part
	mean, sd *graph.Node // [B,1]
}

// write writes the distribution of Y where T(Y) has the distribution in, as fillValue computes it.
func (t Transform) write(b *graph.Builder, in writtenTarget) (writtenTarget, error) {
	out := in
	out.quantile = func(p float64) *graph.Node { return t.writeInverse(b, in.quantile(p)) }
	median := out.quantile(0.5)
	never := b.Affine(in.mean, 0, 1) // the target has no mean
	mean, std := median, b.Affine(in.mean, 0, 0)
	if in.parts != nil {
		mean, std = t.writeMixture(b, in.parts)
		at := in.cdf(t.writeForward(b, mean))
		never = b.Add(b.Step(b.Affine(at, 1, tail-1)), b.Step(b.Affine(at, -1, tail)))
	} else if t.Name == YeoJohnson {
		return out, settings.Errorf("the target transform %v with residuals of Student's t cannot be exported: Gaussian residuals can", t)
	}
	infinite := b.Affine(b.Exp(b.Scale(never, 1e4)), 1, -1) // 0, or ∞ without a mean
	share := b.Div(std, in.std)
	slope := b.Exp(b.Neg(t.writeLogSlope(b, t.writeInverse(b, in.mean))))
	out.mean, out.std = choose(b, never, median, mean), b.Add(std, infinite)
	out.epistemic = choose(b, never, b.Mul(slope, in.epistemic), b.Mul(share, in.epistemic))
	out.aleatoric = b.Add(b.Mul(share, in.aleatoric), infinite)
	out.cdf, out.parts = nil, nil
	return out, b.Err()
}

// choose returns x where a condition is 1, and y where it is 0; both are finite.
func choose(b *graph.Builder, condition, x, y *graph.Node) *graph.Node {
	return b.Add(b.Mul(condition, x), b.Mul(b.Affine(condition, -1, 1), y))
}

// writeMixture writes the mean and the standard deviation of Y where T(Y) is a mixture of Gaussians.
func (t Transform) writeMixture(b *graph.Builder, parts []writtenPart) (mean, std *graph.Node) {
	means, variances := make([]*graph.Node, len(parts)), make([]*graph.Node, len(parts))
	for k, p := range parts {
		means[k], variances[k] = t.writeMoments(b, p.mean, p.sd)
		mean = b.Plus(mean, b.Scale(means[k], p.weight))
	}
	var variance *graph.Node
	for k, p := range parts {
		variance = b.Plus(variance, b.Scale(b.Add(variances[k], b.Square(b.Sub(means[k], mean))), p.weight))
	}
	return mean, b.Sqrt(variance)
}

// writeMoments writes what normalMoments computes. The moments of a logarithm that say nothing are kept finite.
func (t Transform) writeMoments(b *graph.Builder, mu, sigma *graph.Node) (mean, variance *graph.Node) {
	if t.Name == YeoJohnson {
		return t.writeYeoJohnson(b, mu, sigma)
	}
	square := b.Square(sigma)
	mean = b.Exp(b.Clip(b.Add(mu, b.Scale(square, 0.5)), -300, 300))
	variance = b.Mul(b.Square(mean), b.Affine(b.Exp(b.Clip(square, 0, 100)), 1, -1))
	if t.Name == Log1p {
		mean = b.Affine(mean, 1, -1)
	}
	return mean, variance
}

// writeYeoJohnson writes what yeoJohnsonMoments computes: one rule of Gauss where the kink at T⁻¹(0) is far, and panels elsewhere.
func (t Transform) writeYeoJohnson(b *graph.Builder, mu, sigma *graph.Node) (mean, variance *graph.Node) {
	centre, n := t.writeInverse(b, mu), len(hermite.z)
	rule := func(z, weights *graph.Node) (first, second *graph.Node) {
		r := b.Sub(t.writeInverse(b, b.Add(mu, b.Mul(sigma, z))), centre)
		return b.SumAxis(b.Mul(weights, r), 1), b.SumAxis(b.Mul(weights, b.Square(r)), 1)
	}
	far1, far2 := rule(b.Const("points of a transform", hermite.z[:], 1, n), b.Const("their weights", hermite.w[:], 1, n))
	first, second := t.writePanels(b, b.Clip(b.Neg(b.Div(mu, sigma)), -nearest, nearest), rule)
	near := b.Step(b.Sub(b.Scale(sigma, 4), b.Abs(mu)))
	near = b.Affine(b.Mul(b.Affine(near, -1, 1), b.Affine(b.Step(b.Affine(sigma, 1, -narrow)), -1, 1)), -1, 1)
	first, second = choose(b, near, first, far1), choose(b, near, second, far2)
	return b.Add(centre, first), b.ReLU(b.Sub(second, b.Square(first)))
}

// writePanels applies a rule for a standard Gaussian to panels on both sides of kink.
func (t Transform) writePanels(b *graph.Builder, kink *graph.Node, rule func(z, weights *graph.Node) (first, second *graph.Node)) (first, second *graph.Node) {
	const panels, end = 40, 20
	var x, w []float64 // on [0,1]
	for k := range panels {
		for i, v := range legendre.x {
			x, w = append(x, (float64(k)+v)/panels), append(w, legendre.w[i]/panels)
		}
	}
	at, weights := b.Const("places in panels", x, 1, len(x)), b.Const("weights in panels", w, 1, len(x))
	for _, to := range []float64{-end, end} {
		width := b.Affine(kink, -1, to)
		z := b.Add(kink, b.Mul(width, at))
		density := b.Scale(b.Exp(b.Scale(b.Square(z), -0.5)), math.Copysign(1/math.Sqrt(2*math.Pi), to))
		m, v := rule(z, b.Mul(b.Mul(density, weights), width))
		first, second = b.Plus(first, m), b.Plus(second, v)
	}
	return first, second
}

// writeForward writes T(y).
func (t Transform) writeForward(b *graph.Builder, y *graph.Node) *graph.Node {
	switch t.Name {
	case Log:
		return b.Log(y)
	case Log1p:
		return b.Log1p(y)
	}
	power := func(y *graph.Node, lambda float64) *graph.Node {
		log := b.Log1p(b.ReLU(y))
		if lambda == 0 {
			return log
		}
		return b.Scale(b.Affine(b.Exp(b.Scale(log, lambda)), 1, -1), 1/lambda)
	}
	return b.Sub(power(y, t.Exponent), power(b.Neg(y), 2-t.Exponent))
}

// writeInverse writes T⁻¹(u).
func (t Transform) writeInverse(b *graph.Builder, u *graph.Node) *graph.Node {
	switch t.Name {
	case Log:
		return b.Exp(u)
	case Log1p:
		return b.Affine(b.Exp(u), 1, -1)
	}
	root := func(u *graph.Node, lambda float64) *graph.Node {
		u = b.ReLU(u)
		if lambda == 0 {
			return b.Affine(b.Exp(u), 1, -1)
		}
		return b.Affine(b.Exp(b.Scale(b.Log1p(b.Scale(u, lambda)), 1/lambda)), 1, -1)
	}
	return b.Sub(root(u, t.Exponent), root(b.Neg(u), 2-t.Exponent))
}

// writeLogSlope writes log T'(y).
func (t Transform) writeLogSlope(b *graph.Builder, y *graph.Node) *graph.Node {
	switch t.Name {
	case Log:
		return b.Neg(b.Log(y))
	case Log1p:
		return b.Neg(b.Log1p(y))
	}
	return b.Scale(b.Sub(b.Log1p(b.ReLU(y)), b.Log1p(b.ReLU(b.Neg(y)))), t.Exponent-1)
}

// lawParts writes a residual with the law l around mean, in units of scale, as a mixture of Gaussians; nil where it is none.
func lawParts(b *graph.Builder, l *law.Law, mean, scale *graph.Node) (parts []writtenPart) {
	switch {
	case l == nil:
		return []writtenPart{{1, mean, scale}}
	case l.Family == law.Gaussian:
		return []writtenPart{{1, mean, b.Scale(scale, l.Scale)}}
	case l.Family == law.Mixture:
		for k, w := range l.Weights {
			parts = append(parts, writtenPart{w, b.Add(mean, b.Scale(scale, l.Shifts[k])), b.Scale(scale, l.Scales[k])})
		}
	}
	return parts
}

// mixtureCDF writes the CDF of a mixture of Gaussians.
func mixtureCDF(b *graph.Builder, parts []writtenPart) func(y *graph.Node) *graph.Node {
	return func(y *graph.Node) (sum *graph.Node) {
		for _, p := range parts {
			normal := likelihood.WriteNormal(b, p.mean, b.Square(p.sd), nil)
			sum = b.Plus(sum, b.Scale(normal.CDF(y), p.weight))
		}
		return sum
	}
}
