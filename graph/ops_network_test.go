package graph_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
)

// networkCases are operations that networks from elsewhere need.
func networkCases() []graphtest.Case {
	cases := append(groupConvCases(), gatherCases()...)
	cases = append(cases, stackCases()...)
	cases = append(append(cases, activationCases()...), recurrenceCases()...)
	return append(cases, graphtest.Case{
		Name: "max pool of 2×3 every 2×1", Shapes: [][]int{{2, 1, 5, 4}}, Shape: []int{2, 1, 2, 2},
		Build: func(b *builder, in []*node) *node { return b.MaxPool(in[0], [2]int{2, 3}, [2]int{2, 1}) },
		Naive: func(in arrays) []float64 { return naiveWindows(in[0], 2, math.Max, math.Inf(-1), 1) },
	}, graphtest.Case{
		Name: "average pool of 2×3 every 2×1", Shapes: [][]int{{2, 1, 5, 4}}, Shape: []int{2, 1, 2, 2},
		Build: func(b *builder, in []*node) *node { return b.AveragePool(in[0], [2]int{2, 3}, [2]int{2, 1}) },
		Naive: func(in arrays) []float64 {
			return naiveWindows(in[0], 2, func(a, c float64) float64 { return a + c }, 0, 1.0/6)
		},
	})
}

// naiveWindows reduces windows of 2×3 every 2×1 elements of images of 5×4.
func naiveWindows(x []float64, images int, join func(a, b float64) float64, start, factor float64) (y []float64) {
	for n := range images {
		for i := range 2 {
			for j := range 2 {
				v := start
				for k := range 6 {
					v = join(v, x[n*20+(2*i+k/3)*4+j+k%3])
				}
				y = append(y, factor*v)
			}
		}
	}
	return y
}

// convEach calls f for each product of a convolution: the places in result, image and filters.
func convEach(xs, ws, ys []int, o graph.ConvOptions, f func(y, x, w int)) {
	out, in := ws[0]/o.Groups, ws[1]
	for n := range xs[0] {
		for c := range ws[0] {
			for i := range ys[2] {
				for j := range ys[3] {
					for k := range in {
						for ky := range ws[2] {
							for kx := range ws[3] {
								r, q := i*o.Stride[0]+ky*o.Dilation[0]-o.Before[0], j*o.Stride[1]+kx*o.Dilation[1]-o.Before[1]
								if r < 0 || q < 0 || r >= xs[2] || q >= xs[3] {
									continue
								}
								f(((n*ys[1]+c)*ys[2]+i)*ys[3]+j, ((n*xs[1]+c/out*in+k)*xs[2]+r)*xs[3]+q, ((c*in+k)*ws[2]+ky)*ws[3]+kx)
							}
						}
					}
				}
			}
		}
	}
}

// groupConvCases: groups, depthwise filters, other steps and zeros for rows and columns,
// dilation; each forwards and transposed.
func groupConvCases() []graphtest.Case {
	one := [2]int{1, 1}
	var cases []graphtest.Case
	for _, r := range []struct {
		x, w, y []int
		o       graph.ConvOptions
	}{
		{[]int{2, 4, 4, 5}, []int{6, 2, 3, 3}, []int{2, 6, 4, 5}, graph.ConvOptions{Groups: 2, Stride: one, Dilation: one, Before: one, After: one}},
		{[]int{2, 3, 5, 4}, []int{3, 1, 3, 2}, []int{2, 3, 2, 2}, graph.ConvOptions{Groups: 3, Stride: [2]int{2, 2}, Dilation: one, After: [2]int{0, 0}}},
		{[]int{1, 2, 6, 7}, []int{2, 2, 2, 3}, []int{1, 2, 5, 3}, graph.ConvOptions{Groups: 1, Stride: [2]int{1, 2}, Dilation: [2]int{2, 1}, Before: [2]int{1, 1}, After: [2]int{0, 0}}},
		{[]int{3, 1, 2, 6}, []int{2, 1, 1, 2}, []int{3, 2, 2, 2}, graph.ConvOptions{Groups: 1, Stride: [2]int{1, 3}, Dilation: [2]int{1, 4}, Before: [2]int{0, 1}, After: [2]int{0, 1}}},
		// products with patches
		{[]int{2, 2, 1, 6}, []int{8, 2, 1, 4}, []int{2, 8, 1, 6}, graph.ConvOptions{Groups: 1, Stride: one, Dilation: [2]int{1, 2}, Before: [2]int{0, 3}, After: [2]int{0, 3}}},
		{[]int{2, 4, 3, 4}, []int{16, 2, 2, 2}, []int{2, 16, 3, 2}, graph.ConvOptions{Groups: 2, Stride: [2]int{1, 2}, Dilation: one, Before: [2]int{1, 0}, After: [2]int{0, 0}}},
	} {
		var extra [2]int
		for d := range 2 {
			extra[d] = (r.x[2+d] + r.o.Before[d] + r.o.After[d] - r.o.Dilation[d]*(r.w[2+d]-1) - 1) % r.o.Stride[d]
		}
		product := func(shape []int) int { return shape[0] * shape[1] * shape[2] * shape[3] }
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprintf("convolution of %v by %v with %v", r.x, r.w, r.o), Shapes: [][]int{r.x, r.w}, Shape: r.y,
			Build: func(b *builder, in []*node) *node { return b.Convolution(in[0], in[1], r.o) },
			Naive: func(in arrays) []float64 {
				y := make([]float64, product(r.y))
				convEach(r.x, r.w, r.y, r.o, func(k, i, j int) { y[k] += in[0][i] * in[1][j] })
				return y
			},
		}, graphtest.Case{
			Name: fmt.Sprintf("transposed convolution of %v by %v with %v", r.y, r.w, r.o), Shapes: [][]int{r.y, r.w}, Shape: r.x,
			Build: func(b *builder, in []*node) *node { return b.ConvTranspose(in[0], in[1], extra, r.o) },
			Naive: func(in arrays) []float64 {
				x := make([]float64, product(r.x))
				convEach(r.x, r.w, r.y, r.o, func(k, i, j int) { x[i] += in[0][k] * in[1][j] })
				return x
			},
		})
	}
	return cases
}

func gatherCases() []graphtest.Case {
	return []graphtest.Case{
		{Name: "gather along axis 1", Shapes: [][]int{{2, 3, 2}}, Shape: []int{2, 4, 2},
			Build: func(b *builder, in []*node) *node { return b.Gather(in[0], 1, 2, 0, 2, 1) },
			Naive: func(in arrays) []float64 {
				x := in[0]
				return []float64{x[4], x[5], x[0], x[1], x[4], x[5], x[2], x[3], x[10], x[11], x[6], x[7], x[10], x[11], x[8], x[9]}
			}},
		{Name: "gather along axis 0", Shapes: [][]int{{3, 1}}, Shape: []int{2, 1},
			Build: func(b *builder, in []*node) *node { return b.Gather(in[0], 0, 1, 1) },
			Naive: func(in arrays) []float64 { return []float64{in[0][1], in[0][1]} }},
		{Name: "concat along axis 1", Shapes: [][]int{{2, 1, 2}, {2, 2, 2}}, Shape: []int{2, 3, 2},
			Build: func(b *builder, in []*node) *node { return b.Concat(1, in[0], in[1]) },
			Naive: func(in arrays) []float64 {
				return append(append(append(append([]float64{}, in[0][:2]...), in[1][:4]...), in[0][2:]...), in[1][4:]...)
			}},
	}
}

// activationCases are compositions of other operations.
func activationCases() []graphtest.Case {
	awayFromKinks := func(in arrays) { // these are at 0, 1 and ±3 at most
		for i, x := range in[0] {
			in[0][i] = math.Floor(x) + 0.3
		}
	}
	negative := func(x, below float64) float64 {
		if x > 0 {
			return x
		}
		return below
	}
	cube := func(x float64) float64 { return math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }
	var cases []graphtest.Case
	for name, r := range map[string]struct {
		op func(b *builder, x *node) *node
		f  func(x float64) float64
	}{
		"abs":          {(*builder).Abs, math.Abs},
		"gelu":         {(*builder).GELU, func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 }},
		"gelu by tanh": {(*builder).GELUTanh, func(x float64) float64 { return x * (1 + math.Tanh(cube(x))) / 2 }},
		"silu":         {(*builder).SiLU, func(x float64) float64 { return x / (1 + math.Exp(-x)) }},
		"mish":         {(*builder).Mish, func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }},
		"leaky relu":   {func(b *builder, x *node) *node { return b.LeakyReLU(x, 0.1) }, func(x float64) float64 { return negative(x, 0.1*x) }},
		"elu":          {func(b *builder, x *node) *node { return b.ELU(x, 0.7) }, func(x float64) float64 { return negative(x, 0.7*math.Expm1(x)) }},
		"celu":         {func(b *builder, x *node) *node { return b.CELU(x, 0.7) }, func(x float64) float64 { return negative(x, 0.7*math.Expm1(x/0.7)) }},
		"selu":         {(*builder).SELU, func(x float64) float64 { return 1.0507009873554805 * negative(x, 1.6732632423543772*math.Expm1(x)) }},
		"clip":         {func(b *builder, x *node) *node { return b.Clip(x, -1, 1) }, func(x float64) float64 { return min(max(x, -1), 1) }},
		"clip below":   {func(b *builder, x *node) *node { return b.Clip(x, -1, math.Inf(1)) }, func(x float64) float64 { return max(x, -1) }},
		"clip above":   {func(b *builder, x *node) *node { return b.Clip(x, math.Inf(-1), 1) }, func(x float64) float64 { return min(x, 1) }},
		"hard swish":   {(*builder).HardSwish, func(x float64) float64 { return x * min(max(x/6+0.5, 0), 1) }},
		"hard sigmoid": {func(b *builder, x *node) *node { return b.HardSigmoid(x, 0.5, 0.5) }, func(x float64) float64 { return min(max(x/2+0.5, 0), 1) }},
	} {
		cases = append(cases, graphtest.Case{
			Name: name, Shapes: [][]int{{2, 3, 2}}, Shape: []int{2, 3, 2}, Prepare: awayFromKinks,
			Build: func(b *builder, in []*node) *node { return r.op(b, in[0]) },
			Naive: func(in arrays) (y []float64) {
				for _, x := range in[0] {
					y = append(y, r.f(x))
				}
				return y
			},
		})
	}
	slices.SortFunc(cases, func(a, b graphtest.Case) int { return strings.Compare(a.Name, b.Name) })
	return append(cases, graphtest.Case{
		Name: "softmax", Shapes: [][]int{{2, 2}}, Build: func(b *builder, in []*node) *node { return b.Softmax(in[0]) },
		Naive: func(in arrays) (y []float64) {
			for i := range 4 {
				y = append(y, 1/(1+math.Exp(in[0][i^1]-in[0][i])))
			}
			return y
		},
	}, graphtest.Case{
		Name: "embed", Shapes: [][]int{{4, 2}, {2, 3}}, Shape: []int{2, 3, 2},
		Prepare: func(in arrays) { copy(in[1], []float64{2, 0, -1, 1, 1, 2}) },
		Build:   func(b *builder, in []*node) *node { return b.Embed(in[0], in[1]) },
		Naive: func(in arrays) (y []float64) {
			for _, k := range []int{2, 0, 3, 1, 1, 2} {
				y = append(y, in[0][2*k:2*k+2]...)
			}
			return y
		},
	}, graphtest.Case{
		Name: "merge tokens", Shapes: [][]int{{4, 3, 2}, {2, 3}}, Shape: []int{4, 3, 2},
		Prepare: func(in arrays) { copy(in[1], []float64{3, 1, -1, 0, 2, 2}) }, // of a table of four rows
		Build:   func(b *builder, in []*node) *node { return b.MergeTokens(4, in[0], in[1]) },
		Naive: func(in arrays) []float64 {
			x := in[0]
			return []float64{x[0] + x[4], x[1] + x[5], x[2], x[3], 0, 0, x[6] + x[10], x[7] + x[11], x[8], x[9], 0, 0,
				x[12], x[13], x[14] + x[16], x[15] + x[17], 0, 0, x[18], x[19], x[20] + x[22], x[21] + x[23], 0, 0}
		},
	}, graphtest.Case{
		Name: "same tokens", Shapes: [][]int{{2, 3}, {2, 2}}, Shape: []int{2, 3, 2},
		Prepare: func(in arrays) { copy(in[0], []float64{3, 1, -1, 0, 2, 2}); copy(in[1], []float64{1, 3, 0, -2}) },
		Build:   func(b *builder, in []*node) *node { return b.SameTokens(4, in[0], in[1]) },
		Naive:   func(arrays) []float64 { return []float64{0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1} },
	}, tokenDotsCase("token dots", func(b *builder, in []*node) *node { return b.TokenDots(4, in[0], in[1], in[2], in[3]) }),
		tokenDotsCase("token dots of merged rows", func(b *builder, in []*node) *node {
			return b.TokenDots(4, b.MergeTokens(4, in[0], in[1]), in[1], b.MergeTokens(4, in[2], in[3]), in[3])
		}), graphtest.Case{
			Name: "places of the largest", Shapes: [][]int{{2, 5}}, Shape: []int{2, 3},
			Prepare: func(in arrays) { copy(in[0], []float64{-1, 4, 2, 5, 3, 1, 0, -2, -1, -3}) },
			Build:   func(b *builder, in []*node) *node { return b.Add(b.Largest(in[0], 3), b.Slice(in[0], 1, 0, 3)) },
			Naive: func(in arrays) (y []float64) {
				for i, k := range []float64{3, 1, 4, 0, 1, 3} {
					y = append(y, k+in[0][i/3*5+i%3])
				}
				return y
			},
		})
}

// tokenDotsCase is a case of two examples of two rows each, and three others of one row. The naive loop takes the first
// places of each token, or all places if the rows are merged.
func tokenDotsCase(name string, build func(b *builder, in []*node) *node) graphtest.Case {
	x, z := []int{3, 1, -1, 0, 2, 2}, []int{1, 3, -4, 0, -2, 3}
	first := func(of []int, i, width int) bool {
		return !slices.ContainsFunc(of[i/width*width:i], func(v int) bool { return (v+4)%4 == (of[i]+4)%4 })
	}
	merged := strings.Contains(name, "merged")
	return graphtest.Case{
		Name: name, Shapes: [][]int{{4, 3, 2}, {2, 3}, {3, 2, 2}, {3, 2}}, Shape: []int{4, 3}, Build: build,
		Prepare: func(in arrays) {
			for i := range x {
				in[1][i], in[3][i] = float64(x[i]), float64(z[i])
			}
		},
		Naive: func(in arrays) []float64 {
			y := make([]float64, 12)
			for i := range 4 * 3 {
				for j := range 3 * 2 {
					at, row := i%3+i/6*3, i/3
					if (x[at]+4)%4 == (z[j]+4)%4 && (merged || first(x, at, 3) && first(z, j, 2)) {
						y[row*3+j/2] += in[0][2*i]*in[2][2*j] + in[0][2*i+1]*in[2][2*j+1]
					}
				}
			}
			return y
		},
	}
}

// stackCases are products of stacks with more than one leading axis, and with one matrix.
func stackCases() []graphtest.Case {
	var cases []graphtest.Case
	for flags := range 4 {
		ta, tb := flags&1 == 1, flags&2 == 2
		a, c := []int{2, 2, 3, 4}, []int{2, 2, 4, 2}
		if ta {
			a = []int{2, 2, 4, 3}
		}
		if tb {
			c = []int{2, 2, 2, 4}
		}
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprintf("matmul of stacks of stacks %t %t", ta, tb), Shapes: [][]int{a, c}, Shape: []int{2, 2, 3, 2},
			Build: func(b *builder, in []*node) *node { return b.MatMul(in[0], in[1], ta, tb) },
			Naive: func(in arrays) (y []float64) {
				for s := range 4 {
					y = append(y, naiveMatMul(in[0][s*12:], in[1][s*8:], 3, 4, 2, ta, tb)...)
				}
				return y
			},
		})
		if ta {
			continue
		}
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprintf("matmul of a stack and a matrix %t", tb), Shapes: [][]int{a, c[2:]}, Shape: []int{2, 2, 3, 2},
			Build: func(b *builder, in []*node) *node { return b.MatMul(in[0], in[1], false, tb) },
			Naive: func(in arrays) []float64 { return naiveMatMul(in[0], in[1], 12, 4, 2, false, tb) },
		})
	}
	return cases
}
