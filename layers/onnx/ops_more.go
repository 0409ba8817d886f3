package onnx

import (
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
)

// Functions of each element that few networks have.
func init() {
	add(map[string]operator{
		"Tan": elementwise("tan", math.Tan, func(b *graph.Builder, _, y *graph.Node) *graph.Node { return b.Affine(b.Square(y), 1, 1) }),
		"Asin": elementwise("asin", math.Asin, func(b *graph.Builder, x, _ *graph.Node) *graph.Node {
			return reciprocal(b, b.Sqrt(b.Affine(b.Square(x), -1, 1)))
		}),
		"Acos": elementwise("acos", math.Acos, func(b *graph.Builder, x, _ *graph.Node) *graph.Node {
			return b.Neg(reciprocal(b, b.Sqrt(b.Affine(b.Square(x), -1, 1))))
		}),
		"Atan": elementwise("atan", math.Atan, func(b *graph.Builder, x, _ *graph.Node) *graph.Node {
			return reciprocal(b, b.Affine(b.Square(x), 1, 1))
		}),
		"Sinh": elementwise("sinh", math.Sinh, func(b *graph.Builder, x, _ *graph.Node) *graph.Node {
			return b.Scale(b.Add(b.Exp(x), b.Exp(b.Neg(x))), 0.5)
		}),
		"Cosh": elementwise("cosh", math.Cosh, func(b *graph.Builder, x, _ *graph.Node) *graph.Node {
			return b.Scale(b.Sub(b.Exp(x), b.Exp(b.Neg(x))), 0.5)
		}),
		"Asinh": elementwise("asinh", math.Asinh, func(b *graph.Builder, x, _ *graph.Node) *graph.Node {
			return reciprocal(b, b.Sqrt(b.Affine(b.Square(x), 1, 1)))
		}),
		"Acosh": elementwise("acosh", math.Acosh, func(b *graph.Builder, x, _ *graph.Node) *graph.Node {
			return reciprocal(b, b.Sqrt(b.Affine(b.Square(x), 1, -1)))
		}),
		"Atanh": elementwise("atanh", math.Atanh, func(b *graph.Builder, x, _ *graph.Node) *graph.Node {
			return reciprocal(b, b.Affine(b.Square(x), -1, 1))
		}),
	})
}

// Activations with settings, and others.
func init() {
	add(map[string]operator{
		"ThresholdedRelu": func(c *call) []value {
			x := c.node(0)
			return nodes(c.made(c.b.Keep(x, c.b.Step(c.b.Affine(x, 1, -c.float("alpha", 1))))))
		},
		"Shrink": func(c *call) []value {
			x, limit, bias := c.node(0), c.float("lambd", 0.5), c.float("bias", 0)
			above, below := c.b.Step(c.b.Affine(x, 1, -limit)), c.b.Step(c.b.Affine(x, -1, -limit))
			return nodes(c.made(c.b.Add(c.b.Keep(c.b.Affine(x, 1, -bias), above), c.b.Keep(c.b.Affine(x, 1, bias), below))))
		},
		"Swish": func(c *call) []value {
			x := c.node(0)
			return nodes(c.made(c.b.Mul(x, c.b.Sigmoid(c.b.Scale(x, c.float("alpha", 1))))))
		},
		"Mean": func(c *call) []value {
			sum := c.node(0)
			for i := 1; i < len(c.in); i++ {
				sum = c.b.Add(sum, c.node(i))
			}
			return nodes(c.made(c.b.Scale(sum, 1/float64(len(c.in)))))
		},
		"EyeLike": func(c *call) []value {
			k := c.int("k", 0)
			shape := c.value(0).shape()
			if len(shape) != 2 {
				c.failf("shape %v, expected a matrix", shape)
			}
			h := c.table(shape, func(i, j int) float64 { return truth(j-i == k) })
			return hosts(h)
		},
	})
}

// Reductions and norms.
func init() {
	add(map[string]operator{
		"ReduceL1": func(c *call) []value { return reduced(c, c.made(c.b.Abs(c.node(0))), false) },
		"ReduceLogSum": func(c *call) []value {
			return nodes(c.made(c.b.Log(reduced(c, c.node(0), false)[0].node)))
		},
		"ReduceLogSumExp":           logSumExp,
		"RMSNormalization":          rmsNorm,
		"LpNormalization":           lpNorm,
		"MeanVarianceNormalization": standardised,
		"LRN":                       localResponse,
	})
}

// elementwise is a function of each element with its derivative.
func elementwise(name string, f func(float64) float64, slope func(b *graph.Builder, x, y *graph.Node) *graph.Node) operator {
	return unary(pointwise(name, f, slope), f)
}

// logSumExp takes the largest element out, so that no exponential overflows.
func logSumExp(c *call) []value {
	top := c.b.Detach(reduceMax(1)(c)[0].node)
	wide := c.made(c.b.Reshape(top, without(c.value(0).shape(), c.reduction(), true)...))
	sum := reduced(c, c.made(c.b.Exp(c.b.Sub(c.node(0), wide))), false)[0].node
	return nodes(c.made(c.b.Add(c.b.Log(sum), top)))
}

// rmsNorm divides by the root of the mean square, of opset 23.
func rmsNorm(c *call) []value {
	x := c.node(0)
	to := x.Shape().Clone()
	for d := c.axis(c.int("axis", -1), len(to)); d < len(to); d++ {
		to[d] = 1
	}
	square := c.mean(c.b.Square(x), to)
	root := c.b.Sqrt(c.b.Affine(square, 1, c.float("epsilon", epsilon)))
	return nodes(c.made(c.b.Mul(c.b.Div(x, root), c.node(1))))
}

// lpNorm divides by the norm of an axis.
func lpNorm(c *call) []value {
	x, p := c.node(0), c.int("p", 2)
	to := x.Shape().Clone()
	to[c.axis(c.int("axis", -1), len(to))] = 1
	switch p {
	case 1:
		return nodes(c.made(c.b.Div(x, c.b.SumTo(c.b.Abs(x), to...))))
	case 2: // of zeros 0, as in ONNX Runtime
		const least = 1e-30 // the squares of smaller numbers are 0 in float32
		return nodes(c.made(c.b.Div(x, c.b.Clip(c.b.Length(c.b.SumTo(c.b.Square(x), to...)), least, math.Inf(1)))))
	}
	c.failf("p = %d is not supported, only 1 and 2", p)
	return nil
}

// standardised subtracts means and divides by standard deviations over axes.
func standardised(c *call) []value {
	x := c.node(0)
	list := c.ints("axes")
	if list == nil {
		list = []int{0, 2, 3}
	}
	axes := c.axes(list, x.Dims())
	if slices.Contains(axes, 0) {
		c.failf("axes %v with the axis of the examples are not supported", axes)
	}
	to := without(x.Shape(), axes, true)
	centred := c.b.Sub(x, c.mean(x, to))
	square := c.mean(c.b.Square(centred), to)
	return nodes(c.made(c.b.Div(centred, c.b.Affine(c.b.Sqrt(square), 1, 1e-9))))
}

// localResponse divides by a power of the squares of neighbouring channels.
func localResponse(c *call) []value {
	x, size := c.node(0), c.int("size", 1)
	s := x.Shape()
	if len(s) < 3 || size < 1 {
		c.failf("shape %v with %d channels together", s, size)
	}
	near := c.asNode(value{host: c.table([]int{s[1], s[1]}, func(i, j int) float64 {
		return truth(j >= i-(size-1)/2 && j <= i+(size-1)-(size-1)/2)
	})})
	flat := c.b.Reshape(c.b.Square(x), s[0], s[1], product(s[2:]))
	sums := c.b.Transpose(c.b.MatMul(c.b.Transpose(flat, 0, 2, 1), near, false, true), 0, 2, 1)
	base := c.b.Affine(c.b.Reshape(sums, s...), c.float("alpha", 1e-4)/float64(size), c.float("bias", 1))
	return nodes(c.made(c.b.Mul(x, c.b.Pow(base, -c.float("beta", 0.75)))))
}
