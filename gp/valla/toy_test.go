package valla

import (
	"math/rand/v2"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// toy is a small random problem: a tanh network of two inputs, a layer in a random
// state, and a few examples.
type toy struct {
	dt    tensor.Dtype
	net   layers.Sequential
	layer *Layer
	lik   likelihood.Likelihood
	x, y  *tensor.Dense // [B,2], [B,C]
}

const toyBatch = 6

// size says how large a toy is.
type size struct{ outputs, inducing int }

// newToy draws a toy, of the same numbers for both element types.
func newToy(t rapid.TB, seed uint64, dt tensor.Dtype, s size) *toy {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{6, 5}, Outputs: s.outputs, Activation: "tanh"}.New(dt, rng)
	if err != nil {
		t.Fatalf("%v", err)
	}
	p := &toy{dt: dt, net: net, lik: likelihood.NewGaussian(0.3, dt)}
	p.x, p.y = small.Normal(rng, dt, toyBatch, 2), small.Normal(rng, dt, toyBatch, s.outputs)
	p.layerOf(t, small.Normal(rng, dt, s.inducing, 2), nil)
	for i := range p.layer.L.Floats() {
		p.layer.L.Set(i, 0.5*rng.NormFloat64())
	}
	p.layer.LogPriorStd.Set(0, 0.3*rng.NormFloat64())
	return p
}

// layerOf puts a layer with L = I on the network; nil classes go round the outputs.
func (p *toy) layerOf(t rapid.TB, z *tensor.Dense, class []int) {
	t.Helper()
	if class == nil {
		for m := range z.Shape()[0] {
			class = append(class, m%p.y.Shape()[1])
		}
	}
	var err error
	if p.layer, err = NewLayer(jacobian.NTK{Net: p.net}, z, class); err != nil {
		t.Fatalf("%v", err)
	}
}

// classify makes the toy a classification problem.
func (p *toy) classify() {
	labels := make([]int, toyBatch)
	for i := range labels {
		labels[i] = (i*i + 1) % p.y.Shape()[1]
	}
	p.lik, p.y = likelihood.Softmax{}, small.OneHot(labels, p.y.Shape()[1], p.dt)
}

// inputs binds the examples in a new graph.
func (p *toy) inputs() (b *graph.Builder, x, y *graph.Node) {
	b = graph.NewBuilder(p.dt)
	return b, small.Given(b, "x", p.x), small.Given(b, "y", p.y)
}

// program is a compiled graph.
type program struct {
	*graph.Program
	out []*graph.Node
}

func compile(t rapid.TB, b *graph.Builder, out ...*graph.Node) program {
	t.Helper()
	p, err := graph.Compile(b, out, graph.Options{})
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return program{p, out}
}

// values runs the program and returns copies of its outputs.
func (p program) values(t rapid.TB) [][]float64 {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatalf("run: %v", err)
	}
	var out [][]float64
	for _, n := range p.out {
		out = append(out, graph.Floats(p.Value(n)))
	}
	return out
}

// loss is the compiled objective of the toy's examples, as part of n.
func (p *toy) loss(t rapid.TB, alpha float64, n int) program {
	t.Helper()
	b, x, y := p.inputs()
	return compile(t, b, p.objective(b, x, y, alpha, n).Loss)
}

func (p *toy) objective(b *graph.Builder, x, y *graph.Node, alpha float64, n int) *Loss {
	return p.layer.Loss(b, x, y, p.net.Forward(b, x), Objective{Likelihood: p.lik, Alpha: new(alpha), N: n})
}

// state is what Terms computes, in float64 matrices.
type state struct {
	kx, q      []*mat.SymDense // one for each example, [C,C]
	kxz        []*mat.Dense    // [C,M]
	kz, h, low *mat.Dense      // [M,M]
	kl         float64
}

func (p *toy) state(t rapid.TB) state {
	t.Helper()
	b, x, _ := p.inputs()
	n := p.layer.Terms(b, x)
	if b.Err() != nil {
		t.Fatalf("%v", b.Err())
	}
	v := compile(t, b, n.Kx, n.Q, n.Kxz, n.Kz, n.H, n.L, n.KL).values(t)
	c, m := p.y.Shape()[1], p.layer.Inducing()
	s := state{kz: mat.NewDense(m, m, v[3]), h: mat.NewDense(m, m, v[4]), low: mat.NewDense(m, m, v[5]), kl: v[6][0]}
	for i := range toyBatch {
		s.kx = append(s.kx, mat.NewSymDense(c, v[0][i*c*c:(i+1)*c*c]))
		s.q = append(s.q, mat.NewSymDense(c, v[1][i*c*c:(i+1)*c*c]))
		s.kxz = append(s.kxz, mat.NewDense(c, m, v[2][i*c*m:(i+1)*c*m]))
	}
	return s
}

// product multiplies matrices from left to right.
func product(ms ...mat.Matrix) *mat.Dense {
	out := mat.DenseCopyOf(ms[0])
	for _, m := range ms[1:] {
		var next mat.Dense
		next.Mul(out, m)
		out = &next
	}
	return out
}

func inverse(t rapid.TB, m mat.Matrix) *mat.Dense {
	t.Helper()
	var inv mat.Dense
	if err := inv.Inverse(m); err != nil {
		t.Fatalf("inverse: %v", err)
	}
	return &inv
}

// eigenvalues returns the eigenvalues of a − b, in ascending order.
func eigenvalues(t rapid.TB, a, b mat.Symmetric) []float64 {
	t.Helper()
	n := a.SymmetricDim()
	d := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			d.SetSym(i, j, a.At(i, j)-b.At(i, j))
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(d, false) {
		t.Fatalf("no eigenvalues")
	}
	return eig.Values(nil)
}
