package graph

import "gorgonia.org/tensor"

// Sums of products, and products, are rewritten last: whether it pays to take a factor out of a sum
// depends on who else uses the product that it is a factor of.

// sumParts is the second pass of rewriting.
type sumParts struct {
	*rewriter
	made   map[*expr]*expr // the new expression of each old one
	formed map[*expr]bool  // expressions with a use other than in a sum of products
	varies marks           // expressions that change from run to run; nil: no matrix becomes panels
}

// takeOut returns the outputs with small factors taken out of sums: they multiply the sum
// instead of its terms. It does so if nothing else uses the large product. With panels set, matrices that
// stay as they are from run to run become panels.
func takeOut(outputs []*expr, o Options, panels bool) []*expr {
	order := needed(outputs)
	p := &sumParts{rewriter: newRewriter(o), made: make(map[*expr]*expr, len(order)), formed: make(map[*expr]bool)}
	if o.Varying != nil && panels {
		p.varies = changing(order, o.Varying)
	}
	for _, e := range outputs {
		p.formed[e] = true
	}
	for _, e := range order {
		if _, ok := e.op.(contract); !ok {
			for _, a := range e.in {
				p.formed[a] = true
			}
		}
	}
	for _, e := range order {
		p.made[e] = p.remade(e)
	}
	out := make([]*expr, len(outputs))
	for i, e := range outputs {
		out[i] = p.made[e]
	}
	return out
}

// remade returns e on operands that have been made again.
func (p *sumParts) remade(e *expr) *expr {
	in := make([]*expr, len(e.in))
	for i, a := range e.in {
		in[i] = p.made[a]
	}
	switch op := e.op.(type) {
	case nil:
		return p.new(&expr{shape: e.shape, leaf: e.leaf})
	case stock:
		return p.new(&expr{op: op, in: in, shape: e.shape})
	case contract:
		return p.contract(in[0], in[1], op.to, !p.formed[e.in[0]], !p.formed[e.in[1]])
	case matMul:
		return p.product(op, in[0], in[1], p.varies.has(e.in[0]) && !p.varies.has(e.in[1]))
	default:
		return p.simplified(op, in...)
	}
}

// contract is the sum of x∘y, where the flags tell whether x and y may be taken apart.
func (p *sumParts) contract(x, y *expr, to tensor.Shape, xApart, yApart bool) *expr {
	if large, small := p.apart(x, y, to); large != nil && xApart {
		return p.pair(mul(), p.contract(large, y, to, false, yApart), p.reshapedTo(small, to))
	}
	if large, small := p.apart(y, x, to); large != nil && yApart {
		return p.pair(mul(), p.contract(x, large, to, false, false), p.reshapedTo(small, to))
	}
	return p.plain(contract{to}, x, y)
}

// apart returns e as the product of a large array and one that does not change along what is summed
// where e∘other is summed to the shape to, which is much smaller; nil if e is no such product, or if
// large∘other has another shape than e∘other.
func (p *sumParts) apart(e, other *expr, to tensor.Shape) (large, small *expr) {
	full, rows := joined(e, other), e.rows || other.rows
	whole := p.usually(full, rows)
	large, small, ok := factorsOf(e)
	if !ok || !isSmall(whole, p.usually(to, rows)) {
		return nil, nil
	}
	if isSmall(whole, p.usually(large.shape, large.alike(full, rows))) {
		large, small = small, large
	}
	if !steady(small, to) {
		a, b, ok := factorsOf(small)
		switch {
		case ok && steady(b, to):
			large, small = p.pair(mul(), large, a), b
		case ok && steady(a, to):
			large, small = p.pair(mul(), large, b), a
		default:
			return nil, nil
		}
	}
	if (large.alike(full, rows) || other.alike(full, rows)) != rows || !sameShape(joined(large, other), full) {
		return nil, nil
	}
	return large, small
}

// steady reports whether e is constant along the axes that are summed when it is summed to the
// shape to.
func steady(e *expr, to tensor.Shape) bool {
	sums, err := broadcast(to, e.shape)
	return err == nil && size(sums) == size(to)
}

// reshapedTo drops leading axes of extent 1 that the shape to does not have.
func (p *sumParts) reshapedTo(small *expr, to tensor.Shape) *expr {
	return p.reshape(small, small.shape[max(0, len(small.shape)-len(to)):])
}
