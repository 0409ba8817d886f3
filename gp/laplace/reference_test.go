package laplace

import (
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// denseJacobian returns outputs [N·C] and Jacobian [N·C, P] at x.
func (p problem) denseJacobian(t testing.TB, x *tensor.Dense) ([]float64, *mat.Dense) {
	vals := run(t, p.net, x, func(b *graph.Builder, in *graph.Node) []*graph.Node {
		k := jacobian.NTK{Net: p.net, Dense: true}
		return append(k.Rows(b, in), p.net.Forward(b, in))
	})
	out := vals[len(vals)-1]
	rows := len(out)
	var j *mat.Dense
	for _, v := range vals[:len(vals)-1] {
		block := mat.NewDense(rows, len(v)/rows, v)
		if j == nil {
			j = block
			continue
		}
		var wider mat.Dense
		wider.Augment(j, block)
		j = &wider
	}
	return out, j
}

// blocks returns the [C,C] blocks on the diagonal of the [N·C, N·C] matrix cov.
func blocks(cov []float64, n, c int) []float64 {
	var out []float64
	for i := range n {
		for k := range c {
			row := i*c + k
			out = append(out, cov[row*n*c+i*c:row*n*c+i*c+c]...)
		}
	}
	return out
}

// Both spaces agree with the definition, for one and two outputs, more weights than
// targets and fewer, and in both element types.
func TestDefinition(t *testing.T) {
	tolerance := map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 2e-5} // of a float32 Jacobian
	for _, n := range []int{5, 60} {
		for _, c := range []int{1, 2} {
			for dt, tol := range tolerance {
				p := newProblem(t, uint64(10*n+c), dt, n, 6, c)
				for name, space := range spaces {
					o := options{PriorStd: 0.8, NoiseStd: 0.3, Space: space, BatchSize: 4}
					newBrute(t, p, o).check(t, label(name, ", ", n, " examples, ", c, " outputs, ", dt), p.fit(t, o), tol)
				}
			}
		}
	}
}

// The fit chooses the smaller space, and at equality the space of weights.
func TestSmallerSpace(t *testing.T) {
	for _, c := range []struct {
		params, rows int
		weights      bool
	}{{3, 4, true}, {4, 4, true}, {5, 4, false}} {
		_, weights := newFull(&scanner{params: c.params, batch: 1, outputs: 1}, spaceSmaller, c.rows).(*weightSpace)
		if weights != c.weights {
			t.Errorf("%d weights, %d rows: weight space is %v", c.params, c.rows, weights)
		}
	}
}
