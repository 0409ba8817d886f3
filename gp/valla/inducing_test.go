package valla_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gonum.org/v1/gonum/mat"
)

// factorCase is G above the divergences as a function of a triangle of L and of a root of K_z.
func factorCase(m int, build func(b *graph.Builder, low, kz *graph.Node) *graph.Node) graphtest.Case {
	return graphtest.Case{
		Name: fmt.Sprint("G and divergences, M = ", m), Shapes: [][]int{{m * (m + 1) / 2}, {m, m + 1}}, Shape: []int{m + 1, m},
		Build: func(b *graph.Builder, in []*graph.Node) *graph.Node { return build(b, b.Lower(in[0]), b.Gram(in[1])) },
		Naive: func(in [][]float64) []float64 { return naiveFactor(m, in[0], in[1]) },
	}
}

// naiveFactor computes them with inverses.
func naiveFactor(m int, packed, root []float64) []float64 {
	low, a := mat.NewDense(m, m, nil), mat.NewDense(m, m+1, root)
	for i, k := 0, 0; i < m; i++ {
		for j := 0; j <= i; j, k = j+1, k+1 {
			low.Set(i, j, packed[k])
		}
	}
	kz := product(a, a.T())
	h := product(low.T(), kz, low)
	for i := range m {
		h.Set(i, i, h.At(i, i)+1)
	}
	var chol mat.Cholesky
	chol.Factorize(mat.NewSymDense(m, h.RawMatrix().Data))
	var r mat.TriDense
	chol.LTo(&r)
	var g mat.Dense
	if err := g.Solve(&r, low.T()); err != nil {
		panic(err)
	}
	trace := product(&g, kz, g.T())
	out := append([]float64(nil), g.RawMatrix().Data...)
	for i := range m {
		out = append(out, math.Log(r.At(i, i))-trace.At(i, i)/2)
	}
	return out
}

// TestFactorDerivatives checks values and derivatives of both orders, by the rule and by the
// single steps, against finite differences.
func TestFactorDerivatives(t *testing.T) {
	for _, m := range []int{1, 2, 5} {
		t.Run("rule", func(t *testing.T) { graphtest.Run(t, []graphtest.Case{factorCase(m, valla.Factor)}) })
		t.Run("steps", func(t *testing.T) { graphtest.Run(t, []graphtest.Case{factorCase(m, valla.FactorInSteps)}) })
	}
}
