package onnx

import (
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
)

// Truths, such as masks, are the numbers 0 and 1. Those of nodes have the derivative 0.
func init() {
	add(map[string]operator{
		"Equal": compare(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return not(b, b.Step(b.Abs(b.Sub(x, y)))) },
			func(x, y float64) float64 { return truth(x == y) }),
		"Less": compare(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return b.Step(b.Sub(y, x)) },
			func(x, y float64) float64 { return truth(x < y) }),
		"LessOrEqual": compare(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return not(b, b.Step(b.Sub(x, y))) },
			func(x, y float64) float64 { return truth(x <= y) }),
		"Greater": compare(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return b.Step(b.Sub(x, y)) },
			func(x, y float64) float64 { return truth(x > y) }),
		"GreaterOrEqual": compare(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return not(b, b.Step(b.Sub(y, x))) },
			func(x, y float64) float64 { return truth(x >= y) }),
		"And": compare((*graph.Builder).Mul, func(x, y float64) float64 { return x * y }),
		"Or": compare(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return not(b, b.Mul(not(b, x), not(b, y))) },
			math.Max),
		"Xor": compare(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return b.Step(b.Abs(b.Sub(x, y))) },
			func(x, y float64) float64 { return truth(x != y) }),
		"Not":   unary(not, func(x float64) float64 { return truth(x == 0) }),
		"IsNaN": isNaN,
		"IsInf": isNaN,
		"Where": where,
		"Mod":   mod,
		"Sign":  unary(stepwise("sign", sign), sign),
		"Floor": unary(floor, math.Floor),
		"Ceil":  unary(stepwise("ceil", math.Ceil), math.Ceil),
		"Round": unary(stepwise("round", math.RoundToEven), math.RoundToEven),
	})
}

// mod is what division leaves over. It has the sign of the divisor or, with fmod, that of the dividend.
func mod(c *call) []value {
	rounded, plain := floor, math.Floor
	if c.int("fmod", 0) != 0 {
		rounded, plain = truncate, math.Trunc
	}
	rest := func(b *graph.Builder, x, y *graph.Node) *graph.Node {
		return b.Sub(x, b.Mul(y, rounded(b, b.Div(x, y))))
	}
	return pairs(rest, func(x, y float64) float64 { return x - y*plain(x/y) })(c)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func not(b *graph.Builder, x *graph.Node) *graph.Node { return b.Affine(x, -1, 1) }

func sign(x float64) float64 { return truth(x > 0) - truth(x < 0) }

var (
	floor    = stepwise("floor", math.Floor)
	truncate = stepwise("trunc", math.Trunc)
)

// stepwise is a function of each element that is constant between its steps.
func stepwise(name string, f func(float64) float64) func(b *graph.Builder, x *graph.Node) *graph.Node {
	return pointwise(name, f, func(*graph.Builder, *graph.Node, *graph.Node) *graph.Node { return nil })
}

// pointwise is a function f of each element; slope writes its derivative from x and y = f(x), nil for 0.
func pointwise(name string, f func(float64) float64, slope func(b *graph.Builder, x, y *graph.Node) *graph.Node) func(b *graph.Builder, x *graph.Node) *graph.Node {
	op := graph.Pointwise{
		Name: "onnx " + name,
		F32: func(dst, src []float32) {
			for i, x := range src {
				dst[i] = float32(f(float64(x)))
			}
		},
		F64: func(dst, src []float64) {
			for i, x := range src {
				dst[i] = f(x)
			}
		},
		Grad: func(b *graph.Builder, x, y, ct *graph.Node) *graph.Node {
			if d := slope(b, x, y); d != nil {
				return b.Mul(ct, d)
			}
			return nil
		},
	}.Op()
	return func(b *graph.Builder, x *graph.Node) *graph.Node { return b.Apply(op, x) }
}

// compare is a function of pairs of elements, whose results are whole numbers.
func compare(write func(b *graph.Builder, x, y *graph.Node) *graph.Node, f func(x, y float64) float64) operator {
	return func(c *call) []value {
		x, y := c.value(0), c.value(1)
		if x.host != nil && y.host != nil {
			return hosts(c.zip(x.host, y.host, true, f))
		}
		return nodes(c.made(write(c.b, c.asNode(x), c.asNode(y))))
	}
}

// isNaN finds nothing: the numbers of a graph are finite, and infinite constants become the largest numbers.
func isNaN(c *call) []value {
	if v := c.value(0); v.host != nil {
		f := func(x float64) float64 { return truth(x != x) }
		if c.Op == "IsInf" {
			below, above := c.int("detect_negative", 1) != 0, c.int("detect_positive", 1) != 0
			f = func(x float64) float64 { return truth(below && math.IsInf(x, -1) || above && math.IsInf(x, 1)) }
		}
		h := v.host.each(f)
		h.whole = true
		return hosts(h)
	}
	return hosts(&host{shape: slices.Repeat([]int{1}, len(c.value(0).shape())), v: []float64{0}, whole: true})
}

// where selects by a condition.
func where(c *call) []value {
	condition, x, y := c.value(0), c.value(1), c.value(2)
	if condition.host != nil && x.host != nil && y.host != nil {
		return hosts(c.whereHosts(condition.host, x.host, y.host))
	}
	if only, ok := condition.host.scalar(); ok {
		to, err := broadcast(c.joint(x, y), condition.shape())
		if only == 0 {
			x = y
		}
		return []value{c.expanded(x, must(c, to, err))}
	}
	return nodes(c.made(c.b.Where(c.asNode(condition), c.asNode(x), c.asNode(y))))
}

// joint returns the shape to which two values broadcast, or ends the operator.
func (c *call) joint(x, y value) []int {
	to, err := broadcast(x.shape(), y.shape())
	return must(c, to, err)
}

func (c *call) whereHosts(condition, x, y *host) *host {
	to, err := broadcast(condition.shape, c.joint(value{host: x}, value{host: y}))
	to = must(c, to, err)
	yes, out, other := c.try(condition.expanded(to)), c.try(x.expanded(to)), c.try(y.expanded(to))
	for i, k := range yes.v {
		if k == 0 {
			out.v[i] = other.v[i]
		}
	}
	return out
}
