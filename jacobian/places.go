package jacobian

import "github.com/go-valla/valla/graph"

// Jacobian rows of a convolution's filters are sums over the places t of its output, Σ_t δ_t ⊗ a_t
// with patches a_t of the images. Their inner products are
//
//	Σ_t Σ_t' (a_t·a'_t') (δ_t·δ'_t'),
//
// for which no row of the size of all filters has to be formed. That is cheaper where there are
// many outputs and few places, as at the end of a network for a thousand classes.

// So are the rows of dense weights that all steps of a sequence share, with the layer's inputs for patches, and the
// rows of a table of tokens, where a_t·a'_t' is 1 for the same token and 0 for others.

// The kinds of rows: of filters, of dense weights [K,Out] and [Out,K], and of a table.
const (
	ofFilters = iota
	ofSteps
	ofSwapped
	ofTokens
)

// places are such rows in their factors.
type places struct {
	kind             int         // of the rows: inner products pair rows of one kind
	patches          *graph.Node // [examples,K,T]; nil for a table
	tokens           *graph.Node // [examples,T], of a table; else nil
	rows             *graph.Node // the cotangents of a table as [examples·per,T,Out]
	results          *graph.Node // the cotangents, [examples,per,Out,T]
	examples, per    int         // examples, and rows of each
	size, out, count int         // K or the rows of the table, Out and T
}

// fewTokens is how many times as many rows as places a table has where its rows are not formed: numbers that are looked
// up take longer than products of matrices.
const fewTokens = 4

// inPlaces returns the rows u [B,s,p] and v [B',t,p] in their factors, and whether that is cheaper.
func inPlaces(b *graph.Builder, u, v *graph.Node) (p, q *places, ok bool) {
	if b.Err() != nil {
		return nil, nil, false
	}
	p, q = placesOf(b, u), placesOf(b, v)
	if p == nil || q == nil || p.size != q.size || p.out != q.out || p.kind != q.kind {
		return nil, nil, false
	}
	if p.tokens != nil {
		return p, q, fewTokens*max(p.count, q.count) <= p.size
	}
	pair := p.size // multiplications for a_t·a'_t'
	s, rows := max(p.per, q.per), p.size*p.out
	each := p.count*q.count*(pair+p.out)+s*p.out*p.count <= s*rows
	own := p.count*p.count*(pair+s*p.out) <= s*rows*(p.count+1)
	return p, q, each && own
}

// placesOf returns the factors of rows [examples,per,·], or nil if they are of another kind. What is
// not used costs nothing.
func placesOf(b *graph.Builder, rows *graph.Node) *places {
	if use, ok := graph.StepRows(rows); ok {
		return stepPlaces(b, rows, use)
	}
	if use, ok := graph.TokenRows(b, rows); ok {
		return tokenPlaces(b, rows, use)
	}
	use, ok := graph.FilterRows(rows)
	if !ok {
		return nil
	}
	filters, images, results := graph.Unshaped(rows).Shape(), use.Images.Shape(), use.Results.Shape()
	n, s := images[0], rows.Shape()
	if len(filters) != 5 || filters[3] != filters[4] || s[0] != n || results[0] != n*s[1] {
		return nil
	}
	p := &places{examples: n, per: s[1], size: filters[2] * filters[3] * filters[4], out: results[1], count: results[2] * results[3]}
	p.patches = b.Unfold(use.Images, filters[3], use.Stride, use.Padding)
	p.results = b.Reshape(use.Results, n, p.per, p.out, p.count)
	return p
}

// stepPlaces are the factors of rows of dense weights that all steps share.
func stepPlaces(b *graph.Builder, rows *graph.Node, use graph.StepUse) *places {
	inputs, results := use.Inputs, use.Results
	n, s := inputs.Shape(), rows.Shape()
	if s[0] != n[0] || results.Shape()[0] != n[0]*s[1] {
		return nil
	}
	kind := ofSteps
	if use.Swapped {
		kind = ofSwapped
	}
	p := &places{kind: kind, examples: n[0], per: s[1], size: n[2], out: results.Shape()[2], count: n[1]}
	p.patches = b.Transpose(inputs, 0, 2, 1)
	p.results = b.Transpose(b.Reshape(results, n[0], p.per, p.count, p.out), 0, 1, 3, 2)
	return p
}

// tokenPlaces are the factors of rows of a table.
func tokenPlaces(b *graph.Builder, rows *graph.Node, use graph.TokenUse) *places {
	n, s, results := use.Tokens.Shape(), rows.Shape(), use.Results.Shape()
	if s[0] != n[0] || results[0] != n[0]*s[1] {
		return nil
	}
	p := &places{kind: ofTokens, tokens: use.Tokens, examples: n[0], per: s[1], rows: use.Results, size: s[2] / results[2], out: results[2], count: n[1]}
	p.results = b.Transpose(b.Reshape(use.Results, n[0], p.per, p.count, p.out), 0, 1, 3, 2)
	return p
}

// gram returns a_t·a'_t' for the places t and t' of each example: [examples,T,T'].
func (p *places) gram(b *graph.Builder, q *places) *graph.Node {
	if p.tokens != nil {
		return b.SameTokens(p.size, p.tokens, q.tokens)
	}
	return b.MatMul(p.patches, q.patches, true, false)
}

// grams returns a_t·a'_t' for the places of every example of p and q: [examples·T,examples'·T'].
func (p *places) grams(b *graph.Builder, q *places) *graph.Node {
	n, m := p.examples*p.count, q.examples*q.count
	left := b.Reshape(b.Transpose(p.patches, 0, 2, 1), n, p.size)
	return b.MatMul(left, b.Reshape(b.Transpose(q.patches, 0, 2, 1), m, q.size), false, true)
}

// stack returns cotangents as [examples, per·Out, T].
func (p *places) stack(b *graph.Builder) *graph.Node {
	return b.Reshape(p.results, p.examples, p.per*p.out, p.count)
}

// wide returns cotangents as [examples, per, Out·T].
func (p *places) wide(b *graph.Builder) *graph.Node {
	return b.Reshape(p.results, p.examples, p.per, p.out*p.count)
}

// carried returns Σ_t (a_t·a'_t') δ_t for the places t' of the same example of q: [examples, per, Out·T'].
func (p *places) carried(b *graph.Builder, q *places) *graph.Node {
	return b.Reshape(b.MatMul(p.stack(b), p.gram(b, q), false, false), p.examples, p.per, p.out*q.count)
}

// within pairs the rows of each example, see the function within: [B,s,t].
func (p *places) within(b *graph.Builder, q *places) *graph.Node {
	return b.MatMul(p.carried(b, q), q.wide(b), false, true)
}

// own pairs each row with itself, see the function own: [B,s,1].
func (p *places) own(b *graph.Builder, q *places) *graph.Node {
	return own(b, p.carried(b, q), q.wide(b))
}

// across pairs every row with every row of q, which has one for each example: [B,s,M].
func (p *places) across(b *graph.Builder, q *places) *graph.Node {
	n, m := p.examples, q.examples
	if p.tokens != nil {
		dots := b.TokenDots(p.size, p.merged(b), p.tokens, q.merged(b), q.tokens)
		return b.Reshape(dots, n, p.per, m)
	}
	gram := b.Reshape(p.grams(b, q), n*p.count, m, q.count)
	carried := b.MatMul(b.Transpose(gram, 1, 0, 2), q.stack(b), false, true) // [M,B·T,Out]
	carried = b.Transpose(b.Reshape(carried, m, n, p.count, p.out), 1, 0, 3, 2)
	return b.MatMul(p.wide(b), b.Reshape(carried, n, m, p.out*p.count), false, true)
}

// merged returns the rows of a table with each token of an example once.
func (p *places) merged(b *graph.Builder) *graph.Node { return b.MergeTokens(p.size, p.rows, p.tokens) }

// among pairs every row with every row: [M,M].
func (p *places) among(b *graph.Builder, q *places) *graph.Node {
	return b.Reshape(p.across(b, q), p.examples, q.examples)
}
