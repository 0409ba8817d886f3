package laplace

import (
	"context"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// functions writes J̃J̃ᵀ − BBᵀ with B = J̃R̃ᵀL⁻ᵀ, or where more digits are needed EEᵀ + s AAᵀ with A = BL⁻¹ and E = J̃ − AR̃, where
// J̃ = JT and R̃ = RT, see functionFactor.root.
func (t *writing) functions(p *posterior, f functionFactor) (*graph.Node, error) {
	r, err := t.dataRows(p, f)
	if err != nil || t.Err() != nil {
		return nil, err
	}
	b, lower := t.Out, t.Lower(kernel.InverseLower(f.n, f.l), f.n)
	if !t.Careful {
		taken := b.MatMul(r.cross(t, f.scales), lower, false, true)
		return b.Sub(t.own(f.scales), b.Gram(taken)), nil
	}
	j, rows := t.scaled(t.rows(), f.t), t.scaled(r.whole(t), f.t)
	if t.Err() != nil {
		return nil, nil
	}
	rows = b.Reshape(rows, f.n, t.params)
	a := b.MatMul(b.MatMul(b.MatMul(j, rows, false, true), lower, false, true), lower, false, false)
	e := b.Sub(j, b.MatMul(a, rows, false, false))
	return b.Add(b.Gram(e), t.Gram(a, f.s)), nil
}

// own writes J̃J̃ᵀ [B,C,C].
func (t *writing) own(c scales) (sum *graph.Node) {
	b := t.Out
	for _, g := range t.groups {
		var factor *graph.Node // [B,1,1]
		for _, i := range g.blocks {
			factor = b.Plus(factor, t.product(i, c, func(a *graph.Node) *graph.Node { return b.Gram(a) }))
		}
		sum = b.Plus(sum, b.Mul(b.Gram(t.factor(g.d, t.outputs)), factor))
	}
	return sum
}

// product writes t² times the product of the layer's inputs a [B,1,p] of block i, and t² without a.
func (t *writing) product(i int, c scales, of func(a *graph.Node) *graph.Node) *graph.Node {
	square := c.of(i) * c.of(i)
	if t.blocks[i].a == nil {
		return t.Const([]float64{square}, 1, 1, 1)
	}
	a := t.factor(t.blocks[i].a, 1)
	if t.Err() != nil {
		return nil
	}
	return t.Out.Scale(of(a), square)
}

// writtenRows are the rows R of a function space as nodes.
type writtenRows interface {
	// cross writes J̃R̃ᵀ [B,C,n].
	cross(t *writing, c scales) *graph.Node
	// whole writes R, a shape of n·P numbers.
	whole(t *writing) *graph.Node
}

// dataRows returns the rows R: those of a low rank as they are, and those of data from the inputs.
func (t *writing) dataRows(p *posterior, f functionFactor) (writtenRows, error) {
	if r, ok := f.data.rows.(wholeRows); ok {
		return writtenWhole{r.j, r.n}, nil
	}
	n := f.n / t.outputs
	value := dense.Of(f.data.x, append([]int{n}, t.fitted.in.Shape()[1:]...)...)
	x := t.Rounded(value)
	s, err := scannerAt(t.Net, x, t.net, t.outputs, t.keep, t.fitted.blocks)
	if err != nil {
		return nil, err
	}
	r := writtenFactors{of: &writing{Writing: t.Writing, scanner: s, fitted: t.fitted}, n: f.n}
	if p.evidence.gaussian() {
		return r, nil
	}
	l := likelihood.WithNoise(p.evidence.likelihood, 1)
	return r, p.scan.each(context.Background(), value, func(b batch) error {
		of := b.lambdaOf(l, nil, b.mean())
		r.roots = append(r.roots, squareRoots(of.weights[:b.size()])...)
		r.means = append(r.means, of.mean[:b.size()]...)
		return nil
	})
}

func squareRoots(v []float64) []float64 {
	out := make([]float64, len(v))
	kernel.Sqrt(out, v)
	return out
}

// writtenWhole are rows that are kept as a whole, r [n,P].
type writtenWhole struct {
	r []float64 // the rows, one after the other
	n int       // number of rows
}

func (r writtenWhole) whole(t *writing) *graph.Node { return t.Const(r.r, 1, r.n, t.params) }

func (r writtenWhole) cross(t *writing, c scales) *graph.Node {
	squares := make([]float64, t.params)
	for i, k := range t.blocks {
		for at := k.offset; at < k.offset+k.size(); at++ {
			squares[at] = c.of(i) * c.of(i)
		}
	}
	j := t.scaled(t.rows(), squares)
	if t.Err() != nil {
		return nil
	}
	return t.Out.MatMul(j, t.Const(r.r, r.n, t.params), false, true)
}

// writtenFactors are rows Λ^½ J, which follow from inputs: row k of an example is roots_k (J_k − Σ_j means_j J_j).
type writtenFactors struct {
	of           *writing  // the network at the inputs
	n            int       // number of rows
	roots, means []float64 // [n], nil where Λ is the identity
}

// weighted returns rows of Λ^½ J for rows of J, v [X,n/C,C,Y].
func (r writtenFactors) weighted(v *graph.Node) *graph.Node {
	b := r.of.Out
	if r.roots == nil || b.Err() != nil {
		return v
	}
	s := v.Shape()
	mean := b.SumAxis(b.Mul(v, r.of.Const(r.means, 1, s[1], s[2], 1)), 2)
	centred := b.Sub(v, b.Reshape(mean, s[0], s[1], 1, s[3]))
	return b.Mul(centred, r.of.Const(r.roots, 1, s[1], s[2], 1))
}

func (r writtenFactors) whole(*writing) *graph.Node {
	v := r.of.rows()
	if r.of.Err() != nil {
		return nil
	}
	b, examples, c := r.of.Out, r.of.batch, r.of.outputs
	return b.Reshape(r.weighted(b.Reshape(v, 1, examples, c, r.of.params)), 1, r.n, r.of.params)
}

// cross: the products of the cotangents, times those of the inputs of the layers.
func (r writtenFactors) cross(t *writing, c scales) (sum *graph.Node) {
	b, examples := t.Out, r.of.batch
	for g, of := range t.groups {
		d, data := t.factor(of.d, t.outputs), r.of.Carry(r.of.groups[g].d)
		if t.Err() != nil {
			return nil
		}
		dots := b.Reshape(b.MatMul(d, data, false, true), t.batch, t.outputs, examples, t.outputs)
		var shared *graph.Node
		for _, i := range of.blocks {
			product := t.product(i, c, func(a *graph.Node) *graph.Node {
				return b.MatMul(a, r.of.Carry(r.of.blocks[i].a), false, true)
			})
			if t.Err() != nil {
				return nil
			}
			s := product.Shape()
			shared = b.Plus(shared, b.Reshape(product, s[0], 1, s[2], 1))
		}
		sum = b.Plus(sum, b.Mul(dots, shared))
	}
	if t.Err() != nil {
		return nil
	}
	sum = b.Reshape(sum, t.batch*t.outputs, examples, t.outputs, 1)
	return b.Reshape(r.weighted(sum), t.batch, t.outputs, r.n)
}
