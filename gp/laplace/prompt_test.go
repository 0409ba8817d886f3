package laplace

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// inPieces makes the products of a test in as many pieces as large ones are made in.
func inPieces(t *testing.T) {
	old := atOnce
	atOnce = 1000
	t.Cleanup(func() { atOnce = old })
}

// TestPieces: products and factors in pieces are those in one.
func TestPieces(t *testing.T) {
	inPieces(t)
	const n, k = 200, 230
	rng := rand.New(rand.NewPCG(1, 2))
	a := make([]float64, n*k)
	for i := range a {
		a[i] = rng.NormFloat64()
	}
	for _, trans := range []bool{false, true} {
		got, want, lda := make([]float64, n*n), make([]float64, n*n), k
		if trans {
			lda = n
		}
		if err := addSquare(t.Context(), trans, n, k, a, got); err != nil {
			t.Fatal(err)
		}
		kernel.Syrk(trans, n, k, 1, a, lda, 0, want, n)
		kernel.CopyLower(n, got, n)
		fixture.Close(t, "product", got, want, 1e-12)
		pivot, err := factorise(t.Context(), n, got)
		if p := kernel.Cholesky(n, want, n); p >= 0 || pivot >= 0 || err != nil {
			t.Fatalf("pivots %d and %d, error %v", p, pivot, err)
		}
		fixture.Close(t, "factor", got, want, 1e-10)
	}
	bad := make([]float64, n*n)
	for i := range n {
		bad[i*n+i] = 1
	}
	bad[150*n+150] = -1
	if pivot, err := factorise(t.Context(), n, bad); pivot != 150 || err != nil {
		t.Errorf("pivot %d, error %v, expected 150", pivot, err)
	}
}

// TestPrompt: each long piece of a fit looks at the context. It ends after one more look each
// time, until a fit is whole. The whole fit is equal to a fit that nothing disturbed.
func TestPrompt(t *testing.T) {
	inPieces(t)
	for _, o := range []options{{Space: spaceWeights}, {Space: spaceFunctions}, {Structure: kindKFAC}, {Structure: kindLowRank}} {
		looks, last := 0, error(nil)
		for most := 0; most < 100_000; most = most*5/4 + 1 {
			ctx := &impatient{Context: t.Context(), left: most}
			p := newProblem(t, 3, tensor.Float64, 60, 30, 1)
			_, last = fitOptions(ctx, p.net, p.x, p.y, o)
			if last == nil {
				break
			}
			looks++
			if !errors.Is(last, context.Canceled) {
				t.Fatalf("%+v after %d looks: %v", o, most, last)
			}
		}
		if last != nil || looks < 5 {
			t.Errorf("%+v: %d fits were stopped, error %v", o, looks, last)
		}
	}
}

// impatient is a context that ends after it was looked at a number of times.
type impatient struct {
	context.Context
	left int
}

func (c *impatient) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
