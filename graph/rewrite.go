package graph

import (
	"slices"

	"gorgonia.org/tensor"
)

// simplified returns an expression of the value of op on in that costs no more. The
// operands have been simplified themselves.
func (w *rewriter) simplified(op computed, in ...*expr) *expr {
	switch op := op.(type) {
	case override:
		return in[0]
	case reshape:
		return w.reshape(in[0], op.to)
	case broadcastTo:
		return w.broadcastTo(in[0], op.to)
	case sumTo:
		return w.sumTo(in[0], op.to)
	case pick:
		return w.pick(op, in[0])
	case binary:
		return w.pair(op, in[0], in[1])
	}
	if isPointwise(op) {
		return w.pointwise(op, in[0])
	}
	return w.plain(op, in...)
}

// pick takes the elements back that were spread into zeros, without the zeros.
func (w *rewriter) pick(op pick, x *expr) *expr {
	if spread, ok := x.op.(pick); ok && !op.spread && spread == (pick{op.triangle, true}) {
		return x.in[0]
	}
	return w.plain(op, x)
}

// reshape returns x in another shape. It reshapes the origin of an array that was reshaped,
// leaves out a reshape that changes nothing, and reshapes a repeated array before it is
// repeated.
func (w *rewriter) reshape(x *expr, to tensor.Shape) *expr {
	if _, ok := x.op.(reshape); ok {
		x = x.in[0]
	}
	if sameShape(x.shape, to) {
		return x
	}
	if from := unspread(x); from != x {
		if before, ok := w.reshapedBefore(from, x.shape, to); ok {
			return w.broadcastTo(w.reshape(from, before), to)
		}
	}
	return w.plain(reshape{to}, x)
}

// reshapedBefore is the function of that name. It takes a batch of a single example for a batch of
// two, whose axis cannot be joined with others.
func (w *rewriter) reshapedBefore(from *expr, full, to tensor.Shape) (tensor.Shape, bool) {
	if w.batch == nil || w.batch.Shape()[0] > 1 || min(len(full), len(to)) == 0 || full[0] > 1 {
		return reshapedBefore(from.shape, full, to)
	}
	two := func(s tensor.Shape) tensor.Shape { return append(tensor.Shape{2 * s[0]}, s[1:]...) }
	if !from.rows || len(from.shape) < len(full) {
		return reshapedBefore(from.shape, two(full), two(to))
	}
	before, ok := reshapedBefore(two(from.shape), two(full), two(to))
	if ok {
		before[0] /= 2
	}
	return before, ok
}

// reshapedBefore returns the shape that broadcasts to the shape to, if an array of shape
// from is broadcast to full and then reshaped to that; false if there is none. It goes
// through the axes from the last to the first, in groups that have as many elements in
// full as in to: in each group, the array is repeated along all axes or along none.
func reshapedBefore(from, full, to tensor.Shape) (tensor.Shape, bool) {
	before := make(tensor.Shape, len(to))
	f, t := len(full), len(to)
	for f > 0 || t > 0 {
		own, all, want := 1, 1, 1
		start := t
		for first := true; first || all != want; first = false {
			if f > 0 && (all <= want || t == 0) {
				f--
				own, all = own*extent(from, f-len(full)+len(from)), all*full[f]
			} else {
				t--
				want *= to[t]
			}
		}
		if own != 1 && own != all {
			return nil, false
		}
		for d := t; d < start; d++ {
			before[d] = min(to[d], own)
		}
	}
	return before, true
}

// broadcastTo repeats a repeated array once.
func (w *rewriter) broadcastTo(x *expr, to tensor.Shape) *expr {
	if sameShape(x.shape, to) {
		return x
	}
	return w.plain(broadcastTo{to}, unspread(x))
}

// unspread returns what e was broadcast from, e itself if it is not repeated.
func unspread(e *expr) *expr {
	if _, ok := e.op.(broadcastTo); ok {
		return e.in[0]
	}
	return e
}

// pointwise computes a function of a repeated array before it is repeated.
func (w *rewriter) pointwise(op computed, x *expr) *expr {
	if from := unspread(x); from != x {
		return w.broadcastTo(w.pointwise(op, from), x.shape)
	}
	return w.plain(op, x)
}

// pair applies an operation on pairs, which broadcasts by itself, to the arrays from which its
// operands were broadcast. Axes that are then missing in the result are repeated afterwards.
func (w *rewriter) pair(op binary, x, y *expr) *expr {
	a, b := unspread(x), unspread(y)
	full, out := joined(x, y), joined(a, b)
	switch {
	case (a != x || b != y) && sameShape(full, out):
		return w.pair(op, a, b)
	case a != x || b != y:
		return w.broadcastTo(w.pair(op, a, b), full)
	case op.name == "mul":
		return w.mul(op, x, y)
	}
	return w.plain(op, x, y)
}

// joined is the shape to which two arrays broadcast.
func joined(x, y *expr) tensor.Shape {
	s, err := broadcast(x.shape, y.shape)
	if err != nil {
		panic("graph: rewriting: " + err.Error())
	}
	return s
}

// mul multiplies the smaller factors of a large array with each other first.
func (w *rewriter) mul(op binary, x, y *expr) *expr {
	whole, factor := x, y
	if _, ok := x.op.(reshape); ok {
		whole = x.in[0]
		factor = w.behind(y, x, whole.shape)
	}
	if large, small, ok := factorsOf(whole); ok && factor != nil {
		full, rows := whole.shape, whole.rows
		if w.usually(large.shape, large.alike(full, rows)) < w.usually(small.shape, small.alike(full, rows)) {
			large, small = small, large
		}
		saves := 2*w.usually(joined(small, factor), small.alike(full, rows) || factor.alike(x.shape, rows)) <= w.usually(full, rows)
		if saves && large.alike(full, rows) == rows && sameShape(large.shape, full) {
			return w.reshape(w.pair(op, large, w.pair(op, small, factor)), joined(x, y))
		}
	}
	return w.plain(op, x, y)
}

// behind returns y, which broadcasts to x, for an array of the elements of x in another shape, to; nil
// if y changes along axes that the two shapes do not have in common. The first axis, along which
// examples lie, is none of these.
func (w *rewriter) behind(y, x *expr, to tensor.Shape) *expr {
	from, alike, common := x.shape, 0, min(len(x.shape), len(to), len(y.shape))
	if x.rows {
		common = min(len(x.shape)-1, len(to)-1, len(y.shape))
	}
	for alike < common && from[len(from)-1-alike] == to[len(to)-1-alike] {
		alike++
	}
	own := y.shape[len(y.shape)-alike:]
	if y.rows || len(own) == 0 || size(own) != size(y.shape) {
		return nil
	}
	return w.reshape(y, own)
}

// factorsOf returns the operands of e if it is an elementwise product.
func factorsOf(e *expr) (x, y *expr, ok bool) {
	if op, isBinary := e.op.(binary); isBinary && op.name == "mul" {
		return e.in[0], e.in[1], true
	}
	return nil, nil, false
}

// isSmall reports whether an array of some elements is so much smaller than another that work on it
// does not count.
func isSmall(large, small int) bool { return 64*small <= large }

// sumTo returns x summed to a shape. It multiplies the sum, and not its terms, by a number, sums
// before it repeats, and never forms a product that is summed.
func (w *rewriter) sumTo(x *expr, to tensor.Shape) *expr {
	if sameShape(x.shape, to) {
		return x
	}
	if op, ok := x.op.(affine); ok && op.c == 0 && op.a != 0 {
		return w.pointwise(op, w.sumTo(x.in[0], to))
	}
	if from := unspread(x); from != x {
		if part, ok := unrepeated(from.shape, x.shape, to); ok {
			return w.broadcastTo(w.sumTo(from, part), to)
		}
	}
	if l, r, ok := factorsOf(x); ok {
		return w.plain(contract{slices.Clone(to)}, l, r)
	}
	return w.plain(sumTo{to}, x)
}

// unrepeated returns the sum's shape before it is repeated, for an array of shape from
// that is broadcast to full and summed to the shape to; false if a sum runs along an axis
// of repetitions.
func unrepeated(from, full, to tensor.Shape) (tensor.Shape, bool) {
	part := to.Clone()
	for d := 1; d <= len(full); d++ { // from the last axis on
		repeated := extent(from, len(from)-d) == 1 && full[len(full)-d] > 1
		switch {
		case repeated && extent(to, len(to)-d) == 1:
			return nil, false
		case repeated:
			part[len(part)-d] = 1
		}
	}
	return part[max(0, len(part)-len(from)):], true
}
