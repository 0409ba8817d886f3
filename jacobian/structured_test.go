package jacobian_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// problem is a network with two sets of inputs.
type problem struct {
	net   network
	dt    tensor.Dtype
	x, z  *graph.Param // [B,inputs], [M,inputs]
	class []int        // [M]
	c     int
}

func newProblem(make func(m *maker) formula, dt tensor.Dtype, batch, inducing, outputs int) *problem {
	rng := rand.New(rand.NewPCG(3, 5))
	p := &problem{net: build(make, dt, outputs), dt: dt, c: outputs}
	p.x, p.z = leaf(rng, "X", dt, batch, inputs), leaf(rng, "Z", dt, inducing, inputs)
	for m := range inducing {
		p.class = append(p.class, (2*m+1)%outputs)
	}
	return p
}

// blocks writes the three kernel matrices into b: Diag(z), Cross(x,z), Gram(z).
func (p *problem) blocks(b *builder, alg bool) []*node {
	k := jacobian.NTK{Net: p.net, Dense: alg}
	x, z := b.Param(p.x), b.Param(p.z)
	return []*node{k.Diag(b, z), k.Cross(b, x, z, p.class), k.Gram(b, z, p.class)}
}

// everything compiles what p.functional writes.
func (p *problem) everything(t rapid.TB, alg bool) machine {
	t.Helper()
	b := graph.NewBuilder(p.dt)
	return compile(t, b, p.functional(t, b, alg)...)
}

// functional writes the blocks, a scalar function of the blocks with seeded coefficients, and the
// function's gradient with respect to Z.
func (p *problem) functional(t rapid.TB, b *builder, alg bool) []*node {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, 9))
	blocks := p.blocks(b, alg)
	if b.Err() != nil {
		t.Fatalf("%v", b.Err())
	}
	sum := b.Sum(b.Fill(0, 1))
	for i, n := range blocks {
		weights := b.Const(fmt.Sprint("weights ", i), fixture.Normal(rng, n.Shape().TotalSize()), n.Shape()...)
		sum = b.Add(sum, b.Sum(b.Mul(n, weights)))
	}
	return append(blocks, sum, graph.Grad(b, sum, b.Param(p.z))[0])
}

// rows returns the Jacobian at in, [rows, P] row-major, by one algorithm.
func (p *problem) rows(t rapid.TB, in *graph.Param, alg bool) []float64 {
	t.Helper()
	b := graph.NewBuilder(p.dt)
	return p.joined(in, compile(t, b, jacobian.NTK{Net: p.net, Dense: alg}.Rows(b, b.Param(in))...).run(t))
}

// joined returns the rows at in, [rows, P], made of the rows vals of each parameter.
func (p *problem) joined(in *graph.Param, vals [][]float64) []float64 {
	var out []float64
	for r := range in.Value.Shape()[0] * p.c {
		for i, v := range vals {
			n := p.net.params[i].Value.Shape().TotalSize()
			out = append(out, v[r*n:(r+1)*n]...)
		}
	}
	return out
}

// checkRows compares the rows of both algorithms at in, of each parameter, with differences of the
// network's outputs, and returns them.
func (p *problem) checkRows(t rapid.TB, in *graph.Param, structured, densely [][]float64) []float64 {
	t.Helper()
	got := p.joined(in, densely)
	near(t, "rows, structured against dense", p.joined(in, structured), got, 1e-12)
	near(t, "rows, dense against differences", got, p.differences(t, in), 1e-8)
	return got
}

// differences is the Jacobian of the network at in by differences, [rows, P].
func (p *problem) differences(t rapid.TB, in *graph.Param) []float64 {
	t.Helper()
	b := graph.NewBuilder(p.dt)
	m := compile(t, b, p.net.Forward(b, b.Param(in)))
	var columns [][]float64
	for _, q := range p.net.params {
		for i, v := range q.Floats() {
			columns = append(columns, difference(func(h float64) []float64 {
				q.Set(i, v+h)
				return m.run(t)[0]
			}))
			q.Set(i, v)
		}
	}
	var rows []float64
	for r := range columns[0] {
		for _, col := range columns {
			rows = append(rows, col[r])
		}
	}
	return rows
}

// products returns the inner products of chosen rows of two Jacobians.
func products(u, v []float64, width int, left, right []int) []float64 {
	var out []float64
	for _, i := range left {
		for _, j := range right {
			out = append(out, dot(u[i*width:(i+1)*width], v[j*width:(j+1)*width]))
		}
	}
	return out
}

// naive computes the three blocks from the rows at x and z by plain loops.
func (p *problem) naive(jx, jz []float64) [][]float64 {
	width := len(jz) / (len(p.class) * p.c)
	var diag []float64
	for m := range p.class {
		example := span(m*p.c, (m+1)*p.c)
		diag = append(diag, products(jz, jz, width, example, example)...)
	}
	chosen := make([]int, len(p.class))
	for m, c := range p.class {
		chosen[m] = m*p.c + c
	}
	all := span(0, len(jx)/width)
	return [][]float64{diag, products(jx, jz, width, all, chosen), products(jz, jz, width, chosen, chosen)}
}

func span(from, to int) []int {
	var s []int
	for i := from; i < to; i++ {
		s = append(s, i)
	}
	return s
}

// parts names what everything computes.
var parts = []string{"Diag", "Cross", "Gram", "functional", "gradient"}

// check compares the blocks with blocks made of the rows. It compares the gradient of a
// functional of the blocks, a second derivative of the network, with differences.
func (p *problem) check(t rapid.TB) [][]float64 {
	t.Helper()
	b, n := graph.NewBuilder(p.dt), len(p.net.params)
	out := append(p.functional(t, b, factored), p.functional(t, b, dense)...)
	for _, in := range []*graph.Param{p.x, p.z} {
		for _, alg := range []bool{factored, dense} {
			out = append(out, jacobian.NTK{Net: p.net, Dense: alg}.Rows(b, b.Param(in))...)
		}
	}
	m := compile(t, b, out...) // one program for all: most of the time is its making
	all := m.run(t)
	got, dense, of := all[:len(parts)], all[len(parts):2*len(parts)], all[2*len(parts):]
	rows := p.naive(p.checkRows(t, p.x, of[:n], of[n:2*n]), p.checkRows(t, p.z, of[2*n:3*n], of[3*n:]))
	for i := range rows {
		near(t, parts[i]+" against rows", got[i], rows[i], 1e-12)
		near(t, parts[i]+", dense against rows", dense[i], rows[i], 1e-12)
	}
	near(t, "gradient, structured against dense", got[4], dense[4], 1e-11)
	slope, dir := p.slope(t, m)
	near(t, "gradient against differences", []float64{dot(got[4], dir)}, slope, 1e-7)
	return got
}

// slope is the derivative of m's functional along a direction of Z.
func (p *problem) slope(t rapid.TB, m machine) (slope, dir []float64) {
	t.Helper()
	z := p.z.Floats()
	dir = fixture.Normal(rand.New(rand.NewPCG(2, 2)), len(z))
	move := func(h float64) {
		for i := range z {
			p.z.Set(i, z[i]+h*dir[i])
		}
	}
	defer move(0)
	return difference(func(h float64) []float64 { move(h); return m.run(t)[3] }), dir
}

func TestNetworks(t *testing.T) {
	for _, e := range examples() {
		for _, outputs := range []int{1, 3} {
			for _, batch := range []int{1, 5} {
				t.Run(fmt.Sprintf("%s/C=%d B=%d", e.name, outputs, batch), func(t *testing.T) {
					want := newProblem(e.make, tensor.Float64, batch, 2, outputs).check(t)
					got := newProblem(e.make, tensor.Float32, batch, 2, outputs).everything(t, factored).run(t)
					for i := range got { // some hundred operations, each with an error of 6e-8
						near(t, parts[i]+" in float32", got[i], want[i], 1e-4)
					}
				})
			}
		}
	}
}

// TestFallback: a factored network needs the same number of operations however many
// examples there are; the dense fallback takes one reverse pass for each row.
func TestFallback(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			small, large := steps(t, e, 4), steps(t, e, 7)
			if e.factored && small != large {
				t.Errorf("%d operations for 4 examples, %d for 7: there is a dense fallback", small, large)
			}
			if !e.factored && small >= large {
				t.Errorf("%d operations for 4 examples, %d for 7: there is no dense fallback", small, large)
			}
		})
	}
}

func steps(t *testing.T, e example, batch int) int {
	t.Helper()
	p := newProblem(e.make, tensor.Float64, batch, 2, 3)
	b := graph.NewBuilder(tensor.Float64)
	m := compile(t, b, jacobian.NTK{Net: p.net}.Cross(b, b.Param(p.x), b.Param(p.z), p.class))
	_, each := m.p.Steps()
	return each
}
