package graph_test

import (
	"errors"
	"hash"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// stockCase is a stock Gorgonia formula, and the same one in our operations where
// there is one.
type stockCase struct {
	name   string
	shapes [][]int
	stock  func(in []*node) (*node, error)
	own    func(b *builder, in []*node) *node // or nil
}

// stockUnary are functions of one array.
func stockUnary() []stockCase {
	table := []struct {
		name  string
		stock func(x *node) (*node, error)
		own   func(b *builder, x *node) *node
	}{
		{"Tanh", gorgonia.Tanh, (*builder).Tanh},
		{"Sigmoid", gorgonia.Sigmoid, (*builder).Sigmoid},
		{"Exp", gorgonia.Exp, (*builder).Exp},
		{"Log", gorgonia.Log, (*builder).Log},
		{"Softplus", gorgonia.Softplus, (*builder).Softplus},
		{"Sin", gorgonia.Sin, (*builder).Sin},
		{"Cos", gorgonia.Cos, (*builder).Cos},
		{"Sqrt", gorgonia.Sqrt, (*builder).Sqrt},
		{"Square", gorgonia.Square, (*builder).Square},
		{"Neg", gorgonia.Neg, (*builder).Neg},
		{"Rectify", gorgonia.Rectify, (*builder).ReLU},
		{"Cube", gorgonia.Cube, func(b *builder, x *node) *node { return b.Mul(x, b.Square(x)) }},
		{"Inverse", gorgonia.Inverse, func(b *builder, x *node) *node { return b.Div(b.Fill(1, 1), x) }},
		{"Abs", gorgonia.Abs, func(b *builder, x *node) *node { return b.Sqrt(b.Square(x)) }},
		{"Sign", gorgonia.Sign, func(b *builder, x *node) *node { return b.Affine(b.Step(x), 2, -1) }},
		{"Log1p", gorgonia.Log1p, func(b *builder, x *node) *node { return b.Log(b.Affine(x, 1, 1)) }},
		{"Expm1", gorgonia.Expm1, func(b *builder, x *node) *node { return b.Affine(b.Exp(x), 1, -1) }},
		{"Mish", gorgonia.Mish, func(b *builder, x *node) *node { return b.Mul(x, b.Tanh(b.Softplus(x))) }},
		{"Sum", func(x *node) (*node, error) { return gorgonia.Sum(x) }, (*builder).Sum},
		{"Sum rows", func(x *node) (*node, error) { return gorgonia.Sum(x, 0) },
			func(b *builder, x *node) *node { return b.SumTo(x, x.Shape()[1]) }},
		{"Sum columns", func(x *node) (*node, error) { return gorgonia.Sum(x, 1) },
			func(b *builder, x *node) *node { return b.Reshape(b.SumAxis(x, 1), x.Shape()[0]) }},
		{"Mean", func(x *node) (*node, error) { return gorgonia.Mean(x) }, (*builder).Mean},
		{"Norm", func(x *node) (*node, error) { return gorgonia.Norm(x, 0, 2) },
			func(b *builder, x *node) *node { return b.Sqrt(b.SumTo(b.Square(x), x.Shape()[1])) }},
		{"Max", func(x *node) (*node, error) { return gorgonia.Max(x) }, nil},
		{"Max columns", func(x *node) (*node, error) { return gorgonia.Max(x, 1) }, nil},
		{"Transpose", func(x *node) (*node, error) { return gorgonia.Transpose(x) },
			func(b *builder, x *node) *node { return b.Transpose(x) }},
		{"Ravel", gorgonia.Ravel, func(b *builder, x *node) *node { return b.Reshape(x, x.Shape().TotalSize()) }},
	}
	var cases []stockCase
	for _, r := range table {
		for _, shape := range [][]int{{2, 3}, {3, 3}, {1, 3}} { // a square one fits transposed too
			c := stockCase{r.name, [][]int{shape}, func(in []*node) (*node, error) { return r.stock(in[0]) }, nil}
			if r.own != nil {
				c.own = func(b *builder, in []*node) *node { return r.own(b, in[0]) }
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// stockBinary are functions of two arrays.
func stockBinary() []stockCase {
	type two = func(x, y *node) (*node, error)
	mul := func(b *builder, x, y *node) *node { return b.MatMul(x, y, false, false) }
	broadcast := func(f func(x, y *node, left, right []byte) (*node, error), axis byte) two {
		return func(x, y *node) (*node, error) { return f(x, y, nil, []byte{axis}) }
	}
	pow := func(b *builder, x, y *node) *node { return b.Exp(b.Mul(y, b.Log(x))) }
	table := []struct {
		name  string
		x, y  []int
		stock two
		own   func(b *builder, x, y *node) *node
	}{
		{"Add", []int{2, 3}, []int{2, 3}, gorgonia.Add, (*builder).Add},
		{"Sub", []int{2, 3}, []int{2, 3}, gorgonia.Sub, (*builder).Sub},
		{"HadamardProd", []int{2, 3}, []int{2, 3}, gorgonia.HadamardProd, (*builder).Mul},
		{"HadamardDiv", []int{2, 3}, []int{2, 3}, gorgonia.HadamardDiv, (*builder).Div},
		{"Pow", []int{2, 3}, []int{2, 3}, gorgonia.Pow, pow},
		{"MaxBetween", []int{2, 3}, []int{2, 3}, gorgonia.MaxBetween,
			func(b *builder, x, y *node) *node { return b.Add(y, b.ReLU(b.Sub(x, y))) }},
		{"MinBetween", []int{2, 3}, []int{2, 3}, gorgonia.MinBetween,
			func(b *builder, x, y *node) *node { return b.Sub(x, b.ReLU(b.Sub(x, y))) }},
		{"BroadcastAdd row", []int{2, 3}, []int{1, 3}, broadcast(gorgonia.BroadcastAdd, 0), (*builder).Add},
		{"BroadcastAdd vector", []int{2, 3}, []int{3}, broadcast(gorgonia.BroadcastAdd, 0), (*builder).Add},
		{"BroadcastSub column", []int{2, 3}, []int{2, 1}, broadcast(gorgonia.BroadcastSub, 1), (*builder).Sub},
		{"BroadcastHadamardProd row", []int{2, 3}, []int{1, 3}, broadcast(gorgonia.BroadcastHadamardProd, 0), (*builder).Mul},
		{"BroadcastHadamardDiv column", []int{2, 3}, []int{2, 1}, broadcast(gorgonia.BroadcastHadamardDiv, 1), (*builder).Div},
		{"BroadcastPow vector", []int{2, 3}, []int{3}, broadcast(gorgonia.BroadcastPow, 0), pow},
		{"Mul", []int{2, 3}, []int{3, 4}, gorgonia.Mul, mul},
		{"Mul square", []int{3, 3}, []int{3, 3}, gorgonia.Mul, mul},
		{"Mul of vectors", []int{3}, []int{3}, gorgonia.Mul, func(b *builder, x, y *node) *node { return b.Sum(b.Mul(x, y)) }},
		{"BatchedMatMul", []int{2, 3, 3}, []int{2, 3, 3},
			func(x, y *node) (*node, error) { return gorgonia.BatchedMatMul(x, y) }, mul},
		{"Tensordot", []int{3, 3}, []int{3, 3},
			func(x, y *node) (*node, error) { return gorgonia.Tensordot([]int{1}, []int{1}, x, y) },
			func(b *builder, x, y *node) *node { return b.MatMul(x, y, false, true) }},
		{"Concat rows", []int{2, 3}, []int{1, 3},
			func(x, y *node) (*node, error) { return gorgonia.Concat(0, x, y, x) },
			func(b *builder, x, y *node) *node { return b.Concat(0, x, y, x) }},
		{"Concat columns", []int{2, 3}, []int{2, 2},
			func(x, y *node) (*node, error) { return gorgonia.Concat(1, x, y) },
			func(b *builder, x, y *node) *node { return b.Transpose(b.Concat(0, b.Transpose(x), b.Transpose(y))) }},
	}
	var cases []stockCase
	for _, r := range table {
		cases = append(cases, stockCase{r.name, [][]int{r.x, r.y},
			func(in []*node) (*node, error) { return r.stock(in[0], in[1]) },
			func(b *builder, in []*node) *node { return r.own(b, in[0], in[1]) }})
	}
	return cases
}

// sandwich is Σ z sin z of z = f(1.5 + tanh x), with its gradients and the gradients
// of ⟨gradients, directions⟩.
type sandwich struct {
	in     []*node
	second *machine // arguments: in, directions; outputs: value, gradients, second ones
}

func newSandwich(t *testing.T, dt tensor.Dtype, c stockCase, own bool) *sandwich {
	t.Helper()
	b := graph.NewBuilder(dt)
	s := &sandwich{in: inputs(b, "x", c.shapes...)}
	positive := make([]*node, len(s.in))
	for i, x := range s.in {
		positive[i] = b.Affine(b.Tanh(x), 1, 1.5)
	}
	var z *node
	if own {
		z = c.own(b, positive)
	} else {
		var err error
		if z, err = c.stock(positive); err != nil {
			t.Fatal(err)
		}
	}
	y := b.Sum(b.Mul(b.Sin(z), z))
	grads := graph.Grad(b, y, s.in...)
	dirs := inputs(b, "d", c.shapes...)
	hess := graph.VJP(b, grads, dirs, s.in)
	noErr(t, b)
	out := append(append([]*node{y}, grads...), hess...)
	s.second = newMachine(t, b, append(s.in[:len(s.in):len(s.in)], dirs...), out, graph.Options{})
	return s
}

// TestStockOperations puts stock operations between ours. Values, gradients and
// second derivatives agree with the results of our operations alone, and with differences.
func TestStockOperations(t *testing.T) {
	for _, c := range append(stockUnary(), stockBinary()...) {
		t.Run(c.name, func(t *testing.T) {
			stock := newSandwich(t, tensor.Float64, c, false)
			rng, n := rngFor(t), len(c.shapes)
			in, dir, dir2 := normals(rng, stock.in), normals(rng, stock.in), normals(rng, stock.in)
			got := stock.second.eval(t, join(in, dir))
			wantClose(t, "first derivative", inner(got[1:1+n], dir), slope(func(h float64) float64 {
				return stock.second.eval(t, join(moved(in, dir, h), dir))[0][0]
			}), tolDiff)
			wantClose(t, "second derivative", inner(got[1+n:], dir2), slope(func(h float64) float64 {
				return inner(stock.second.eval(t, join(moved(in, dir2, h), dir))[1:1+n], dir)
			}), tolDiff)
			if c.own != nil {
				wantSame(t, "own operations", got, newSandwich(t, tensor.Float64, c, true).second.eval(t, join(in, dir)), 1e-10)
			}
			f32 := newSandwich(t, tensor.Float32, c, false).second.eval(t, join(in, dir))
			wantSame(t, "float32 value and gradient", f32[:1+n], got[:1+n], 1e-4)
		})
	}
}

// TestStockSigns: on both sides of their kinks.
func TestStockSigns(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 4)
	var out []*node
	for _, f := range []func(x *node) (*node, error){gorgonia.Abs, gorgonia.Rectify, gorgonia.Sign, gorgonia.Floor,
		func(x *node) (*node, error) { return gorgonia.LeakyRelu(x, 0.5) }} {
		y, err := f(x)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, graph.Grad(b, b.Sum(b.Mul(y, x)), x)[0]) // f(x) + x f'(x)
	}
	noErr(t, b)
	in := arrays{{-2.5, -0.5, 0.5, 2.5}}
	want := arrays{{5, 1, 1, 5}, {0, 0, 1, 5}, {-1, -1, 1, 1}, {-3, -1, 0, 2}, {-2.5, -0.5, 1, 5}}
	wantSame(t, "gradients", evaluate(t, b, []*node{x}, out, in), want, 1e-15)
}

// TestRefusedDerivatives: what Gorgonia differentiates wrongly, or dies of, is an
// error, at the order where it goes wrong; the values can be computed.
func TestRefusedDerivatives(t *testing.T) {
	unary := func(f func(x *node) (*node, error)) func(in []*node) (*node, error) {
		return func(in []*node) (*node, error) { return f(in[0]) }
	}
	image := []int{1, 2, 4, 4}
	two := tensor.Shape{2, 2}
	table := []struct {
		name   string
		shapes [][]int
		f      func(in []*node) (*node, error)
		order  int
		want   string
	}{
		{"Slice", [][]int{{3, 2}}, unary(func(x *node) (*node, error) { return gorgonia.Slice(x, gorgonia.S(0, 2)) }), 2, "Builder.Slice"},
		{"Slice of a row", [][]int{{3, 2}}, unary(func(x *node) (*node, error) { return gorgonia.Slice(x, gorgonia.S(1)) }), 2, "Builder.Slice"},
		{"Conv2d", [][]int{image, {2, 2, 3, 3}}, func(in []*node) (*node, error) {
			return gorgonia.Conv2d(in[0], in[1], tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1})
		}, 1, "Conv2d"},
		{"SoftMax", [][]int{{2, 3}}, unary(func(x *node) (*node, error) { return gorgonia.SoftMax(x) }), 1, "LogSoftmax"},
		{"LogSoftMax", [][]int{{2, 3}}, unary(func(x *node) (*node, error) { return gorgonia.LogSoftMax(x) }), 1, "LogSoftmax"},
		{"MaxPool", [][]int{image}, unary(func(x *node) (*node, error) {
			return gorgonia.MaxPool2D(x, two, []int{0, 0}, []int{2, 2})
		}), 1, "MaxPool"},
		{"AveragePool", [][]int{image}, unary(func(x *node) (*node, error) {
			return gorgonia.AveragePool2D(x, two, []int{0, 0}, []int{2, 2})
		}), 1, "average pooling"},
		{"GlobalAveragePool", [][]int{image}, unary(gorgonia.GlobalAveragePool2D), 1, "GlobalAveragePool2D"},
		{"Upsample", [][]int{image}, unary(func(x *node) (*node, error) { return gorgonia.Upsample2D(x, 1) }), 1, "checked"},
		{"BatchNorm", [][]int{image, image, image}, func(in []*node) (*node, error) {
			y, _, _, _, err := gorgonia.BatchNorm(in[0], in[1], in[2], 0.9, 1e-5)
			return y, err
		}, 1, "BatchNorm"},
		{"GroupNorm", [][]int{image, {1, 2, 1, 1}, {1, 2, 1, 1}}, func(in []*node) (*node, error) {
			return gorgonia.GroupNorm(in[0], in[1], in[2], 1, 2, 1e-5)
		}, 1, "checked"},
		{"InverseSqrt", [][]int{{2, 3}}, unary(gorgonia.InverseSqrt), 1, "InverseSqrt"},
		{"Log2", [][]int{{2, 3}}, unary(gorgonia.Log2), 1, "Log2"},
		{"OuterProd", [][]int{{3}, {3}}, func(in []*node) (*node, error) { return gorgonia.OuterProd(in[0], in[1]) }, 1, "OuterProd"},
		{"matrix times vector", [][]int{{3, 3}, {3}}, func(in []*node) (*node, error) { return gorgonia.Mul(in[0], in[1]) }, 2, "OuterProd"},
		{"Dropout", [][]int{{2, 3}}, unary(func(x *node) (*node, error) { return gorgonia.Dropout(x, 0.5) }), 1, "checked"},
		{"Sparsemax", [][]int{{2, 3}}, unary(func(x *node) (*node, error) { return gorgonia.Sparsemax(x) }), 1, "checked"},
		{"At", [][]int{{2, 3}}, unary(func(x *node) (*node, error) { return gorgonia.At(x, 0, 1) }), 1, "checked"},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			b := graph.NewBuilder(tensor.Float64)
			in := inputs(b, "x", c.shapes...)
			y, err := c.f(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range evaluate(t, b, in, []*node{y}, normals(rngFor(t), in))[0] {
				if math.IsInf(v, 0) {
					t.Errorf("value %v", v)
				}
			}
			h := graph.Grad(b, b.Sum(b.Square(y)), y)[0] // needs no derivative of y itself
			noErr(t, b)
			wantRefused(t, b, h, in, c.order, c.want)
		})
	}
}

// wantRefused differentiates Σ h up to the order at which that is to be refused.
func wantRefused(t *testing.T, b *builder, h *node, in []*node, order int, want string) {
	t.Helper()
	for k := 1; k <= order; k++ {
		noErr(t, b)
		g := graph.Grad(b, b.Sum(h), in...)
		if k < order {
			h = b.Sum(b.Square(g[0]))
			for _, x := range g[1:] {
				h = b.Add(h, b.Sum(b.Square(x)))
			}
		}
	}
	if b.Err() == nil || !strings.Contains(b.Err().Error(), want) {
		t.Errorf("differentiating %d times: error %v, want one with %q", order, b.Err(), want)
	}
}

// TestLogSumExp: Gorgonia refuses its own formula's shapes, at any axis.
func TestLogSumExp(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2, 3)
	for axis := range 2 {
		if y, err := gorgonia.LogSumExp(x, axis); err == nil {
			t.Errorf("axis %d: node of shape %v; its derivative is to be checked", axis, y.Shape())
		}
	}
}

// doubling is an operation written against Gorgonia's interfaces by somebody else.
type doubling struct {
	diff func(in gorgonia.Nodes, ct *node) (gorgonia.Nodes, error)
	wrt  []bool
}

func (doubling) Arity() int    { return 1 }
func (doubling) Type() hm.Type { a := hm.TypeVariable('a'); return hm.NewFnType(a, a) }
func (doubling) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	return in[0].(tensor.Shape), nil
}
func (doubling) ReturnsPtr() bool      { return false }
func (doubling) CallsExtern() bool     { return false }
func (doubling) OverwritesInput() int  { return -1 }
func (doubling) WriteHash(h hash.Hash) { h.Write([]byte("doubling")) }
func (doubling) Hashcode() uint32      { return 12345 }
func (doubling) String() string        { return "doubling" }
func (d doubling) DiffWRT(int) []bool  { return d.wrt }

func (doubling) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	v := in[0].(*tensor.Dense).Float64s()
	for i := range v {
		v[i] *= 2 // in place: the program must have given it a copy
	}
	return in[0], nil
}

func (d doubling) SymDiff(in gorgonia.Nodes, _, ct *node) (gorgonia.Nodes, error) {
	return d.diff(in, ct)
}

// TestForeignOperation: an operation that is neither ours nor Gorgonia's is taken at
// its word, as long as its cotangents have the shapes of its inputs.
func TestForeignOperation(t *testing.T) {
	yes := []bool{true}
	right := func(_ gorgonia.Nodes, ct *node) (gorgonia.Nodes, error) {
		y, err := gorgonia.Add(ct, ct)
		return gorgonia.Nodes{y}, err
	}
	sum := func(_ gorgonia.Nodes, ct *node) (gorgonia.Nodes, error) {
		y, err := gorgonia.Sum(ct)
		return gorgonia.Nodes{y}, err
	}
	nothing := func(gorgonia.Nodes, *node) (gorgonia.Nodes, error) { return nil, nil }
	null := func(gorgonia.Nodes, *node) (gorgonia.Nodes, error) { return gorgonia.Nodes{nil}, nil }
	failing := func(gorgonia.Nodes, *node) (gorgonia.Nodes, error) { return nil, errors.New("out of ideas") }
	panics := func(gorgonia.Nodes, *node) (gorgonia.Nodes, error) { panic("no idea") }
	for _, c := range []struct {
		name string
		op   doubling
		want string // "" where it is right
	}{
		{"right", doubling{right, yes}, ""},
		{"shape", doubling{sum, yes}, "(2, 3)"},
		{"none", doubling{nothing, yes}, "one cotangent"},
		{"nil", doubling{null, yes}, "input 0"},
		{"not differentiable", doubling{right, []bool{false}}, "not differentiable in input 0"},
		{"error", doubling{failing, yes}, "out of ideas"},
		{"panic", doubling{panics, yes}, "no idea"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := graph.NewBuilder(tensor.Float64)
			x := b.Input("x", 2, 3)
			y, err := gorgonia.ApplyOp(c.op, x)
			if err != nil {
				t.Fatal(err)
			}
			g := graph.Grad(b, b.Sum(b.Mul(y, x)), x)
			if c.want == "" {
				noErr(t, b)
				in := arrays{{1, 2, 3, 4, 5, 6}}
				m := newMachine(t, b, []*node{x}, []*node{g[0], y}, graph.Options{})
				for range 2 {
					wantSame(t, "4x and 2x", m.eval(t, in), arrays{{4, 8, 12, 16, 20, 24}, {2, 4, 6, 8, 10, 12}}, 0)
				}
				wantSame(t, "argument", arrays{values(m.args[0])}, in, 0)
				return
			}
			if b.Err() == nil || !strings.Contains(b.Err().Error(), c.want) || !strings.Contains(b.Err().Error(), "doubling") {
				t.Errorf("error %v, want one with %q", b.Err(), c.want)
			}
		})
	}
}

// TestForeignCotangentGetsItsShape: one that lacks an axis of extent 1 would otherwise
// broadcast against the input.
func TestForeignCotangentGetsItsShape(t *testing.T) {
	flat := func(_ gorgonia.Nodes, ct *node) (gorgonia.Nodes, error) {
		y, err := gorgonia.Add(ct, ct)
		if err != nil {
			return nil, err
		}
		y, err = gorgonia.Ravel(y)
		return gorgonia.Nodes{y}, err
	}
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 3, 1)
	y, err := gorgonia.ApplyOp(doubling{flat, []bool{true}}, b.Square(x))
	if err != nil {
		t.Fatal(err)
	}
	g := graph.Grad(b, b.Sum(y), x)
	noErr(t, b)
	if got := g[0].Shape(); !slices.Equal(got, tensor.Shape{3, 1}) {
		t.Fatalf("gradient of shape %v, want (3, 1)", got)
	}
	wantSame(t, "4x", evaluate(t, b, []*node{x}, g, arrays{{1, 2, 3}}), arrays{{4, 8, 12}}, 0)
}

// TestTapeMachine runs our operations, stock ones and VJP's results in Gorgonia's own
// machine.
func TestTapeMachine(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	in := inputs(b, "x", []int{4, 3}, []int{3, 2}, []int{2})
	h, err := gorgonia.Tanh(b.AddBias(b.MatMul(in[0], in[1], false, false), in[2]))
	if err != nil {
		t.Fatal(err)
	}
	r := b.Cholesky(b.Add(b.Gram(h), b.Eye(4)))
	y := b.Add(b.LogDet(r), b.Mean(b.LogSoftmax(h)))
	out := graph.Grad(b, y, in...)
	noErr(t, b)
	v := normals(rngFor(t), in)
	want := evaluate(t, b, in, out, v)
	for i, n := range in {
		d := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n.Shape()...))
		setValues(d, v[i])
		if err := gorgonia.Let(n, d); err != nil {
			t.Fatal(err)
		}
	}
	read := make([]gorgonia.Value, len(out))
	for i, n := range out {
		gorgonia.Read(n, &read[i])
	}
	vm := gorgonia.NewTapeMachine(b.Graph())
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	got := make(arrays, len(out))
	for i := range out {
		got[i] = values(read[i])
	}
	wantSame(t, "gradients", got, want, 1e-12)
}
