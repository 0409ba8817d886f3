package jacobian_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// TestKernelProperties: the Gram matrix is symmetric and positive semi-definite, and
// Cross of z with itself holds the elements of Diag and Gram.
func TestKernelProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(1, 3).Draw(t, "outputs")
		p := newProblem(func(*maker) formula { return nil }, tensor.Float64, 1, 5, c)
		p.net = drawNetwork(t, c)
		p.x = p.z
		v := compile3(t, p)
		diag, cross, gram := v[0], v[1], v[2]
		n := len(p.class)
		var fromCross, fromGram, columns, fromDiag []float64
		for m, cm := range p.class {
			for k := range n {
				fromGram = append(fromGram, gram[m*n+k])
				fromCross = append(fromCross, cross[(m*c+cm)*n+k])
			}
			for i := range c {
				fromDiag = append(fromDiag, diag[(m*c+i)*c+cm])
				columns = append(columns, cross[(m*c+i)*n+m])
			}
		}
		near(t, "Cross(z,z) at the chosen outputs against Gram", fromCross, fromGram, 1e-11)
		near(t, "Cross(z,z) within examples against Diag", columns, fromDiag, 1e-11)
		checkPSD(t, "Gram", n, gram)
		for m := range n {
			checkPSD(t, fmt.Sprint("Diag of example ", m), c, diag[m*c*c:(m+1)*c*c])
		}
	})
}

func compile3(t rapid.TB, p *problem) [][]float64 {
	b := graph.NewBuilder(p.dt)
	return compile(t, b, p.blocks(b, factored)...).run(t)
}

// checkPSD fails unless the n×n matrix is symmetric and has no eigenvalue below
// rounding, 1e-12 of the largest.
func checkPSD(t rapid.TB, what string, n int, v []float64) {
	t.Helper()
	top := 0.0
	for i := range n {
		top = max(top, v[i*n+i])
		for j := range i {
			if d := math.Abs(v[i*n+j] - v[j*n+i]); d > 1e-12*(math.Abs(v[i*n+i])+math.Abs(v[j*n+j])) {
				t.Fatalf("%s: elements (%d,%d) and (%d,%d) are %g and %g", what, i, j, j, i, v[i*n+j], v[j*n+i])
			}
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(mat.NewSymDense(n, v), false) {
		t.Fatalf("%s: no eigenvalues", what)
	}
	if least := eig.Values(nil)[0]; least < -1e-12*float64(n)*top {
		t.Fatalf("%s: eigenvalue %g, largest element %g", what, least, top)
	}
}

// TestLinearNetwork: the kernel of x·W + b is δ_cc' (x·x' + 1), to the last bit for
// inputs that are whole numbers, whatever the weights.
func TestLinearNetwork(t *testing.T) {
	const c, n = 3, 4
	rng := rand.New(rand.NewPCG(1, 1))
	z := make([]float64, n*inputs)
	for i := range z {
		z[i] = float64(rng.IntN(19) - 9)
	}
	p := &problem{dt: tensor.Float64, c: c, class: []int{2, 0, 1, 2}}
	p.net = build(func(m *maker) formula { return m.dense("a", inputs, c) }, p.dt, c)
	p.z = graph.NewParam("Z", z, p.dt, n, inputs)
	p.x = p.z
	want := [3][]float64{}
	kernel := func(i, j, ci, cj int) float64 {
		if ci != cj {
			return 0
		}
		return dot(z[i*inputs:(i+1)*inputs], z[j*inputs:(j+1)*inputs]) + 1
	}
	for i := range n {
		for ci := range c {
			for cj := range c {
				want[0] = append(want[0], kernel(i, i, ci, cj))
			}
			for j, cj := range p.class {
				want[1] = append(want[1], kernel(i, j, ci, cj))
			}
		}
		for j, cj := range p.class {
			want[2] = append(want[2], kernel(i, j, p.class[i], cj))
		}
	}
	for i, got := range compile3(t, p) {
		near(t, parts[i], got, want[i], 0)
	}
}

// TestStructureSavesMemory: for a perceptron of 3,333 parameters the structured
// kernel needs a small part of the memory of the rows, 20·3 × 3,333 numbers.
func TestStructureSavesMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	net, err := layers.MLP{Inputs: 10, Hidden: []int{50, 50}, Outputs: 3, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20
	bytes := func(alg bool) int {
		b := graph.NewBuilder(tensor.Float64)
		k := jacobian.NTK{Net: net, Dense: alg}
		x, z := b.Input("x", n, 10), b.Input("z", n, 10)
		return compile(t, b, k.Diag(b, x), k.Cross(b, x, z, make([]int, n)), k.Gram(b, z, make([]int, n))).p.Bytes()
	}
	rows := 8 * n * 3 * layers.Count(net)
	structured, dense := bytes(factored), bytes(dense)
	t.Logf("structured %d bytes, dense %d, rows at x alone %d", structured, dense, rows)
	if 4*structured > rows {
		t.Errorf("the structured kernel holds %d bytes, the rows at x alone have %d", structured, rows)
	}
	if dense < rows {
		t.Errorf("the dense kernel holds %d bytes, fewer than the rows at x alone, %d", dense, rows)
	}
}

// TestSharedFactors: what is the same for all outputs of an example, the input of a
// dense layer, is not repeated for each output.
func TestSharedFactors(t *testing.T) {
	const n, outputs = 7, 5
	p := newProblem(func(m *maker) formula { return m.dense("a", inputs, outputs) }, tensor.Float64, n, 2, outputs)
	b := graph.NewBuilder(p.dt)
	for _, k := range graph.Ancestors(jacobian.NTK{Net: p.net}.Cross(b, b.Param(p.x), b.Param(p.z), p.class)) {
		if s := k.Shape(); s.TotalSize() == n*outputs*inputs {
			t.Errorf("%v of shape %v: as large as all inputs, repeated for each output", k.Op(), s)
		}
	}
}
