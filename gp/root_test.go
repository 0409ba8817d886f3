package gp_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gonum.org/v1/gonum/mat"
)

// rootCase is G above the divergences as a function of a triangle of L and of a root of K_z.
func rootCase(m int, build func(b *graph.Builder, low, kz *graph.Node) *graph.Node) graphtest.Case {
	return graphtest.Case{
		NoONNX: true,
		Name:   fmt.Sprint("G and divergences, M = ", m), Shapes: [][]int{{m * (m + 1) / 2}, {m, m + 1}}, Shape: []int{m + 1, m},
		Build: func(b *graph.Builder, in []*graph.Node) *graph.Node { return build(b, b.Lower(in[0]), b.Gram(in[1])) },
		Naive: func(in [][]float64) []float64 { return naiveRoot(m, in[0], in[1]) },
	}
}

// naiveRoot computes them with inverses.
func naiveRoot(m int, packed, root []float64) []float64 {
	low, a := mat.NewDense(m, m, nil), mat.NewDense(m, m+1, root)
	for i, k := 0, 0; i < m; i++ {
		for j := 0; j <= i; j, k = j+1, k+1 {
			low.Set(i, j, packed[k])
		}
	}
	var kz, h, g, trace mat.Dense
	kz.Mul(a, a.T())
	h.Product(low.T(), &kz, low)
	for i := range m {
		h.Set(i, i, h.At(i, i)+1)
	}
	var chol mat.Cholesky
	chol.Factorize(mat.NewSymDense(m, h.RawMatrix().Data))
	var r mat.TriDense
	chol.LTo(&r)
	if err := g.Solve(&r, low.T()); err != nil {
		panic(err)
	}
	trace.Product(&g, &kz, g.T())
	out := append([]float64(nil), g.RawMatrix().Data...)
	for i := range m {
		out = append(out, math.Log(r.At(i, i))-trace.At(i, i)/2)
	}
	return out
}

// TestRootDerivatives checks values and derivatives of both orders, by the rule and by the
// single steps, against finite differences.
func TestRootDerivatives(t *testing.T) {
	for _, m := range []int{1, 2, 5} {
		t.Run("rule", func(t *testing.T) { graphtest.Run(t, []graphtest.Case{rootCase(m, gp.RootRows)}) })
		t.Run("steps", func(t *testing.T) { graphtest.Run(t, []graphtest.Case{rootCase(m, gp.RootRowsInSteps)}) })
	}
}
