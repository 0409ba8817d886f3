package graph_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gorgonia.org/tensor"
)

// at returns the element at an index of an array of the given shape.
func at(v []float64, shape []int, index ...int) float64 {
	k := 0
	for d, i := range index {
		k = k*shape[d] + i
	}
	return v[k]
}

// naiveConv is convolution by its definition.
func naiveConv(x []float64, xs []int, w []float64, ws []int, stride, padding int) []float64 {
	oh, ow := (xs[2]+2*padding-ws[2])/stride+1, (xs[3]+2*padding-ws[3])/stride+1
	var y []float64
	for n := range xs[0] {
		for o := range ws[0] {
			for i := range oh {
				for j := range ow {
					sum := 0.0
					for c := range ws[1] {
						for ki := range ws[2] {
							for kj := range ws[3] {
								r, s := i*stride+ki-padding, j*stride+kj-padding
								if r >= 0 && r < xs[2] && s >= 0 && s < xs[3] {
									sum += at(x, xs, n, c, r, s) * at(w, ws, o, c, ki, kj)
								}
							}
						}
					}
					y = append(y, sum)
				}
			}
		}
	}
	return y
}

func imageCases() []graphtest.Case {
	return append(append(convCases(), poolCases()...), unfoldCases()...)
}

// convCases: strides, paddings and kernels that divide the image and that do not; the
// derivatives by images and by filters are operations of their own.
func convCases() []graphtest.Case {
	var cases []graphtest.Case
	for _, r := range []struct {
		x, w            []int
		stride, padding int
	}{
		{[]int{2, 3, 5, 6}, []int{4, 3, 3, 3}, 1, 1},
		{[]int{1, 1, 3, 3}, []int{1, 1, 3, 3}, 1, 0},
		{[]int{2, 2, 6, 5}, []int{3, 2, 3, 3}, 2, 1},
		{[]int{3, 2, 4, 4}, []int{2, 2, 1, 1}, 2, 0},
		{[]int{1, 2, 7, 7}, []int{2, 2, 5, 3}, 3, 2},
	} {
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprintf("convolution %v %v stride %d padding %d", r.x, r.w, r.stride, r.padding), Shapes: [][]int{r.x, r.w},
			Build: func(b *builder, in []*node) *node { return b.Conv2D(in[0], in[1], r.stride, r.padding) },
			Naive: func(in arrays) []float64 { return naiveConv(in[0], r.x, in[1], r.w, r.stride, r.padding) },
		})
	}
	return cases
}

// naiveRows is the filter gradient of <y, conv(x, w)> for each y by itself; several y
// belong to one x.
func naiveRows(x []float64, xs []int, y []float64, ys, ws []int, stride, padding int) []float64 {
	var rows []float64
	imageSize, resultSize := len(x)/xs[0], len(y)/ys[0]
	for n := range ys[0] {
		image := x[n*xs[0]/ys[0]*imageSize:][:imageSize]
		for e := range tensor.Shape(ws).TotalSize() {
			w := make([]float64, tensor.Shape(ws).TotalSize())
			w[e] = 1
			sum := 0.0
			for i, v := range naiveConv(image, append([]int{1}, xs[1:]...), w, ws, stride, padding) {
				sum += v * y[n*resultSize+i]
			}
			rows = append(rows, sum)
		}
	}
	return rows
}

// channelsLast returns rows of filters of shape ws with the channels last.
func channelsLast(rows []float64, ws []int) []float64 {
	var out []float64
	for from := 0; from < len(rows); from += tensor.Shape(ws).TotalSize() {
		for o := range ws[0] {
			for k := range ws[2] * ws[3] {
				for i := range ws[1] {
					out = append(out, rows[from+(o*ws[1]+i)*ws[2]*ws[3]+k])
				}
			}
		}
	}
	return out
}

// TestConvRows checks the Jacobian rows of a convolution's filters, one and several
// for each image, with their derivatives, in the filters' order and with the channels last.
func TestConvRows(t *testing.T) {
	xs, ws := []int{2, 2, 5, 4}, []int{3, 2, 3, 3}
	for _, r := range []struct {
		per, stride, padding int
		last                 bool
	}{{1, 1, 1, false}, {3, 1, 1, false}, {2, 2, 0, false}, {1, 2, 1, false}, {3, 1, 1, true}, {1, 2, 1, true}} {
		oh, ow := (xs[2]+2*r.padding-ws[2])/r.stride+1, (xs[3]+2*r.padding-ws[3])/r.stride+1
		ys := []int{xs[0] * r.per, ws[0], oh, ow}
		c := graphtest.Case{
			Name: fmt.Sprintf("rows %+v", r), Shapes: [][]int{xs, ys},
			Build: func(b *builder, in []*node) *node {
				w := b.Fill(math.NaN(), ws...) // rows do not depend on the filters
				y := b.Conv2D(in[0], w, r.stride, r.padding)
				o, ok := graph.RowPullback(b, y.Op(), 1, []*node{in[0], w}, y, in[1])
				if !ok || o.Left != nil {
					t.Fatal("no rows")
				}
				if r.last {
					u, v := graph.Reordered(b, o.Right, o.Right)
					if u != v || u == o.Right {
						t.Error("equal rows are reordered to others, or not at all")
					}
					return u
				}
				return o.Right
			},
			Naive: func(in arrays) []float64 {
				rows := naiveRows(in[0], xs, in[1], ys, ws, r.stride, r.padding)
				if r.last {
					return channelsLast(rows, ws)
				}
				return rows
			},
		}
		t.Run(c.Name, func(t *testing.T) { graphtest.Check(t, c, uint64(r.per)) })
	}
}

// poolCases: windows that overlap, that touch, and that leave a rest.
func poolCases() []graphtest.Case {
	xs := []int{2, 3, 5, 6}
	each := func(size, stride int, f func(n, c, i, j int) float64) []float64 {
		var y []float64
		for n := range xs[0] {
			for c := range xs[1] {
				for i := 0; i+size <= xs[2]; i += stride {
					for j := 0; j+size <= xs[3]; j += stride {
						y = append(y, f(n, c, i, j))
					}
				}
			}
		}
		return y
	}
	var cases []graphtest.Case
	for _, r := range [][2]int{{2, 2}, {3, 1}, {2, 3}, {1, 1}} {
		size, stride := r[0], r[1]
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprintf("max pool %d stride %d", size, stride), Shapes: [][]int{xs},
			Build: func(b *builder, in []*node) *node {
				return b.MaxPool(in[0], [2]int{size, size}, [2]int{stride, stride})
			},
			Naive: func(in arrays) []float64 {
				return each(size, stride, func(n, c, i, j int) float64 {
					largest := math.Inf(-1)
					for k := range size * size {
						largest = max(largest, at(in[0], xs, n, c, i+k/size, j+k%size))
					}
					return largest
				})
			},
		}, graphtest.Case{
			Name: fmt.Sprintf("average pool %d stride %d", size, stride), Shapes: [][]int{xs},
			Build: func(b *builder, in []*node) *node {
				return b.AveragePool(in[0], [2]int{size, size}, [2]int{stride, stride})
			},
			Naive: func(in arrays) []float64 {
				return each(size, stride, func(n, c, i, j int) float64 {
					sum := 0.0
					for k := range size * size {
						sum += at(in[0], xs, n, c, i+k/size, j+k%size)
					}
					return sum / float64(size*size)
				})
			},
		})
	}
	return append(cases, graphtest.Case{
		Name: "global average pool", Shapes: [][]int{xs},
		Build: func(b *builder, in []*node) *node { return b.GlobalAveragePool(in[0]) },
		Naive: func(in arrays) []float64 {
			var y []float64
			for p := range xs[0] * xs[1] {
				sum := 0.0
				for k := range xs[2] * xs[3] {
					sum += in[0][p*xs[2]*xs[3]+k]
				}
				y = append(y, sum/float64(xs[2]*xs[3]))
			}
			return y
		},
	})
}

// TestMaxPoolNaN: a NaN in a window is its largest element, as in PyTorch.
func TestMaxPoolNaN(t *testing.T) {
	nan := math.NaN()
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 1, 1, 2, 4)
	y := b.MaxPool(x, [2]int{2, 2}, [2]int{2, 2})
	p, err := graph.Compile(b, []*node{y}, graph.Options{})
	if err == nil {
		err = p.Bind(x, tensor.New(tensor.WithShape(1, 1, 2, 4), tensor.WithBacking([]float64{1, nan, 3, 2, nan, 4, 7, 5})))
	}
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Value(y).Float64s(); !math.IsNaN(got[0]) || got[1] != 7 {
		t.Errorf("got %v, want [NaN 7]", got)
	}
}

// unfoldCases: a patch is what a convolution with a filter of a single 1 sees.
func unfoldCases() []graphtest.Case {
	var cases []graphtest.Case
	for _, r := range []struct {
		x                     []int
		size, stride, padding int
	}{
		{[]int{2, 3, 5, 6}, 3, 1, 1}, {[]int{1, 1, 3, 3}, 3, 1, 0}, {[]int{2, 2, 6, 5}, 3, 2, 1},
		{[]int{2, 1, 4, 4}, 1, 2, 0}, {[]int{1, 2, 3, 2}, 2, 3, 2},
		{[]int{2, 3, 1, 1}, 3, 2, 1}, {[]int{1, 2, 3, 2}, 5, 2, 2},
	} {
		cases = append(cases, graphtest.Case{
			Name: fmt.Sprintf("unfold %v", r), Shapes: [][]int{r.x},
			Build: func(b *builder, in []*node) *node { return b.Unfold(in[0], r.size, r.stride, r.padding) },
			Naive: func(in arrays) []float64 {
				var out []float64
				ws, one := []int{1, r.x[1], r.size, r.size}, append([]int{1}, r.x[1:]...)
				image := tensor.Shape(one).TotalSize()
				for n := range r.x[0] {
					for e := range tensor.Shape(ws).TotalSize() {
						w := make([]float64, tensor.Shape(ws).TotalSize())
						w[e] = 1
						out = append(out, naiveConv(in[0][n*image:(n+1)*image], one, w, ws, r.stride, r.padding)...)
					}
				}
				return out
			},
		})
	}
	return cases
}

// TestFilterRows: rows of filters are δ times patches, and tell what they are made of.
func TestFilterRows(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, w, ct := b.Input("x", 2, 3, 5, 5), b.Input("w", 4, 3, 3, 3), b.Input("ct", 6, 4, 3, 3)
	y := b.Conv2D(x, w, 2, 1)
	o, ok := graph.RowPullback(b, y.Op(), 1, []*node{x, w}, y, ct)
	use, found := graph.FilterRows(o.Right)
	if !ok || !found || use != (graph.FilterUse{Images: x, Results: ct, Stride: 2, Padding: 1}) {
		t.Fatalf("rows made of %+v", use)
	}
	patches := b.Unfold(use.Images, 3, use.Stride, use.Padding) // [2,27,9]
	repeated := b.Reshape(b.BroadcastTo(b.Reshape(patches, 2, 1, 27, 9), 2, 3, 27, 9), 6, 27, 9)
	product := b.Reshape(b.MatMul(b.Reshape(use.Results, 6, 4, 9), repeated, false, true), 6, 4*27)
	m := newMachine(t, b, []*node{x, ct}, []*node{o.Right, product}, graph.Options{})
	got := m.eval(t, normals(rngFor(t), []*node{x, ct}))
	wantSame(t, "rows", arrays{got[0]}, arrays{got[1]}, 1e-12)
	if _, ok := graph.FilterRows(y); ok {
		t.Error("a convolution is taken for rows of filters")
	}
}
