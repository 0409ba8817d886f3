package laplace

import (
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// The Jacobian row of a table [V,E] is zero but at the T tokens of its example. Diagonal and KFAC, which keeps the
// diagonal of a large table, take the row in this form: d [B·C,T·E] are the cotangents at the tokens, which come once
// each, and tokens [B,T] are their places in the table. A row costs T·E operations in place of V·E. Other structures
// and exported files take the rows as they are.

// tabled reports whether uses are the rows of a large table of tokens, and fills in k where they are.
func (k *block) tabled(b *graph.Builder, uses []graph.Outer) bool {
	var tokens, results []*graph.Node
	for _, u := range uses {
		if u.Left != nil {
			return false
		}
		use, ok := graph.TokenRows(b, u.Right)
		if !ok {
			return false
		}
		tokens, results = append(tokens, use.Tokens), append(results, use.Results)
	}
	size := k.param.Value.Shape().TotalSize()
	if size <= widestRows || len(uses) == 0 {
		return false
	}
	at, d := b.Concat(1, tokens...), b.Concat(1, results...)
	if b.Err() != nil {
		return false
	}
	s := d.Shape()
	if s[1]*s[2] >= size {
		return false
	}
	k.tokens, k.d = at, b.Reshape(b.MergeTokens(size/s[2], d, at), s[0], s[1]*s[2])
	return b.Err() == nil
}

// eachToken calls f for each token of each row v [·,T·E] of block k at the examples of b, with the index of the token's
// first element in the table and the token's part of the row, which is zero where a token comes again.
func eachToken[T kernel.Float](b batch, k block, v []T, f func(at int, part []T)) {
	tokens, steps := rows[T](b, k.tokens), k.tokens.Shape()[1]
	width, per := k.q/steps, len(v)/k.q/b.count
	for i := range len(v) / width {
		example := i / steps / per
		f(k.element(float64(tokens[example*steps+i%steps]), width), v[i*width:(i+1)*width])
	}
}

// element is the index of the first element of a token, which may be counted from the end, in a table of the given width.
func (k block) element(token float64, width int) int {
	at := int(math.RoundToEven(token)) * width
	if at < 0 {
		at += k.size()
	}
	return at
}

// addVariances adds the variances of the weights of block i, a table, at the tokens of each example to u [count,T·E].
func (p spectralPredictor) addVariances(b batch, i int, u []float64) {
	k := p.blocks[i]
	eachToken(b, k, u[:b.count*k.q], func(at int, part []float64) {
		kernel.Add(part, p.v[i][at:at+len(part)], part)
	})
}

// spread adds the rows d of block k, a table, times std to the rows f [·,P], of which the part of the block is set.
func (k block) spread(b batch, d, std, f []float64) {
	row := 0
	for i := range b.size() {
		clear(f[i*b.params+k.offset:][:k.size()])
	}
	steps, taken := k.tokens.Shape()[1], 0
	eachToken(b, k, d[:b.size()*k.q], func(at int, part []float64) {
		to := f[row*b.params+k.offset+at:][:len(part)]
		for j, v := range part {
			to[j] += v * std[at+j]
		}
		if taken++; taken%steps == 0 {
			row++
		}
	})
}

// touched is the number of weights of which an example's row has elements.
func (s *scanner) touched() (sum float64) {
	for _, k := range s.blocks {
		if k.tokens != nil {
			sum += float64(k.q)
		} else {
			sum += float64(k.size())
		}
	}
	return sum
}
