package ella

import (
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// pointsAt are the training rows of a problem with the given numbers and outputs.
func pointsAt(p gp.Problem, rows, output []int) points {
	return points{z: data.TakeRows(p.Train.X, rows), output: output, outputs: p.Outputs()}
}

// allPairs are all outputs at all training rows.
func allPairs(p gp.Problem) points {
	var rows, output []int
	for i := range p.Train.N() {
		for c := range p.Outputs() {
			rows, output = append(rows, i), append(output, c)
		}
	}
	return pointsAt(p, rows, output)
}

// begun is a fit before its pass over the data.
func begun(t testing.TB, p gp.Problem, s Settings, at points) *fitting {
	t.Helper()
	f := &fitting{p: p, s: s, limit: gp.Run{}.Limit(), candidates: s.candidates(p)}
	if err := f.start(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	return f
}

// fitPoints fits with the given points and returns the posterior.
func fitPoints(t testing.TB, p gp.Problem, s Settings, at points) *posterior {
	t.Helper()
	f, err := fitAt(t.Context(), p, gp.Run{}, s, at)
	if err != nil {
		t.Fatal(err)
	}
	return f.Posterior.(*posterior)
}

// featuresOf are φ at x, [N·C,K].
func featuresOf(t testing.TB, f *jacobian.Directional, x *tensor.Dense) (all []float64) {
	t.Helper()
	if err := f.Each(t.Context(), x, func(_ int, _, phi []float64) error {
		all = append(all, phi...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// jacobianOf is J(x) [N·C,P] by reverse passes, one for each row.
func jacobianOf(t testing.TB, net layers.Network, x *tensor.Dense) []float64 {
	t.Helper()
	b := graph.NewBuilder(x.Dtype())
	rows := jacobian.NTK{Net: net, Dense: true}.Rows(b, small.Given(b, "x", x))
	n, p, at := rows[0].Shape()[0], layers.Count(net), 0
	out := make([]float64, n*p)
	for k, v := range small.Values(t, b, rows...) {
		w := rows[k].Shape()[1]
		for i := range n {
			copy(out[i*p+at:], v[i*w:(i+1)*w])
		}
		at += w
	}
	return out
}

// product is A Bᵀ for a [n,k] and b [m,k].
func product(n, m, k int, a, b []float64) []float64 {
	out := make([]float64, n*m)
	kernel.Gemm(false, true, n, m, k, 1, a, k, b, k, 0, out, m)
	return out
}

// blocksOf are the matrices [c,c] on the diagonal of a [n,n].
func blocksOf(a []float64, n, c int) (out []float64) {
	for i := range n {
		first := i / c * c
		out = append(out, a[i*n+first:i*n+first+c]...)
	}
	return out
}

// PriorStd returns σ₀.
func (p *posterior) PriorStd() float64 { return p.prior }
