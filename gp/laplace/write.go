package laplace

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	s, err := scannerAt(w.Net, w.X, p.scan.net, p.scan.outputs, keeping{places: p.scan.keep.places}, p.scan.blocks)
	if err != nil {
		return gp.Written{}, err
	}
	t := &writing{Writing: w, scanner: s, fitted: p.scan}
	g := gp.Written{Mean: w.Carry(s.out)}
	switch f := p.predictor.(type) {
	case spectralPredictor:
		g.Cov = t.spectral(writtenSpectrum{f, p.factor.(spectralFactor), p.structure})
	case weightFactor:
		g.Cov = t.weights(f)
	case densePredictor:
		g.Cov = t.weights(f.weightFactor)
	case functionFactor:
		if g.Cov, err = t.functions(p, f); err != nil {
			return g, err
		}
	default:
		return g, fmt.Errorf("laplace: %T cannot be written", f)
	}
	g.Cov = w.Out.Scale(g.Cov, p.PriorStd()*p.PriorStd())
	return g, w.Err()
}

// writing writes covariances over σ₀² from the factors of the Jacobian.
type writing struct {
	*gp.Writing
	*scanner          // in the stage of the network
	fitted   *scanner // of the fit, whose nodes name bases
}

// factor returns the rows of a factor in the stage Out as [B,per,…,width].
func (t *writing) factor(n *graph.Node, per int) *graph.Node {
	n = t.Carry(n)
	if t.Err() != nil {
		return nil
	}
	return t.Out.Reshape(n, append([]int{t.batch, per}, n.Shape()[1:]...)...)
}

// rotated returns rows [B,per,…,width] of a factor in its basis; like is the factor in the fit.
func (t *writing) rotated(p writtenSpectrum, n, like *graph.Node, per int) *graph.Node {
	v := t.factor(n, per)
	basis := p.basis[like]
	if basis == nil || t.Err() != nil {
		return v
	}
	return t.Out.MatMul(v, t.Const(basis, width(like), width(like)), false, false)
}

// writtenSpectrum is a spectralPredictor with that from which it was made.
type writtenSpectrum struct {
	spectralPredictor
	factor spectralFactor // has the scales
	of     structure      // may have the eigenvalues of factors
}

// spectrum writes the variances v of block i [p,q]. Those of KFAC are s/(λμ + r) for the eigenvalues λ and μ of its factors.
func (t *writing) spectrum(p writtenSpectrum, i int) *graph.Node {
	k, b := t.fitted.blocks[i], t.Out
	h, ok := p.of.(interface {
		eigenvalues(factor *graph.Node) []float64
	})
	if !ok || k.a == nil {
		return t.Const(p.v[i], k.shape()...)
	}
	h1, h2 := t.Const(h.eigenvalues(k.a), k.p, 1), t.Const(h.eigenvalues(k.d), 1, k.q)
	return b.Div(b.Fill(p.factor.scales.s, 1, 1), b.Affine(b.Mul(b.ReLU(h1), b.ReLU(h2)), 1, p.factor.ratio(i)))
}

// spectral writes what spectralPredictor.marginals computes.
func (t *writing) spectral(p writtenSpectrum) (cov *graph.Node) {
	b := t.Out
	for _, g := range t.groups {
		if first := t.blocks[g.blocks[0]]; first.places > 1 {
			for _, i := range g.blocks {
				cov = b.Plus(cov, b.Gram(t.multiplied(p, i)))
			}
			continue
		}
		d := t.rotated(p, g.d, t.fitted.blocks[g.blocks[0]].d, t.outputs)
		var u *graph.Node // [B,1,q]
		for _, i := range g.blocks {
			u = b.Plus(u, t.variances(p, i))
		}
		cov = b.Plus(cov, b.MatMul(b.Mul(d, u), d, false, true))
	}
	return cov
}

// variances returns vᵀa² of block i, [B,1,q], or [1,1,q] without a.
func (t *writing) variances(p writtenSpectrum, i int) *graph.Node {
	k, b := t.blocks[i], t.Out
	v := t.spectrum(p, i)
	if t.Err() != nil {
		return nil
	}
	if k.a == nil {
		return b.Reshape(v, 1, 1, k.q)
	}
	return b.MatMul(b.Square(t.rotated(p, k.a, t.fitted.blocks[i].a, 1)), v, false, false)
}

// multiplied returns the rows of the filters of a convolution, times the standard deviations of the weights: [B,C,p·q].
func (t *writing) multiplied(p writtenSpectrum, i int) *graph.Node {
	k, b := t.blocks[i], t.Out
	v := t.spectrum(p, i)
	a := t.rotated(p, k.a, t.fitted.blocks[i].a, 1)         // [B,1,T,p]
	d := t.rotated(p, k.d, t.fitted.blocks[i].d, t.outputs) // [B,C,T,q]
	if t.Err() != nil {
		return nil
	}
	n, c := t.batch, t.outputs
	d = b.Reshape(b.Transpose(d, 0, 2, 1, 3), n, k.places, c*k.q)
	rows := b.Reshape(b.MatMul(b.Reshape(a, n, k.places, k.p), d, true, false), n, k.p, c, k.q)
	rows = b.Mul(b.Transpose(rows, 0, 2, 1, 3), b.Reshape(b.Sqrt(v), 1, 1, k.p, k.q))
	return b.Reshape(rows, n, c, k.size())
}

// rows returns the Jacobian rows [B,C,P].
func (t *writing) rows() *graph.Node {
	var parts []*graph.Node
	b := t.Out
	for _, k := range t.blocks {
		d := t.factor(k.d, t.outputs)
		if k.a == nil {
			parts = append(parts, d)
			continue
		}
		a := t.factor(k.a, 1)
		if t.Err() != nil {
			return nil
		}
		left, right := b.Reshape(a, t.batch, 1, k.p, 1), b.Reshape(d, t.batch, t.outputs, 1, k.q)
		if k.swapped {
			left, right = b.Reshape(d, t.batch, t.outputs, k.q, 1), b.Reshape(a, t.batch, 1, 1, k.p)
		}
		parts = append(parts, b.Reshape(b.Mul(left, right), t.batch, t.outputs, k.size()))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return b.Concat(2, parts...)
}

// weights writes F Fᵀ with F = √s J T L⁻ᵀ.
func (t *writing) weights(f weightFactor) *graph.Node {
	j := t.scaled(t.rows(), f.t)
	if t.Err() != nil {
		return nil
	}
	return t.Gram(t.Out.MatMul(j, t.Lower(kernel.InverseLower(f.n, f.l), f.n), false, true), f.s)
}

// scaled writes JT for rows J [B,C,P]; t is the diagonal of T, nil for ones.
func (t *writing) scaled(j *graph.Node, diagonal []float64) *graph.Node {
	if diagonal == nil || t.Err() != nil {
		return j
	}
	return t.Out.Mul(j, t.Const(diagonal, 1, 1, len(diagonal)))
}
