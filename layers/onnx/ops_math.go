package onnx

import (
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
)

// operator writes what a node computes and returns its outputs.
type operator func(c *call) []value

// operators are those that networks of [minOpset] to [maxOpset] may have. Each file adds its own.
var operators = map[string]operator{}

func add(some map[string]operator) {
	for name, op := range some {
		operators[name] = op
	}
}

func init() {
	add(map[string]operator{
		"Relu":       unary((*graph.Builder).ReLU, func(x float64) float64 { return max(x, 0) }),
		"Tanh":       unary((*graph.Builder).Tanh, math.Tanh),
		"Sigmoid":    unary((*graph.Builder).Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
		"Softplus":   unary((*graph.Builder).Softplus, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }),
		"Erf":        unary((*graph.Builder).Erf, math.Erf),
		"Exp":        unary((*graph.Builder).Exp, math.Exp),
		"Log":        unary((*graph.Builder).Log, math.Log),
		"Sqrt":       unary((*graph.Builder).Length, math.Sqrt),
		"Sin":        unary((*graph.Builder).Sin, math.Sin),
		"Cos":        unary((*graph.Builder).Cos, math.Cos),
		"Neg":        unary((*graph.Builder).Neg, func(x float64) float64 { return -x }),
		"Abs":        unary((*graph.Builder).Abs, math.Abs),
		"Reciprocal": unary(reciprocal, func(x float64) float64 { return 1 / x }),
		"Mish":       unary((*graph.Builder).Mish, nil),
		"HardSwish":  unary((*graph.Builder).HardSwish, nil),
		"Softsign":   unary(func(b *graph.Builder, x *graph.Node) *graph.Node { return b.Div(x, b.Affine(b.Abs(x), 1, 1)) }, nil),
	})
}

// Pairs of elements.
func init() {
	add(map[string]operator{
		"Add": pairs((*graph.Builder).Add, func(x, y float64) float64 { return x + y }),
		"Sub": pairs((*graph.Builder).Sub, func(x, y float64) float64 { return x - y }),
		"Mul": pairs((*graph.Builder).Mul, func(x, y float64) float64 { return x * y }),
		"Div": div,
		"Pow": pow,
		"Max": several((*graph.Builder).Max, math.Max),
		"Min": several((*graph.Builder).Min, math.Min),
		"Sum": several((*graph.Builder).Add, func(x, y float64) float64 { return x + y }),
	})
}

// Activations with settings, and reductions.
func init() {
	add(map[string]operator{
		"Gelu":      gelu,
		"LeakyRelu": slope("alpha", 0.01, (*graph.Builder).LeakyReLU),
		"Elu":       slope("alpha", 1, (*graph.Builder).ELU),
		"Celu":      slope("alpha", 1, (*graph.Builder).CELU),
		"Selu":      selu,
		"PRelu":     prelu,
		"HardSigmoid": func(c *call) []value {
			return nodes(c.made(c.b.HardSigmoid(c.node(0), c.float("alpha", 0.2), c.float("beta", 0.5))))
		},
		"Clip":            clip,
		"Softmax":         softmax((*graph.Builder).Softmax),
		"LogSoftmax":      softmax((*graph.Builder).LogSoftmax),
		"ReduceMean":      reduce(true),
		"ReduceSum":       reduce(false),
		"ReduceSumSquare": func(c *call) []value { return reduced(c, c.made(c.b.Square(c.node(0))), false) },
		"ReduceL2": func(c *call) []value {
			square := reduced(c, c.made(c.b.Square(c.node(0))), false)[0].node
			return nodes(c.made(c.b.Length(square)))
		},
		"ReduceMax":  reduceMax(1),
		"ReduceMin":  reduceMax(-1),
		"ReduceProd": reduceProd,
	})
}

// unary is a function of each element; f computes constants and may be nil.
func unary(write func(*graph.Builder, *graph.Node) *graph.Node, f func(float64) float64) operator {
	return func(c *call) []value {
		if c.constant() && f != nil {
			return hosts(c.host(0).each(f))
		}
		return nodes(c.made(write(c.b, c.node(0))))
	}
}

func reciprocal(b *graph.Builder, x *graph.Node) *graph.Node { return b.Div(b.Fill(1, 1), x) }

// pairs is a function of pairs of elements.
func pairs(write func(b *graph.Builder, x, y *graph.Node) *graph.Node, f func(x, y float64) float64) operator {
	return func(c *call) []value {
		if c.constant() {
			x, y := c.host(0), c.host(1)
			return hosts(c.zip(x, y, x.whole && y.whole, f))
		}
		return nodes(c.pair(write, c.value(0), c.value(1)))
	}
}

// pair applies a function of pairs to x and y, of which at least one is a node. A constant of one
// element becomes a factor or a summand of an affine operation where the operator allows it.
func (c *call) pair(write func(b *graph.Builder, x, y *graph.Node) *graph.Node, x, y value) *graph.Node {
	left, right := c.op(x), c.op(y)
	a, okA := x.host.scalar()
	d, okD := y.host.scalar()
	switch {
	case okD && right && c.Op == "Add":
		return c.made(c.b.Affine(x.node, 1, d))
	case okD && right && c.Op == "Sub":
		return c.made(c.b.Affine(x.node, 1, -d))
	case okD && right && c.Op == "Mul":
		return c.made(c.b.Scale(x.node, d))
	case okD && right && c.Op == "Div":
		return c.made(c.b.Scale(x.node, 1/d))
	case okA && left && c.Op == "Add":
		return c.made(c.b.Affine(y.node, 1, a))
	case okA && left && c.Op == "Sub":
		return c.made(c.b.Affine(y.node, -1, a))
	case okA && left && c.Op == "Mul":
		return c.made(c.b.Scale(y.node, a))
	}
	return c.made(write(c.b, c.asNode(x), c.asNode(y)))
}

// op says whether v is a constant that adds no axes to the other operand.
func (c *call) op(v value) bool { return v.host != nil && len(v.host.shape) <= 1 }

// zip is the function zip, which ends the operator where the shapes do not fit.
func (c *call) zip(x, y *host, whole bool, f func(x, y float64) float64) *host {
	return c.try(zip(x, y, whole, f))
}

func div(c *call) []value {
	if c.constant() {
		x, y := c.host(0), c.host(1)
		if x.whole && y.whole {
			return hosts(c.zip(x, y, true, func(x, y float64) float64 { return math.Trunc(x / y) }))
		}
		return hosts(c.zip(x, y, false, func(x, y float64) float64 { return x / y }))
	}
	x, y := c.value(0), c.value(1)
	if c.output(0) == integral { // not times the inverse, which is rounded
		return nodes(c.made(truncate(c.b, c.b.Div(c.asNode(x), c.asNode(y)))))
	}
	return nodes(c.pair((*graph.Builder).Div, x, y))
}

// pow is xᵖ. A fractional exponent, and one that is no constant, need a positive x.
func pow(c *call) []value {
	if c.constant() {
		whole := c.host(0).whole // as the result is, whatever the exponent
		return hosts(c.zip(c.host(0), c.host(1), whole, func(x, p float64) float64 {
			if whole {
				return math.Trunc(math.Pow(x, p))
			}
			return math.Pow(x, p)
		}))
	}
	x, p := c.value(0), c.value(1)
	if exponent, ok := p.host.scalar(); ok {
		if exponent == 0.5 {
			return nodes(c.made(c.b.Length(x.node)))
		}
		return nodes(c.made(c.b.Pow(x.node, exponent)))
	}
	if base, ok := x.host.scalar(); ok && base > 0 {
		return nodes(c.made(c.b.Exp(c.b.Scale(p.node, math.Log(base)))))
	}
	return nodes(c.made(c.b.Exp(c.b.Mul(c.asNode(p), c.b.Log(c.asNode(x))))))
}

// several joins any number of values.
func several(write func(b *graph.Builder, x, y *graph.Node) *graph.Node, f func(x, y float64) float64) operator {
	return func(c *call) []value {
		sum := c.value(0)
		for i := 1; i < len(c.in); i++ {
			if v := c.value(i); sum.host != nil && v.host != nil {
				sum = value{host: c.zip(sum.host, v.host, sum.host.whole && v.host.whole, f)}
			} else {
				sum = value{node: c.made(write(c.b, c.asNode(sum), c.asNode(v)))}
			}
		}
		return []value{sum}
	}
}

func gelu(c *call) []value {
	switch how := c.text("approximate", "none"); how {
	case "none":
		return nodes(c.made(c.b.GELU(c.node(0))))
	case "tanh":
		return nodes(c.made(c.b.GELUTanh(c.node(0))))
	default:
		c.failf("approximate %q, expected none or tanh", how)
		return nil
	}
}

// slope is an activation with one number.
func slope(name string, standard float64, write func(b *graph.Builder, x *graph.Node, a float64) *graph.Node) operator {
	return func(c *call) []value { return nodes(c.made(write(c.b, c.node(0), c.float(name, standard)))) }
}

func selu(c *call) []value {
	alpha, gamma := c.float("alpha", 1.6732632423543772), c.float("gamma", 1.0507009873554805)
	return nodes(c.made(c.b.Scale(c.b.ELU(c.node(0), alpha), gamma)))
}

func prelu(c *call) []value {
	x := c.node(0)
	return nodes(c.made(c.b.Sub(c.b.ReLU(x), c.b.Mul(c.b.ReLU(c.b.Neg(x)), c.node(1)))))
}

func clip(c *call) []value {
	low, high := math.Inf(-1), math.Inf(1)
	for i, bound := range []*float64{&low, &high} {
		if c.has(i + 1) {
			*bound = c.number(i+1, "a bound")
		}
	}
	if c.constant() {
		return hosts(c.host(0).each(func(x float64) float64 { return min(max(x, low), high) }))
	}
	return nodes(c.made(c.b.Clip(c.node(0), low, high)))
}

// softmax is a function along one axis or, up to opset 12, along all from one axis on.
func softmax(write func(*graph.Builder, *graph.Node) *graph.Node) operator {
	return func(c *call) []value {
		x := c.node(0)
		shape := x.Shape().Clone()
		if c.opset < 13 {
			at := c.axis(c.int("axis", 1), len(shape))
			flat := append(shape[:at:at], product(shape[at:]))
			return nodes(c.made(c.b.Reshape(write(c.b, c.b.Reshape(x, flat...)), shape...)))
		}
		at, last := c.axis(c.int("axis", -1), len(shape)), len(shape)-1
		if at == last {
			return nodes(c.made(write(c.b, x)))
		}
		swap := slices.Clone(c.axes(nil, len(shape)))
		swap[at], swap[last] = last, at
		return nodes(c.made(c.b.Transpose(write(c.b, c.b.Transpose(x, swap...)), swap...)))
	}
}

// reduction returns the axes of a reduction; nil for a reduction that leaves its input unchanged.
func (c *call) reduction() []int {
	list := c.list("axes", 1)
	if len(list) == 0 && c.int("noop_with_empty_axes", 0) == 1 {
		return nil
	}
	return c.axes(list, len(c.value(0).shape()))
}

// without returns a shape after a reduction: the given axes have extent 1, or are left out unless
// keep is set.
func without(shape, axes []int, keep bool) []int {
	out := []int{}
	for d, n := range shape {
		if !slices.Contains(axes, d) {
			out = append(out, n)
		} else if keep {
			out = append(out, 1)
		}
	}
	return out
}

func reduce(mean bool) operator {
	return func(c *call) []value { return reduced(c, c.node(0), mean) }
}

func reduced(c *call, x *graph.Node, mean bool) []value {
	axes := c.reduction()
	kept := without(x.Shape(), axes, true)
	var y *graph.Node
	if mean {
		y = c.mean(x, kept)
	} else {
		y = c.b.SumTo(x, kept...)
	}
	return nodes(c.made(c.b.Reshape(y, without(x.Shape(), axes, c.int("keepdims", 1) == 1)...)))
}

// mean returns the mean of x over the axes whose extent in the shape to is 1.
func (c *call) mean(x *graph.Node, to []int) *graph.Node {
	size := c.made(x).Shape().TotalSize()
	return c.b.Scale(c.b.SumTo(x, to...), float64(product(to))/float64(size))
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// reduceMax moves the reduced axes to the end and takes the largest of each row; with sign −1
// the smallest.
func reduceMax(sign float64) operator {
	return func(c *call) []value {
		x, axes := c.node(0), c.reduction()
		shape, perm := x.Shape(), []int{}
		for d := range shape {
			if !slices.Contains(axes, d) {
				perm = append(perm, d)
			}
		}
		perm = append(perm, axes...)
		kept := without(shape, axes, false)
		width := product(shape) / product(kept)
		front := 1
		if len(kept) > 0 {
			front = kept[0]
		}
		rows := c.b.Reshape(c.b.Scale(c.b.Transpose(x, perm...), sign), front, 1, product(kept)/front, width)
		y := c.b.Scale(c.b.MaxPool(rows, [2]int{1, width}, [2]int{1, 1}), sign)
		return nodes(c.made(c.b.Reshape(y, without(shape, axes, c.int("keepdims", 1) == 1)...)))
	}
}

func reduceProd(c *call) []value {
	h := c.host(0)
	if axes := c.reduction(); len(axes) != len(h.shape) {
		c.failf("a product along axes %v of shape %v, expected all", axes, h.shape)
	}
	p := 1.0
	for _, x := range h.v {
		p *= x
	}
	return hosts(&host{shape: without(h.shape, c.reduction(), c.int("keepdims", 1) == 1), v: []float64{p}, whole: h.whole})
}
