package graph_test

import (
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// expression is a random graph: its inputs, and all its nodes in the order made.
// Operands are drawn from all earlier nodes, so subexpressions are shared.
type expression struct {
	t    *rapid.T
	b    *builder
	in   []*node
	pool []*node
}

// maxSize bounds the arrays of a random graph.
const maxSize = 40

// growth applies a bounded function to what could grow without limit along a chain.
var growth = []func(b *builder, x *node) *node{(*builder).Tanh, (*builder).Sigmoid, (*builder).Erf}

func drawExpression(t *rapid.T, b *builder, steps int) *expression {
	e := &expression{t: t, b: b}
	shapes := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 3), 1, 3), 3, 3).Draw(t, "shapes")
	e.in = inputs(b, "x", shapes...)
	e.pool = slices.Clone(e.in)
	kinds := []func() *node{
		e.unary, e.binary, e.matMul, e.sum, e.broadcast, e.reshape, e.transpose,
		e.slice, e.pad, e.concat, e.softmax, e.gram, e.diagonal, e.factor,
	}
	for range steps {
		e.pool = append(e.pool, rapid.SampledFrom(kinds).Draw(t, "operation")())
		noErr(t, b)
	}
	return e
}

// outputs returns the last node and a drawn node.
func (e *expression) outputs() []*node {
	return []*node{e.pool[len(e.pool)-1], rapid.SampledFrom(e.pool[3:]).Draw(e.t, "second output")}
}

// values are moderate inputs, so that chains of functions stay where they are smooth.
func (e *expression) values(rng *rand.Rand) arrays {
	in := normals(rng, e.in)
	for i := range in {
		for j := range in[i] {
			in[i][j] *= 0.7
		}
	}
	return in
}

func (e *expression) int(lo, hi int, label string) int {
	return rapid.IntRange(lo, hi).Draw(e.t, label)
}

// pick draws a node that satisfies ok; the inputs' reshaped first one otherwise.
func (e *expression) pick(ok func(s tensor.Shape) bool, fallback ...int) *node {
	var fit []*node
	for _, n := range e.pool {
		if ok(n.Shape()) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return e.b.BroadcastTo(e.b.Mean(e.in[0]), fallback...)
	}
	return rapid.SampledFrom(fit).Draw(e.t, "operand")
}

func (e *expression) any() *node { return e.pick(func(tensor.Shape) bool { return true }) }

// array draws a node with at least one dimension.
func (e *expression) array() *node {
	return e.pick(func(s tensor.Shape) bool { return len(s) > 0 })
}

func (e *expression) bounded(x *node) *node {
	return rapid.SampledFrom(growth).Draw(e.t, "bound")(e.b, x)
}

func (e *expression) unary() *node {
	b := e.b
	f := rapid.SampledFrom([]func(x *node) *node{
		b.Tanh, b.Erf, b.Softplus, b.Sigmoid, b.Sin, b.Cos, b.Neg,
		func(x *node) *node { return b.Affine(x, -0.7, 0.3) },
		func(x *node) *node { return b.Tanh(b.Square(x)) },
		func(x *node) *node { return b.Exp(b.Tanh(x)) },
		func(x *node) *node { return b.Log(b.Affine(b.Sigmoid(x), 1, 0.5)) },
		func(x *node) *node { return b.Sqrt(b.Affine(b.Sigmoid(x), 1, 0.5)) },
	}).Draw(e.t, "function")
	return f(e.any())
}

func (e *expression) binary() *node {
	x := e.any()
	y := e.pick(func(s tensor.Shape) bool {
		full, ok := joined(x.Shape(), s)
		return ok && full.TotalSize() <= maxSize
	})
	b := e.b
	switch e.int(0, 3, "binary") {
	case 0:
		return b.Add(x, y)
	case 1:
		return b.Sub(y, x)
	case 2:
		return e.bounded(b.Mul(x, y))
	default:
		return e.bounded(b.Div(x, b.Affine(b.Sigmoid(y), 1, 0.5)))
	}
}

// joined is the broadcast shape, by the definition.
func joined(a, c tensor.Shape) (tensor.Shape, bool) {
	if len(a) < len(c) {
		a, c = c, a
	}
	full := append(tensor.Shape{}, a...)
	for i, n := range c {
		switch at := len(a) - len(c) + i; {
		case full[at] == 1:
			full[at] = n
		case n != 1 && n != full[at]:
			return nil, false
		}
	}
	return full, true
}

// matMul multiplies a matrix or a stack with another that fits, at worst itself.
func (e *expression) matMul() *node {
	x := e.pick(func(s tensor.Shape) bool { return len(s) == 2 || len(s) == 3 }, 2, 3)
	s := x.Shape()
	ta, tb := rapid.Bool().Draw(e.t, "transpose left"), rapid.Bool().Draw(e.t, "transpose right")
	k, right := s[len(s)-1], 0
	if ta {
		k = s[len(s)-2]
	}
	if tb {
		right = 1
	}
	y := e.pick(func(o tensor.Shape) bool {
		return len(o) == len(s) && o[len(o)-2+right] == k && (len(o) == 2 || o[0] == s[0])
	}, append(s[:len(s)-2:len(s)-2], k, k)...)
	return e.bounded(e.b.MatMul(x, y, ta, tb))
}

func (e *expression) sum() *node {
	x := e.array()
	to := x.Shape()
	for d := range to {
		if rapid.Bool().Draw(e.t, "sum axis") {
			to[d] = 1
		}
	}
	for len(to) > 0 && to[0] == 1 && rapid.Bool().Draw(e.t, "drop axis") {
		to = to[1:]
	}
	return e.b.SumTo(x, to...)
}

func (e *expression) broadcast() *node {
	x := e.pick(func(s tensor.Shape) bool { return max(s.TotalSize(), 1)*2 <= maxSize && len(s) < 4 }, 2)
	return e.b.BroadcastTo(x, append([]int{2}, x.Shape()...)...)
}

func (e *expression) reshape() *node {
	x := e.any()
	n := max(x.Shape().TotalSize(), 1)
	return e.b.Reshape(x, rapid.SampledFrom(factorings(n)).Draw(e.t, "to")...)
}

// factorings are shapes with n elements.
func factorings(n int) [][]int {
	out := [][]int{{n}, {n, 1}, {1, n}}
	for k := 2; k < n; k++ {
		if n%k == 0 {
			out = append(out, []int{k, n / k}, []int{k, 1, n / k})
		}
	}
	return out
}

func (e *expression) transpose() *node {
	x := e.array()
	axes := make([]int, x.Dims())
	for d := range axes {
		axes[d] = d
	}
	return e.b.Transpose(x, rapid.Permutation(axes).Draw(e.t, "axes")...)
}

func (e *expression) slice() *node {
	x := e.array()
	axis := e.int(0, x.Dims()-1, "axis")
	from := e.int(0, x.Shape()[axis]-1, "from")
	return e.b.Slice(x, axis, from, e.int(from+1, x.Shape()[axis], "to"))
}

func (e *expression) pad() *node {
	x := e.pick(func(s tensor.Shape) bool { return len(s) > 0 && s.TotalSize()*3 <= maxSize }, 2)
	axis, from := e.int(0, x.Dims()-1, "axis"), e.int(0, 1, "from")
	return e.b.Pad(x, axis, from, x.Shape()[axis]+1+e.int(0, 1, "after"))
}

func (e *expression) concat() *node {
	x := e.pick(func(s tensor.Shape) bool { return len(s) > 0 && s.TotalSize()*2 <= maxSize }, 2)
	y := e.pick(func(s tensor.Shape) bool {
		return len(s) == x.Dims() && slices.Equal(s[1:], x.Shape()[1:]) && s.TotalSize()*2 <= maxSize
	}, x.Shape()...)
	return e.b.Concat(0, x, y)
}

func (e *expression) softmax() *node { return e.bounded(e.b.LogSoftmax(e.array())) }

func (e *expression) matrix() *node {
	return e.pick(func(s tensor.Shape) bool { return len(s) == 2 }, 2, 3)
}

func (e *expression) gram() *node { return e.bounded(e.b.Gram(e.matrix())) }

func (e *expression) diagonal() *node {
	if rapid.Bool().Draw(e.t, "of a matrix") {
		return e.b.Diag(e.bounded(e.b.Gram(e.matrix())))
	}
	x := e.pick(func(s tensor.Shape) bool { return len(s) > 0 && s.TotalSize() <= 9 }, 2)
	return e.b.Diagonal(x)
}

// factor solves with the Cholesky factor of a well-conditioned matrix.
func (e *expression) factor() *node {
	x := e.matrix()
	n := x.Shape()[0]
	r := e.b.Cholesky(e.b.Add(e.b.Gram(e.b.Tanh(x)), e.b.Eye(n)))
	switch e.int(0, 2, "factor") {
	case 0:
		return r
	case 1:
		return e.b.LogDet(r)
	default:
		return e.b.SolveLower(r, x, rapid.Bool().Draw(e.t, "transpose"))
	}
}
