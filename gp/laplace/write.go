package laplace

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	s, err := scannerAt(w.Net, w.X, p.scan.net, p.scan.outputs, p.scan.places, p.scan.blocks)
	if err != nil {
		return gp.Written{}, err
	}
	t := &writing{Writing: w, scanner: s, fitted: p.scan}
	g := gp.Written{Mean: w.Carry(s.out)}
	switch f := p.predictor.(type) {
	case spectralPredictor:
		g.Cov = t.spectral(f)
	case weightFactor:
		g.Cov = t.weights(f)
	case densePredictor:
		g.Cov = t.weights(f.weightFactor)
	case functionFactor:
		g.Cov = t.functions(f)
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
func (t *writing) rotated(p spectralPredictor, n, like *graph.Node, per int) *graph.Node {
	v := t.factor(n, per)
	basis := p.basis[like]
	if basis == nil || t.Err() != nil {
		return v
	}
	return t.Out.MatMul(v, t.Const(basis, width(like), width(like)), false, false)
}

// spectral writes what spectralPredictor.marginals computes.
func (t *writing) spectral(p spectralPredictor) (cov *graph.Node) {
	b := t.Out
	for _, g := range t.groups {
		if first := t.blocks[g.blocks[0]]; first.places > 1 {
			for _, i := range g.blocks {
				cov = t.plus(cov, b.Gram(t.multiplied(p, i)))
			}
			continue
		}
		d := t.rotated(p, g.d, t.fitted.blocks[g.blocks[0]].d, t.outputs)
		var u *graph.Node // [B,1,q]
		for _, i := range g.blocks {
			u = t.plus(u, t.variances(p, i))
		}
		cov = t.plus(cov, b.MatMul(b.Mul(d, u), d, false, true))
	}
	return cov
}

// plus is x + y, where x may be nil.
func (t *writing) plus(x, y *graph.Node) *graph.Node {
	if x == nil {
		return y
	}
	return t.Out.Add(x, y)
}

// variances returns vᵀa² of block i, [B,1,q], or [1,1,q] without a.
func (t *writing) variances(p spectralPredictor, i int) *graph.Node {
	k, b := t.blocks[i], t.Out
	if k.a == nil {
		return t.Const(p.v[i], 1, 1, k.q)
	}
	a := b.Square(t.rotated(p, k.a, t.fitted.blocks[i].a, 1))
	return b.MatMul(a, t.Const(p.v[i], k.p, k.q), false, false)
}

// multiplied returns the rows of the filters of a convolution, times the standard deviations of the weights: [B,C,p·q].
func (t *writing) multiplied(p spectralPredictor, i int) *graph.Node {
	k, b := t.blocks[i], t.Out
	std := make([]float64, k.size())
	kernel.Sqrt(std, p.v[i])
	a := t.rotated(p, k.a, t.fitted.blocks[i].a, 1)         // [B,1,T,p]
	d := t.rotated(p, k.d, t.fitted.blocks[i].d, t.outputs) // [B,C,T,q]
	if t.Err() != nil {
		return nil
	}
	n, c := t.batch, t.outputs
	d = b.Reshape(b.Transpose(d, 0, 2, 1, 3), n, k.places, c*k.q)
	rows := b.Reshape(b.MatMul(b.Reshape(a, n, k.places, k.p), d, true, false), n, k.p, c, k.q)
	rows = b.Mul(b.Transpose(rows, 0, 2, 1, 3), t.Const(std, 1, 1, k.p, k.q))
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
	m := make([]float64, f.n*f.n)
	for i := range f.n {
		if m[i*f.n+i] = math.Sqrt(f.s); f.t != nil {
			m[i*f.n+i] *= f.t[i]
		}
	}
	kernel.Trsm(true, true, f.n, f.n, f.l, f.n, m, f.n)
	return t.Gram(t.Rows(t.rows(), m), 1)
}

// functions writes EEᵀ + s AAᵀ with A = J̃ R̃ᵀ (G + sI)⁻¹ and E = J̃ − AR̃, where J̃ = JT and R̃ = RT, see functionFactor.root.
func (t *writing) functions(f functionFactor) *graph.Node {
	params, n := t.params, f.n
	r := make([]float64, n*params) // R̃
	f.data.eachTile(context.Background(), make([]float64, f.data.tileSize()), func(i, lo, cols int, tile []float64) {
		by := f.scales.of(i)
		for row := range n {
			kernel.Scale(r[row*params+lo:row*params+lo+cols], by, tile[row*cols:(row+1)*cols])
		}
	})
	inverse := make([]float64, n*n)
	for i := range n {
		inverse[i*n+i] = 1
	}
	kernel.Trsm(true, true, n, n, f.l, n, inverse, n)
	kernel.Trsm(true, false, n, n, f.l, n, inverse, n)
	b, j := t.Out, t.rows()
	if f.t != nil {
		j = b.Mul(j, t.Const(f.t, 1, 1, params))
	}
	if t.Err() != nil {
		return nil
	}
	rows := t.Const(r, n, params)
	a := t.Rows(b.MatMul(j, rows, false, true), inverse)
	e := b.Sub(j, b.MatMul(a, rows, false, false))
	return b.Add(b.Gram(e), t.Gram(a, f.s))
}
