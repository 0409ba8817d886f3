package graph_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
)

type (
	builder = graph.Builder
	node    = graph.Node
	arrays  = [][]float64
)

// TestOps is the table of all operations. Names carry the shape that is odd about them.
func TestOps(t *testing.T) {
	graphtest.Run(t, opCases())
}

func opCases() []graphtest.Case {
	var all []graphtest.Case
	all = append(all, pointwiseCases()...)
	all = append(all, binaryCases()...)
	all = append(all, reduceCases()...)
	all = append(all, shapeCases()...)
	all = append(all, matrixCases()...)
	all = append(all, contractCases()...)
	all = append(all, imageCases()...)
	all = append(all, networkCases()...)
	all = append(all, overrideCases()...)
	all = append(all, factorCases()...)
	return append(all, specialCases()...)
}

// pointwiseCases: each function at a vector of one element and at an odd 3-D shape.
func pointwiseCases() []graphtest.Case {
	positive := func(in arrays) {
		for i, x := range in[0] {
			in[0][i] = 0.3 + math.Abs(x)
		}
	}
	awayFromKink := func(in arrays) {
		for i, x := range in[0] {
			in[0][i] = x + math.Copysign(0.1, x)
		}
	}
	relu := func(x float64) float64 { return max(x, 0) }
	step := func(x float64) float64 {
		if x > 0 {
			return 1
		}
		return 0
	}
	table := []struct {
		name    string
		op      func(b *builder, x *node) *node
		f       func(float64) float64
		prepare func(arrays)
	}{
		{"tanh", (*builder).Tanh, math.Tanh, nil},
		{"relu", (*builder).ReLU, relu, awayFromKink},
		{"step", (*builder).Step, step, awayFromKink},
		{"erf", (*builder).Erf, math.Erf, nil},
		{"softplus", (*builder).Softplus, func(x float64) float64 { return math.Log1p(math.Exp(x)) }, nil},
		{"sigmoid", (*builder).Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, nil},
		{"sin", (*builder).Sin, math.Sin, nil},
		{"cos", (*builder).Cos, math.Cos, nil},
		{"exp", (*builder).Exp, math.Exp, nil},
		{"log", (*builder).Log, math.Log, positive},
		{"sqrt", (*builder).Sqrt, math.Sqrt, positive},
		{"length", (*builder).Length, math.Sqrt, positive},
		{"square", (*builder).Square, func(x float64) float64 { return x * x }, nil},
		{"neg", (*builder).Neg, func(x float64) float64 { return -x }, nil},
		{"scale", func(b *builder, x *node) *node { return b.Scale(x, 2.5) }, func(x float64) float64 { return 2.5 * x }, nil},
		{"affine", func(b *builder, x *node) *node { return b.Affine(x, -3, 0.5) }, func(x float64) float64 { return -3*x + 0.5 }, nil},
		{"pow 0", func(b *builder, x *node) *node { return b.Pow(x, 0) }, func(float64) float64 { return 1 }, nil},
		{"pow 7", func(b *builder, x *node) *node { return b.Pow(x, 7) }, func(x float64) float64 { return math.Pow(x, 7) }, nil},
		{"pow -3", func(b *builder, x *node) *node { return b.Pow(x, -3) }, func(x float64) float64 { return math.Pow(x, -3) }, awayFromKink},
		{"pow 2.5", func(b *builder, x *node) *node { return b.Pow(x, 2.5) }, func(x float64) float64 { return math.Pow(x, 2.5) }, positive},
		{"pow -0.75", func(b *builder, x *node) *node { return b.Pow(x, -0.75) }, func(x float64) float64 { return math.Pow(x, -0.75) }, positive},
		{"shift", func(b *builder, x *node) *node { return b.Affine(x, 1, 0.5) }, func(x float64) float64 { return x + 0.5 }, nil},
	}
	var cases []graphtest.Case
	for _, r := range table {
		for name, shape := range map[string][]int{" [1]": {1}, " [3,1,5]": {3, 1, 5}} {
			cases = append(cases, graphtest.Case{
				Name: r.name + name, Shapes: [][]int{shape}, Prepare: r.prepare,
				Build: func(b *builder, in []*node) *node { return r.op(b, in[0]) },
				Naive: func(in arrays) []float64 {
					out := make([]float64, len(in[0]))
					for i, x := range in[0] {
						out[i] = r.f(x)
					}
					return out
				},
			})
		}
	}
	return cases
}

// binaryCases: every kind of broadcast.
func binaryCases() []graphtest.Case {
	away := func(in arrays) {
		for i, x := range in[1] {
			in[1][i] = x + math.Copysign(0.5, x)
		}
	}
	apart := func(in arrays) { // no number of the one is near one of the other
		for k, v := range in {
			for i, x := range v {
				v[i] = math.Round(2*x)/2 + 0.25*float64(k)
			}
		}
	}
	positive := func(y, x float64) float64 {
		if y > 0 {
			return x
		}
		return 0
	}
	table := []struct {
		name    string
		op      func(b *builder, x, y *node) *node
		f       func(x, y float64) float64
		prepare func(arrays)
	}{
		{"add", (*builder).Add, func(x, y float64) float64 { return x + y }, away},
		{"sub", (*builder).Sub, func(x, y float64) float64 { return x - y }, away},
		{"mul", (*builder).Mul, func(x, y float64) float64 { return x * y }, away},
		{"div", (*builder).Div, func(x, y float64) float64 { return x / y }, away},
		{"max", (*builder).Max, func(x, y float64) float64 { return max(x, y) }, apart},
		{"min", (*builder).Min, func(x, y float64) float64 { return min(x, y) }, apart},
		{"keep", func(b *builder, x, y *node) *node { return b.Keep(x, b.Step(y)) }, func(x, y float64) float64 { return positive(y, x) }, away},
		{"drop", func(b *builder, x, y *node) *node { return b.Drop(x, b.Step(y)) }, func(x, y float64) float64 { return x - positive(y, x) }, away},
		{"where", func(b *builder, x, y *node) *node { return b.Where(b.Step(y), b.Mul(x, y), b.Square(y)) },
			func(x, y float64) float64 { return positive(y, x*y) + positive(-y, y*y) }, away},
	}
	shapes := map[string][2][]int{
		" same":          {{2, 3}, {2, 3}},
		" [1]":           {{1}, {1}},
		" row":           {{4, 3}, {3}},
		" row first":     {{3}, {4, 3}},
		" column":        {{4, 3}, {4, 1}},
		" outer":         {{4, 1}, {1, 3}},
		" scalar":        {{2, 3}, {1}},
		" scalar first":  {{1}, {2, 3}},
		" middle":        {{2, 3, 4}, {2, 1, 4}},
		" ends":          {{2, 3, 4}, {1, 3, 1}},
		" both sides":    {{2, 1, 4}, {3, 1}},
		" leading three": {{2, 1, 1, 2}, {3, 5, 1}},
	}
	var cases []graphtest.Case
	for _, r := range table {
		for name, s := range shapes {
			cases = append(cases, graphtest.Case{
				Name: r.name + name, Shapes: [][]int{s[0], s[1]}, Prepare: r.prepare,
				Build: func(b *builder, in []*node) *node { return r.op(b, in[0], in[1]) },
				Naive: func(in arrays) []float64 { return naiveBroadcast(in, s, r.f) },
			})
		}
	}
	return append(cases, graphtest.Case{
		Name: "mul with itself", Shapes: [][]int{{3, 2}},
		Build: func(b *builder, in []*node) *node { return b.Mul(in[0], in[0]) },
		Naive: func(in arrays) []float64 {
			return naiveBroadcast(arrays{in[0], in[0]}, [2][]int{{6}, {6}}, func(x, y float64) float64 { return x * y })
		},
	}, graphtest.Case{
		Name: "add bias", Shapes: [][]int{{4, 3}, {3}},
		Build: func(b *builder, in []*node) *node { return b.AddBias(in[0], in[1]) },
		Naive: func(in arrays) []float64 {
			return naiveBroadcast(in, [2][]int{{4, 3}, {3}}, func(x, y float64) float64 { return x + y })
		},
	})
}

// naiveBroadcast finds each operand's element from the output's coordinates.
func naiveBroadcast(in arrays, s [2][]int, f func(x, y float64) float64) []float64 {
	n := max(len(s[0]), len(s[1]))
	full := make([]int, n)
	total := 1
	for d := range full {
		full[d] = max(axis(s[0], d, n), axis(s[1], d, n))
		total *= full[d]
	}
	out := make([]float64, total)
	for i := range out {
		out[i] = f(in[0][flat(i, full, s[0])], in[1][flat(i, full, s[1])])
	}
	return out
}

func axis(s []int, d, n int) int {
	if d < n-len(s) {
		return 1
	}
	return s[d-n+len(s)]
}

// flat is the index in an array of shape s of element i of an array of shape full.
func flat(i int, full, s []int) int {
	index, stride := 0, 1
	for d := len(full) - 1; d >= 0; d-- {
		coord := i % full[d]
		i /= full[d]
		if e := axis(s, d, len(full)); e > 1 {
			index += coord * stride
			stride *= e
		}
	}
	return index
}

func reduceCases() []graphtest.Case {
	sumTo := func(name string, from, to []int) graphtest.Case {
		return graphtest.Case{
			Name: name, Shapes: [][]int{from},
			Build: func(b *builder, in []*node) *node { return b.SumTo(in[0], to...) },
			Naive: func(in arrays) []float64 {
				n := 1
				for _, d := range to {
					n *= d
				}
				out := make([]float64, n)
				for i, x := range in[0] {
					out[flat(i, from, to)] += x
				}
				return out
			},
		}
	}
	spread := func(name string, from, to []int) graphtest.Case {
		return graphtest.Case{
			Name: name, Shapes: [][]int{from},
			Build: func(b *builder, in []*node) *node { return b.BroadcastTo(in[0], to...) },
			Naive: func(in arrays) []float64 {
				return naiveBroadcast(arrays{in[0], make([]float64, 1000)}, [2][]int{from, to}, func(x, _ float64) float64 { return x })
			},
		}
	}
	softmax := func(name string, shape ...int) graphtest.Case {
		return graphtest.Case{
			Name: name, Shapes: [][]int{shape},
			Build: func(b *builder, in []*node) *node { return b.LogSoftmax(in[0]) },
			Naive: func(in arrays) []float64 {
				n := shape[len(shape)-1]
				out := make([]float64, len(in[0]))
				for i := range out {
					sum := 0.0
					for _, x := range in[0][i-i%n : i-i%n+n] {
						sum += math.Exp(x - in[0][i])
					}
					out[i] = -math.Log(sum)
				}
				return out
			},
		}
	}
	return []graphtest.Case{
		sumTo("sum all", []int{3, 4}, nil),
		sumTo("sum one element", []int{1}, nil),
		sumTo("sum rows", []int{3, 4}, []int{4}),
		sumTo("sum rows kept", []int{3, 4}, []int{1, 4}),
		sumTo("sum columns", []int{3, 4}, []int{3, 1}),
		sumTo("sum middle", []int{2, 3, 4}, []int{2, 1, 4}),
		sumTo("sum ends", []int{2, 3, 4}, []int{3, 1}),
		spread("broadcast rows", []int{4}, []int{3, 4}),
		spread("broadcast columns", []int{3, 1}, []int{3, 4}),
		spread("broadcast middle", []int{2, 1, 4}, []int{2, 3, 4}),
		spread("broadcast ends", []int{1, 3, 1}, []int{2, 3, 4}),
		softmax("log softmax [4,3]", 4, 3),
		softmax("log softmax [5]", 5),
		softmax("log softmax one class", 2, 1),
		softmax("log softmax [2,2,3]", 2, 2, 3),
		{
			Name: "mean", Shapes: [][]int{{2, 3}},
			Build: func(b *builder, in []*node) *node { return b.Mean(in[0]) },
			Naive: func(in arrays) []float64 {
				s := 0.0
				for _, x := range in[0] {
					s += x / 6
				}
				return []float64{s}
			},
		},
	}
}

func shapeCases() []graphtest.Case {
	transpose := func(name string, shape, perm []int) graphtest.Case {
		return graphtest.Case{
			Name: name, Shapes: [][]int{shape},
			Build: func(b *builder, in []*node) *node { return b.Transpose(in[0], perm...) },
			Naive: func(in arrays) []float64 {
				out := make([]float64, len(in[0]))
				to := make([]int, len(shape))
				for d, p := range perm {
					to[d] = shape[p]
				}
				for i := range out {
					rest, index := i, 0
					coord := make([]int, len(shape))
					for d := len(to) - 1; d >= 0; d-- {
						coord[perm[d]] = rest % to[d]
						rest /= to[d]
					}
					for d, c := range coord {
						index = index*shape[d] + c
					}
					out[i] = in[0][index]
				}
				return out
			},
		}
	}
	identity := func(in arrays) []float64 { return in[0] }
	return []graphtest.Case{
		{Name: "reshape", Shapes: [][]int{{2, 6}}, Naive: identity,
			Build: func(b *builder, in []*node) *node { return b.Reshape(in[0], 3, 4) }},
		{Name: "reshape of computed", Shapes: [][]int{{2, 6}}, Naive: func(in arrays) []float64 {
			return naiveBroadcast(arrays{in[0], in[0]}, [2][]int{{12}, {12}}, func(x, _ float64) float64 { return 4 * x * x })
		}, Build: func(b *builder, in []*node) *node {
			return b.Square(b.Reshape(b.Scale(b.Reshape(in[0], 12), 2), 4, 3))
		}},
		transpose("transpose", []int{2, 3}, []int{1, 0}),
		transpose("transpose column", []int{4, 1}, []int{1, 0}),
		transpose("transpose stack", []int{2, 3, 4}, []int{0, 2, 1}),
		transpose("transpose cycle", []int{2, 3, 4}, []int{2, 0, 1}),
		every("every second, axis 0", []int{5, 2}, 0, 2),
		every("every second, axis 2 of 4", []int{2, 3, 5, 2}, 2, 2),
		every("every third, last axis", []int{2, 6}, 1, 3),
		every("every one", []int{2, 3}, 1, 1),
		{Name: "slice axis 0", Shapes: [][]int{{5, 2}},
			Build: func(b *builder, in []*node) *node { return b.Slice(in[0], 0, 1, 4) },
			Naive: func(in arrays) []float64 { return in[0][2:8] }},
		{Name: "slice axis 1", Shapes: [][]int{{2, 3}},
			Build: func(b *builder, in []*node) *node { return b.Slice(in[0], 1, 2, 3) },
			Naive: func(in arrays) []float64 { return []float64{in[0][2], in[0][5]} }},
		{Name: "pad axis 1", Shapes: [][]int{{2, 2}},
			Build: func(b *builder, in []*node) *node { return b.Pad(in[0], 1, 1, 4) },
			Naive: func(in arrays) []float64 { return []float64{0, in[0][0], in[0][1], 0, 0, in[0][2], in[0][3], 0} }},
		{Name: "concat", Shapes: [][]int{{1, 2}, {3, 2}},
			Build: func(b *builder, in []*node) *node { return b.Concat(0, in[0], in[1], in[0]) },
			Naive: func(in arrays) []float64 {
				return append(append(append([]float64{}, in[0]...), in[1]...), in[0]...)
			}},
	}
}
